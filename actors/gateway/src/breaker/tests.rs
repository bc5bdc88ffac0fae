//! Tests of the breaker's actor and its permits.

use std::time::Duration;

use actix_rt::Arbiter;
use muster_providers::{Fault, FaultClass, Phase};
use tokio::sync::broadcast;

use super::*;
use crate::Jitter;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, test_world};

const PERMIT_TIMEOUT: Duration = Duration::from_secs(1);
const LATENCY: Duration = Duration::from_millis(40);
const PATH: &str = "test/breaker-one";

async fn start(tree: &Tree) -> (BreakerHandle, broadcast::Receiver<BreakerChanged>) {
    let changes = broadcast::Sender::new(16);
    let reports = changes.subscribe();
    let (options, jitter) = (BreakerOptions::default(), Jitter::from_fn(|| 0.5));
    let clock = Clock::tokio(test_world::START);
    let handle = BreakerHandle::start(&tree.group("test"), Arbiter::current(), "one", options, jitter, clock, changes);
    running(tree).await;
    (handle, reports)
}

async fn running(tree: &Tree) {
    test_world::until(|| tree.snapshot().iter().any(|a| a.path == PATH && a.state == ActorState::Running)).await;
}

async fn granted(handle: &BreakerHandle) -> Permit {
    match handle.admit("m", Entry::Regular, PERMIT_TIMEOUT).await.unwrap() {
        PermitDecision::Granted(permit) => permit,
        PermitDecision::Refused { retry_in, .. } => panic!("refused for {retry_in:?}"),
    }
}

async fn refused(handle: &BreakerHandle) -> Duration {
    match handle.admit("m", Entry::Regular, PERMIT_TIMEOUT).await.unwrap() {
        PermitDecision::Refused { retry_in, .. } => retry_in,
        PermitDecision::Granted(_) => panic!("granted"),
    }
}

fn throttled(seconds: u64) -> Fault {
    Fault::new(FaultClass::Throttled, Phase::Headers, "too many").with_retry_after(Duration::from_secs(seconds))
}

#[test]
fn reports_are_visible_in_status_and_as_events() {
    test_world::run(|tree| async move {
        let (handle, mut reports) = start(&tree).await;
        granted(&handle).await.done(LATENCY);
        granted(&handle).await.fault(&throttled(30));
        let changed = reports.recv().await.unwrap();
        assert_eq!((changed.from, changed.to), (BreakerState::Closed, BreakerState::Open));
        assert_eq!(changed.reason, Reason::Throttled);

        let status = handle.status(&[]);
        assert_eq!((status.calls, status.failure_share, status.p50_latency_ms), (2, 0.5, Some(40)));
        assert_eq!(status.last_success_at, Some(changed.at));
        let fault = status.last_fault.clone().unwrap();
        assert_eq!((fault.class, &*fault.message), (FaultClass::Throttled, "too many"));
        assert_eq!(status.cooldown_until, Some(changed.at.plus(Duration::from_secs(30))));
        assert_eq!(handle.wait(&[]), Some(Duration::from_secs(30)));

        tokio::time::advance(Duration::from_secs(30)).await;
        granted(&handle).await.done(LATENCY);
        assert_eq!(reports.recv().await.unwrap().to, BreakerState::HalfOpen);
        assert_eq!(reports.recv().await.unwrap().to, BreakerState::Closed);
        assert_eq!(serde_json::to_value(handle.status(&[])).unwrap()["state"], "closed");
    });
}

#[test]
fn a_retry_time_counts_from_the_response_however_late_the_report_is_processed() {
    test_world::run(|tree| async move {
        let (handle, mut reports) = start(&tree).await;
        granted(&handle).await.fault(&throttled(10));
        tokio::time::advance(Duration::from_secs(4)).await;
        reports.recv().await.unwrap();
        assert_eq!(handle.wait(&[]), Some(Duration::from_secs(6)));
        tokio::time::advance(Duration::from_secs(6)).await;
        granted(&handle).await.done(LATENCY);
    });
}

#[test]
fn an_open_breaker_stays_open_across_its_actors_panic() {
    test_world::run(|tree| async move {
        let (handle, mut reports) = start(&tree).await;
        granted(&handle).await.fault(&throttled(600));
        reports.recv().await.unwrap();
        assert!(tree.inject_panic(PATH));
        test_world::until(|| tree.snapshot().iter().any(|actor| actor.restarts == 1)).await;
        assert!(
            handle.admit("m", Entry::Regular, PERMIT_TIMEOUT).await.is_err(),
            "an error, not a hang, while it is down"
        );
        assert_eq!(handle.status(&[]).state, BreakerState::Open, "status needs no actor");
        running(&tree).await;
        assert!(refused(&handle).await > Duration::from_secs(590));
    });
}

#[test]
fn a_probe_reported_to_a_stopped_actor_is_not_lost() {
    test_world::run(|tree| async move {
        let (handle, mut reports) = start(&tree).await;
        granted(&handle).await.fault(&throttled(10));
        reports.recv().await.unwrap();
        tokio::time::advance(Duration::from_secs(10)).await;
        let probe = granted(&handle).await;
        assert!(tree.inject_panic(PATH));
        test_world::until(|| tree.snapshot().iter().any(|actor| actor.restarts == 1)).await;
        probe.done(LATENCY);
        assert_eq!(reports.recv().await.unwrap().to, BreakerState::HalfOpen);
        assert_eq!(reports.recv().await.unwrap().to, BreakerState::Closed);
    });
}

#[test]
fn a_caller_that_disconnects_at_any_moment_frees_the_probe_slot() {
    test_world::run(|tree| async move {
        let (handle, mut reports) = start(&tree).await;
        granted(&handle).await.fault(&throttled(10));
        reports.recv().await.unwrap();
        tokio::time::advance(Duration::from_secs(10)).await;

        // Before the actor has processed the message.
        let mut admitting = Box::pin(handle.admit("m", Entry::Regular, PERMIT_TIMEOUT));
        assert!(futures::poll!(admitting.as_mut()).is_pending());
        drop(admitting);
        // With the response on its way.
        let mut admitting = Box::pin(handle.admit("m", Entry::Regular, PERMIT_TIMEOUT));
        assert!(futures::poll!(admitting.as_mut()).is_pending());
        test_world::until(|| handle.status(&[]).state == BreakerState::HalfOpen).await;
        assert_eq!(refused(&handle).await, Duration::from_secs(1), "a probe is in flight");
        drop(admitting);
        // With the permit received.
        drop(granted(&handle).await);
        granted(&handle).await.done(LATENCY);
        test_world::until(|| handle.status(&[]).state == BreakerState::Closed).await;
    });
}
