//! Probes of the disaster network: each sends its actor a small request and checks its backlog.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use muster_core::health::{Probe, ProbeResult};
use muster_core::page::PageParams;
use muster_core::principal::Permissions;
use muster_core::principal::Viewer;
use muster_feed::{Feed, FeedStats};
use muster_identity::By;
use muster_network::geofence::Geofences;
use muster_network::incident::IncidentFilter;

use super::{ProbeTargets, SECOND};
use crate::disaster::Disaster;
use crate::ws::Sockets;

/// Time above which a module is degraded.
const SOON: Duration = Duration::from_millis(250);
/// Largest number of published events in the outbox: a minute of a busy network.
const UNSETTLED: usize = 50_000;
/// Largest number of positions that wait for the geofences.
const PLACES: usize = 16_384;
/// Largest number of slow consumers disconnected between two probes.
const EVICTED: u64 = 10;

/// Returns one probe for each part of the network.
pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let Disaster { devices, incidents, geofences, firmware } = parts.network.clone();
    let (feed, sockets, slow) = (parts.feed.clone(), Arc::clone(&parts.sockets), Arc::<Slow>::default());
    vec![
        Probe::new("realtime-feed", 5, 15 * SECOND, move || {
            let (feed, sockets, slow) = (feed.clone(), Arc::clone(&sockets), Arc::clone(&slow));
            async move {
                match check_feed(&feed).await {
                    Ok(stats) => slow.heard(&sockets, &stats),
                    Err(verdict) => verdict,
                }
            }
        })
        .critical(),
        Probe::new("devices", 3, 60 * SECOND, move || {
            let (devices, geofences) = (devices.clone(), geofences.clone());
            async move {
                match soon(devices.list(Default::default(), one())).await {
                    ProbeResult::Healthy => followed(&geofences).await,
                    verdict => verdict,
                }
            }
        }),
        Probe::new("incidents", 4, 30 * SECOND, move || {
            let incidents = incidents.clone();
            async move { soon(incidents.list(By::System, IncidentFilter::default(), one())).await }
        }),
        Probe::new("firmware-jobs", 3, 60 * SECOND, move || {
            let firmware = firmware.clone();
            async move { firmware.missing_images().await.map_or_else(|error| down(&error), |missing| images(&missing)) }
        }),
    ]
}

fn one() -> PageParams {
    PageParams { limit: 1, after: None }
}

/// Checks whether positions of devices are processed by the geofences.
async fn followed(geofences: &Geofences) -> ProbeResult {
    match geofences.waiting() {
        waiting if waiting > PLACES => ProbeResult::Degraded(format!("{waiting} places wait to be looked at")),
        _ => soon(geofences.list(one())).await,
    }
}

fn down(error: &dyn Display) -> ProbeResult {
    ProbeResult::Unhealthy(error.to_string())
}

/// Checks whether an actor answers, and how fast.
async fn soon<T, E: Display>(request: impl Future<Output = Result<T, E>>) -> ProbeResult {
    let begun = Instant::now();
    match request.await {
        Err(error) => down(&error),
        Ok(_) if begun.elapsed() > SOON => {
            ProbeResult::Degraded(format!("an answer took over {} ms", SOON.as_millis()))
        }
        Ok(_) => ProbeResult::Healthy,
    }
}

/// Checks that a published event is delivered and that its history can be read.
///
/// # Errors
/// What is wrong with the feed.
async fn check_feed(feed: &Feed) -> Result<FeedStats, ProbeResult> {
    let viewer = Viewer { id: "health".into(), permissions: Permissions::all() };
    let stats = match feed.stats().await {
        Err(error) => return Err(down(&error)),
        Ok(FeedStats { stuck: Some(why), .. }) => {
            return Err(ProbeResult::Unhealthy(format!("events are not published and wait in the outbox: {why}")));
        }
        Ok(stats) => stats,
    };
    let begun = Instant::now();
    match feed.history("system", None, 1, viewer).await {
        Err(error) => Err(ProbeResult::Unhealthy(format!("the history cannot be read: {error:?}"))),
        Ok(_) if begun.elapsed() > SOON => {
            Err(ProbeResult::Degraded(format!("an answer took over {} ms", SOON.as_millis())))
        }
        Ok(_) if stats.unsettled > UNSETTLED => {
            Err(ProbeResult::Degraded(format!("{} published events are still in the outbox", stats.unsettled)))
        }
        Ok(_) => Ok(stats),
    }
}

/// Slow consumers up to the last probe: disconnected connections, and threads that fell behind.
#[derive(Default)]
struct Slow {
    evicted: AtomicU64,
    overflows: AtomicU64,
}

impl Slow {
    /// Checks whether connections have kept up since the last probe.
    fn heard(&self, sockets: &Sockets, stats: &FeedStats) -> ProbeResult {
        let since = |seen: &AtomicU64, now: u64| now - seen.swap(now, Ordering::Relaxed).min(now);
        let evicted = since(&self.evicted, sockets.evicted());
        if since(&self.overflows, stats.overflows) > 0 {
            return ProbeResult::Unhealthy("a thread fell behind the feed, and its connections were reset".to_owned());
        }
        if evicted > EVICTED {
            return ProbeResult::Degraded(format!("{evicted} slow consumers were cut off"));
        }
        ProbeResult::Healthy
    }
}

fn images(missing: &[String]) -> ProbeResult {
    match missing {
        [] => ProbeResult::Healthy,
        [one, ..] => ProbeResult::Degraded(format!(
            "{} images are not in the firmware folder, such as {one}: put them back, or revoke the artifacts",
            missing.len()
        )),
    }
}
