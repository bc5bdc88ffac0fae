//! The store is full, read-only or breaks; actors die in the middle of changes.

use futures::future::join_all;
use muster_core::Kind;
use muster_core::principal::UserRole;
use muster_core::test_world::{after, run, until};
use muster_store::{Store, StoreError};

use super::*;

fn read_only() -> Option<StoreError> {
    Some(StoreError::Poisoned("disk".into()))
}

/// The one refusal of changes that cannot be stored.
fn unstored<T: std::fmt::Debug>(outcome: Result<T, Error>, seconds: u64) {
    let error = outcome.unwrap_err();
    let expected = (Kind::Unavailable, "the store does not accept writes now: try again later");
    assert_eq!((error.kind, error.message.as_str()), expected);
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(seconds))));
}

fn new_user(n: usize) -> NewUser {
    NewUser { email: format!("u{n}@example.org"), name: String::new(), role: UserRole::Viewer, grants: Vec::new() }
}

impl House {
    async fn create(&self, n: usize) -> Result<Created, Error> {
        self.identity.create_user(By::System, new_user(n), PASSWORD.to_owned(), None).await
    }

    fn restarts(&self, path: &str) -> u64 {
        self.tree.snapshot().iter().find(|actor| actor.path == path).unwrap().restarts
    }
}

#[test]
fn a_read_only_store_refuses_every_change_alike_and_reads_go_on() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        let admin = house.admit(&open.token).unwrap().person;
        house.store.fail_commits(read_only());
        unstored(house.login(FIRST_EMAIL).await, 30);
        unstored(house.create(1).await, 30);
        unstored(house.identity.refresh(&open.refresh_token, None).await, 30);
        unstored(house.identity.logout(&admin, &open.token).await, 30);
        unstored(house.identity.end_all(By::System, admin.user_id.to_string()).await, 30);
        unstored(house.identity.rotate_keys(By::System).await, 30);
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        let id = admin.user_id.to_string();
        unstored(house.identity.patch_user(By::System, id.clone(), patch, IfMatch::Any).await.map(drop), 30);
        assert!(house.admit(&open.token).is_ok());
        assert_eq!(house.identity.sessions(id).await.unwrap().len(), 1);
        assert_eq!(house.identity.user(FIRST_EMAIL).await.unwrap().unwrap().email, FIRST_EMAIL);
        after(Duration::from_secs(300)).await;
        assert_eq!((house.restarts("identity/registry"), house.restarts("identity/signing-keys")), (0, 0));
        house.store.fail_commits(None);
        house.create(1).await.unwrap();
        house.identity.logout(&admin, &open.token).await.unwrap();
    });
}

#[test]
fn a_full_store_delays_changes_and_loses_none() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        house.store.fail_commits(Some(StoreError::Busy));
        let changing = async {
            let created = join_all((0..20).map(|n| house.create(n))).await;
            assert!(created.into_iter().all(|created| created.is_ok()));
            house.identity.refresh(&open.refresh_token, None).await.unwrap();
        };
        let mending = async {
            after(Duration::from_secs(2)).await;
            assert_eq!(house.identity.people(), 1, "nobody is there who is not stored");
            house.store.fail_commits(None);
        };
        tokio::join!(changing, mending);
        assert_eq!((house.identity.people(), house.restarts("identity/registry")), (21, 0));
    });
}

#[test]
fn a_store_that_stays_full_is_refused_after_the_callers_patience() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        house.store.fail_commits(Some(StoreError::Busy));
        let error = house.create(1).await.unwrap_err();
        assert_eq!(
            (error.kind, error.code, error.retry_after),
            (Kind::Unavailable, None, Some(Duration::from_secs(1)))
        );
    });
}

#[test]
fn many_changes_share_commits_and_are_seen_only_once_durable() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        let admin = house.admit(&open.token).unwrap().person;
        let watch = house.identity.watch_session(&open.session_id).unwrap();
        house.events();
        let before = house.store.stats().commits;
        house.store.hold_commits();
        let changing = async {
            house.identity.logout(&admin, &open.token).await.unwrap();
            assert!(watch.revoked.is_cancelled(), "before it is answered");
        };
        let creating = async {
            let created = join_all((0..60).map(|n| house.create(n))).await;
            assert!(created.into_iter().all(|created| created.is_ok()));
        };
        let releasing = async {
            house.store.held(2).await;
            after(Duration::from_secs(1)).await;
            assert!(house.admit(&open.token).is_ok() && !watch.revoked.is_cancelled());
            assert_eq!((house.identity.people(), house.events()), (1, vec![]));
            house.store.release();
        };
        tokio::join!(changing, creating, releasing);
        assert_eq!(house.identity.people(), 61);
        assert!(house.store.stats().commits - before <= 4, "{:?}", house.store.stats());
        assert!(house.admit(&open.token).is_err());
    });
}

#[test]
fn a_commit_that_fails_is_told_to_all_and_undoes_what_was_decided() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        let admin = house.admit(&open.token).unwrap().person;
        house.store.hold_commits();
        let changing = async {
            let (out, created) =
                tokio::join!(house.identity.logout(&admin, &open.token), join_all((0..20).map(|n| house.create(n))));
            unstored(out, 30);
            created.into_iter().for_each(|created| unstored(created, 30));
        };
        let breaking = async {
            house.store.held(2).await;
            after(Duration::from_secs(1)).await;
            house.store.fail_commits(read_only());
            house.store.release();
        };
        tokio::join!(changing, breaking);
        until(|| house.restarts("identity/registry") == 1).await;
        house.identity.up().await;
        assert!(house.admit(&open.token).is_ok(), "the session lives on");
        assert_eq!(house.identity.user("u1@example.org").await.unwrap(), None);
        after(Duration::from_secs(300)).await;
        assert_eq!(house.restarts("identity/registry"), 1, "no loop while the store stays read-only");
        house.store.fail_commits(None);
        house.create(1).await.unwrap();
    });
}

#[test]
fn a_registry_that_dies_under_load_loses_nothing_that_was_acknowledged() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        for round in 0..3_u64 {
            let open = house.login(FIRST_EMAIL).await.unwrap();
            let admin = house.admit(&open.token).unwrap().person;
            house.identity.logout(&admin, &open.token).await.unwrap();
            let numbers = round as usize * 100..round as usize * 100 + 20;
            house.store.hold_commits();
            let creating = async { join_all(numbers.clone().map(|n| house.create(n))).await };
            let killing = async {
                house.store.held(2).await;
                house.kill("identity/registry");
                until(|| house.restarts("identity/registry") == round + 1).await;
                house.store.release();
            };
            let (created, ()) = tokio::join!(creating, killing);
            house.identity.up().await;
            for (n, created) in numbers.zip(created) {
                let there = house.identity.user(&format!("u{n}@example.org")).await.unwrap().is_some();
                assert!(there || created.is_err_and(|error| error.kind == Kind::Unavailable));
            }
            assert!(house.admit(&open.token).is_err(), "what ended stays ended");
        }
    });
}

#[test]
fn a_session_that_is_not_durable_yet_ends_with_all_others() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let admin = house.admin().await;
        let user = admin.user_id.to_string();
        house.store.hold_commits();
        let opening = async { house.login(FIRST_EMAIL).await };
        let ending = async {
            house.store.held(1).await;
            house.identity.end_all(By::System, user.clone()).await
        };
        let releasing = async {
            house.store.held(2).await;
            house.store.release();
        };
        let (opened, ended, ()) = tokio::join!(opening, ending, releasing);
        assert_eq!(ended, Ok(2));
        assert!(house.admit(&opened.unwrap().token).is_err());
        assert_eq!((house.identity.live(), house.identity.sessions(user).await.unwrap().len()), (0, 0));
        let house = house.again().await;
        assert_eq!(house.identity.live(), 0, "and stays so");
    });
}

#[test]
fn a_refresh_on_its_way_does_not_revive_a_session_that_ends() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        let admin = house.admit(&open.token).unwrap().person;
        house.identity.refresh(&open.refresh_token, None).await.unwrap();
        for first in ["refresh", "end"] {
            let open = house.login(FIRST_EMAIL).await.unwrap();
            // Its actor runs.
            let open = house.identity.refresh(&open.refresh_token, None).await.unwrap();
            house.store.hold_commits();
            let refreshing = async {
                house.store.held(usize::from(first == "end")).await;
                house.identity.refresh(&open.refresh_token, None).await
            };
            let ending = async {
                house.store.held(usize::from(first == "refresh")).await;
                house.identity.logout(&admin, &open.token).await
            };
            let releasing = async {
                // Who asks for a session whose end is decided waits until that is durable.
                house.store.held(if first == "end" { 1 } else { 2 }).await;
                after(Duration::from_millis(100)).await;
                house.store.release();
            };
            let (refreshed, ended, ()) = tokio::join!(refreshing, ending, releasing);
            ended.unwrap();
            if let Ok(refreshed) = refreshed {
                assert_eq!(first, "refresh");
                assert!(house.admit(&refreshed.token).is_err());
                assert!(house.identity.refresh(&refreshed.refresh_token, None).await.is_err());
            }
            assert!(house.admit(&open.token).is_err());
        }
    });
}

#[test]
fn refreshes_of_one_token_wait_for_the_first_and_get_its_answer() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let first = house.identity.refresh(&first.refresh_token, None).await.unwrap();
        let before = house.store.stats().commits;
        house.store.hold_commits();
        let refreshing = join_all((0..20).map(|_| house.identity.refresh(&first.refresh_token, None)));
        let releasing = async {
            house.store.held(1).await;
            house.store.release();
        };
        let (refreshed, ()) = tokio::join!(refreshing, releasing);
        let tokens: std::collections::BTreeSet<_> = refreshed.into_iter().map(|it| it.unwrap().refresh_token).collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(house.store.stats().commits - before, 1);
    });
}

#[test]
fn the_same_idempotency_key_makes_one_person_while_the_first_answer_is_not_durable() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let asked = |digest| {
            let key = muster_core::idempotency::Idempotency {
                principal: "usr_1".into(),
                key: "k".into(),
                digest: [digest; 32],
            };
            house.identity.create_user(By::System, new_user(1), PASSWORD.to_owned(), Some(key))
        };
        house.store.hold_commits();
        let releasing = async {
            house.store.held(1).await;
            after(Duration::from_secs(1)).await;
            house.store.release();
        };
        let (first, second, other, ()) = tokio::join!(asked(1), asked(1), asked(2), releasing);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.user.id, second.user.id);
        assert_ne!(first.given, second.given);
        assert_eq!(other.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}
