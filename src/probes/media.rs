//! Probe of vision: the decoder's round trip, models that are in memory, and files that are configured.

use std::time::Duration;

use muster_core::Kind;
use muster_core::health::{Probe, ProbeResult};
use muster_identity::By;
use muster_media::{Rgb, encode};
use muster_tasks::engine::{EngineCaller, Engines, JobCall};

use super::{ProbeTargets, SECOND};
use crate::live::LiveReader;
use crate::media::MediaParts;
use crate::pictures::{VISION, read_output};

/// Time for the decoder, below that of the health actor.
const A_LOOK: Duration = Duration::from_secs(4);
/// Side of the picture that is encoded and decoded.
const SIDE: u32 = 16;

pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let (engines, media, live) = (parts.engines.clone(), parts.media.clone(), parts.live.clone());
    vec![Probe::new("media", 2, 60 * SECOND, move || {
        let (engines, media, live) = (engines.clone(), media.clone(), live.clone());
        async move { examine(&engines, &media, &live).await }
    })]
}

async fn examine(engines: &Engines, media: &MediaParts, live: &LiveReader) -> ProbeResult {
    match tokio::time::timeout(A_LOOK, round_trip(engines)).await {
        Ok(Ok(())) => {}
        Ok(Err(Trip::Busy(why))) => return ProbeResult::Degraded(why),
        Ok(Err(Trip::Broken(why))) => return ProbeResult::Unhealthy(why),
        Err(_) => return ProbeResult::Degraded("a small picture was not decoded within 4 s".to_owned()),
    }
    if let Err(why) = media.vision.check().await {
        return ProbeResult::Unhealthy(why);
    }
    let configured = live.now().config.media.models.clone();
    let mut absent = Vec::new();
    media.vision.each(|id, present, _| {
        if !present && configured.iter().any(|model| model == id) {
            absent.push(id);
        }
    });
    if absent.is_empty() {
        ProbeResult::Healthy
    } else {
        let names = absent.join(", ");
        ProbeResult::Degraded(format!("not on this machine: {names}; fetch each with `muster models pull NAME`"))
    }
}

enum Trip {
    Busy(String),
    Broken(String),
}

/// A picture of one shade comes back from encoder and decoder with that shade, but for the loss of JPEG.
async fn round_trip(engines: &Engines) -> Result<(), Trip> {
    let broken = |why: &str| Trip::Broken(why.to_owned());
    let picture = Rgb::new(SIDE, SIDE, vec![120; (SIDE * SIDE * 3) as usize]).ok_or_else(|| broken("no picture"))?;
    let input = encode::jpeg(&picture).ok_or_else(|| broken("a small picture cannot be encoded"))?;
    let call = JobCall { job: &VISION, input, caller: EngineCaller::of(&By::System) };
    let output = engines.run_job(call).await.map_err(|error| match error.kind {
        Kind::Unavailable | Kind::RateLimited => Trip::Busy(error.message),
        _ => Trip::Broken(error.message),
    })?;
    match read_output(output) {
        Some(Ok(decoded)) if decoded.pixels().iter().all(|sample| sample.abs_diff(120) <= 2) => Ok(()),
        _ => Err(broken("a small picture was decoded wrongly")),
    }
}
