//! q175: names of places in a text.

mod candidates;
#[cfg(test)]
mod tests;

use muster_engine::prelude::*;
use muster_kernel_earth::{LatLon as Position, inverse};
use muster_kernel_places::{Place, countries, place};
use serde_json::json;

use self::candidates::Mention;

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 131_072;
/// Places that are listed.
const MAX_LISTED: usize = 5_000;
/// Population of the largest city, which has the prior 1, in natural logarithms.
const LARGEST: f64 = 30e6;
/// Distance from the hint at which a place counts half, in metres.
const HALF_M: f64 = 300_000.0;
/// What is left of the score of a place in another country than the hint, and of an alternative name.
const ABROAD: f64 = 0.2;
const ALTERNATIVE: f64 = 0.9;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    text: String,
    near: Option<LatLon>,
    country: Option<String>,
    minimum_population: u32,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    places: Vec<Found>,
    centre: Option<LatLon>,
    geojson: Value,
}

#[derive(Debug, Output)]
struct Found {
    text: String,
    start: usize,
    end: usize,
    name: &'static str,
    country: &'static str,
    lat: f64,
    lon: f64,
    population: u32,
    score: f64,
    alternatives: usize,
}

/// Hints of where the text is about.
struct Hints {
    near: Option<Position>,
    country: Option<String>,
}

impl Hints {
    /// Prior of the population, times the decay with distance, times the agreement of the country, times that of the name.
    fn score(&self, place: &Place, alternative: bool) -> f64 {
        let prior = f64::from(place.population.max(1)).ln_1p() / LARGEST.ln_1p();
        let decay = self.near.map_or(1.0, |near| HALF_M / (HALF_M + inverse(near, place.at).distance));
        let agreement = match &self.country {
            Some(country) if *country != place.country => ABROAD,
            _ => 1.0,
        };
        prior * decay * agreement * if alternative { ALTERNATIVE } else { 1.0 }
    }
}

/// Finds names of places and picks the likeliest place of each.
///
/// # Errors
/// `Invalid` (an unknown country), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!("text has {} bytes, at most {MAX_TEXT} are allowed", input.text.len())));
    }
    let country = input.country.map(|code| code.to_ascii_uppercase());
    if country.as_ref().is_some_and(|code| !countries().contains(&code.as_str())) {
        let why = "must be a code of ISO 3166-1 alpha-2 that has places, such as \"FR\"";
        return Err(Failure::invalid(&["country"], why));
    }
    let hints = Hints { near: input.near.map(|near| Position::new(near.lat, near.lon)), country };
    let mentions = candidates::mentions(&input.text, input.minimum_population);
    let mut places: Vec<Found> = mentions.iter().filter_map(|mention| resolved(&input.text, mention, &hints)).collect();
    if places.len() > MAX_LISTED {
        cx.warn(format!("truncated: the first {MAX_LISTED} of {} places are listed", places.len()));
        places.truncate(MAX_LISTED);
    }
    let features: Vec<Value> = places.iter().map(feature).collect();
    Ok(Output {
        centre: centre(&places),
        geojson: json!({ "type": "FeatureCollection", "features": features }),
        places,
    })
}

fn resolved(text: &str, mention: &Mention, hints: &Hints) -> Option<Found> {
    let scored = mention.places.iter().filter_map(|named| {
        let place = place(named.id)?;
        Some((hints.score(&place, named.alternative), place))
    });
    let (score, best) = scored.max_by(|a, b| {
        let by_population = a.1.population.cmp(&b.1.population);
        a.0.total_cmp(&b.0).then(by_population).then(b.1.id.cmp(&a.1.id))
    })?;
    Some(Found {
        text: text.get(mention.range.clone())?.to_owned(),
        start: mention.range.start,
        end: mention.range.end,
        name: best.name,
        country: best.country,
        lat: best.at.lat,
        lon: best.at.lon,
        population: best.population,
        score: (score * 1e4).round() / 1e4,
        alternatives: mention.places.len() - 1,
    })
}

fn feature(found: &Found) -> Value {
    json!({
        "type": "Feature",
        "geometry": { "type": "Point", "coordinates": [found.lon, found.lat] },
        "properties": {
            "name": found.name, "country": found.country, "text": found.text, "start": found.start,
            "population": found.population, "score": found.score,
        },
    })
}

/// Mean direction of the places, weighted by their scores; `None` if there is none or they cancel out.
fn centre(places: &[Found]) -> Option<LatLon> {
    let mut sum = [0.0; 3];
    for found in places {
        let vector = Position::new(found.lat, found.lon).unit_vector();
        sum.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part * found.score);
    }
    let [x, y, z] = sum;
    let flat = x.hypot(y);
    if flat.hypot(z) < 1e-9 {
        return None;
    }
    let degrees = |radians: f64| (radians.to_degrees() * 1e6).round() / 1e6;
    Some(LatLon { lat: degrees(z.atan2(flat)), lon: degrees(y.atan2(x)) })
}
