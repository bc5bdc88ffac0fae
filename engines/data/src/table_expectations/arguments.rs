//! Parses the `args` of rules.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use serde_json::Value;

/// Bounds of a range; texts by character order, which is also that of ISO dates.
#[derive(Default)]
pub(super) struct Bounds {
    least: Option<Value>,
    most: Option<Value>,
    /// Whether the bounds are exclusive.
    above: bool,
    below: bool,
}

impl Bounds {
    pub(super) fn holds(&self, value: &Value) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let beside = |bound: &Option<Value>, side, strict: bool| {
            bound.as_ref().is_none_or(|bound| match order(value, bound) {
                Some(Equal) => !strict,
                Some(order) => order == side,
                None => false,
            })
        };
        beside(&self.least, Greater, self.above) && beside(&self.most, Less, self.below)
    }

    pub(super) fn contains(&self, number: f64) -> bool {
        self.holds(&number.into())
    }
}

/// Numbers by size, times by time, other texts by characters; other values are unordered.
fn order(value: &Value, bound: &Value) -> Option<std::cmp::Ordering> {
    match (value, bound) {
        (Value::Number(value), Value::Number(bound)) => value.as_f64()?.partial_cmp(&bound.as_f64()?),
        (Value::String(value), Value::String(bound)) => {
            match (value.parse::<Timestamp>(), bound.parse::<Timestamp>()) {
                (Ok(value), Ok(bound)) => Some(value.cmp(&bound)),
                _ => Some(value.cmp(bound)),
            }
        }
        _ => None,
    }
}

pub(super) fn range(args: &Value) -> Result<Bounds, String> {
    let reported = |value: Option<&Value>| value.filter(|value| value.is_number() || value.is_string()).cloned();
    let flag = |name: &str| args.get(name).and_then(Value::as_bool).unwrap_or_default();
    let (least, most) = match args {
        Value::Array(ends) => (reported(ends.first()), reported(ends.get(1))),
        _ => (reported(args.get("min")), reported(args.get("max"))),
    };
    match (least, most) {
        (None, None) => Err("must be {\"min\": …, \"max\": …}, either of them, or [min, max]".to_owned()),
        (least, most) => Ok(Bounds { least, most, above: flag("exclusive_min"), below: flag("exclusive_max") }),
    }
}

pub(super) fn count(args: &Value) -> Result<Bounds, String> {
    match args.get("equals").unwrap_or(args) {
        Value::Number(exact) => {
            Ok(Bounds { least: Some(exact.clone().into()), most: Some(exact.clone().into()), ..Bounds::default() })
        }
        _ => range(args).map_err(|_| "must be a number, {\"min\": …, \"max\": …} or [min, max]".to_owned()),
    }
}

/// Minimum share of valid values (Great Expectations' `mostly`).
pub(super) fn mostly(args: &Value) -> Result<f64, String> {
    match args.get("mostly") {
        None | Some(Value::Null) => Ok(1.0),
        Some(mostly) => mostly
            .as_f64()
            .filter(|mostly| (0.0..=1.0).contains(mostly))
            .ok_or_else(|| "has a mostly that is not a number from 0 to 1".to_owned()),
    }
}

pub(super) fn pattern(args: &Value) -> Result<regex::Regex, String> {
    let pattern = args.as_str().or_else(|| args.get("pattern").and_then(Value::as_str));
    let pattern = pattern.ok_or("must be a regular expression, or {\"pattern\": …}")?;
    let limits = regex::RegexBuilder::new(pattern).size_limit(1 << 20).nest_limit(100).build();
    limits.map_err(|error| format!("is not a regular expression: {error}"))
}

/// Canonical text of a value, the same for 1 and 1.0.
pub(super) fn key(value: &Value) -> String {
    match value.as_f64() {
        Some(float) if value.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => (float as i64).to_string(),
        _ => value.to_string(),
    }
}

pub(super) fn values(args: &Value) -> Result<BTreeSet<String>, String> {
    let values = args.as_array().or_else(|| args.get("values").and_then(Value::as_array));
    let values = values.ok_or("must be an array of the good values, or {\"values\": […]}")?;
    Ok(values.iter().map(key).collect())
}

/// Type names; any of them is accepted.
pub(super) fn types(args: &Value) -> Result<Vec<&str>, String> {
    let reported = args.get("type").unwrap_or(args);
    let names: Vec<&str> = match reported {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    let known = ["integer", "number", "string", "boolean", "date", "datetime", "array", "object"];
    match names.iter().find(|name| !known.contains(name)) {
        None if !names.is_empty() => Ok(names),
        _ => Err(format!("must be one of {}, or an array of them", known.join(", "))),
    }
}

/// Freshness criterion.
pub(super) struct Freshness {
    pub(super) oldest: Timestamp,
    /// Every row must be fresh, not only the newest.
    pub(super) every: bool,
}

pub(super) fn freshness(args: &Value) -> Result<Freshness, String> {
    let how = "must be {\"reference\": \"2026-11-21T00:00:00Z\", \"max_age\": \"P1D\"}, with the time that ages are \
               counted to: the clock is not read; add \"of\": \"all\" for every row in place of the newest";
    let text = |name: &str| args.get(name).and_then(Value::as_str).ok_or_else(|| how.to_owned());
    let reference: Timestamp = text("reference")?.parse().map_err(|error| format!("{how} ({error})"))?;
    let age: Span = text("max_age")?.parse().map_err(|error| format!("{how} ({error})"))?;
    let age = SignedDuration::try_from(age).or_else(|_| age.to_duration(SpanRelativeTo::days_are_24_hours()));
    let age = age.map_err(|_| "has a max_age in months or years: write days".to_owned())?;
    let oldest = reference.checked_sub(age).map_err(|error| error.to_string())?;
    Ok(Freshness { oldest, every: args.get("of").and_then(Value::as_str) == Some("all") })
}
