//! A store that is full, read-only or fails, and actors that panic during changes.

use futures::future::join_all;
use muster_core::Kind;
use muster_core::principal::UserRole;
use muster_core::test_world::{after, run, until};
use muster_store::{Store, StoreError};

use super::*;

fn read_only() -> Option<StoreError> {
    Some(StoreError::Poisoned("disk".into()))
}

/// Asserts the error for changes that cannot be stored.
fn assert_unavailable<T: std::fmt::Debug>(outcome: Result<T, Error>, seconds: u64) {
    let error = outcome.unwrap_err();
    let expected = (Kind::Unavailable, "the store does not accept writes at the moment: try again later");
    assert_eq!((error.kind, error.message.as_str()), expected);
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(seconds))));
}

fn new_user(n: usize) -> NewUser {
    NewUser { email: format!("u{n}@example.org"), name: String::new(), role: UserRole::Viewer, grants: Vec::new() }
}

impl TestIdentity {
    async fn create_numbered(&self, n: usize) -> Result<CreatedUser, Error> {
        self.identity.create_user(By::System, new_user(n), PASSWORD.to_owned(), None).await
    }

    fn restarts(&self, path: &str) -> u64 {
        self.tree.snapshot().iter().find(|actor| actor.path == path).unwrap().restarts
    }
}

#[test]
fn a_read_only_store_rejects_every_change_with_the_same_error_and_reads_succeed() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        let admin = fixture.admit(&open.token).unwrap().person;
        fixture.store.fail_commits(read_only());
        assert_unavailable(fixture.login(FIRST_EMAIL).await, 30);
        assert_unavailable(fixture.create_numbered(1).await, 30);
        assert_unavailable(fixture.identity.refresh(&open.refresh_token, None).await, 30);
        assert_unavailable(fixture.identity.logout(&admin, &open.token).await, 30);
        assert_unavailable(fixture.identity.end_sessions(By::System, admin.user_id.to_string()).await, 30);
        assert_unavailable(fixture.identity.rotate_keys(By::System).await, 30);
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        let id = admin.user_id.to_string();
        assert_unavailable(
            fixture.identity.patch_user(By::System, id.clone(), patch, IfMatch::Any).await.map(drop),
            30,
        );
        assert!(fixture.admit(&open.token).is_ok());
        assert_eq!(fixture.identity.sessions(id).await.unwrap().len(), 1);
        assert_eq!(fixture.identity.user(FIRST_EMAIL).await.unwrap().unwrap().email, FIRST_EMAIL);
        after(Duration::from_secs(300)).await;
        assert_eq!((fixture.restarts("identity/registry"), fixture.restarts("identity/signing-keys")), (0, 0));
        fixture.store.fail_commits(None);
        fixture.create_numbered(1).await.unwrap();
        fixture.identity.logout(&admin, &open.token).await.unwrap();
    });
}

#[test]
fn a_full_store_delays_changes_and_loses_none() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        fixture.store.fail_commits(Some(StoreError::Busy));
        let changing = async {
            let created = join_all((0..20).map(|n| fixture.create_numbered(n))).await;
            assert!(created.into_iter().all(|created| created.is_ok()));
            fixture.identity.refresh(&open.refresh_token, None).await.unwrap();
        };
        let recovering = async {
            after(Duration::from_secs(2)).await;
            assert_eq!(fixture.identity.user_count(), 1, "no user is visible before it is stored");
            fixture.store.fail_commits(None);
        };
        tokio::join!(changing, recovering);
        assert_eq!((fixture.identity.user_count(), fixture.restarts("identity/registry")), (21, 0));
    });
}

#[test]
fn a_request_fails_after_its_timeout_while_the_store_stays_full() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        fixture.store.fail_commits(Some(StoreError::Busy));
        let errors = [
            fixture.create_numbered(1).await.unwrap_err(),
            fixture.identity.refresh(&open.refresh_token, None).await.unwrap_err(),
            fixture.identity.rotate_keys(By::System).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(
                (error.kind, error.code, error.retry_after),
                (Kind::Unavailable, None, Some(Duration::from_secs(1))),
                "{error}"
            );
        }
    });
}

#[test]
fn many_changes_share_commits_and_are_visible_only_once_durable() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        let admin = fixture.admit(&open.token).unwrap().person;
        let watch = fixture.identity.watch_session(&open.session_id).unwrap();
        fixture.events();
        let before = fixture.store.stats().commits;
        fixture.store.hold_commits();
        let changing = async {
            fixture.identity.logout(&admin, &open.token).await.unwrap();
            assert!(watch.revoked.is_cancelled(), "before the response");
        };
        let creating = async {
            let created = join_all((0..60).map(|n| fixture.create_numbered(n))).await;
            assert!(created.into_iter().all(|created| created.is_ok()));
        };
        let releasing = async {
            fixture.store.held(2).await;
            after(Duration::from_secs(1)).await;
            assert!(fixture.admit(&open.token).is_ok() && !watch.revoked.is_cancelled());
            assert_eq!((fixture.identity.user_count(), fixture.events()), (1, vec![]));
            fixture.store.release();
        };
        tokio::join!(changing, creating, releasing);
        assert_eq!(fixture.identity.user_count(), 61);
        assert!(fixture.store.stats().commits - before <= 4, "{:?}", fixture.store.stats());
        assert!(fixture.admit(&open.token).is_err());
    });
}

#[test]
fn a_failed_commit_fails_all_callers_and_undoes_the_decisions() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        let admin = fixture.admit(&open.token).unwrap().person;
        fixture.store.hold_commits();
        let changing = async {
            let (out, created) = tokio::join!(
                fixture.identity.logout(&admin, &open.token),
                join_all((0..20).map(|n| fixture.create_numbered(n)))
            );
            assert_unavailable(out, 30);
            created.into_iter().for_each(|created| assert_unavailable(created, 30));
        };
        let breaking = async {
            fixture.store.held(2).await;
            after(Duration::from_secs(1)).await;
            fixture.store.fail_commits(read_only());
            fixture.store.release();
        };
        tokio::join!(changing, breaking);
        until(|| fixture.restarts("identity/registry") == 1).await;
        fixture.identity.up().await;
        assert!(fixture.admit(&open.token).is_ok(), "the session is still live");
        assert_eq!(fixture.identity.user("u1@example.org").await.unwrap(), None);
        after(Duration::from_secs(300)).await;
        assert_eq!(fixture.restarts("identity/registry"), 1, "no loop while the store stays read-only");
        fixture.store.fail_commits(None);
        fixture.create_numbered(1).await.unwrap();
    });
}

#[test]
fn a_failed_commit_fails_the_caller_of_a_refresh_and_of_a_key_rotation() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        fixture.store.hold_commits();
        let changing = async {
            let (refreshed, rotated) = tokio::join!(
                fixture.identity.refresh(&open.refresh_token, None),
                fixture.identity.rotate_keys(By::System)
            );
            assert_unavailable(refreshed, 30);
            assert_unavailable(rotated, 30);
        };
        let breaking = async {
            fixture.store.held(2).await;
            fixture.store.fail_commits(read_only());
            fixture.store.release();
        };
        tokio::join!(changing, breaking);
        fixture.store.fail_commits(None);
        fixture.identity.up().await;
        assert!(fixture.admit(&open.token).is_ok(), "the session is still live");
        fixture.identity.refresh(&open.refresh_token, None).await.unwrap();
        fixture.identity.rotate_keys(By::System).await.unwrap();
    });
}

#[test]
fn a_registry_that_panics_under_load_loses_no_acknowledged_change() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        for round in 0..3_u64 {
            let open = fixture.login(FIRST_EMAIL).await.unwrap();
            let admin = fixture.admit(&open.token).unwrap().person;
            fixture.identity.logout(&admin, &open.token).await.unwrap();
            let numbers = round as usize * 100..round as usize * 100 + 20;
            fixture.store.hold_commits();
            let creating = async { join_all(numbers.clone().map(|n| fixture.create_numbered(n))).await };
            let panicking = async {
                fixture.store.held(2).await;
                fixture.kill("identity/registry");
                until(|| fixture.restarts("identity/registry") == round + 1).await;
                fixture.store.release();
            };
            let (created, ()) = tokio::join!(creating, panicking);
            fixture.identity.up().await;
            for (n, created) in numbers.zip(created) {
                let stored = fixture.identity.user(&format!("u{n}@example.org")).await.unwrap().is_some();
                assert!(stored || created.is_err_and(|error| error.kind == Kind::Unavailable));
            }
            assert!(fixture.admit(&open.token).is_err(), "an ended session stays ended");
        }
    });
}

#[test]
fn a_session_that_is_not_durable_yet_ends_with_all_others() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let admin = fixture.admin().await;
        let user = admin.user_id.to_string();
        fixture.store.hold_commits();
        let opening = async { fixture.login(FIRST_EMAIL).await };
        let ending = async {
            fixture.store.held(1).await;
            fixture.identity.end_sessions(By::System, user.clone()).await
        };
        let releasing = async {
            fixture.store.held(2).await;
            fixture.store.release();
        };
        let (opened, ended, ()) = tokio::join!(opening, ending, releasing);
        assert_eq!(ended, Ok(2));
        assert!(fixture.admit(&opened.unwrap().token).is_err());
        assert_eq!((fixture.identity.live_sessions(), fixture.identity.sessions(user).await.unwrap().len()), (0, 0));
        let fixture = fixture.restart().await;
        assert_eq!(fixture.identity.live_sessions(), 0, "also after a restart");
    });
}

#[test]
fn a_concurrent_refresh_does_not_revive_an_ended_session() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        let admin = fixture.admit(&open.token).unwrap().person;
        fixture.identity.refresh(&open.refresh_token, None).await.unwrap();
        for first in ["refresh", "end"] {
            let open = fixture.login(FIRST_EMAIL).await.unwrap();
            // Starts the session actor.
            let open = fixture.identity.refresh(&open.refresh_token, None).await.unwrap();
            fixture.store.hold_commits();
            let refreshing = async {
                fixture.store.held(usize::from(first == "end")).await;
                fixture.identity.refresh(&open.refresh_token, None).await
            };
            let ending = async {
                fixture.store.held(usize::from(first == "refresh")).await;
                fixture.identity.logout(&admin, &open.token).await
            };
            let releasing = async {
                // A request for a session whose end is decided waits until that is durable.
                fixture.store.held(if first == "end" { 1 } else { 2 }).await;
                after(Duration::from_millis(100)).await;
                fixture.store.release();
            };
            let (refreshed, ended, ()) = tokio::join!(refreshing, ending, releasing);
            ended.unwrap();
            if let Ok(refreshed) = refreshed {
                assert_eq!(first, "refresh");
                assert!(fixture.admit(&refreshed.token).is_err());
                assert!(fixture.identity.refresh(&refreshed.refresh_token, None).await.is_err());
            }
            assert!(fixture.admit(&open.token).is_err());
        }
    });
}

#[test]
fn concurrent_refreshes_of_one_token_get_the_response_of_the_first() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let first = fixture.identity.refresh(&first.refresh_token, None).await.unwrap();
        let before = fixture.store.stats().commits;
        fixture.store.hold_commits();
        let refreshing = join_all((0..20).map(|_| fixture.identity.refresh(&first.refresh_token, None)));
        let releasing = async {
            fixture.store.held(1).await;
            fixture.store.release();
        };
        let (refreshed, ()) = tokio::join!(refreshing, releasing);
        let tokens: std::collections::BTreeSet<_> = refreshed.into_iter().map(|it| it.unwrap().refresh_token).collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(fixture.store.stats().commits - before, 1);
    });
}

#[test]
fn an_idempotency_key_creates_one_user_while_the_first_response_is_not_durable() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let create = |digest| {
            let key = muster_core::idempotency::Idempotency {
                principal: "usr_1".into(),
                key: "k".into(),
                digest: [digest; 32],
            };
            fixture.identity.create_user(By::System, new_user(1), PASSWORD.to_owned(), Some(key))
        };
        fixture.store.hold_commits();
        let releasing = async {
            fixture.store.held(1).await;
            after(Duration::from_secs(1)).await;
            fixture.store.release();
        };
        // Passwords are hashed in parallel: sent at once, the other body could arrive first.
        let conflicting = async {
            fixture.store.held(1).await;
            create(2).await
        };
        let (first, second, other, ()) = tokio::join!(create(1), create(1), conflicting, releasing);
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first.user.id, second.user.id);
        assert_ne!(first.replayed, second.replayed);
        assert_eq!(other.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}
