//! AIS messages in `!AIVDM` sentences (ITU-R M.1371-5, annex 8; the armour is IEC 61162-1's).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Decoded;
use super::nmea0183::Frame;

/// Maximum bits of a message: five slots (M.1371-5, annex 2).
const MAX_BITS: usize = 5 * 256;
/// Maximum number of messages with missing parts.
const MAX_OPEN: usize = 1_000;

/// Multi-sentence messages by number and channel, possibly interleaved.
#[derive(Default)]
pub(super) struct Messages {
    open: BTreeMap<(String, String), PartialMessage>,
}

struct PartialMessage {
    line: usize,
    next: usize,
    bits: Vec<bool>,
}

impl Messages {
    pub(super) fn take(&mut self, line: usize, frame: &Frame, decoded: &mut Decoded) {
        if let Err(message) = self.taken(line, frame, decoded) {
            decoded.fault(line, message);
        }
    }

    fn taken(&mut self, line: usize, frame: &Frame, decoded: &mut Decoded) -> Result<(), String> {
        let fields: Vec<&str> = frame.body.split(',').collect();
        let [talker, total, part, id, channel, armoured, fill] = fields.as_slice() else {
            return Err("an AIS sentence has seven fields".to_owned());
        };
        if !(talker.ends_with("VDM") || talker.ends_with("VDO")) {
            return Err(format!("sentences {talker} are not decoded"));
        }
        let count = |text: &str| text.parse::<usize>().ok().filter(|count| (1..=9).contains(count));
        let (Some(total), Some(part)) = (count(total), count(part)) else {
            return Err("the number of parts is not from 1 to 9".to_owned());
        };
        let bits = unarmoured(armoured, fill)?;
        if total == 1 {
            return message(line, &bits, frame.time, decoded);
        }
        let key = ((*id).to_owned(), (*channel).to_owned());
        if part == 1 {
            if self.open.len() >= MAX_OPEN {
                return Err("too many messages wait for their other parts".to_owned());
            }
            if let Some(lost) = self.open.insert(key, PartialMessage { line, next: 2, bits }) {
                decoded.fault(lost.line, "the other parts of the message are missing");
            }
            return Ok(());
        }
        let mut parts = self.open.remove(&key).ok_or("the part before this one is missing")?;
        if parts.next != part || parts.bits.len().saturating_add(bits.len()) > MAX_BITS {
            return Err("the part before this one is missing".to_owned());
        }
        parts.bits.extend(bits);
        parts.next = part.saturating_add(1);
        if part == total {
            return message(line, &parts.bits, frame.time, decoded);
        }
        self.open.insert(key, parts);
        Ok(())
    }

    pub(super) fn finish(self, decoded: &mut Decoded) {
        for parts in self.open.into_values() {
            decoded.fault(parts.line, "the other parts of the message are missing");
        }
    }
}

/// Six bits per character, without fill bits.
fn unarmoured(text: &str, fill: &str) -> Result<Vec<bool>, String> {
    let fill: usize =
        fill.parse().ok().filter(|fill| *fill <= 5).ok_or("the number of fill bits is not from 0 to 5")?;
    let mut bits = Vec::with_capacity(text.len().saturating_mul(6).min(MAX_BITS));
    for c in text.bytes() {
        let value = match c {
            b'0'..=b'W' => c - b'0',
            b'`'..=b'w' => c - b'`' + 40,
            _ => return Err(format!("{:?} is not of the 6-bit armour", char::from(c))),
        };
        bits.extend((0..6).rev().map(|bit| value >> bit & 1 == 1));
        if bits.len() > MAX_BITS {
            return Err(format!("a message has at most {MAX_BITS} bits"));
        }
    }
    bits.truncate(bits.len().saturating_sub(fill));
    Ok(bits)
}

/// Fields of a message by first bit and length; bits beyond its end are zero.
struct Bits<'a>(&'a [bool]);

impl Bits<'_> {
    fn unsigned(&self, from: usize, len: usize) -> u32 {
        (from..from.saturating_add(len))
            .fold(0, |value, at| value << 1 | u32::from(self.0.get(at).copied().unwrap_or_default()))
    }

    fn signed(&self, from: usize, len: usize) -> i32 {
        let shift = 32_u32.saturating_sub(len as u32);
        (self.unsigned(from, len) << shift).cast_signed() >> shift
    }

    /// Six-bit ASCII; `@` ends it.
    fn text(&self, from: usize, chars: usize) -> String {
        let char_at = |index: usize| {
            let value = self.unsigned(from.saturating_add(index.saturating_mul(6)), 6);
            char::from_u32(if value < 32 { value.saturating_add(64) } else { value }).unwrap_or('@')
        };
        let text: String = (0..chars).map(char_at).take_while(|c| *c != '@').collect();
        text.trim_end().to_owned()
    }
}

fn message(line: usize, bits: &[bool], time: Option<Timestamp>, decoded: &mut Decoded) -> Result<(), String> {
    let fields = Bits(bits);
    let kind = fields.unsigned(0, 6);
    // Shortest message that contains the fields read.
    let least = match kind {
        1..=3 => 143,
        5 => 422,
        18 => 139,
        _ if bits.len() < 38 => 38,
        other => return Err(format!("AIS messages of type {other} are not decoded")),
    };
    if bits.len() < least {
        return Err(format!("an AIS message of type {kind} has at least {least} bits, this one {}", bits.len()));
    }
    decoded.read("message_type", kind, "", time);
    decoded.read("mmsi", fields.unsigned(8, 30), "", time);
    match kind {
        5 => voyage(&fields, time, decoded),
        18 => motion(line, &fields, 46, time, decoded),
        _ => {
            decoded.read(
                "status",
                STATUS.get(fields.unsigned(38, 4) as usize).copied().unwrap_or("reserved"),
                "",
                time,
            );
            let turn = f64::from(fields.signed(42, 8));
            // ±127 is a turn of more than 5° in 30 s without a sensor, -128 unknown.
            if turn.abs() < 127.0 {
                decoded.read("turn", (turn / 4.733).powi(2).copysign(turn), "deg/min", time);
            }
            motion(line, &fields, 50, time, decoded);
        }
    }
    Ok(())
}

/// Annex 8, table 45.
const STATUS: [&str; 15] = [
    "under way using engine",
    "at anchor",
    "not under command",
    "restricted manoeuvrability",
    "constrained by her draught",
    "moored",
    "aground",
    "engaged in fishing",
    "under way sailing",
    "reserved",
    "reserved",
    "towing astern",
    "pushing ahead or towing alongside",
    "reserved",
    "AIS-SART active",
];

/// Common part of position reports, from the speed on; maximum values mean unknown.
fn motion(line: usize, fields: &Bits, from: usize, time: Option<Timestamp>, decoded: &mut Decoded) {
    let at = |offset: usize| from.saturating_add(offset);
    let known = |value: u32, unknown: u32| Some(value).filter(|value| *value < unknown).map(f64::from);
    let lon = f64::from(fields.signed(at(11), 28)) / 600_000.0;
    let lat = f64::from(fields.signed(at(39), 27)) / 600_000.0;
    if lon != 181.0 && lat != 91.0 {
        decoded.at(line, lat, lon, time);
    }
    for (name, value, divisor, unit) in [
        ("speed", known(fields.unsigned(from, 10), 1023), 10.0, "kn"),
        ("course", known(fields.unsigned(at(66), 12), 3600), 10.0, "deg"),
        ("heading", known(fields.unsigned(at(78), 9), 360), 1.0, "deg"),
        ("second", known(fields.unsigned(at(87), 6), 60), 1.0, "s"),
    ] {
        if let Some(value) = value {
            decoded.read(name, value / divisor, unit, time);
        }
    }
    decoded.read("accurate", fields.unsigned(at(10), 1) == 1, "", time);
}

fn voyage(fields: &Bits, time: Option<Timestamp>, decoded: &mut Decoded) {
    decoded.read("imo", fields.unsigned(40, 30), "", time);
    for (name, from, chars) in [("call_sign", 70, 7), ("ship_name", 112, 20), ("destination", 302, 20)] {
        decoded.read(name, fields.text(from, chars), "", time);
    }
    decoded.read("ship_type", fields.unsigned(232, 8), "", time);
    for (name, from, len) in [("to_bow", 240, 9), ("to_stern", 249, 9), ("to_port", 258, 6), ("to_starboard", 264, 6)] {
        decoded.read(name, fields.unsigned(from, len), "m", time);
    }
    let (month, day) = (fields.unsigned(274, 4), fields.unsigned(278, 5));
    let (hour, minute) = (fields.unsigned(283, 5), fields.unsigned(288, 6));
    if month > 0 && day > 0 {
        decoded.read("eta", format!("{month:02}-{day:02}T{hour:02}:{minute:02}Z"), "", time);
    }
    decoded.read("draught", f64::from(fields.unsigned(294, 8)) / 10.0, "m", time);
}
