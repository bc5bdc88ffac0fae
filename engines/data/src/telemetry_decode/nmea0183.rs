//! Sentences of NMEA 0183 (IEC 61162-1).

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use nmea::ParseResult;

use super::Decoded;

/// A sentence whose checksum is correct or absent.
pub(super) struct Frame {
    /// `$`, or `!` for encapsulated contents.
    pub(super) start: char,
    /// Between the start and the checksum.
    pub(super) body: String,
    pub(super) checked: bool,
    /// Time of a preceding tag block.
    pub(super) time: Option<Timestamp>,
}

/// Returns `None` for an empty line.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn framed(line: &str) -> Result<Option<Frame>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let (tags, sentence) = match line.strip_prefix('\\') {
        Some(rest) => rest.split_once('\\').ok_or("the tag block has no end")?,
        None => ("", line),
    };
    // The tag block's time is Unix time (NMEA 4.10).
    let tags = tags.split('*').next().unwrap_or_default();
    let unix = tags.split(',').find_map(|tag| tag.strip_prefix("c:")).and_then(|seconds| seconds.parse().ok());
    let time = unix.and_then(|seconds| Timestamp::from_second(seconds).ok());
    let start = sentence.chars().next().filter(|start| matches!(start, '$' | '!'));
    let start = start.ok_or("is not a sentence: it begins with neither $ nor !")?;
    let rest = sentence.get(1..).unwrap_or_default();
    if !rest.chars().all(|c| (' '..='~').contains(&c)) {
        return Err("has characters that are not of ASCII".to_owned());
    }
    let (body, reported) = match rest.split_once('*') {
        Some((body, reported)) => (body, Some(reported)),
        None => (rest, None),
    };
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    match reported.map(|reported| (reported, u8::from_str_radix(reported.trim(), 16))) {
        Some((_, Ok(reported))) if reported == sum => {}
        None => {}
        Some((reported, _)) => return Err(format!("the checksum is {reported}, that of the contents {sum:02X}")),
    }
    Ok(Some(Frame { start, body: body.to_owned(), checked: reported.is_some(), time }))
}

/// Sentences are decoded once all have arrived: most have the time of day, another one the date.
#[derive(Default)]
pub(super) struct Sentences {
    parsed: Vec<(usize, Option<Timestamp>, ParseResult)>,
}

impl Sentences {
    pub(super) fn take(&mut self, line: usize, frame: &Frame, decoded: &mut Decoded) {
        let kind = frame.body.get(2..5).unwrap_or(&frame.body);
        let newer = newer(&frame.body);
        let sum = newer.bytes().fold(0, |sum, byte| sum ^ byte);
        match nmea::parse_str(&format!("${newer}*{sum:02X}")) {
            Ok(ParseResult::Unsupported(_)) => decoded.fault(line, format!("sentences {kind} are not decoded")),
            Ok(parsed) => self.parsed.push((line, frame.time, parsed)),
            Err(_) => decoded.fault(line, format!("is not a known sentence {kind}, or one of its fields is invalid")),
        }
    }

    pub(super) fn decode(self, decoded: &mut Decoded) {
        let mut clock = Clock { date: self.parsed.iter().find_map(|(.., parsed)| date(parsed)), time: None };
        for (line, tagged, parsed) in &self.parsed {
            clock.see(parsed);
            let before = decoded.readings.len();
            sentence(*line, parsed, tagged.or_else(|| clock.now()), decoded);
            if decoded.readings.len() == before && !decoded.left_out {
                decoded.fault(*line, "the sentence is in order and has no value that is read");
            }
        }
    }
}

/// The body in the form that the library reads: GLL of before NMEA 2.3 has no mode.
fn newer(body: &str) -> Cow<'_, str> {
    match body.get(2..5) {
        Some("GLL") if body.split(',').count() == 7 => Cow::Owned(format!("{body},A")),
        _ => Cow::Borrowed(body),
    }
}

struct Clock {
    date: Option<Date>,
    time: Option<Time>,
}

impl Clock {
    fn see(&mut self, parsed: &ParseResult) {
        self.date = date(parsed).or(self.date);
        let reported = match parsed {
            ParseResult::GGA(data) => data.fix_time,
            ParseResult::RMC(data) => data.fix_time,
            ParseResult::GLL(data) => data.fix_time,
            ParseResult::GNS(data) => data.fix_time,
            ParseResult::ZDA(data) => data.utc_time,
            ParseResult::GST(data) => data.time,
            _ => None,
        };
        self.time = reported.and_then(|time| time.to_string().parse().ok()).or(self.time);
    }

    fn now(&self) -> Option<Timestamp> {
        let (date, time) = (self.date?, self.time.unwrap_or_default());
        Some(date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    }
}

fn date(parsed: &ParseResult) -> Option<Date> {
    let reported = match parsed {
        ParseResult::RMC(data) => data.fix_date,
        ParseResult::ZDA(data) => data.utc_date(),
        _ => None,
    };
    reported?.to_string().parse().ok()
}

/// The decimal as written, which the library keeps in single precision.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

fn sentence(line: usize, parsed: &ParseResult, time: Option<Timestamp>, decoded: &mut Decoded) {
    let mut position = |lat: Option<f64>, lon: Option<f64>| {
        if let Some((lat, lon)) = lat.zip(lon) {
            decoded.at(line, lat, lon, time);
        }
    };
    match parsed {
        ParseResult::GGA(data) => position(data.latitude, data.longitude),
        ParseResult::RMC(data) => position(data.lat, data.lon),
        ParseResult::GLL(data) => position(data.latitude, data.longitude),
        ParseResult::GNS(data) => position(data.lat, data.lon),
        _ => {}
    }
    for (name, value, unit) in numbers(parsed) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            decoded.read(name, value, unit, time);
        }
    }
    match parsed {
        ParseResult::GGA(data) => {
            if let Some(fix) = data.fix_type {
                decoded.read("fix", format!("{fix:?}").to_lowercase(), "", time);
            }
            if let Some(count) = data.fix_satellites {
                decoded.read("satellites", count, "count", time);
            }
        }
        ParseResult::RMC(data) => {
            decoded.read("status", format!("{:?}", data.status_of_fix).to_lowercase(), "", time);
        }
        ParseResult::GLL(data) => decoded.read("valid", data.valid, "", time),
        ParseResult::GNS(data) => decoded.read("satellites", data.nsattelites, "count", time),
        ParseResult::GSV(data) => decoded.read("satellites_in_view", data.sats_in_view, "count", time),
        ParseResult::GSA(data) => {
            decoded.read("satellites_used", data.fix_sats_prn.iter().copied().collect::<Vec<u32>>(), "", time);
        }
        ParseResult::MWV(data) => wind(data, time, decoded),
        ParseResult::ZDA(_) => {
            if let Some(time) = time {
                decoded.read("utc", time.to_string(), "", Some(time));
            }
        }
        ParseResult::TXT(data) => decoded.read("text", data.text.as_str(), "", time),
        _ => {}
    }
}

fn numbers(parsed: &ParseResult) -> Vec<(&'static str, Option<f64>, &'static str)> {
    let f = |value: Option<f32>| value.map(decimal);
    match parsed {
        ParseResult::GGA(data) => vec![
            ("altitude", f(data.altitude), "m"),
            ("geoid_separation", f(data.geoid_separation), "m"),
            ("hdop", f(data.hdop), ""),
        ],
        ParseResult::RMC(data) => vec![
            ("speed", f(data.speed_over_ground), "kn"),
            ("course", f(data.true_course), "deg"),
            ("magnetic_variation", f(data.magnetic_variation), "deg"),
        ],
        ParseResult::GNS(data) => vec![
            ("altitude", f(data.alt), "m"),
            ("geoid_separation", f(data.geoid_separation), "m"),
            ("hdop", f(data.hdop), ""),
        ],
        ParseResult::VTG(data) => {
            vec![("course", f(data.true_course), "deg"), ("speed", f(data.speed_over_ground), "kn")]
        }
        ParseResult::GSA(data) => {
            vec![("pdop", f(data.pdop), ""), ("hdop", f(data.hdop), ""), ("vdop", f(data.vdop), "")]
        }
        ParseResult::GST(data) => vec![
            ("latitude_deviation", f(data.lat_sd), "m"),
            ("longitude_deviation", f(data.long_sd), "m"),
            ("altitude_deviation", f(data.alt_sd), "m"),
        ],
        ParseResult::HDT(data) => vec![("heading", f(data.heading), "deg")],
        ParseResult::MTW(data) => vec![("water_temperature", data.temperature, "Cel")],
        ParseResult::DPT(data) => {
            vec![("water_depth", data.water_depth, "m"), ("transducer_offset", data.offset, "m")]
        }
        ParseResult::DBK(data) => vec![("water_depth", data.depth_meters, "m")],
        ParseResult::DBS(data) => vec![("water_depth", f(data.water_depth_meters), "m")],
        ParseResult::VHW(data) => vec![
            ("heading", data.heading_true, "deg"),
            ("heading_magnetic", data.heading_magnetic, "deg"),
            ("water_speed", data.relative_speed_knots, "kn"),
        ],
        ParseResult::MDA(data) => vec![
            ("pressure", f(data.pressure_bar), "bar"),
            ("air_temperature", f(data.air_temp_deg), "Cel"),
            ("water_temperature", f(data.water_temp_deg), "Cel"),
            ("relative_humidity", f(data.rel_humidity), "%RH"),
            ("dew_point", f(data.dew_point), "Cel"),
            ("wind_direction", f(data.wind_direction_true), "deg"),
            ("wind_speed", f(data.wind_speed_ms), "m/s"),
        ],
        _ => Vec::new(),
    }
}

fn wind(data: &nmea::sentences::MwvData, time: Option<Timestamp>, decoded: &mut Decoded) {
    use nmea::sentences::mwv::MwvWindSpeedUnits as Unit;
    let unit = match data.wind_speed_units {
        Some(Unit::KilometersPerHour) => "km/h",
        Some(Unit::MetersPerSecond) => "m/s",
        Some(Unit::Knots) => "kn",
        Some(Unit::MilesPerHour) => "mph",
        None => "",
    };
    for (name, value, unit) in [("wind_angle", data.wind_direction, "deg"), ("wind_speed", data.wind_speed, unit)] {
        if let Some(value) = value.map(decimal).filter(|value| value.is_finite()) {
            decoded.read(name, value, unit, time);
        }
    }
    decoded.read("valid", data.data_valid, "", time);
}
