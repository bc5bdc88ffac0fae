//! Cayenne LPP: a channel, a type and its values in big-endian, one after another.

use serde_json::{Value, json};

use super::{Decoded, Position};

/// Encoding of a type's numbers.
struct Kind {
    code: u8,
    name: &'static str,
    unit: &'static str,
    /// Bytes of one number.
    size: usize,
    /// Divisor of the integer.
    divisor: f64,
    signed: Sign,
    /// Names of several numbers.
    axes: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Signed,
    Unsigned,
}

const fn kind(code: u8, name: &'static str, unit: &'static str, size: usize, divisor: f64, signed: Sign) -> Kind {
    Kind { code, name, unit, size, divisor, signed, axes: &[] }
}

const fn axes(code: u8, name: &'static str, unit: &'static str, divisor: f64) -> Kind {
    Kind { code, name, unit, size: 2, divisor, signed: Sign::Signed, axes: &["x", "y", "z"] }
}

const GPS: u8 = 136;

/// The twelve types of myDevices' documentation, and those added by device libraries (IPSO object id minus 3200).
const KINDS: [Kind; 26] = [
    kind(0, "digital_in", "", 1, 1.0, Sign::Unsigned),
    kind(1, "digital_out", "", 1, 1.0, Sign::Unsigned),
    kind(2, "analog_in", "", 2, 100.0, Sign::Signed),
    kind(3, "analog_out", "", 2, 100.0, Sign::Signed),
    kind(100, "generic", "", 4, 1.0, Sign::Unsigned),
    kind(101, "illuminance", "lx", 2, 1.0, Sign::Unsigned),
    kind(102, "presence", "", 1, 1.0, Sign::Unsigned),
    kind(103, "temperature", "Cel", 2, 10.0, Sign::Signed),
    kind(104, "humidity", "%RH", 1, 2.0, Sign::Unsigned),
    axes(113, "accelerometer", "g", 1000.0),
    kind(115, "barometer", "hPa", 2, 10.0, Sign::Unsigned),
    kind(116, "voltage", "V", 2, 100.0, Sign::Unsigned),
    kind(117, "current", "A", 2, 1000.0, Sign::Unsigned),
    kind(118, "frequency", "Hz", 4, 1.0, Sign::Unsigned),
    kind(120, "percentage", "%", 1, 1.0, Sign::Unsigned),
    kind(121, "altitude", "m", 2, 1.0, Sign::Signed),
    kind(125, "concentration", "ppm", 2, 1.0, Sign::Unsigned),
    kind(128, "power", "W", 2, 1.0, Sign::Unsigned),
    kind(130, "distance", "m", 4, 1000.0, Sign::Unsigned),
    kind(131, "energy", "kWh", 4, 1000.0, Sign::Unsigned),
    kind(132, "direction", "deg", 2, 1.0, Sign::Unsigned),
    kind(133, "unix_time", "s", 4, 1.0, Sign::Unsigned),
    axes(134, "gyrometer", "deg/s", 100.0),
    Kind { axes: &["r", "g", "b"], ..kind(135, "colour", "", 1, 1.0, Sign::Unsigned) },
    Kind { axes: &["lat", "lon", "alt"], ..kind(GPS, "gps", "", 3, 10_000.0, Sign::Signed) },
    kind(142, "switch", "", 1, 1.0, Sign::Unsigned),
];

/// Stops at the first unknown type, as its length is unknown too.
pub(super) fn decode(mut bytes: &[u8], decoded: &mut Decoded) {
    while let [channel, code, rest @ ..] = bytes {
        let Some(kind) = KINDS.iter().find(|kind| kind.code == *code) else {
            decoded.fault(1, format!("channel {channel}: the type {code} is not known, so the rest is not read"));
            return;
        };
        let len = kind.size.saturating_mul(kind.axes.len().max(1));
        let Some((values, after)) = rest.split_at_checked(len) else {
            let message = format!("channel {channel}: {} has {len} bytes, there are {}", kind.name, rest.len());
            return decoded.fault(1, message);
        };
        read(*channel, kind, values, decoded);
        bytes = after;
    }
    if !bytes.is_empty() {
        decoded.fault(1, "a single byte is left at the end");
    }
}

fn read(channel: u8, kind: &Kind, bytes: &[u8], decoded: &mut Decoded) {
    let values: Vec<f64> = bytes.chunks(kind.size).map(|bytes| whole(bytes, kind.signed) / kind.divisor).collect();
    let name = format!("{}_{channel}", kind.name);
    match values.as_slice() {
        [lat, lon, alt] if kind.code == GPS => {
            // The altitude has two decimals where the others have four.
            let alt = alt * kind.divisor / 100.0;
            if lat.abs() <= 90.0 && lon.abs() <= 180.0 {
                decoded.position = Some(Position { lat: *lat, lon: *lon });
            } else {
                decoded.fault(1, format!("channel {channel}: the position {lat}, {lon} is not on the globe"));
            }
            decoded.read(name, json!({ "lat": lat, "lon": lon, "alt": alt }), "", None);
        }
        [one] => decoded.read(name, *one, kind.unit, None),
        several => {
            let named = kind.axes.iter().zip(several).map(|(axis, value)| ((*axis).to_owned(), json!(value)));
            decoded.read(name, Value::Object(named.collect()), kind.unit, None);
        }
    }
}

fn whole(bytes: &[u8], signed: Sign) -> f64 {
    let value = bytes.iter().fold(0_i64, |value, byte| value << 8 | i64::from(*byte));
    let range = 1_i64 << (bytes.len().saturating_mul(8).min(62));
    (if signed == Sign::Signed && value >= range / 2 { value - range } else { value }) as f64
}
