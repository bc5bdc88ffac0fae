//! The actor in its own world: durable before acknowledged, back with its state, its directory never behind.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use futures::future::join_all;
use muster_store::{MemStore, Store, StoreError};

use super::*;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Kind, test_world};

async fn start(tree: &Tree, store: &Arc<MemStore>) -> Keys {
    let clock = Clock::tokio(test_world::START);
    let options = KeyActorOptions { store: Arc::clone(store) as _, clock };
    let keys = Keys::start(&tree.group("keys"), Arbiter::current(), options);
    keys.up().await;
    keys
}

fn chat_key() -> NewKey {
    NewKey { name: "test".into(), scopes: vec![Scope::Chat], ..NewKey::default() }
}

#[test]
fn a_key_is_made_used_and_revoked() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let made = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap();
        let text = made.key.reveal();
        assert_eq!(keys.authenticate(&text).unwrap().id, made.record.id);

        let wrong = format!("{}{}", &text[..text.len() - 1], if text.ends_with('A') { 'B' } else { 'A' });
        assert_eq!(keys.authenticate(&wrong), Err(Refusal::Unknown));
        assert_eq!(keys.authenticate("sk-nonsense"), Err(Refusal::Malformed));

        keys.revoke(made.record.id.clone()).await.unwrap();
        assert_eq!(keys.authenticate(&text), Err(Refusal::Revoked));
        assert_eq!(keys.revoke("key_nobody".into()).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn a_key_ends_at_its_time() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let new = NewKey { expires_at: Some(test_world::START.plus(Duration::from_secs(60))), ..chat_key() };
        let text = keys.create(new, MadeBy::Operator, None).await.unwrap().key.reveal();
        assert!(keys.authenticate(&text).is_ok());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(keys.authenticate(&text), Err(Refusal::Expired));
    });
}

#[test]
fn keys_survive_a_panic_and_a_restart() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let keys = start(&tree, &store).await;
        let text = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap().key.reveal();

        assert!(tree.inject_panic("keys/keys"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        assert!(keys.authenticate(&text).is_ok(), "requests are checked while the actor is down");
        let refused = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(keys.list(10, None).await.unwrap().keys.len(), 1);

        let again = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let keys = start(&again, &store).await;
        assert!(keys.authenticate(&text).is_ok());
        again.stop().await;
    });
}

#[test]
fn nothing_is_acknowledged_that_was_not_written() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        assert_eq!(keys.create(chat_key(), MadeBy::Operator, None).await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(keys.count(), 0);
    });
}

#[test]
fn the_same_idempotency_key_gives_the_first_answer_again() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let twice = |body: u8| keys.create(chat_key(), MadeBy::Operator, Some(("k".into(), [body; 32])));
        let (first, second) = (twice(1).await.unwrap(), twice(1).await.unwrap());
        assert_eq!((first.replayed, second.replayed), (false, true));
        assert_eq!(first.key.reveal(), second.key.reveal());
        assert_eq!(keys.count(), 1);
        assert_eq!(twice(2).await.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}

#[test]
fn last_use_is_written_behind() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let made = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap();
        assert_eq!(keys.authenticate(&made.key.reveal()).unwrap().last_used_at, None);
        tokio::task::yield_now().await;
        let seen = keys.get(made.record.id.clone()).await.unwrap().unwrap();
        assert!(seen.last_used_at.is_some_and(|at| at >= test_world::START));
    });
}

#[test]
fn who_holds_a_key_is_told_of_its_end_by_revocation_time_or_a_new_secret() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let over = |text: &str| {
            let ended = keys.ended(text);
            let (tell, told) = tokio::sync::oneshot::channel();
            actix_rt::spawn(async move {
                ended.await;
                let _ = tell.send(());
            });
            told
        };
        let make = async |new| keys.create(new, MadeBy::Operator, None).await.unwrap();
        let (revoked, rotated, stays) = (make(chat_key()).await, make(chat_key()).await, make(chat_key()).await);
        let expires = NewKey { expires_at: Some(test_world::START.plus(Duration::from_secs(60))), ..chat_key() };
        let expires = make(expires).await;
        let mut untouched = over(&stays.key.reveal());
        let [of_revoked, mut of_rotated, of_expired] =
            [&revoked, &rotated, &expires].map(|made| over(&made.key.reveal()));
        keys.revoke(revoked.record.id.clone()).await.unwrap();
        of_revoked.await.unwrap();
        let renewed = keys.rotate(rotated.record.id.clone(), MadeBy::Operator, Duration::from_secs(30)).await.unwrap();
        let mut of_new = over(&renewed.key.reveal());
        test_world::after(Duration::from_secs(29)).await;
        assert!(of_rotated.try_recv().is_err(), "within its grace the old secret is good");
        test_world::after(Duration::from_secs(2)).await;
        of_rotated.try_recv().unwrap();
        test_world::after(Duration::from_secs(30)).await;
        of_expired.await.unwrap();
        assert!(untouched.try_recv().is_err() && of_new.try_recv().is_err());
        over("mst_nobodynobody_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await.unwrap();
    });
}

fn unstored<T: std::fmt::Debug>(outcome: Result<T, muster_core::Error>) {
    let error = outcome.unwrap_err();
    let expected = (Kind::Unavailable, "the store does not accept writes now: try again later");
    assert_eq!((error.kind, error.message.as_str()), expected);
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(30))));
}

#[test]
fn a_read_only_store_refuses_changes_and_keys_are_still_accepted() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let made = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap();
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        unstored(keys.create(chat_key(), MadeBy::Operator, None).await);
        unstored(keys.revoke(made.record.id.clone()).await);
        unstored(keys.rotate(made.record.id.clone(), MadeBy::Operator, Duration::ZERO).await);
        assert!(keys.authenticate(&made.key.reveal()).is_ok());
        assert_eq!(keys.list(10, None).await.unwrap().keys.len(), 1);
        test_world::after(Duration::from_secs(300)).await;
        assert_eq!(tree.snapshot()[0].restarts, 0, "the note of a key's use is left out");
        store.fail_commits(None);
        keys.revoke(made.record.id.clone()).await.unwrap();
    });
}

#[test]
fn many_changes_share_commits_and_requests_see_them_once_durable() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let first = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap();
        let before = store.stats().commits;
        store.hold_commits();
        let creating = async {
            let made = join_all((0..100).map(|_| keys.create(chat_key(), MadeBy::Operator, None))).await;
            assert!(made.into_iter().all(|made| keys.authenticate(&made.unwrap().key.reveal()).is_ok()));
        };
        let revoking = async { keys.revoke(first.record.id.clone()).await.unwrap() };
        let releasing = async {
            store.held(2).await;
            test_world::after(Duration::from_secs(1)).await;
            assert_eq!(keys.count(), 1);
            store.release();
        };
        tokio::join!(creating, revoking, releasing);
        assert!(store.stats().commits - before <= 3, "{:?}", store.stats());
        assert_eq!(keys.authenticate(&first.key.reveal()), Err(Refusal::Revoked));
    });
}

#[test]
fn a_commit_that_fails_is_told_to_all_and_an_actor_that_dies_keeps_what_it_acknowledged() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let first = keys.create(chat_key(), MadeBy::Operator, None).await.unwrap();
        let attempt = async |fault: &dyn Fn()| {
            store.hold_commits();
            let creating = join_all((0..10).map(|_| keys.create(chat_key(), MadeBy::Operator, None)));
            let breaking = async {
                store.held(2).await;
                fault();
                test_world::after(Duration::from_millis(100)).await;
                store.release();
            };
            tokio::join!(creating, breaking).0
        };
        for made in attempt(&|| store.fail_commits(Some(StoreError::Poisoned("disk".into())))).await {
            unstored(made);
        }
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        keys.up().await;
        assert_eq!(keys.count(), 1);
        store.fail_commits(None);
        let made = attempt(&|| assert!(tree.inject_panic("keys/keys"))).await;
        assert!(made.iter().all(|made| made.as_ref().is_err_and(|error| error.kind == Kind::Unavailable)));
        keys.up().await;
        assert_eq!(
            keys.list(20, None).await.unwrap().keys.len(),
            3,
            "what was handed over is there: two batches of one"
        );
        assert!(keys.authenticate(&first.key.reveal()).is_ok());
    });
}
