//! The probes of the disaster network: each asks its actor for something small, and looks at what piles up beside it.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use muster_core::health::{Probe, ProbeResult};
use muster_core::page::PageAsk;
use muster_core::principal::Permissions;
use muster_core::principal::Viewer;
use muster_feed::{Feed, FeedStats};
use muster_identity::By;
use muster_network::geofence::Geofences;
use muster_network::incident::Filter;

use super::{Parts, SECOND};
use crate::disaster::Disaster;
use crate::ws::Sockets;

/// What is slower is degraded.
const SOON: Duration = Duration::from_millis(250);
/// Events told that wait to leave the outbox: a minute of a busy network.
const UNSETTLED: usize = 50_000;
/// Places that wait for the geofences.
const PLACES: usize = 16_384;
/// Slow consumers evicted between two probes.
const EVICTED: u64 = 10;

/// One probe for each part of the network.
pub(super) fn all(parts: &Parts) -> Vec<Probe> {
    let Disaster { devices, incidents, geofences, firmware } = parts.network.clone();
    let (feed, sockets, slow) = (parts.feed.clone(), Arc::clone(&parts.sockets), Arc::<Slow>::default());
    vec![
        Probe::new("realtime-feed", 5, 15 * SECOND, move || {
            let (feed, sockets, slow) = (feed.clone(), Arc::clone(&sockets), Arc::clone(&slow));
            async move {
                match told(&feed).await {
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
            async move { soon(incidents.list(By::System, Filter::default(), one())).await }
        }),
        Probe::new("firmware-jobs", 3, 60 * SECOND, move || {
            let firmware = firmware.clone();
            async move { firmware.lacking().await.map_or_else(|error| down(&error), |lacking| images(&lacking)) }
        }),
    ]
}

fn one() -> PageAsk {
    PageAsk { limit: 1, after: None }
}

/// Whether the places of devices are looked at by the geofences.
async fn followed(geofences: &Geofences) -> ProbeResult {
    match geofences.waiting() {
        waiting if waiting > PLACES => ProbeResult::Degraded(format!("{waiting} places wait to be looked at")),
        _ => soon(geofences.list(one())).await,
    }
}

fn down(error: &dyn Display) -> ProbeResult {
    ProbeResult::Unhealthy(error.to_string())
}

/// Whether it answers, and how fast.
async fn soon<T, E: Display>(asked: impl Future<Output = Result<T, E>>) -> ProbeResult {
    let begun = Instant::now();
    match asked.await {
        Err(error) => down(&error),
        Ok(_) if begun.elapsed() > SOON => {
            ProbeResult::Degraded(format!("an answer took over {} ms", SOON.as_millis()))
        }
        Ok(_) => ProbeResult::Healthy,
    }
}

/// What is published is told, and its history can be read.
///
/// # Errors
/// What is not as it should be.
async fn told(feed: &Feed) -> Result<FeedStats, ProbeResult> {
    let viewer = Viewer { id: "health".into(), permissions: Permissions::all() };
    let stats = match feed.stats().await {
        Err(error) => return Err(down(&error)),
        Ok(FeedStats { stuck: Some(why), .. }) => {
            return Err(ProbeResult::Unhealthy(format!("nothing is told, it waits in the outbox: {why}")));
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
            Err(ProbeResult::Degraded(format!("{} events that were told stand in the outbox yet", stats.unsettled)))
        }
        Ok(_) => Ok(stats),
    }
}

/// What could not keep up with the feed up to the last look: connections that were cut off, threads that fell behind.
#[derive(Default)]
struct Slow {
    evicted: AtomicU64,
    overflows: AtomicU64,
}

impl Slow {
    /// Whether connections keep up since then.
    fn heard(&self, sockets: &Sockets, stats: &FeedStats) -> ProbeResult {
        let since = |seen: &AtomicU64, now: u64| now - seen.swap(now, Ordering::Relaxed).min(now);
        let evicted = since(&self.evicted, sockets.evicted());
        if since(&self.overflows, stats.overflows) > 0 {
            return ProbeResult::Unhealthy(
                "a thread of connections fell behind the feed, and they came again".to_owned(),
            );
        }
        if evicted > EVICTED {
            return ProbeResult::Degraded(format!("{evicted} slow consumers were cut off"));
        }
        ProbeResult::Healthy
    }
}

fn images(lacking: &[String]) -> ProbeResult {
    match lacking {
        [] => ProbeResult::Healthy,
        [one, ..] => ProbeResult::Degraded(format!(
            "{} images are not in the firmware folder, such as {one}: put them back, or revoke the artifacts",
            lacking.len()
        )),
    }
}
