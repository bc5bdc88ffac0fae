//! The actor in its own world: durable before acknowledged, back with its state, its directory never behind.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use muster_store::{MemStore, StoreError};

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
