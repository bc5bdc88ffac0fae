//! Live sessions, and what watches them.

use super::*;
use muster_core::Kind;
use muster_core::principal::{Permission, UserRole};
use muster_core::test_world::{run, until};

#[test]
fn a_watcher_hears_of_new_permissions_and_of_the_end() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let ann = house.person("ann@example.org", UserRole::Operator).await;
        let done = house.login("ann@example.org").await.unwrap();
        let mut watch = house.identity.watch_session(&done.session_id).unwrap();
        assert!(watch.grant.borrow().permissions.has(Permission::DevicesWrite));
        let patch = UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() };
        house.identity.patch_user(By::System, ann.id.clone(), patch, IfMatch::Any).await.unwrap();
        assert!(watch.grant.has_changed().unwrap(), "before the change is answered");
        assert!(!watch.grant.borrow_and_update().permissions.has(Permission::DevicesWrite));
        let admitted = house.admit(&done.token).unwrap();
        assert!(!admitted.person.permissions.has(Permission::DevicesWrite), "the old token has the new permissions");
        assert!(!watch.revoked.is_cancelled());
        house.identity.end_all(By::System, ann.id.clone()).await.unwrap();
        assert!(watch.revoked.is_cancelled(), "before the end is answered");
        assert!(house.identity.watch_session(&done.session_id).is_none());
    });
}

#[test]
fn what_is_watched_outlives_the_registrys_death() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let done = house.login(FIRST_EMAIL).await.unwrap();
        let watch = house.identity.watch_session(&done.session_id).unwrap();
        house.kill("identity/registry");
        until(|| house.actors().contains(&"identity/registry".to_owned())).await;
        house.identity.up().await;
        let person = house.admit(&done.token).unwrap().person;
        let mut tries = 0;
        while house.identity.logout(&person, &done.token).await.is_err() {
            tries += 1;
            assert!(tries < 100, "the registry comes back");
            wait(1).await;
        }
        assert!(watch.revoked.is_cancelled(), "it is the same session that ended");
    });
}

#[test]
fn a20_a_token_of_anothers_session_is_not_ones_to_revoke() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        house.person("ann@example.org", UserRole::Operator).await;
        let ann = house.login("ann@example.org").await.unwrap();
        let ann_person = house.admit(&ann.token).unwrap().person;
        let admin = house.login(FIRST_EMAIL).await.unwrap();
        let refused = house.identity.logout(&ann_person, &admin.token).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Forbidden);
        assert!(house.admit(&admin.token).is_ok(), "it is untouched");
        house.identity.logout(&ann_person, "no.token.atall").await.unwrap();
        let refused = house.identity.end_session(&ann_person, admin.session_id.clone()).await.unwrap_err();
        assert_eq!(refused.kind, Kind::NotFound, "whether it lives is not told");
        let admin = house.admit(&admin.token).unwrap().person;
        house.identity.logout(&admin, &ann.refresh_token).await.unwrap();
        assert!(house.admit(&ann.token).is_err(), "sessions:revoke reaches everybody's");
        house.identity.logout(&ann_person, &ann.token).await.unwrap();
    });
}

#[test]
fn an_ended_session_stays_ended_after_a_restart_and_others_live_on() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let ended = house.login(FIRST_EMAIL).await.unwrap();
        let lives = house.login(FIRST_EMAIL).await.unwrap();
        let person = house.admit(&ended.token).unwrap().person;
        house.identity.logout(&person, &ended.token).await.unwrap();
        let house = house.again().await;
        assert!(house.admit(&ended.token).is_err());
        assert!(house.admit(&lives.token).is_ok());
        let listed = house.identity.sessions(person.user_id.to_string()).await.unwrap();
        assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [lives.session_id.as_str()]);
    });
}

#[test]
fn an_access_token_ends_after_its_quarter_of_an_hour() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let done = house.login(FIRST_EMAIL).await.unwrap();
        wait(899).await;
        assert!(house.admit(&done.token).is_ok());
        // The leeway for clocks that differ, RFC 7519, section 4.1.4.
        wait(31).await;
        assert!(house.admit(&done.token).is_err());
    });
}

#[test]
fn tokens_prove_themselves_and_the_one_that_proves_lets_nobody_in() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        assert!(
            house.identity.prove_tokens().unwrap() < std::time::Duration::from_secs(60),
            "a new house has a new key"
        );
        assert!(house.identity.watch_session("health").is_none());
    });
}
