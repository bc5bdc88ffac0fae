//! q121: device telemetry decoding.

mod ais;
mod lpp;
mod nmea0183;
mod senml;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use jiff::Timestamp;
use serde_json::Value;

use muster_engine::prelude::*;

/// Maximum number of readings, and of errors, per payload.
const MAX_READINGS: usize = 50_000;
const MAX_ERRORS: usize = 1_000;

#[derive(Input)]
pub struct Input {
    payload: String,
    format: Format,
    encoding: Encoding,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Format {
    Auto,
    Nmea,
    Ais,
    Senml,
    CayenneLpp,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "lower")]
enum Encoding {
    Text,
    Hex,
    Base64,
}

#[derive(Default)]
struct Decoded {
    readings: Vec<Reading>,
    /// The last valid position.
    position: Option<Position>,
    errors: Vec<Fault>,
    left_out: bool,
    /// Whether a reading's time is 1970 because the payload has none.
    timeless: bool,
}

#[derive(Output)]
pub struct Output {
    readings: Vec<Reading>,
    position: Option<Position>,
    errors: Vec<Fault>,
    format: Format,
}

#[derive(Output)]
struct Reading {
    name: String,
    value: Value,
    /// SenML unit (RFC 8428, section 12.1) if there is one.
    unit: String,
    time: String,
}

#[derive(Clone, Copy, Output)]
struct Position {
    lat: f64,
    lon: f64,
}

#[derive(Output)]
struct Fault {
    /// From 1: the line of text, the record of a SenML pack; for bytes always 1.
    line: usize,
    message: String,
}

impl Decoded {
    fn read(&mut self, name: impl Into<String>, value: impl Into<Value>, unit: &str, time: Option<Timestamp>) {
        if self.readings.len() >= MAX_READINGS {
            self.left_out = true;
            return;
        }
        self.timeless |= time.is_none();
        let time = time.unwrap_or_default().to_string();
        self.readings.push(Reading { name: name.into(), value: value.into(), unit: unit.to_owned(), time });
    }

    fn fault(&mut self, line: usize, message: impl Into<String>) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(Fault { line, message: message.into() });
        } else {
            self.left_out = true;
        }
    }

    /// Adds a position if it is valid.
    fn at(&mut self, line: usize, lat: f64, lon: f64, time: Option<Timestamp>) {
        if lat.abs() <= 90.0 && lon.abs() <= 180.0 {
            self.position = Some(Position { lat, lon });
            self.read("latitude", lat, "lat", time);
            self.read("longitude", lon, "lon", time);
        } else {
            self.fault(line, format!("the position {lat}, {lon} is not on the globe"));
        }
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let bytes = bytes(&input)?;
    let text = std::str::from_utf8(&bytes).ok();
    let format = match input.format {
        Format::Auto => guess(text),
        reported => reported,
    };
    let text = || text.ok_or_else(|| Failure::invalid(&["payload"], "is not text, which this format requires"));
    let mut decoded = Decoded::default();
    match format {
        Format::Nmea | Format::Auto | Format::Ais => lines(text()?, &mut decoded, context),
        Format::Senml => senml::decode(text()?, &mut decoded)?,
        Format::CayenneLpp => lpp::decode(&bytes, &mut decoded),
    }
    if decoded.left_out {
        context.warn(format!("only the first {MAX_READINGS} readings and {MAX_ERRORS} errors are reported"));
    }
    if decoded.timeless {
        context.warn("times that are missing in the payload, or whose date is, use 1970-01-01");
    }
    let Decoded { readings, position, errors, .. } = decoded;
    Ok(Output { readings, position, errors, format })
}

/// Cayenne LPP is binary: text is decoded as hex.
fn bytes(input: &Input) -> Result<Vec<u8>, Failure> {
    let wrong = |what: &str| Failure::invalid(&["payload"], format!("is not of {what}"));
    let packed = || input.payload.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    match input.encoding {
        Encoding::Text if input.format != Format::CayenneLpp => Ok(input.payload.clone().into_bytes()),
        Encoding::Text | Encoding::Hex => unhex(&packed()).ok_or_else(|| wrong("pairs of hexadecimal digits")),
        Encoding::Base64 => base64::engine::general_purpose::STANDARD
            .decode(packed())
            .map_err(|_| wrong("base64 (RFC 4648, section 4)")),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

fn guess(text: Option<&str>) -> Format {
    let first = text.map(str::trim_start).and_then(|text| text.chars().next());
    match (text, first) {
        (_, Some('[' | '{')) => Format::Senml,
        (Some(text), _) if !text.contains('$') && text.contains("!A") => Format::Ais,
        (Some(text), _) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => Format::Nmea,
        _ => Format::CayenneLpp,
    }
}

/// Sentences of NMEA 0183 and the AIS messages among them, a line each.
fn lines(text: &str, decoded: &mut Decoded, context: &Context) {
    let mut sentences = nmea0183::Sentences::default();
    let mut ais = ais::Messages::default();
    for (index, line) in text.lines().enumerate() {
        let number = index.saturating_add(1);
        match nmea0183::framed(line.trim()) {
            Ok(None) => {}
            Ok(Some(frame)) => {
                if !frame.checked {
                    context.warn(format!("line {number} has no checksum"));
                }
                match frame.start {
                    '!' => ais.take(number, &frame, decoded),
                    _ => sentences.take(number, &frame, decoded),
                }
            }
            Err(message) => decoded.fault(number, message),
        }
    }
    sentences.decode(decoded);
    ais.finish(decoded);
}
