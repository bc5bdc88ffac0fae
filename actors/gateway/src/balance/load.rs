//! The load of each model at each provider: calls in progress and latencies.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::state::{FAILURE_PENALTY, LatencyKind, PeakEwma};

/// Length of a tick, in which times are stored: 32 bits of them last 497 days.
const TICK: Duration = Duration::from_millis(10);

/// Load of one model at one provider.
#[derive(Debug)]
pub(crate) struct RouteLoad {
    origin: Instant,
    in_flight: AtomicU32,
    complete: AtomicU64,
    first_content: AtomicU64,
}

impl RouteLoad {
    fn new(origin: Instant) -> Self {
        let (complete, first_content) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { origin, in_flight: AtomicU32::new(0), complete, first_content }
    }

    /// Returns the load that one more call of this kind would meet. A provider that was never called has none, so that it
    /// is called.
    pub(crate) fn of(&self, kind: LatencyKind) -> f64 {
        let ewma = unpacked(self.cell(kind).load(Ordering::Relaxed), self.ticks());
        let calls = f64::from(self.in_flight.load(Ordering::Relaxed)) + 1.0;
        f64::from(ewma.now(self.ticks())) * calls
    }

    /// Records the latency of a call that answered.
    pub(crate) fn answered(&self, kind: LatencyKind, latency: Duration) {
        let now = self.ticks();
        let with = |cell| Some(packed(unpacked(cell, now).with(latency, now)));
        // The closure always returns a value.
        let _ = self.cell(kind).fetch_update(Ordering::Relaxed, Ordering::Relaxed, with);
    }

    /// Records a call whose provider failed after this time.
    pub(crate) fn failed(&self, kind: LatencyKind, after: Duration) {
        self.answered(kind, after + FAILURE_PENALTY);
    }

    fn cell(&self, kind: LatencyKind) -> &AtomicU64 {
        match kind {
            LatencyKind::Complete => &self.complete,
            LatencyKind::FirstContent => &self.first_content,
        }
    }

    /// Time since the origin, in whole ticks.
    fn ticks(&self) -> Duration {
        let ticks = self.origin.elapsed().as_millis() / TICK.as_millis();
        TICK.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }
}

/// An average of this moment whose time is after `now` was written by another thread meanwhile: it counts as just
/// measured.
fn unpacked(cell: u64, now: Duration) -> PeakEwma {
    let [a, b, c, d, e, f, g, h] = cell.to_be_bytes();
    let at = TICK.saturating_mul(u32::from_be_bytes([e, f, g, h])).min(now);
    PeakEwma { average: f32::from_be_bytes([a, b, c, d]), at }
}

fn packed(ewma: PeakEwma) -> u64 {
    let ticks = u32::try_from(ewma.at.as_millis() / TICK.as_millis()).unwrap_or(u32::MAX);
    (u64::from(ewma.average.to_bits()) << 32) | u64::from(ticks)
}

/// A call in progress, counted in its load until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<RouteLoad>);

impl InFlight {
    /// Counts one more call.
    pub(crate) fn begin(load: &Arc<RouteLoad>) -> Self {
        load.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(load))
    }

    /// The load in which it is counted.
    pub(crate) fn load(&self) -> &RouteLoad {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The loads of the models of one provider: those that the settings name, and one for all others, as clients may invent
/// names.
#[derive(Debug, Clone)]
pub(crate) struct LoadTable {
    named: HashMap<String, Arc<RouteLoad>>,
    other: Arc<RouteLoad>,
}

impl LoadTable {
    /// Returns the loads of these models; those that `standing` has are kept.
    pub(crate) fn new(upstreams: &[String], standing: Option<&Self>) -> Self {
        let origin = standing.map_or_else(Instant::now, |standing| standing.other.origin);
        let kept = |name: &String| standing.and_then(|standing| standing.named.get(name)).cloned();
        let load = |name: &String| (name.clone(), kept(name).unwrap_or_else(|| Arc::new(RouteLoad::new(origin))));
        let other = standing.map_or_else(|| Arc::new(RouteLoad::new(origin)), |standing| Arc::clone(&standing.other));
        Self { named: upstreams.iter().map(load).collect(), other }
    }

    /// Returns the load of a model by its name at the provider.
    pub(crate) fn of(&self, upstream: &str) -> &Arc<RouteLoad> {
        self.named.get(upstream).unwrap_or(&self.other)
    }
}
