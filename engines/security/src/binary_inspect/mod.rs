//! q140: executables and firmware images.

mod elf;
mod embedded;
mod entropy;
mod hex;
mod macho;
mod pe;
mod reader;
#[cfg(test)]
mod tests;
mod uf2;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use muster_engine::prelude::*;
use muster_engine::stack::on_stack;
use sha2_11::{Digest as _, Sha256};

use self::entropy::Budget;

/// Maximum length of a file, in bytes.
const MAX: usize = 8 * 1_024 * 1_024;
/// Sections, imports, finds and segments in the output.
const MAX_SECTIONS: usize = 2_000;
const MAX_IMPORTS: usize = 10_000;
const MAX_EMBEDDED: usize = 1_000;
const MAX_SEGMENTS: usize = 10_000;
/// Strings in the explanation, and characters of each.
const MAX_STRINGS: usize = 100;
const MAX_STRING: usize = 200;
/// Stack of the parsers.
const STACK: usize = 8 * 1_024 * 1_024;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    content: Bytes,
    strings_min: usize,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    format: &'static str,
    architecture: String,
    hardening: Option<Hardening>,
    sections: Vec<Section>,
    imports: Vec<String>,
    entropy_bits_byte: f64,
    sha256: String,
    embedded: Vec<Embedded>,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, Output)]
struct Hardening {
    nx: bool,
    pie: bool,
    relro: Relro,
    canary: bool,
    fortify: bool,
    signed: bool,
}

/// Protection of relocations; only ELF has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
enum Relro {
    None,
    Partial,
    Full,
    NotApplicable,
}

#[derive(Debug, Output)]
struct Section {
    name: String,
    size: u64,
    entropy: f64,
    flags: String,
}

#[derive(Debug, Output)]
struct Embedded {
    offset: u64,
    kind: &'static str,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Output)]
struct Segment {
    start: u64,
    length: u64,
}

/// What the reader of a format found.
#[derive(Debug)]
struct Image<'a> {
    format: &'static str,
    architecture: String,
    hardening: Option<Hardening>,
    sections: Vec<RawSection>,
    imports: BTreeSet<String>,
    segments: Vec<Segment>,
    /// The content without its encoding.
    data: Cow<'a, [u8]>,
    /// Whether offsets of finds are addresses of `segments`, which then lie in `data` one after another.
    addressed: bool,
}

/// A section before its entropy is measured; without a range it has no bytes in the file.
#[derive(Debug)]
struct RawSection {
    name: String,
    size: u64,
    flags: String,
    range: Option<Range<usize>>,
}

impl<'a> Image<'a> {
    fn new(format: &'static str, architecture: impl Into<String>, data: impl Into<Cow<'a, [u8]>>) -> Self {
        Self {
            format,
            architecture: architecture.into(),
            hardening: None,
            sections: Vec::new(),
            imports: BTreeSet::new(),
            segments: Vec::new(),
            data: data.into(),
            addressed: false,
        }
    }

    /// Offsets in `data` at which the segments begin, with their addresses.
    fn starts(&self) -> Vec<(u64, u64)> {
        let mut at = 0;
        let mut starts = Vec::with_capacity(self.segments.len());
        for segment in self.segments.iter().filter(|_| self.addressed) {
            starts.push((at, segment.start));
            at += segment.length;
        }
        starts
    }
}

/// Address of a byte, or its offset where there are no addresses.
fn place(starts: &[(u64, u64)], at: usize) -> u64 {
    let at = at as u64;
    let before = starts.partition_point(|(start, _)| *start <= at);
    let segment = before.checked_sub(1).and_then(|last| starts.get(last));
    segment.map_or(at, |(start, address)| address + (at - start))
}

/// Reads a file by its magic numbers. Nothing of it runs. Files of no known format are searched all the same.
///
/// # Errors
/// `Invalid` (empty; headers that contradict the file: truncated, overlapping, beyond the counts that loaders take; records
/// or blocks with wrong checksums), `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let bytes = input.content.0.as_slice();
    if bytes.len() > MAX {
        return Err(Failure::too_large(format!("content has {} bytes, at most {MAX} are allowed", bytes.len())));
    }
    if bytes.is_empty() {
        return Err(malformed("is empty"));
    }
    let fallen = || malformed("cannot be read: its headers are damaged");
    let (image, sections) = on_stack(cx, STACK, fallen, || {
        let mut image = read(bytes)?;
        let sections = measured(&mut image, bytes.len())?;
        Ok((image, sections))
    })?;
    strings(&image.data, input.strings_min, cx);
    let map = entropy::blocks(&image.data);
    cx.step("entropy map", map.clone(), "bits/byte");
    let mut embedded = embedded::find(&image.data, image.format);
    embedded.extend(entropy::dense(&map));
    embedded.sort_by_key(|(at, kind)| (*at, *kind));
    let starts = image.starts();
    let embedded = embedded.into_iter().map(|(at, kind)| Embedded { offset: place(&starts, at), kind }).collect();
    Ok(Output {
        format: image.format,
        entropy_bits_byte: entropy::of(&image.data),
        sha256: Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
        embedded: listed(embedded, MAX_EMBEDDED, "embedded", cx),
        sections: listed(sections, MAX_SECTIONS, "sections", cx),
        imports: listed(image.imports.into_iter().collect(), MAX_IMPORTS, "imports", cx),
        segments: listed(image.segments, MAX_SEGMENTS, "segments", cx),
        hardening: image.hardening,
        architecture: image.architecture,
    })
}

fn malformed(why: impl std::fmt::Display) -> Failure {
    Failure::invalid(&["content"], why.to_string())
}

fn read(bytes: &[u8]) -> Result<Image<'_>, Failure> {
    let text = bytes.trim_ascii_start();
    match bytes {
        [0x7f, b'E', b'L', b'F', ..] => elf::read(bytes),
        [b'M', b'Z', ..] => pe::read(bytes),
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xfe, 0xed, 0xfa, 0xcf | 0xce, ..] => macho::read(bytes),
        // Class files of Java begin alike; their fifth to eighth byte is a version beyond 40.
        [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 1..=30, ..] => macho::read_fat(bytes),
        [b'U', b'F', b'2', b'\n', ..] => uf2::read(bytes),
        _ if text.starts_with(b":") => hex::read(bytes),
        _ => Ok(Image::new("unknown", "unknown", bytes)),
    }
}

/// Measures the sections. What they cover together may exceed the file only as far as formats have a use for it.
fn measured(image: &mut Image<'_>, length: usize) -> Result<Vec<Section>, Failure> {
    let mut budget = Budget::of(length);
    let raw = std::mem::take(&mut image.sections);
    let section = |raw: RawSection| {
        let bytes = match raw.range {
            Some(range) => image.data.get(range).ok_or_else(|| malformed(format!("section {} is cut", raw.name)))?,
            None => &[],
        };
        budget.spend(bytes.len())?;
        Ok(Section { entropy: entropy::of(bytes), name: raw.name, size: raw.size, flags: raw.flags })
    };
    raw.into_iter().map(section).collect()
}

/// Explains the runs of printable characters: the output has no member for them.
fn strings(data: &[u8], least: usize, cx: &Context) {
    if !cx.explains() {
        return;
    }
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    let runs = data.split(|byte| !printable(byte)).filter(|run| run.len() >= least);
    cx.step("strings", runs.clone().count(), "");
    for run in runs.take(MAX_STRINGS) {
        let shown: String = run.iter().take(MAX_STRING).map(|byte| char::from(*byte)).collect();
        cx.step("string", crate::mask::masked(&shown), "");
    }
}

fn listed<T>(mut items: Vec<T>, most: usize, name: &str, cx: &Context) -> Vec<T> {
    if items.len() > most {
        cx.warn(format!("truncated: only {most} of {} {name} are listed", items.len()));
        items.truncate(most);
    }
    items
}
