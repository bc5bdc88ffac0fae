//! q121: device telemetry decoding.

mod ais;
mod lpp;
mod nmea0183;
mod senml;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use base64::Engine as _;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};

pub static ENGINE: Engine = Engine {
    number: 121,
    id: "telemetry-decode",
    name: "Device telemetry decoding",
    family: Family::Data,
    nature: Nature::Pure,
    summary: "Decode NMEA 0183 sentences, AIS position reports, SenML packs and Cayenne LPP payloads into typed readings with checksum checks.",
    inputs: &[
        "payload:string:-:required",
        "format:enum(auto|nmea|ais|senml|cayenne-lpp):-:=auto",
        "encoding:enum(text|hex|base64):-:=text",
    ],
    outputs: &[
        "readings:array<{name=string,value=any,unit=string,time=datetime}>:-",
        "position:latlon:deg",
        "errors:array<{line=integer,message=string}>:-",
        "format:string:-",
    ],
    method: "XOR checksum; NMEA sentence tables (nmea crate); AIS 6-bit armour types 1-3/5/18; SenML base-name resolution; LPP type table.",
    reference: "IEC 61162-1 (NMEA 0183); ITU-R M.1371-5; RFC 8428 examples; Cayenne LPP 2.0 documentation examples",
    example: r#"{
        "payload": "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47\n$GPRMC,225446,A,4916.45,N,12311.12,W,000.5,054.7,191194,020.3,E*68"
    }"#,
    function: |input, context| call(decode, input, context),
    fields: OnceLock::new(),
};

/// Maximum number of readings, and of errors, per payload.
const MAX_READINGS: usize = 50_000;
const MAX_ERRORS: usize = 1_000;

#[derive(Deserialize)]
struct Input {
    payload: String,
    format: Format,
    encoding: Encoding,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Auto,
    Nmea,
    Ais,
    Senml,
    CayenneLpp,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Text,
    Hex,
    Base64,
}

#[derive(Default, Serialize)]
struct Decoded {
    readings: Vec<Reading>,
    /// The last valid position.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<Position>,
    errors: Vec<Fault>,
    #[serde(skip)]
    left_out: bool,
    /// Whether a reading's time is 1970 because the payload has none.
    #[serde(skip)]
    timeless: bool,
}

#[derive(Serialize)]
struct Output {
    #[serde(flatten)]
    decoded: Decoded,
    format: Format,
}

#[derive(Serialize)]
struct Reading {
    name: String,
    value: Value,
    /// SenML unit (RFC 8428, section 12.1) if there is one.
    unit: String,
    time: String,
}

#[derive(Clone, Copy, Serialize)]
struct Position {
    lat: f64,
    lon: f64,
}

#[derive(Serialize)]
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

fn decode(input: Input, context: &Context) -> Result<Output, Failure> {
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
    Ok(Output { decoded, format })
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
