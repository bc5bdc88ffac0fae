//! q20: nearest places, places by name, and time zones.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muster_engine::prelude::*;
use muster_kernel_earth::inverse;
use muster_kernel_places::{Place, countries, fold, named, nearest, place, similar};
use tzf_rs::EmbeddedFinder;

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 200;
/// Distance of the nearest place from which it says little of the position, in metres.
const FAR_M: f64 = 100_000.0;

/// Quarters that are looked at beyond the limit: large cities have some dozens.
const MORE: usize = 100;
/// Distance within which a city has quarters, in metres, and how many times larger than one it is.
const CITY_M: f64 = 20_000.0;
const CITY_TIMES: u64 = 5;

/// Borders of the time zones, read in place.
static ZONES: LazyLock<EmbeddedFinder> = LazyLock::new(EmbeddedFinder::new);

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    position: Option<LatLon>,
    name: Option<String>,
    country: Option<String>,
    limit: usize,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    places: Vec<Found>,
    timezone: Option<String>,
}

#[derive(Debug, Output)]
struct Found {
    name: &'static str,
    admin1: &'static str,
    country: &'static str,
    lat: f64,
    lon: f64,
    distance_m: f64,
}

/// Finds the places nearest to a position or, with a name, those of that name: equal names first, then similar ones; among
/// them the nearest first, without a position the largest. Distances are from the position, without one from the first
/// place.
///
/// # Errors
/// `Invalid` (neither position nor name, an unknown country), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let country = input.country.as_deref().map(known).transpose()?;
    let position = input.position.map(|at| muster_kernel_earth::LatLon::new(at.lat, at.lon));
    let places: Vec<Place> = match (&input.name, position) {
        (Some(name), _) => by_name(name, position, country.as_deref(), input.limit)?,
        (None, Some(at)) => {
            let mut near = nearest(at, input.limit + MORE, country.as_deref());
            near.retain(|near| !is_quarter(&near.place));
            near.truncate(input.limit);
            if near.first().is_some_and(|near| near.distance_m > FAR_M) {
                cx.warn("far: the nearest place is more than 100 km away");
            }
            near.into_iter().map(|near| near.place).collect()
        }
        (None, None) => return Err(Failure::invalid(&["position"], "or `name` must be given")),
    };
    let from = position.or_else(|| places.first().map(|place| place.at));
    let found = places.iter().zip(from.into_iter().cycle()).map(|(place, from)| Found {
        name: place.name,
        admin1: place.admin1,
        country: place.country,
        lat: place.at.lat,
        lon: place.at.lon,
        distance_m: inverse(from, place.at).distance,
    });
    let zone = from.map(|at| ZONES.get_tz_name(at.lon, at.lat)).filter(|zone| !zone.is_empty());
    Ok(Output { places: found.collect(), timezone: zone.map(str::to_owned) })
}

/// Whether a place is a quarter that is called after its city, such as Paris 04 Hôtel-de-Ville: a much larger place near
/// it has the first words of its name.
fn is_quarter(place: &Place) -> bool {
    let key = fold(place.name);
    let starts = key.match_indices(' ').filter_map(|(end, _)| key.get(..end));
    let mut cities = starts.flat_map(named).filter(|named| !named.alternative);
    cities.any(|city| {
        muster_kernel_places::place(city.id).is_some_and(|city| {
            city.country == place.country
                && u64::from(city.population) >= CITY_TIMES * u64::from(place.population)
                && city.population > 0
                && inverse(city.at, place.at).distance <= CITY_M
        })
    })
}

/// A country's code in upper case, if it has places.
fn known(code: &str) -> Result<String, Failure> {
    let code = code.to_ascii_uppercase();
    if countries().contains(&code.as_str()) {
        Ok(code)
    } else {
        Err(Failure::invalid(&["country"], "must be a code of ISO 3166-1 alpha-2 that has places, such as \"FR\""))
    }
}

fn by_name(
    name: &str,
    position: Option<muster_kernel_earth::LatLon>,
    country: Option<&str>,
    limit: usize,
) -> Result<Vec<Place>, Failure> {
    if name.len() > MAX_NAME {
        return Err(Failure::too_large(format!("a name may have {MAX_NAME} bytes")));
    }
    let key = fold(name);
    if key.is_empty() {
        return Err(Failure::invalid(&["name"], "must have a letter or a digit"));
    }
    // Similarities: 2 for an equal name, own or alternative, else the share of common trigrams.
    let mut scores: BTreeMap<u32, f64> = named(&key).into_iter().map(|found| (found.id, 2.0)).collect();
    let of_country = |id: u32| place(id).is_some_and(|place| country.is_none_or(|country| place.country == country));
    scores.retain(|id, _| of_country(*id));
    if scores.len() < limit {
        for (id, similarity) in similar(&key) {
            if of_country(id) {
                scores.entry(id).or_insert(similarity);
            }
        }
    }
    let rank = |(id, score): (u32, f64)| {
        let place = place(id)?;
        let second = position.map_or(-f64::from(place.population), |at| inverse(at, place.at).distance);
        Some((score, second, place))
    };
    let mut ranked: Vec<(f64, f64, Place)> = scores.into_iter().filter_map(rank).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.id.cmp(&b.2.id)));
    Ok(ranked.into_iter().take(limit).map(|(_, _, place)| place).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn places_are_sorted_and_each_position_has_a_zone(lat in -90.0..=90.0_f64, lon in -180.0..=180.0_f64) {
            let input = json!({ "position": { "lat": lat, "lon": lon }, "limit": 9 });
            let output = crate::FAMILY.run(20, input, &Context::default()).unwrap();
            let far: Vec<f64> = output["places"].as_array().unwrap().iter().map(|place| place["distance"].as_f64().unwrap()).collect();
            prop_assert!(far.len() == 9 && far.is_sorted());
            let zone = output["timezone"].as_str().unwrap();
            prop_assert!(jiff::tz::TimeZone::get(zone).is_ok(), "{zone}");
        }
    }
}
