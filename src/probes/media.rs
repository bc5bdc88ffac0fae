//! Probe of vision, pictures and translation: the decoder's round trip, models that are in memory, the languages, stored
//! pictures against their records, and files that are configured.

use std::collections::BTreeSet;
use std::time::Duration;

use muster_core::Kind;
use muster_core::health::{Probe, ProbeResult};
use muster_identity::By;
use muster_media::languages::{Language, by_code, languages};
use muster_media::{Rgb, encode};
use muster_tasks::engine::{EngineCaller, Engines, JobCall};

use super::{ProbeTargets, SECOND};
use crate::images::Images;
use crate::live::LiveReader;
use crate::media::MediaParts;
use crate::media::translate::Translators;
use crate::pictures::{VISION, read_output};

/// Time for the decoder, below that of the health actor.
const A_LOOK: Duration = Duration::from_secs(4);
/// Side of the picture that is encoded and decoded.
const SIDE: u32 = 16;
/// Languages that requests may name.
const LANGUAGES: usize = 84;

pub(super) fn all(parts: &ProbeTargets) -> Vec<Probe> {
    let examined = Examined {
        engines: parts.engines.clone(),
        media: parts.media.clone(),
        translators: parts.translators.clone(),
        images: parts.images.clone(),
        live: parts.live.clone(),
    };
    vec![Probe::new("media", 2, 60 * SECOND, move || {
        let examined = examined.clone();
        async move { examine(&examined).await }
    })]
}

#[derive(Clone)]
struct Examined {
    engines: Engines,
    media: MediaParts,
    translators: Translators,
    images: Images,
    live: LiveReader,
}

async fn examine(examined: &Examined) -> ProbeResult {
    let Examined { engines, media, translators, images, live } = examined;
    if let Err(why) = complete(&languages().iter().collect::<Vec<_>>()) {
        return ProbeResult::Unhealthy(why);
    }
    match tokio::time::timeout(A_LOOK, round_trip(engines)).await {
        Ok(Ok(())) => {}
        Ok(Err(Trip::Busy(why))) => return ProbeResult::Degraded(why),
        Ok(Err(Trip::Broken(why))) => return ProbeResult::Unhealthy(why),
        Err(_) => return ProbeResult::Degraded("a small picture was not decoded within 4 s".to_owned()),
    }
    for checked in [media.vision.check().await, translators.check().await] {
        if let Err(why) = checked {
            return ProbeResult::Unhealthy(why);
        }
    }
    if let Err(why) = images.check().await {
        return ProbeResult::Degraded(why);
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

/// Checks that each language is listed once and found by its code.
fn complete(listed: &[&Language]) -> Result<(), String> {
    let codes: BTreeSet<&str> = listed.iter().map(|language| language.code.as_str()).collect();
    if (listed.len(), codes.len()) != (LANGUAGES, LANGUAGES) {
        return Err(format!("{} languages with {} codes are listed instead of {LANGUAGES}", listed.len(), codes.len()));
    }
    match codes.iter().find(|code| by_code(code).is_none_or(|found| found.code != **code)) {
        Some(lost) => Err(format!("the language {lost} is not found by its code")),
        None => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_is_lost_or_listed_twice_is_noticed() {
        let mut listed: Vec<&Language> = languages().iter().collect();
        assert_eq!(complete(&listed), Ok(()));
        assert!(complete(&listed[1..]).unwrap_err().contains("83 languages with 83 codes"));
        listed[0] = listed[1];
        assert!(complete(&listed).unwrap_err().contains("84 languages with 83 codes"));
    }
}
