//! SenML packs in JSON (RFC 8428).

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Decoded, Position};
use muster_engine::Failure;

/// Version of RFC 8428; higher ones may have other semantics.
const VERSION: u64 = 10;
/// Times below this, 2^28, are relative to the current time (section 4.5.3).
const ABSOLUTE: f64 = (1_u64 << 28) as f64;

/// Base fields, valid until another record changes them.
#[derive(Default)]
struct Base {
    name: String,
    time: f64,
    unit: String,
    value: f64,
    sum: f64,
}

pub(super) fn decode(text: &str, decoded: &mut Decoded) -> Result<(), Failure> {
    let wrong = |what: String| Failure::invalid(&["payload"], what);
    let pack: Value = serde_json::from_str(text).map_err(|error| wrong(format!("is no JSON: {error}")))?;
    let records = match pack {
        Value::Array(records) => records,
        one @ Value::Object(_) => vec![one],
        _ => return Err(wrong("is no SenML pack, which is an array of records".to_owned())),
    };
    let mut base = Base::default();
    let (mut lat, mut lon) = (None, None);
    for (index, record) in records.iter().enumerate() {
        let number = index.saturating_add(1);
        let read = match record {
            Value::Object(record) => one(record, &mut base, decoded),
            _ => Err("a record is an object".to_owned()),
        };
        match read {
            Ok(Some((unit, value))) => match unit.as_str() {
                "lat" => lat = Some(value).filter(|value| value.abs() <= 90.0),
                "lon" => lon = Some(value).filter(|value| value.abs() <= 180.0),
                _ => {}
            },
            Ok(None) => {}
            Err(message) => decoded.fault(number, message),
        }
    }
    decoded.position = lat.zip(lon).map(|(lat, lon)| Position { lat, lon });
    Ok(())
}

/// Decodes one record, and returns its unit and number if it has one.
fn one(record: &Map<String, Value>, base: &mut Base, decoded: &mut Decoded) -> Result<Option<(String, f64)>, String> {
    if record.get("bver").and_then(Value::as_u64).is_some_and(|version| version > VERSION) {
        return Err(format!("the version is higher than {VERSION}"));
    }
    // Section 4.4: unknown fields that end in _ must be understood.
    if let Some(name) = record.keys().find(|name| name.ends_with('_')) {
        return Err(format!("the field {name} has to be understood, and is not known here"));
    }
    let number = |name: &str| match record.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or_else(|| format!("{name} is not a number")),
    };
    let text = |name: &str| match record.get(name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("{name} is not a text")),
    };
    base.name = text("bn")?.map_or_else(|| base.name.clone(), str::to_owned);
    base.unit = text("bu")?.map_or_else(|| base.unit.clone(), str::to_owned);
    base.time = number("bt")?.unwrap_or(base.time);
    base.value = number("bv")?.unwrap_or(base.value);
    base.sum = number("bs")?.unwrap_or(base.sum);

    let name = format!("{}{}", base.name, text("n")?.unwrap_or_default());
    let unit = text("u")?.unwrap_or(&base.unit).to_owned();
    let time = time(base.time + number("t")?.unwrap_or_default())?;
    let value = number("v")?.map(|value| value + base.value);
    let plain = ["vs", "vb", "vd"].into_iter().find_map(|field| record.get(field));
    let sum = number("s")?.map(|sum| sum + base.sum);
    if value.is_none() && plain.is_none() && sum.is_none() {
        let only_base = record.keys().all(|name| name.starts_with('b'));
        return if only_base { Ok(None) } else { Err("a record has a value or a sum".to_owned()) };
    }
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-:./_".contains(c))
    {
        return Err(format!("the name {name:?} is not of letters, digits and -:./_ (section 4.5.1)"));
    }
    if value.is_some_and(|value| !value.is_finite()) || sum.is_some_and(|sum| !sum.is_finite()) {
        return Err("the value is too large".to_owned());
    }
    match (value, plain) {
        (Some(value), _) => decoded.read(name.clone(), value, &unit, time),
        (None, Some(plain)) => decoded.read(name.clone(), plain.clone(), &unit, time),
        (None, None) => {}
    }
    if let Some(sum) = sum {
        decoded.read(format!("{name}:sum"), sum, &format!("{unit}s"), time);
    }
    Ok(value.map(|value| (unit, value)))
}

/// Seconds since 1970. Relative times are rejected, as there is no clock.
fn time(seconds: f64) -> Result<Option<Timestamp>, String> {
    if seconds < ABSOLUTE {
        return Ok(None);
    }
    // Doubles have microsecond resolution for current times.
    let rounded = (seconds * 1e6).round();
    Timestamp::from_microsecond(rounded as i64).map(Some).map_err(|_| "the time is after the year 9999".to_owned())
}
