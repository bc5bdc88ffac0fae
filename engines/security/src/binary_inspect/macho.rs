//! Mach-O, also of several architectures (`mach-o/loader.h`, `nlist.h`, `fat.h` of Apple).

use goblin::mach::fat::FatArch;
use goblin::mach::parse_magic_and_ctx;
use muster_engine::prelude::*;

use super::reader::Reader;
use super::{Hardening, Image, RawSection, Relro, Segment, malformed};

/// Load commands, and symbols that are read.
const MAX_COMMANDS: u32 = 4_096;
const MAX_SYMBOLS: usize = 200_000;
/// Load commands.
const SEGMENT_32: u32 = 1;
const SYMTAB: u32 = 2;
const SEGMENT_64: u32 = 0x19;
const CODE_SIGNATURE: u32 = 0x1d;
/// Flags of the header.
const ALLOW_STACK_EXECUTION: u32 = 0x2_0000;
const PIE: u32 = 0x20_0000;
/// `filetype` of an executable; libraries and bundles are position-independent always.
const EXECUTE: u32 = 2;
/// Kinds of sections that have no bytes in the file: zerofill, gigabyte zerofill, thread-local zerofill.
const ZEROFILL: [u32; 3] = [1, 0xc, 0x12];

pub(super) fn read(bytes: &[u8]) -> Result<Image<'_>, Failure> {
    let cut = || malformed("the header is cut");
    let (_, ctx) = parse_magic_and_ctx(bytes, 0).map_err(malformed)?;
    let ctx = ctx.ok_or_else(cut)?;
    let wide = ctx.container.is_big();
    let reader = Reader { bytes, big: !ctx.le.is_little() };
    let number = |at: usize| reader.u32(at).ok_or_else(cut);
    let (machine, kind, count, flags) = (number(4)?, number(12)?, number(16)?, number(24)?);
    if count > MAX_COMMANDS {
        return Err(malformed(format!("has {count} load commands; {MAX_COMMANDS} are read")));
    }
    let mut image = Image::new("mach-o", architecture(machine), bytes);
    let (mut signed, mut canary, mut fortify) = (false, false, false);
    let mut at = if wide { 32 } else { 28 };
    for _ in 0..count {
        let (command, size) = (number(at)?, number(at + 4)? as usize);
        if size < 8 || reader.slice(at, size).is_none() {
            return Err(malformed("a load command is cut"));
        }
        match command {
            SEGMENT_32 | SEGMENT_64 => {
                segment(&reader, at, size, command == SEGMENT_64, &mut image).ok_or_else(|| {
                    malformed("a segment has more sections than its load command, or bytes than the file")
                })?;
            }
            SYMTAB => {
                for (name, undefined) in symbols(&reader, at, wide).ok_or_else(cut)? {
                    canary |= matches!(name.as_str(), "___stack_chk_fail" | "___stack_chk_guard");
                    fortify |= name.starts_with("___") && name.ends_with("_chk");
                    if undefined {
                        image.imports.insert(name);
                    }
                }
            }
            CODE_SIGNATURE => signed = true,
            _ => {}
        }
        at += size;
    }
    image.hardening = Some(Hardening {
        nx: flags & ALLOW_STACK_EXECUTION == 0,
        pie: kind != EXECUTE || flags & PIE != 0,
        relro: Relro::NotApplicable,
        canary,
        fortify,
        signed,
    });
    Ok(image)
}

/// The first architecture of a file with several; offsets are within that part.
pub(super) fn read_fat(bytes: &[u8]) -> Result<Image<'_>, Failure> {
    let reader = Reader { bytes, big: true };
    let count = reader.u32(4).unwrap_or_default();
    let mut names = Vec::new();
    let mut first = None;
    for entry in 0..count as usize {
        let part = FatArch::parse(bytes, 8 + entry * 20).map_err(malformed)?;
        let slice = reader.slice(part.offset as usize, part.size as usize);
        let slice = slice.ok_or_else(|| malformed("an architecture ends behind the end of the file"))?;
        names.push(architecture(part.cputype));
        first = first.or(Some(slice));
    }
    let first = first.ok_or_else(|| malformed("has no architecture"))?;
    let mut image = read(first)?;
    image.format = "mach-o-fat";
    image.architecture = names.join(" ");
    Ok(image)
}

fn segment(reader: &Reader<'_>, at: usize, size: usize, wide: bool, image: &mut Image<'_>) -> Option<()> {
    let (header, each, word) = if wide { (72, 80, 8) } else { (56, 68, 4) };
    let count = reader.u32(at + header - 8)? as usize;
    if count.checked_mul(each)?.checked_add(header)? > size {
        return None;
    }
    image.segments.push(Segment { start: reader.word(at + 24, wide)?, length: reader.word(at + 24 + word, wide)? });
    for section in 0..count {
        let at = at + header + section * each;
        let name = format!("{},{}", reader.field(at + 16, 16)?, reader.field(at, 16)?);
        let length = reader.word(at + 32 + word, wide)?;
        let offset = reader.offset(at + 32 + 2 * word)?;
        let kind = reader.u32(at + 48 + 2 * word)?;
        let range = if ZEROFILL.contains(&(kind & 0xff)) {
            None
        } else {
            let end = offset.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= reader.bytes.len())?;
            Some(offset..end)
        };
        let code = kind & 0x8000_0400 != 0;
        image.sections.push(RawSection { name, size: length, flags: if code { "X" } else { "" }.to_owned(), range });
    }
    Some(())
}

/// Names of the external symbols, and whether they are undefined.
fn symbols(reader: &Reader<'_>, at: usize, wide: bool) -> Option<Vec<(String, bool)>> {
    let (table, count) = (reader.offset(at + 8)?, reader.u32(at + 12)? as usize);
    let names = reader.offset(at + 16)?;
    let size = if wide { 16 } else { 12 };
    // The table must be in the file as a whole.
    reader.slice(table, count.checked_mul(size)?)?;
    let symbol = |entry: usize| {
        let at = table + entry * size;
        let kind = *reader.bytes.get(at + 4)?;
        // Debugging entries (0xe0) are none; bit 1 is external.
        if kind & 0xe0 != 0 || kind & 1 == 0 {
            return None;
        }
        let name = reader.name(names.checked_add(reader.offset(at)?)?)?;
        Some((name, kind & 0x0e == 0))
    };
    Some((0..count.min(MAX_SYMBOLS)).filter_map(symbol).collect())
}

fn architecture(machine: u32) -> String {
    let name = match machine {
        0x0100_0007 => "x86_64",
        7 => "x86",
        0x0100_000c => "aarch64",
        0x0200_000c => "arm64_32",
        12 => "arm",
        18 => "ppc",
        0x0100_0012 => "ppc64",
        other => return format!("machine-{other:#x}"),
    };
    name.to_owned()
}
