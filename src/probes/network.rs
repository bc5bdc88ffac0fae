//! The probes of the disaster network: each asks its actor for something small, and looks at what piles up beside it.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use muster_actors::feed::{Feed, FeedStats, Viewer};
use muster_actors::health::{Probe, Verdict};
use muster_actors::identity::{By, Identity, Permissions, Scheme, Shown};
use muster_actors::incident::Filter;
use muster_actors::page::PageAsk;

use super::SECOND;
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
pub(super) fn all(identity: &Identity, feed: &Feed, sockets: &Arc<Sockets>, network: &Disaster) -> Vec<Probe> {
    let Disaster { devices, incidents, geofences, firmware } = network.clone();
    let (identity, feed, sockets) = (identity.clone(), feed.clone(), Arc::clone(sockets));
    let one = || PageAsk { limit: 1, after: None };
    let listened = feed.clone();
    vec![
        Probe::new("identity", 5, 30 * SECOND, move || known(identity.clone())).critical(),
        Probe::new("feed", 4, 10 * SECOND, move || told(feed.clone())).critical(),
        heard(sockets, listened),
        Probe::new("devices", 4, 30 * SECOND, move || {
            let devices = devices.clone();
            async move { soon(devices.list(Default::default(), one())).await }
        })
        .critical(),
        Probe::new("incidents", 5, 15 * SECOND, move || {
            let incidents = incidents.clone();
            async move { soon(incidents.list(By::System, Filter::default(), one())).await }
        })
        .critical(),
        Probe::new("geofences", 2, 30 * SECOND, move || {
            let geofences = geofences.clone();
            async move {
                match geofences.waiting() {
                    waiting if waiting > PLACES => Verdict::Degraded(format!("{waiting} places wait to be looked at")),
                    _ => soon(geofences.list(one())).await,
                }
            }
        }),
        Probe::new("firmware", 3, 60 * SECOND, move || {
            let firmware = firmware.clone();
            async move { firmware.lacking().await.map_or_else(|error| down(&error), |lacking| images(&lacking)) }
        }),
    ]
}

fn down(error: &dyn Display) -> Verdict {
    Verdict::Unhealthy(error.to_string())
}

/// Whether it answers, and how fast.
async fn soon<T, E: Display>(asked: impl Future<Output = Result<T, E>>) -> Verdict {
    let begun = Instant::now();
    match asked.await {
        Err(error) => down(&error),
        Ok(_) if begun.elapsed() > SOON => Verdict::Degraded(format!("an answer took over {} ms", SOON.as_millis())),
        Ok(_) => Verdict::Healthy,
    }
}

/// A made-up token is refused, there is a key to sign with, and the register of people answers.
async fn known(identity: Identity) -> Verdict {
    let token = "e30.e30.c2ln";
    let made_up = Shown { scheme: Scheme::Bearer, token, proof: None, method: "GET", url: "http://localhost/" };
    if identity.admit(&made_up).is_ok() {
        return Verdict::Unhealthy("a made-up token was let in".to_owned());
    }
    match identity.jwks() {
        Err(error) => return down(&error),
        Ok(keys) if keys.get("keys").and_then(|keys| keys.as_array()).is_none_or(Vec::is_empty) => {
            return Verdict::Unhealthy("there is no key to sign tokens with: see muster doctor".to_owned());
        }
        Ok(_) => {}
    }
    soon(identity.users(PageAsk { limit: 1, after: None })).await
}

/// What is published is told, and its history can be read.
async fn told(feed: Feed) -> Verdict {
    let viewer = Viewer { id: "health".into(), permissions: Permissions::all() };
    let stats = match feed.stats().await {
        Err(error) => return down(&error),
        Ok(FeedStats { stuck: Some(why), .. }) => {
            return Verdict::Unhealthy(format!("nothing is told, it waits in the outbox: {why}"));
        }
        Ok(stats) => stats,
    };
    let begun = Instant::now();
    match feed.history("system", None, 1, viewer).await {
        Err(error) => Verdict::Unhealthy(format!("the history cannot be read: {error:?}")),
        Ok(_) if begun.elapsed() > SOON => Verdict::Degraded(format!("an answer took over {} ms", SOON.as_millis())),
        Ok(_) if stats.unsettled > UNSETTLED => {
            Verdict::Degraded(format!("{} events that were told stand in the outbox yet", stats.unsettled))
        }
        Ok(_) => Verdict::Healthy,
    }
}

/// Whether connections can keep up with the feed.
fn heard(sockets: Arc<Sockets>, feed: Feed) -> Probe {
    let last = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    Probe::new("sockets", 3, 10 * SECOND, move || {
        let (sockets, feed, last) = (Arc::clone(&sockets), feed.clone(), Arc::clone(&last));
        async move {
            let stats = match feed.stats().await {
                Ok(stats) => stats,
                Err(error) => return down(&error),
            };
            let evicted = sockets.evicted();
            let evicted = evicted - last.0.swap(evicted, Ordering::Relaxed).min(evicted);
            let overflows = stats.overflows - last.1.swap(stats.overflows, Ordering::Relaxed).min(stats.overflows);
            if overflows > 0 {
                return Verdict::Unhealthy(
                    "a thread of connections fell behind the feed, and they came again".to_owned(),
                );
            }
            if evicted > EVICTED {
                return Verdict::Degraded(format!("{evicted} slow consumers were cut off"));
            }
            Verdict::Healthy
        }
    })
}

fn images(lacking: &[String]) -> Verdict {
    match lacking {
        [] => Verdict::Healthy,
        [one, ..] => Verdict::Degraded(format!(
            "{} images are not in the firmware folder, such as {one}: put them back, or revoke the artifacts",
            lacking.len()
        )),
    }
}
