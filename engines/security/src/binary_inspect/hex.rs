//! Intel HEX (Intel, Hexadecimal object file format specification, revision A, 1988).

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use super::{Image, Segment, malformed};

/// What a record means.
const DATA: u8 = 0;
const END: u8 = 1;
const SEGMENT_BASE: u8 = 2;
const SEGMENT_START: u8 = 3;
const LINEAR_BASE: u8 = 4;
const LINEAR_START: u8 = 5;

struct Record<'a> {
    kind: u8,
    address: u16,
    data: &'a [u8],
}

pub(super) fn read(bytes: &[u8]) -> Result<Image<'static>, Failure> {
    let mut pieces = BTreeMap::new();
    let mut base = 0_u64;
    // In segments addresses wrap at 64 KiB, in the linear form at 4 GiB.
    let mut segmented = false;
    let mut ended = false;
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let wrong = |why: &str| malformed(format!("line {}: {why}", at + 1));
        if ended {
            return Err(wrong("follows the end record"));
        }
        let decoded = decoded(line).map_err(wrong)?;
        let record = record(&decoded).map_err(wrong)?;
        match (record.kind, record.data) {
            (DATA, data) => {
                let start = base + u64::from(record.address);
                let limit = if segmented { base + 0x1_0000 } else { 0x1_0000_0000 };
                if start + data.len() as u64 > limit {
                    return Err(wrong("runs over the end of the addresses"));
                }
                if !data.is_empty() && pieces.insert(start, data.to_vec()).is_some() {
                    return Err(wrong("overlaps an earlier record"));
                }
            }
            (END, []) => ended = true,
            (SEGMENT_BASE, [high, low]) => {
                base = u64::from(u16::from_be_bytes([*high, *low])) << 4;
                segmented = true;
            }
            (LINEAR_BASE, [high, low]) => {
                base = u64::from(u16::from_be_bytes([*high, *low])) << 16;
                segmented = false;
            }
            (SEGMENT_START | LINEAR_START, [_, _, _, _]) => {}
            (0..=5, _) => return Err(wrong("has a wrong length for its type")),
            (kind, _) => return Err(wrong(&format!("has the unknown type {kind}"))),
        }
    }
    if !ended {
        return Err(malformed("has no end record: it is cut"));
    }
    joined("intel-hex", "unknown", pieces)
}

/// The bytes of a record.
fn decoded(line: &[u8]) -> Result<Vec<u8>, &'static str> {
    let digits = line.strip_prefix(b":").ok_or("does not begin with a colon")?;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, odd) = digits.as_chunks::<2>();
    if !odd.is_empty() {
        return Err("has an odd number of digits");
    }
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    pairs.iter().map(byte).collect::<Option<_>>().ok_or("has other characters than hexadecimal digits")
}

fn record(bytes: &[u8]) -> Result<Record<'_>, &'static str> {
    let [count, high, low, kind, data @ .., _sum] = bytes else { return Err("is too short") };
    if usize::from(*count) != data.len() {
        return Err("has another length than it says");
    }
    if bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
        return Err("has a wrong checksum");
    }
    Ok(Record { kind: *kind, address: u16::from_be_bytes([*high, *low]), data })
}

/// Joins pieces that adjoin. The image's data are the segments one after another.
pub(super) fn joined(
    format: &'static str,
    architecture: impl Into<String>,
    pieces: BTreeMap<u64, Vec<u8>>,
) -> Result<Image<'static>, Failure> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut data = Vec::new();
    for (start, piece) in pieces {
        let length = piece.len() as u64;
        match segments.last_mut().map(|last| (last.start + last.length, last)) {
            Some((end, _)) if start < end => {
                return Err(malformed(format!("bytes at address {start:#x} are given twice")));
            }
            Some((end, last)) if start == end => last.length += length,
            _ => segments.push(Segment { start, length }),
        }
        data.extend_from_slice(&piece);
    }
    let mut image = Image::new(format, architecture, data);
    image.segments = segments;
    image.addressed = true;
    Ok(image)
}
