//! Refresh tokens, against the whole of the actors.

use futures::future::join_all;
use muster_core::principal::UserRole;

use super::*;
use muster_core::Kind;
use muster_core::test_world::run;

async fn refresh(house: &House, token: &str) -> Result<LoggedIn, Error> {
    house.identity.refresh(token, None).await
}

fn over<T: std::fmt::Debug>(got: Result<T, Error>) {
    let error = got.unwrap_err();
    assert_eq!((error.kind, error.code), (Kind::Unauthenticated, Some("invalid_refresh_token")), "{error}");
}

#[test]
fn a14_a_used_refresh_token_after_the_grace_revokes_its_family() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let second = refresh(&house, &first.refresh_token).await.unwrap();
        let watch = house.identity.watch_session(&first.session_id).unwrap();
        wait(10).await;
        house.events();
        over(refresh(&house, &first.refresh_token).await);
        assert!(watch.revoked.is_cancelled(), "its sockets are told");
        assert!(house.admit(&second.token).is_err(), "the newest access token is dead");
        over(refresh(&house, &second.refresh_token).await);
        assert!(house.actions().contains(&"refresh_reuse_detected".to_owned()));
        assert_eq!(house.events(), ["session.refresh_reuse_detected"]);
    });
}

#[test]
fn a15_a_lost_answer_is_given_again() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let second = refresh(&house, &first.refresh_token).await.unwrap();
        wait(9).await;
        let again = refresh(&house, &first.refresh_token).await.unwrap();
        assert_eq!((again.token, again.refresh_token), (second.token.clone(), second.refresh_token));
        assert!(house.admit(&second.token).is_ok());
    });
}

#[test]
fn a16_whoever_comes_second_with_a_stolen_token_ends_both() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let victim = house.login(FIRST_EMAIL).await.unwrap();
        let thief = refresh(&house, &victim.refresh_token).await.unwrap();
        let thief = refresh(&house, &thief.refresh_token).await.unwrap();
        over(refresh(&house, &victim.refresh_token).await);
        assert!(house.admit(&thief.token).is_err());
        over(refresh(&house, &thief.refresh_token).await);
    });
}

#[test]
fn a17_fifty_at_once_make_one_line_of_successors() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let all = join_all((0..50).map(|_| refresh(&house, &first.refresh_token))).await;
        let successors: std::collections::BTreeSet<_> =
            all.into_iter().map(|done| done.unwrap().refresh_token).collect();
        assert_eq!(successors.len(), 1);
        let successor = successors.into_iter().next().unwrap();
        refresh(&house, &successor).await.unwrap();
    });
}

#[test]
fn a18_a_rotation_that_was_not_answered_is_taken_up_after_a_restart() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let lost = refresh(&house, &first.refresh_token).await.unwrap();
        let house = house.again().await;
        let again = refresh(&house, &first.refresh_token).await.unwrap();
        assert_eq!(again.refresh_token, lost.refresh_token, "one lineage");
        refresh(&house, &again.refresh_token).await.unwrap();
    });
}

#[test]
fn a19_a_session_that_ended_refreshes_nothing() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let admin = house.admin().await;
        let ann = house.person("ann@example.org", UserRole::Viewer).await;
        let by = || By::Person(Arc::clone(&admin));

        let out = house.login("ann@example.org").await.unwrap();
        let person = house.admit(&out.token).unwrap().person;
        house.identity.logout(&person, &out.token).await.unwrap();
        over(refresh(&house, &out.refresh_token).await);

        let changed = house.login("ann@example.org").await.unwrap();
        let person = house.admit(&changed.token).unwrap().person;
        let next = "another long password".to_owned();
        house.identity.change_password(&person, None, PASSWORD.to_owned(), next.clone()).await.unwrap();
        over(refresh(&house, &changed.refresh_token).await);
        assert!(house.login("ann@example.org").await.is_err(), "the old password is none");

        let off = house.login_with("ann@example.org", &next).await.unwrap();
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        house.identity.patch_user(by(), ann.id.clone(), patch, IfMatch::Any).await.unwrap();
        over(refresh(&house, &off.refresh_token).await);
        assert!(house.admit(&off.token).is_err());
    });
}

#[test]
fn a_session_ends_by_idleness_and_by_age() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let idle = house.login(FIRST_EMAIL).await.unwrap();
        let mut used = house.login(FIRST_EMAIL).await.unwrap();
        for _ in 0..4 {
            wait(6 * 24 * 3600).await;
            used = refresh(&house, &used.refresh_token).await.unwrap();
        }
        over(refresh(&house, &idle.refresh_token).await);
        assert_eq!(house.identity.live(), 1, "what idled out was swept");
        wait(6 * 24 * 3600).await;
        over(refresh(&house, &used.refresh_token).await);
    });
}

#[test]
fn refresh_and_access_tokens_are_not_each_other() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let done = house.login(FIRST_EMAIL).await.unwrap();
        over(refresh(&house, &done.token).await);
        assert!(house.admit(&done.refresh_token).is_err());
    });
}

#[test]
fn the_actor_of_a_session_retires_and_comes_back() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let of_sessions = |house: &House| house.actors().iter().filter(|path| path.contains("/ses_")).count();
        let done = house.login(FIRST_EMAIL).await.unwrap();
        assert_eq!(of_sessions(&house), 0, "none before it is needed");
        let done = refresh(&house, &done.refresh_token).await.unwrap();
        assert_eq!(of_sessions(&house), 1);
        wait(600).await;
        assert_eq!(of_sessions(&house), 0, "none that idles");
        refresh(&house, &done.refresh_token).await.unwrap();
    });
}
