//! Live sessions and their watchers.

use super::*;
use muster_core::Kind;
use muster_core::principal::{Permission, UserRole};
use muster_core::test_world::{run, until};

#[test]
fn a_watcher_is_notified_of_new_permissions_and_of_the_end() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let ann = fixture.create("ann@example.org", UserRole::Operator).await;
        let done = fixture.login("ann@example.org").await.unwrap();
        let mut watch = fixture.identity.watch_session(&done.session_id).unwrap();
        assert!(watch.grant.borrow().permissions.has(Permission::DevicesWrite));
        let patch = UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() };
        fixture.identity.patch_user(By::System, ann.id.clone(), patch, IfMatch::Any).await.unwrap();
        assert!(watch.grant.has_changed().unwrap(), "before the response");
        assert!(!watch.grant.borrow_and_update().permissions.has(Permission::DevicesWrite));
        let admitted = fixture.admit(&done.token).unwrap();
        assert!(!admitted.person.permissions.has(Permission::DevicesWrite), "the old token has the new permissions");
        assert!(!watch.revoked.is_cancelled());
        fixture.identity.end_sessions(By::System, ann.id.clone()).await.unwrap();
        assert!(watch.revoked.is_cancelled(), "before the response");
        assert!(fixture.identity.watch_session(&done.session_id).is_none());
    });
}

#[test]
fn a_watch_survives_a_panic_of_the_registry() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let done = fixture.login(FIRST_EMAIL).await.unwrap();
        let watch = fixture.identity.watch_session(&done.session_id).unwrap();
        fixture.kill("identity/registry");
        until(|| fixture.actors().contains(&"identity/registry".to_owned())).await;
        fixture.identity.up().await;
        let person = fixture.admit(&done.token).unwrap().person;
        let mut tries = 0;
        while fixture.identity.logout(&person, &done.token).await.is_err() {
            tries += 1;
            assert!(tries < 100, "the registry is restarted");
            wait(1).await;
        }
        assert!(watch.revoked.is_cancelled(), "it is the same session that ended");
    });
}

#[test]
fn a20_a_token_of_another_users_session_cannot_be_revoked() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        fixture.create("ann@example.org", UserRole::Operator).await;
        let ann = fixture.login("ann@example.org").await.unwrap();
        let ann_person = fixture.admit(&ann.token).unwrap().person;
        let admin = fixture.login(FIRST_EMAIL).await.unwrap();
        let error = fixture.identity.logout(&ann_person, &admin.token).await.unwrap_err();
        assert_eq!(error.kind, Kind::Forbidden);
        assert!(fixture.admit(&admin.token).is_ok(), "the session is still live");
        fixture.identity.logout(&ann_person, "no.token.atall").await.unwrap();
        let error = fixture.identity.end_session(&ann_person, admin.session_id.clone()).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound, "whether it is live is not disclosed");
        let admin = fixture.admit(&admin.token).unwrap().person;
        fixture.identity.logout(&admin, &ann.refresh_token).await.unwrap();
        assert!(fixture.admit(&ann.token).is_err(), "sessions:revoke applies to all sessions");
        fixture.identity.logout(&ann_person, &ann.token).await.unwrap();
    });
}

#[test]
fn after_a_restart_ended_sessions_stay_ended_and_others_stay_live() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let ended = fixture.login(FIRST_EMAIL).await.unwrap();
        let live = fixture.login(FIRST_EMAIL).await.unwrap();
        let person = fixture.admit(&ended.token).unwrap().person;
        fixture.identity.logout(&person, &ended.token).await.unwrap();
        let fixture = fixture.restart().await;
        assert!(fixture.admit(&ended.token).is_err());
        assert!(fixture.admit(&live.token).is_ok());
        let listed = fixture.identity.sessions(person.user_id.to_string()).await.unwrap();
        assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [live.session_id.as_str()]);
    });
}

#[test]
fn an_access_token_expires_after_15_minutes() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let done = fixture.login(FIRST_EMAIL).await.unwrap();
        wait(899).await;
        assert!(fixture.admit(&done.token).is_ok());
        // The leeway for clock skew (RFC 7519, section 4.1.4).
        wait(31).await;
        assert!(fixture.admit(&done.token).is_err());
    });
}

#[test]
fn the_self_test_of_tokens_succeeds_and_its_token_belongs_to_no_session() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        assert!(fixture.identity.check_tokens().unwrap() < std::time::Duration::from_secs(60), "the key is new");
        assert!(fixture.identity.watch_session("health").is_none());
    });
}
