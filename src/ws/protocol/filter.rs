//! Subscription filters. An event without a property does not pass a filter on that property. Pure.

use std::sync::Arc;

use muster_core::event::EventAttributes;
use serde::{Deserialize, Serialize};

/// West, south, east, north, in degrees. West greater than east crosses the antimeridian.
pub type Box4 = [f64; 4];

/// The severities of CAP 1.2, in the order of their numbers.
pub const SEVERITIES: [&str; 5] = ["Unknown", "Minor", "Moderate", "Severe", "Extreme"];

const TYPES: usize = 32;
const TYPE_BYTES: usize = 64;

/// A filter as sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterRequest {
    pub bbox: Option<Box4>,
    pub min_severity: Option<String>,
    pub types: Option<Vec<String>>,
}

/// A validated filter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    pub bbox: Option<Box4>,
    pub min_severity: Option<u8>,
    pub types: Option<Vec<String>>,
    /// Set by the server: the owner whose events pass, if the client may not see all.
    pub owner: Option<Arc<str>>,
}

impl FilterRequest {
    /// # Errors
    /// The filter is invalid; the message says why.
    pub fn checked(self) -> Result<Filter, String> {
        if let Some([west, south, east, north]) = self.bbox {
            let longitude = |degrees: f64| (-180.0..=180.0).contains(&degrees);
            let latitude = |degrees: f64| (-90.0..=90.0).contains(&degrees);
            if !(longitude(west) && longitude(east) && latitude(south) && latitude(north) && south <= north) {
                return Err(
                    "filter.bbox must be [west, south, east, north] in degrees, south not above north".to_owned()
                );
            }
        }
        let number = |name: String| {
            let found = SEVERITIES.iter().position(|known| *known == name);
            found
                .and_then(|at| u8::try_from(at).ok())
                .ok_or_else(|| format!("filter.min_severity must be one of {}", SEVERITIES.join(", ")))
        };
        let min_severity = self.min_severity.map(number).transpose()?;
        let fit = |name: &String| (1..=TYPE_BYTES).contains(&name.len());
        if self.types.as_ref().is_some_and(|types| types.is_empty() || types.len() > TYPES || !types.iter().all(fit)) {
            return Err(format!("filter.types must be 1 to {TYPES} names of events, such as incident.created"));
        }
        Ok(Filter { bbox: self.bbox, min_severity, types: self.types, owner: None })
    }
}

impl Filter {
    /// Returns whether every event passes.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether an event with this name passes.
    pub fn passes(&self, name: &str, traits: &EventAttributes) -> bool {
        self.types.as_ref().is_none_or(|types| types.iter().any(|wanted| wanted == name))
            && self.owner.as_ref().is_none_or(|owner| traits.owner.as_ref() == Some(owner))
            && self.min_severity.is_none_or(|least| traits.severity.is_some_and(|severity| severity >= least))
            && self.bbox.is_none_or(|wanted| traits.bbox.is_some_and(|found| overlap(&wanted, &found)))
    }
}

/// Returns the one or two longitude intervals of a box.
pub fn spans([west, _, east, _]: &Box4) -> impl Iterator<Item = (f64, f64)> + use<> {
    let (first, second) = if west <= east { ((*west, *east), None) } else { ((*west, 180.0), Some((-180.0, *east))) };
    std::iter::once(first).chain(second)
}

/// Returns whether two boxes have a point in common. Edges are included, and -180° equals 180°.
pub fn overlap(one: &Box4, other: &Box4) -> bool {
    let [_, south, _, north] = one;
    let [_, other_south, _, other_north] = other;
    let meets = |(west, east): (f64, f64), (other_west, other_east): (f64, f64)| {
        (west <= other_east && other_west <= east)
            || (east >= 180.0 && other_west <= -180.0)
            || (other_east >= 180.0 && west <= -180.0)
    };
    south <= other_north && other_south <= north && spans(one).any(|span| spans(other).any(|found| meets(span, found)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checked(json: &str) -> Result<Filter, String> {
        serde_json::from_str::<FilterRequest>(json).unwrap().checked()
    }

    fn at(bbox: Box4) -> EventAttributes {
        EventAttributes { bbox: Some(bbox), ..EventAttributes::default() }
    }

    #[test]
    fn a_filter_is_checked_by_name_and_range() {
        assert!(
            checked(r#"{"bbox":[8.9,49.9,9.8,50.6],"min_severity":"Severe","types":["incident.created"]}"#).is_ok()
        );
        for wrong in [
            r#"{"bbox":[8.9,50.6,9.8,49.9]}"#,
            r#"{"bbox":[-181,0,0,0]}"#,
            r#"{"bbox":[0,0,0,90.5]}"#,
            r#"{"min_severity":"severe"}"#,
            r#"{"types":[]}"#,
            r#"{"types":[""]}"#,
        ] {
            assert!(checked(wrong).is_err(), "{wrong}");
        }
    }

    /// RFC 7946, section 5.2: Fiji's box is [177.0, -20.0, -178.0, -16.0].
    #[test]
    fn a_box_may_cross_the_antimeridian() {
        let fiji = Filter { bbox: Some([177.0, -20.0, -178.0, -16.0]), ..Filter::default() };
        let passes = |bbox| fiji.passes("x", &at(bbox));
        assert!(passes([179.0, -18.0, 179.5, -17.0]) && passes([-179.5, -18.0, -179.0, -17.0]));
        assert!(passes([178.0, -30.0, -179.0, -17.0]), "two that both cross it");
        assert!(!passes([170.0, -18.0, 176.9, -17.0]) && !passes([-177.9, -18.0, -170.0, -17.0]));
        assert!(!passes([0.0, -18.0, 1.0, -17.0]));
        let edge = Filter { bbox: Some([170.0, 0.0, 180.0, 1.0]), ..Filter::default() };
        assert!(edge.passes("x", &at([-180.0, 0.0, -179.0, 1.0])), "180 degrees east is 180 degrees west");
    }

    #[test]
    fn an_event_without_the_filtered_property_does_not_pass() {
        let severe = checked(r#"{"min_severity":"Severe"}"#).unwrap();
        let of = |severity| EventAttributes { severity, ..EventAttributes::default() };
        assert!(severe.passes("x", &of(Some(3))) && severe.passes("x", &of(Some(4))));
        assert!(!severe.passes("x", &of(Some(2))) && !severe.passes("x", &of(None)));
        let boxed = checked(r#"{"bbox":[-180,-90,180,90]}"#).unwrap();
        assert!(!boxed.passes("x", &of(None)));
        let typed = checked(r#"{"types":["a.b"]}"#).unwrap();
        assert!(typed.passes("a.b", &of(None)) && !typed.passes("a.bc", &of(None)));
    }

    fn any_box() -> impl Strategy<Value = Box4> {
        let degrees = |limit: i32| (-limit..=limit).prop_map(f64::from);
        (degrees(180), degrees(90), degrees(180), degrees(90))
            .prop_map(|(west, one, east, other)| [west, one.min(other), east, one.max(other)])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Corners are whole degrees, so boxes that meet share a point of the whole-degree grid.
        #[test]
        fn boxes_overlap_where_they_share_a_point(one in any_box(), other in any_box()) {
            let holds = |[west, south, east, north]: &Box4, x: f64, y: f64| {
                let within = |x: f64| if west <= east { *west <= x && x <= *east } else { x >= *west || x <= *east };
                let twin = if x == 180.0 { -180.0 } else if x == -180.0 { 180.0 } else { x };
                (within(x) || within(twin)) && *south <= y && y <= *north
            };
            let xs = || (-180..=180).map(f64::from);
            let ys: Vec<f64> = (-90..=90).map(f64::from)
                .filter(|y| *y == one[1].max(other[1])).collect();
            let shared = xs().any(|x| ys.iter().any(|y| holds(&one, x, *y) && holds(&other, x, *y)));
            prop_assert_eq!(overlap(&one, &other), shared);
        }
    }
}
