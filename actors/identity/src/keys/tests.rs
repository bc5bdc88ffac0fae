//! The key actor: changes are durable before they are acknowledged, and its state survives restarts.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;
use futures::future::join_all;
use muster_store::{MemStore, Store, StoreError};

use super::*;
use muster_core::guard::StandingReader;
use muster_core::idempotency::Idempotency;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Kind, test_world};

async fn start(tree: &Tree, store: &Arc<MemStore>) -> Keys {
    let clock = Clock::tokio(test_world::START);
    let options = KeyActorOptions { store: Arc::clone(store) as _, clock, standing: StandingReader::unconstituted() };
    let keys = Keys::start(&tree.group("keys"), Arbiter::current(), options);
    keys.up().await;
    keys
}

fn chat_key() -> NewKey {
    NewKey { name: "test".into(), scopes: vec![Scope::Chat], ..NewKey::default() }
}

#[test]
fn a_key_is_created_used_and_revoked() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let created = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap();
        let text = created.key.reveal();
        assert_eq!(keys.authenticate(&text).unwrap().id, created.record.id);

        let wrong = format!("{}{}", &text[..text.len() - 1], if text.ends_with('A') { 'B' } else { 'A' });
        assert_eq!(keys.authenticate(&wrong), Err(KeyRejection::Unknown));
        assert_eq!(keys.authenticate("sk-nonsense"), Err(KeyRejection::Malformed));

        keys.revoke(created.record.id.clone(), KeyIssuer::Operator).await.unwrap();
        assert_eq!(keys.authenticate(&text), Err(KeyRejection::Revoked));
        assert_eq!(keys.revoke("key_nobody".into(), KeyIssuer::Operator).await.unwrap_err().kind, Kind::NotFound);
    });
}

#[test]
fn a_key_is_rejected_from_its_expiry_on() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let new = NewKey { expires_at: Some(test_world::START.plus(Duration::from_secs(60))), ..chat_key() };
        let text = keys.create(new, KeyIssuer::Operator, None).await.unwrap().key.reveal();
        assert!(keys.authenticate(&text).is_ok());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(keys.authenticate(&text), Err(KeyRejection::Expired));
    });
}

#[test]
fn keys_survive_a_panic_and_a_restart() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let keys = start(&tree, &store).await;
        let text = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap().key.reveal();

        assert!(tree.inject_panic("keys/keys"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        assert!(keys.authenticate(&text).is_ok(), "requests are authenticated while the actor is down");
        let error = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(keys.list(10, None).await.unwrap().keys.len(), 1);

        let restarted = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let keys = start(&restarted, &store).await;
        assert!(keys.authenticate(&text).is_ok());
        restarted.stop().await;
    });
}

#[test]
fn a_change_that_cannot_be_written_is_not_acknowledged() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        assert_eq!(keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(keys.count(), 0);
    });
}

#[test]
fn an_idempotency_key_returns_the_first_response_again() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let request = |digest: u8| Idempotency { principal: "key_1".into(), key: "k".into(), digest: [digest; 32] };
        let create = |digest| keys.create(chat_key(), KeyIssuer::Operator, Some(request(digest)));
        let (first, second) = (create(1).await.unwrap(), create(1).await.unwrap());
        assert_eq!((first.replayed, second.replayed), (false, true));
        assert_eq!(first.key.reveal(), second.key.reveal());
        assert_eq!(keys.count(), 1);
        assert_eq!(create(2).await.unwrap_err().kind, Kind::IdempotencyConflict);
    });
}

#[test]
fn the_time_of_use_is_recorded() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let created = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap();
        assert_eq!(keys.authenticate(&created.key.reveal()).unwrap().last_used_at, None);
        tokio::task::yield_now().await;
        let record = keys.get(created.record.id.clone()).await.unwrap().unwrap();
        assert!(record.last_used_at.is_some_and(|at| at >= test_world::START));
    });
}

#[test]
fn ended_resolves_by_revocation_expiry_and_a_replaced_secret() {
    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let watch = |text: &str| {
            let ended = keys.ended(text);
            let (send, ended_seen) = tokio::sync::oneshot::channel();
            actix_rt::spawn(async move {
                ended.await;
                let _ = send.send(());
            });
            ended_seen
        };
        let create = async |new| keys.create(new, KeyIssuer::Operator, None).await.unwrap();
        let (revoked, rotated, unchanged) =
            (create(chat_key()).await, create(chat_key()).await, create(chat_key()).await);
        let expires = NewKey { expires_at: Some(test_world::START.plus(Duration::from_secs(60))), ..chat_key() };
        let expires = create(expires).await;
        let mut of_unchanged = watch(&unchanged.key.reveal());
        let [of_revoked, mut of_rotated, of_expired] =
            [&revoked, &rotated, &expires].map(|created| watch(&created.key.reveal()));
        keys.revoke(revoked.record.id.clone(), KeyIssuer::Operator).await.unwrap();
        of_revoked.await.unwrap();
        let renewed =
            keys.rotate(rotated.record.id.clone(), KeyIssuer::Operator, Duration::from_secs(30)).await.unwrap();
        let mut of_new = watch(&renewed.key.reveal());
        test_world::after(Duration::from_secs(29)).await;
        assert!(of_rotated.try_recv().is_err(), "the old secret is accepted during the grace period");
        test_world::after(Duration::from_secs(2)).await;
        of_rotated.try_recv().unwrap();
        test_world::after(Duration::from_secs(30)).await;
        of_expired.await.unwrap();
        assert!(of_unchanged.try_recv().is_err() && of_new.try_recv().is_err());
        watch("mst_nobodynobody_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").await.unwrap();
    });
}

/// Asserts the error for changes that cannot be stored.
fn assert_unavailable<T: std::fmt::Debug>(outcome: Result<T, muster_core::Error>) {
    let error = outcome.unwrap_err();
    let expected = (Kind::Unavailable, "the store does not accept writes at the moment: try again later");
    assert_eq!((error.kind, error.message.as_str()), expected);
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(30))));
}

#[test]
fn a_read_only_store_rejects_changes_and_keys_are_still_accepted() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let created = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap();
        store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        assert_unavailable(keys.create(chat_key(), KeyIssuer::Operator, None).await);
        assert_unavailable(keys.revoke(created.record.id.clone(), KeyIssuer::Operator).await);
        assert_unavailable(keys.rotate(created.record.id.clone(), KeyIssuer::Operator, Duration::ZERO).await);
        assert!(keys.authenticate(&created.key.reveal()).is_ok());
        assert_eq!(keys.list(10, None).await.unwrap().keys.len(), 1);
        test_world::after(Duration::from_secs(300)).await;
        assert_eq!(tree.snapshot()[0].restarts, 0, "the time of use is not written");
        store.fail_commits(None);
        keys.revoke(created.record.id.clone(), KeyIssuer::Operator).await.unwrap();
    });
}

#[test]
fn a_full_store_delays_changes_and_a_request_fails_after_its_timeout() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        store.fail_commits(Some(StoreError::Busy));
        let creating = async { keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap() };
        let recovering = async {
            test_world::after(Duration::from_secs(1)).await;
            assert_eq!(keys.count(), 0);
            store.fail_commits(None);
        };
        let (created, ()) = tokio::join!(creating, recovering);
        store.fail_commits(Some(StoreError::Busy));
        let revoked = keys.revoke(created.record.id.clone(), KeyIssuer::Operator).await.unwrap_err();
        let expected = (Kind::Unavailable, None, Some(Duration::from_secs(1)));
        assert_eq!((revoked.kind, revoked.code, revoked.retry_after), expected);
    });
}

#[test]
fn many_changes_share_commits_and_are_visible_once_durable() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let first = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap();
        let before = store.stats().commits;
        store.hold_commits();
        let creating = async {
            let created = join_all((0..100).map(|_| keys.create(chat_key(), KeyIssuer::Operator, None))).await;
            assert!(created.into_iter().all(|created| keys.authenticate(&created.unwrap().key.reveal()).is_ok()));
        };
        let revoking = async { keys.revoke(first.record.id.clone(), KeyIssuer::Operator).await.unwrap() };
        let releasing = async {
            store.held(2).await;
            test_world::after(Duration::from_secs(1)).await;
            assert_eq!(keys.count(), 1);
            store.release();
        };
        tokio::join!(creating, revoking, releasing);
        assert!(store.stats().commits - before <= 3, "{:?}", store.stats());
        assert_eq!(keys.authenticate(&first.key.reveal()), Err(KeyRejection::Revoked));
    });
}

#[test]
fn a_failed_commit_fails_all_callers_and_a_panic_loses_no_acknowledged_change() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let keys = start(&tree, &store).await;
        let first = keys.create(chat_key(), KeyIssuer::Operator, None).await.unwrap();
        let attempt = async |fault: &dyn Fn()| {
            store.hold_commits();
            let creating = join_all((0..10).map(|_| keys.create(chat_key(), KeyIssuer::Operator, None)));
            let breaking = async {
                store.held(2).await;
                fault();
                test_world::after(Duration::from_millis(100)).await;
                store.release();
            };
            tokio::join!(creating, breaking).0
        };
        for created in attempt(&|| store.fail_commits(Some(StoreError::Poisoned("disk".into())))).await {
            assert_unavailable(created);
        }
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        keys.up().await;
        assert_eq!(keys.count(), 1);
        store.fail_commits(None);
        let created = attempt(&|| assert!(tree.inject_panic("keys/keys"))).await;
        assert!(created.iter().all(|created| created.as_ref().is_err_and(|error| error.kind == Kind::Unavailable)));
        keys.up().await;
        assert_eq!(
            keys.list(20, None).await.unwrap().keys.len(),
            3,
            "decisions that were handed to the store are there: two batches of one"
        );
        assert!(keys.authenticate(&first.key.reveal()).is_ok());
    });
}

#[test]
fn ended_resolves_when_a_key_loses_a_right_and_not_when_it_is_renamed() {
    use muster_core::precondition::IfMatch;

    test_world::run(|tree| async move {
        let keys = start(&tree, &Arc::default()).await;
        let new = NewKey { scopes: vec![Scope::Agents, Scope::Chat], ..chat_key() };
        let created = keys.create(new, KeyIssuer::Operator, None).await.unwrap();
        let edit =
            async |patch| keys.edit(created.record.id.clone(), patch, KeyIssuer::Operator, IfMatch::Any).await.unwrap();
        let mut ended = Box::pin(keys.ended(&created.key.reveal()));
        edit(KeyPatch { name: Some("other".into()), ..KeyPatch::default() }).await;
        assert!(futures::poll!(&mut ended).is_pending());
        edit(KeyPatch { scopes: Some(vec![Scope::Agents]), ..KeyPatch::default() }).await;
        ended.await;
        assert_eq!(keys.authenticate(&created.key.reveal()).unwrap().scopes, [Scope::Agents], "the key itself is good");
    });
}

#[test]
fn teams_and_owners_budgets_survive_a_restart() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let keys = start(&tree, &store).await;
        let new = NewTeam { name: "research".into(), budget_usd: Some(5.0), ..NewTeam::default() };
        let (team, _) = keys.create_team(new, KeyIssuer::Operator, None).await.unwrap();
        keys.set_owner_budget("ann".into(), Some(7.0), KeyIssuer::Operator).await.unwrap();
        keys.set_owner_budget("bob".into(), Some(7.0), KeyIssuer::Operator).await.unwrap();
        keys.set_owner_budget("bob".into(), None, KeyIssuer::Operator).await.unwrap();
        let created =
            keys.create(NewKey { team: Some(team.id.clone()), ..chat_key() }, KeyIssuer::Operator, None).await;
        let restarted = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let keys = start(&restarted, &store).await;
        assert_eq!(keys.team(&team.id), Some(team));
        assert_eq!((keys.owner_budget("ann"), keys.owner_budget("bob")), (Some(7.0), None));
        assert_eq!(keys.count(), 1);
        let record = created.unwrap().record;
        assert_eq!(keys.present(&record.id).unwrap().team, record.team);
        restarted.stop().await;
    });
}
