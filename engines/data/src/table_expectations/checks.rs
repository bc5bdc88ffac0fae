//! Checks of a column. As in Great Expectations, rows without a value are ignored except by `not-null`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use serde_json::Value;

use super::arguments::{self, Freshness, key};
use super::{Broken, Kind, Row, Rule};

pub(super) fn broken(rule: &Rule, rows: &[&Row]) -> Result<Broken, String> {
    let args = rule.arguments();
    let column = || {
        let values = rows.iter().enumerate().filter_map(|(index, row)| Some((index, row.get(&rule.column)?)));
        values.filter(|(_, value)| !value.is_null())
    };
    let mut broken = Broken::default();
    match rule.check {
        Kind::NotNull => {
            let there = |row: &Row| row.get(&rule.column).is_some_and(|value| !value.is_null());
            rows.iter().enumerate().for_each(|(index, row)| broken.see(index, there(row)));
        }
        Kind::Unique => unique(&mut broken, rule, rows)?,
        Kind::Range => {
            let bounds = arguments::range(args)?;
            column().for_each(|(index, value)| broken.see(index, bounds.holds(value)));
        }
        Kind::Regex => {
            let pattern = arguments::pattern(args)?;
            column().for_each(|(index, value)| broken.see(index, pattern.is_match(&text(value))));
        }
        Kind::InSet => {
            let good = arguments::values(args)?;
            column().for_each(|(index, value)| broken.see(index, good.contains(&key(value))));
        }
        Kind::ForeignKey => {
            let good = referenced(args, rows)?;
            column().for_each(|(index, value)| broken.see(index, good.contains(&key(value))));
        }
        Kind::Type => {
            let types = arguments::types(args)?;
            let good = |value: &Value| types.iter().any(|name| is(name, value));
            column().for_each(|(index, value)| broken.see(index, good(value)));
        }
        Kind::Freshness => fresh(&mut broken, &arguments::freshness(args)?, column()),
        // A rule on the table, not on a column.
        Kind::RowCount => {}
    }
    Ok(broken)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Every row whose value occurs more than once fails; with `{"with": ["b"]}`, the combination with those columns.
fn unique(broken: &mut Broken, rule: &Rule, rows: &[&Row]) -> Result<(), String> {
    let with: Vec<&str> = match rule.arguments().get("with") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        Some(_) => return Err("has a with that is not an array of columns".to_owned()),
    };
    let known = |row: &Row| -> Option<Vec<String>> {
        let first = row.get(&rule.column).filter(|value| !value.is_null())?;
        let rest = with.iter().map(|name| key(row.get(*name).unwrap_or(&Value::Null)));
        Some(std::iter::once(key(first)).chain(rest).collect())
    };
    let keys: Vec<Option<Vec<String>>> = rows.iter().map(|row| known(row)).collect();
    let mut counts: BTreeMap<&[String], usize> = BTreeMap::new();
    for key in keys.iter().flatten() {
        *counts.entry(key).or_default() += 1;
    }
    for (index, key) in keys.iter().enumerate().filter_map(|(index, key)| Some((index, key.as_ref()?))) {
        broken.see(index, counts.get(key.as_slice()).is_none_or(|count| *count == 1));
    }
    Ok(())
}

/// Values that may be referenced: listed, of another table, or of another column of this one.
fn referenced(args: &Value, rows: &[&Row]) -> Result<BTreeSet<String>, String> {
    let of_column = |name: &str, row: &Row| row.get(name).filter(|value| !value.is_null()).map(key);
    match (args.get("column").and_then(Value::as_str), args.get("rows")) {
        (Some(name), Some(Value::Array(others))) => {
            Ok(others.iter().filter_map(Value::as_object).filter_map(|row| of_column(name, row)).collect())
        }
        (Some(name), None) => Ok(rows.iter().filter_map(|row| of_column(name, row)).collect()),
        _ => arguments::values(args).map_err(|_| {
            "must be an array of the values that may be referred to, {\"column\": …} of this table, or \
             {\"rows\": […], \"column\": …} of another"
                .to_owned()
        }),
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|float| float.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "date" => value.as_str().is_some_and(|text| text.len() == 10 && text.parse::<Date>().is_ok()),
        _ => value.as_str().is_some_and(|text| time(text).is_some()),
    }
}

/// A time without an offset is in UTC.
fn time(text: &str) -> Option<Timestamp> {
    let local = || text.parse::<DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    text.parse().ok().or_else(|| local().map(|zoned| zoned.timestamp()))
}

/// A table is fresh if its newest row is; a value that is not a time is not fresh.
fn fresh<'a>(broken: &mut Broken, args: &Freshness, column: impl Iterator<Item = (usize, &'a Value)>) {
    let times: Vec<(usize, Option<Timestamp>)> =
        column.map(|(index, value)| (index, value.as_str().and_then(time))).collect();
    let newest = times.iter().filter_map(|(_, time)| *time).max();
    let table = !args.every && newest.is_some_and(|newest| newest >= args.oldest);
    for (index, time) in times {
        broken.see(index, time.is_some_and(|time| table || time >= args.oldest));
    }
}
