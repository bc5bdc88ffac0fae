//! Decisions share batches, and nothing of them is shown, announced or answered before it is durable.

use std::time::Duration;

use futures::future::join_all;
use muster_store::{MemStore, Store, StoreError};

use super::actor::{house, state};
use super::*;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageAsk;
use muster_core::principal::Viewer;
use muster_core::supervise::ActorState;
use muster_core::{Kind, test_world};
use muster_feed::{SnapshotReply, SnapshotRequest, SnapshotSource};

#[test]
fn a_store_that_only_reads_refuses_every_write_alike_and_reads_go_on() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let left = house.report().await;
        let left = house.act(&left, Action::Acknowledge).await.unwrap();
        let kept = house.report().await;
        house.told();
        house.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let refused = house.act(&kept, Action::Acknowledge).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        let note = house.incidents.note(operator(), None, kept.id.clone(), "n".to_owned(), serde_json::Value::Null);
        let edit = Edit { title: Some("Flood".to_owned()), ..Edit::default() };
        let edit = house.incidents.edit(operator(), kept.id.clone(), IfMatch::Any, edit, None);
        let report = house.incidents.report(operator(), None, flood(Severity::Minor));
        let (note, edit, report) = (note.await, edit.await, report.await);
        assert_eq!([note, edit, report], [Err(refused.clone()), Err(refused.clone()), Err(refused)]);
        assert_eq!(house.get(&kept.id).await, kept);
        assert_eq!(state(&house.incidents, "incidents", "usr_x", UserRole::Viewer).await.unwrap().len(), 2);
        // The acknowledgement runs out meanwhile.
        test_world::after(31 * MINUTE).await;
        assert_eq!((house.get(&left.id).await, house.told()), (left.clone(), vec![]));
        assert_eq!(tree.snapshot()[0].restarts, 0);
        house.store.fail_commits(None);
        test_world::after(Duration::from_secs(2)).await;
        assert_eq!(house.get(&left.id).await.state, State::Triaged);
        assert_eq!(house.told(), ["incident.unacknowledged"]);
    });
}

#[test]
fn changes_that_come_while_one_is_written_share_a_batch_and_see_each_other() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        house.told();
        let before = house.store.stats().commits;
        house.store.hold_commits();
        let named = Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] };
        let other = Idempotency { digest: [2; 32], ..named.clone() };
        let report =
            |named: Option<&Idempotency>| house.incidents.report(operator(), named.cloned(), flood(Severity::Minor));
        let release = async {
            house.store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            assert_eq!(house.told(), [""; 0]);
            house.store.release();
        };
        let (reports, first, again, other, triaged, stale, shown, ()) = tokio::join!(
            join_all((0..100).map(|_| report(None))),
            report(Some(&named)),
            report(Some(&named)),
            report(Some(&other)),
            house.act(&incident, Action::Triage),
            house.act(&incident, Action::Triage),
            house.get(&incident.id),
            release
        );
        let numbers: Vec<String> =
            reports.into_iter().map(|answer| answer.unwrap().incident.unwrap().number.clone()).collect();
        assert!(numbers.into_iter().eq((2..102).map(|n| format!("2026-{n:06}"))));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.incident), (false, true, &again.incident));
        assert_eq!(other.unwrap_err().kind, Kind::IdempotencyConflict);
        assert_eq!((triaged.unwrap().version, stale.unwrap_err().kind), (2, Kind::PreconditionFailed));
        assert_eq!(shown.version, 2, "a read rests on what is decided, and waits until that is durable");
        let told = house.told();
        assert_eq!((told.len(), told.last().map(String::as_str)), (102, Some("incident.updated")));
        assert!(house.store.stats().commits - before <= 3, "{:?}", house.store.stats());
    });
}

#[test]
fn the_state_of_a_channel_comes_behind_the_events_of_what_it_shows() {
    test_world::run(|tree| async move {
        let house = house(&tree, &Arc::default()).await;
        let incident = house.report().await;
        house.told();
        house.store.hold_commits();
        let (send, answer) = tokio::sync::oneshot::channel();
        let told = Arc::clone(&house.told);
        let ask = async {
            house.store.held(1).await;
            let viewer = Viewer { id: "usr_x".into(), permissions: UserRole::Viewer.permissions() };
            let reply = SnapshotReply::new(move |state| {
                let before: Vec<String> = told.take().into_iter().map(|event| event.name).collect();
                drop(send.send((state, before)));
            });
            house.incidents.request(SnapshotRequest { channel: "incidents".to_owned(), viewer, reply });
            let later =
                house.incidents.note(operator(), None, incident.id.clone(), "n".into(), serde_json::Value::Null);
            let release = async {
                house.store.held(2).await;
                house.store.release();
            };
            tokio::join!(later, release).0.unwrap();
        };
        let (triaged, ()) = tokio::join!(house.act(&incident, Action::Triage), ask);
        let (state, before) = answer.await.unwrap();
        assert_eq!(state.unwrap()[0].version, triaged.unwrap().version, "as it was when it was asked for");
        assert_eq!(before, ["incident.updated"]);
        assert_eq!(house.told(), ["incident.noted"], "behind it");
    });
}

#[test]
fn a_commit_that_fails_refuses_all_who_wait_and_loses_nothing_acknowledged() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let house = house(&tree, &store).await;
        let kept = house.report().await;
        house.told();
        store.hold_commits();
        let fail = async {
            store.held(2).await;
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            store.release();
            store.fail_commits(None);
        };
        let named = || Some(Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] });
        let (reports, once, read, ()) = tokio::join!(
            join_all((0..50).map(|_| house.incidents.report(operator(), None, flood(Severity::Minor)))),
            house.incidents.report(operator(), named(), flood(Severity::Minor)),
            house.incidents.list(operator(), Filter::default(), PageAsk::default()),
            fail
        );
        let unavailable = |error: &Error| error.kind == Kind::Unavailable;
        assert!(reports.iter().chain([&once]).all(|answer| answer.as_ref().is_err_and(unavailable)));
        assert!(read.is_err_and(|error| unavailable(&error)));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        let all = house.incidents.list(operator(), Filter::default(), PageAsk::default()).await.unwrap();
        assert_eq!((all.items, house.told()), (vec![kept], vec![]));
        let once = house.incidents.report(operator(), named(), flood(Severity::Minor)).await.unwrap();
        assert_eq!((once.replayed, once.incident.unwrap().number.as_str()), (false, "2026-000002"));
    });
}
