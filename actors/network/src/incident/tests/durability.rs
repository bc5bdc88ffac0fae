//! Decisions share batches, and are neither readable, published nor answered before they are durable.

use std::time::Duration;

use futures::future::join_all;
use muster_store::{MemStore, Store, StoreError};

use super::actor::{server, state};
use super::*;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;
use muster_core::principal::Viewer;
use muster_core::supervise::ActorState;
use muster_core::{Kind, test_world};
use muster_feed::{SnapshotReply, SnapshotRequest, SnapshotSource};

#[test]
fn a_read_only_store_rejects_every_write_alike_and_reads_continue() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let left = server.report().await;
        let left = server.transition(&left, Action::Acknowledge).await.unwrap();
        let kept = server.report().await;
        server.published();
        server.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let error = server.transition(&kept, Action::Acknowledge).await.unwrap_err();
        assert_eq!((error.kind, error.retry_after), (Kind::Unavailable, Some(Duration::from_secs(30))));
        let note = server.incidents.note(operator(), None, kept.id.clone(), "n".to_owned(), serde_json::Value::Null);
        let edit = IncidentEdit { title: Some("Flood".to_owned()), ..IncidentEdit::default() };
        let edit = server.incidents.edit(operator(), kept.id.clone(), IfMatch::Any, edit.into(), None);
        let report = server.incidents.report(operator(), None, flood(Severity::Minor));
        let (note, edit, report) = (note.await, edit.await, report.await);
        assert_eq!([note, edit, report], [Err(error.clone()), Err(error.clone()), Err(error)]);
        assert_eq!(server.get(&kept.id).await, kept);
        assert_eq!(state(&server.incidents, "incidents", "usr_x", UserRole::Viewer).await.unwrap().len(), 2);
        // The acknowledgement runs out meanwhile.
        test_world::after(31 * MINUTE).await;
        assert_eq!((server.get(&left.id).await, server.published()), (left.clone(), vec![]));
        assert_eq!(tree.snapshot()[0].restarts, 0);
        server.store.fail_commits(None);
        test_world::after(Duration::from_secs(2)).await;
        assert_eq!(server.get(&left.id).await.state, State::Triaged);
        assert_eq!(server.published(), ["incident.unacknowledged"]);
    });
}

#[test]
fn changes_during_a_write_share_a_batch_and_see_each_other() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        server.published();
        let before = server.store.stats().commits;
        server.store.hold_commits();
        let named = Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] };
        let other = Idempotency { digest: [2; 32], ..named.clone() };
        let report =
            |named: Option<&Idempotency>| server.incidents.report(operator(), named.cloned(), flood(Severity::Minor));
        let release = async {
            server.store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            assert_eq!(server.published(), [""; 0]);
            server.store.release();
        };
        let (reports, first, again, other, triaged, stale, read, ()) = tokio::join!(
            join_all((0..100).map(|_| report(None))),
            report(Some(&named)),
            report(Some(&named)),
            report(Some(&other)),
            server.transition(&incident, Action::Triage),
            server.transition(&incident, Action::Triage),
            server.get(&incident.id),
            release
        );
        let numbers: Vec<String> =
            reports.into_iter().map(|answer| answer.unwrap().incident.unwrap().number.clone()).collect();
        assert!(numbers.into_iter().eq((2..102).map(|n| format!("2026-{n:06}"))));
        let (first, again) = (first.unwrap(), again.unwrap());
        assert_eq!((first.replayed, again.replayed, &first.incident), (false, true, &again.incident));
        assert_eq!(other.unwrap_err().kind, Kind::IdempotencyConflict);
        assert_eq!((triaged.unwrap().version, stale.unwrap_err().kind), (2, Kind::PreconditionFailed));
        assert_eq!(read.version, 2, "a read rests on what is decided, and waits until that is durable");
        let published = server.published();
        assert_eq!((published.len(), published.last().map(String::as_str)), (102, Some("incident.updated")));
        assert!(server.store.stats().commits - before <= 3, "{:?}", server.store.stats());
    });
}

#[test]
fn a_channel_snapshot_is_sent_after_the_events_it_includes() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        server.published();
        server.store.hold_commits();
        let (send, answer) = tokio::sync::oneshot::channel();
        let recorder = Arc::clone(&server.recorder);
        let params = async {
            server.store.held(1).await;
            let viewer = Viewer { id: "usr_x".into(), permissions: UserRole::Viewer.permissions() };
            let reply = SnapshotReply::new(move |state| {
                let before: Vec<String> = recorder.take().into_iter().map(|event| event.name).collect();
                drop(send.send((state, before)));
            });
            server.incidents.request(SnapshotRequest { channel: "incidents".to_owned(), viewer, reply });
            let later =
                server.incidents.note(operator(), None, incident.id.clone(), "n".into(), serde_json::Value::Null);
            let release = async {
                server.store.held(2).await;
                server.store.release();
            };
            tokio::join!(later, release).0.unwrap();
        };
        let (triaged, ()) = tokio::join!(server.transition(&incident, Action::Triage), params);
        let (state, before) = answer.await.unwrap();
        assert_eq!(state.unwrap()[0].version, triaged.unwrap().version, "as it was at the request");
        assert_eq!(before, ["incident.updated"]);
        assert_eq!(server.published(), ["incident.noted"], "behind it");
    });
}

#[test]
fn a_failed_commit_rejects_all_waiting_callers_and_loses_nothing_acknowledged() {
    test_world::run(|tree| async move {
        let store = Arc::<MemStore>::default();
        let server = server(&tree, &store).await;
        let kept = server.report().await;
        server.published();
        store.hold_commits();
        let fail = async {
            store.held(2).await;
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            store.release();
            store.fail_commits(None);
        };
        let named = || Some(Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] });
        let (reports, once, read, ()) = tokio::join!(
            join_all((0..50).map(|_| server.incidents.report(operator(), None, flood(Severity::Minor)))),
            server.incidents.report(operator(), named(), flood(Severity::Minor)),
            server.incidents.list(operator(), IncidentFilter::default(), PageParams::default()),
            fail
        );
        let unavailable = |error: &Error| error.kind == Kind::Unavailable;
        assert!(reports.iter().chain([&once]).all(|answer| answer.as_ref().is_err_and(unavailable)));
        assert!(read.is_err_and(|error| unavailable(&error)));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| tree.snapshot()[0].state == ActorState::Running).await;
        let all = server.incidents.list(operator(), IncidentFilter::default(), PageParams::default()).await.unwrap();
        assert_eq!((all.items, server.published()), (vec![kept], vec![]));
        let once = server.incidents.report(operator(), named(), flood(Severity::Minor)).await.unwrap();
        assert_eq!((once.replayed, once.incident.unwrap().number.as_str()), (false, "2026-000002"));
    });
}
