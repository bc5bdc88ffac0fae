//! Refresh tokens, against all actors.

use futures::future::join_all;
use muster_core::principal::UserRole;

use super::*;
use muster_core::Kind;
use muster_core::test_world::run;

async fn refresh(fixture: &TestIdentity, token: &str) -> Result<IssuedTokens, Error> {
    fixture.identity.refresh(token, None).await
}

fn assert_rejected<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    let error = outcome.unwrap_err();
    assert_eq!((error.kind, error.code), (Kind::Unauthenticated, Some("invalid_refresh_token")), "{error}");
}

#[test]
fn a14_a_used_refresh_token_after_the_grace_revokes_its_family() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let second = refresh(&fixture, &first.refresh_token).await.unwrap();
        let watch = fixture.identity.watch_session(&first.session_id).unwrap();
        wait(10).await;
        fixture.events();
        assert_rejected(refresh(&fixture, &first.refresh_token).await);
        assert!(watch.revoked.is_cancelled(), "its connections are notified");
        assert!(fixture.admit(&second.token).is_err(), "the newest access token is invalid");
        assert_rejected(refresh(&fixture, &second.refresh_token).await);
        assert!(fixture.actions().contains(&"refresh_reuse_detected".to_owned()));
        assert_eq!(fixture.events(), ["session.refresh_reuse_detected"]);
    });
}

#[test]
fn a15_a_lost_response_is_repeated() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let second = refresh(&fixture, &first.refresh_token).await.unwrap();
        wait(9).await;
        let again = refresh(&fixture, &first.refresh_token).await.unwrap();
        assert_eq!((again.token, again.refresh_token), (second.token.clone(), second.refresh_token));
        assert!(fixture.admit(&second.token).is_ok());
    });
}

#[test]
fn a16_the_second_use_of_a_stolen_token_ends_the_session_for_both() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let victim = fixture.login(FIRST_EMAIL).await.unwrap();
        let thief = refresh(&fixture, &victim.refresh_token).await.unwrap();
        let thief = refresh(&fixture, &thief.refresh_token).await.unwrap();
        assert_rejected(refresh(&fixture, &victim.refresh_token).await);
        assert!(fixture.admit(&thief.token).is_err());
        assert_rejected(refresh(&fixture, &thief.refresh_token).await);
    });
}

#[test]
fn a17_fifty_concurrent_refreshes_get_one_successor() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let all = join_all((0..50).map(|_| refresh(&fixture, &first.refresh_token))).await;
        let successors: std::collections::BTreeSet<_> =
            all.into_iter().map(|done| done.unwrap().refresh_token).collect();
        assert_eq!(successors.len(), 1);
        let successor = successors.into_iter().next().unwrap();
        refresh(&fixture, &successor).await.unwrap();
    });
}

#[test]
fn a18_a_rotation_whose_response_was_lost_is_repeated_after_a_restart() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let lost = refresh(&fixture, &first.refresh_token).await.unwrap();
        let fixture = fixture.restart().await;
        let again = refresh(&fixture, &first.refresh_token).await.unwrap();
        assert_eq!(again.refresh_token, lost.refresh_token, "one sequence of successors");
        refresh(&fixture, &again.refresh_token).await.unwrap();
    });
}

#[test]
fn a19_refresh_tokens_of_ended_sessions_are_rejected() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let admin = fixture.admin().await;
        let ann = fixture.create("ann@example.org", UserRole::Viewer).await;
        let by = || By::Person(Arc::clone(&admin));

        let out = fixture.login("ann@example.org").await.unwrap();
        let person = fixture.admit(&out.token).unwrap().person;
        fixture.identity.logout(&person, &out.token).await.unwrap();
        assert_rejected(refresh(&fixture, &out.refresh_token).await);

        let changed = fixture.login("ann@example.org").await.unwrap();
        let person = fixture.admit(&changed.token).unwrap().person;
        let next = "another long password".to_owned();
        fixture.identity.change_password(&person, PASSWORD.to_owned(), next.clone()).await.unwrap();
        assert_rejected(refresh(&fixture, &changed.refresh_token).await);
        assert!(fixture.login("ann@example.org").await.is_err(), "the old password is invalid");

        let off = fixture.login_with("ann@example.org", &next).await.unwrap();
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        fixture.identity.patch_user(by(), ann.id.clone(), patch, IfMatch::Any).await.unwrap();
        assert_rejected(refresh(&fixture, &off.refresh_token).await);
        assert!(fixture.admit(&off.token).is_err());
    });
}

#[test]
fn a_session_ends_when_idle_and_at_its_absolute_end() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let idle = fixture.login(FIRST_EMAIL).await.unwrap();
        let mut used = fixture.login(FIRST_EMAIL).await.unwrap();
        for _ in 0..4 {
            wait(6 * 24 * 3600).await;
            used = refresh(&fixture, &used.refresh_token).await.unwrap();
        }
        assert_rejected(refresh(&fixture, &idle.refresh_token).await);
        assert_eq!(fixture.identity.live_sessions(), 1, "the idle session was removed");
        wait(6 * 24 * 3600).await;
        assert_rejected(refresh(&fixture, &used.refresh_token).await);
    });
}

#[test]
fn refresh_and_access_tokens_are_not_interchangeable() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let done = fixture.login(FIRST_EMAIL).await.unwrap();
        assert_rejected(refresh(&fixture, &done.token).await);
        assert!(fixture.admit(&done.refresh_token).is_err());
    });
}

#[test]
fn a_session_actor_is_stopped_when_idle_and_started_when_needed() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let session_actors =
            |fixture: &TestIdentity| fixture.actors().iter().filter(|path| path.contains("/ses_")).count();
        let done = fixture.login(FIRST_EMAIL).await.unwrap();
        assert_eq!(session_actors(&fixture), 0, "not before it is needed");
        let done = refresh(&fixture, &done.refresh_token).await.unwrap();
        assert_eq!(session_actors(&fixture), 1);
        wait(600).await;
        assert_eq!(session_actors(&fixture), 0, "stopped when idle");
        refresh(&fixture, &done.refresh_token).await.unwrap();
    });
}
