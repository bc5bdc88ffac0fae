//! ELF (System V ABI, gABI), with the rules of checksec.

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::header::{
    EM_386, EM_AARCH64, EM_ARM, EM_MIPS, EM_PPC, EM_PPC64, EM_RISCV, EM_S390, EM_SPARCV9, EM_X86_64,
};
use goblin::elf::program_header::{PF_X, PT_DYNAMIC, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP, PT_LOAD};
use goblin::elf::section_header::{SHT_DYNSYM, SHT_NOBITS, SHT_NULL, SHT_SYMTAB};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};
use muster_engine::prelude::*;

use super::reader::Reader;
use super::{Hardening, Image, RawSection, Relro, Segment, malformed};

/// Sections and segments that a file may have, entries of its dynamic table, and symbols that are read.
const MAX_SECTIONS: usize = 65_536;
const MAX_SEGMENTS: u16 = 1_024;
const MAX_DYNAMIC: usize = 65_536;
const MAX_SYMBOLS: usize = 200_000;
/// Tags of the dynamic table and their flags (gABI; `elf.h` of glibc).
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_DEBUG: u64 = 21;
const DT_BIND_NOW: u64 = 24;
const DT_FLAGS: u64 = 30;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_BIND_NOW: u64 = 8;
const DF_1_NOW: u64 = 1;
const DF_1_PIE: u64 = 0x0800_0000;
/// `e_type` of shared objects and of position-independent executables.
const ET_DYN: u16 = 3;
/// Ends of signed kernel modules (`scripts/sign-file.c` of Linux).
const MODULE_SIGNATURE: &[u8] = b"~Module signature appended~\n";

/// What the dynamic table says.
#[derive(Debug, Default)]
struct DynamicTable {
    now: bool,
    pie: bool,
    debug: bool,
    /// Addresses of the symbols and of their names.
    symbols: Option<u64>,
    names: Option<u64>,
}

/// A table of symbols: where it and its names are in the file, and their number.
#[derive(Debug, Clone, Copy)]
struct SymbolTable {
    at: usize,
    count: usize,
    names: usize,
}

pub(super) fn read(bytes: &[u8]) -> Result<Image<'_>, Failure> {
    let header = Elf::parse_header(bytes).map_err(malformed)?;
    let frame = Elf::lazy_parse(header).map_err(malformed)?;
    let (wide, big) = (frame.is_64, !frame.little_endian);
    let container = if wide { Container::Big } else { Container::Little };
    let ctx = Ctx::new(container, if big { Endian::Big } else { Endian::Little });
    let header = frame.header;
    if header.e_phnum > MAX_SEGMENTS {
        return Err(malformed(format!("has {} segments; {MAX_SEGMENTS} are read", header.e_phnum)));
    }
    let offset = |at: u64| usize::try_from(at).map_err(malformed);
    let segments =
        ProgramHeader::parse(bytes, offset(header.e_phoff)?, header.e_phnum.into(), ctx).map_err(malformed)?;
    let sections =
        SectionHeader::parse(bytes, offset(header.e_shoff)?, header.e_shnum.into(), ctx).map_err(malformed)?;
    if sections.len() > MAX_SECTIONS {
        return Err(malformed(format!("has {} sections; {MAX_SECTIONS} are read", sections.len())));
    }
    let reader = Reader { bytes, big };
    let table = dynamic(&reader, &segments, wide)?;
    let mut image = Image::new("elf", architecture(header.e_machine, wide, big), bytes);
    image.segments = segments
        .iter()
        .filter(|segment| segment.p_type == PT_LOAD)
        .map(|segment| Segment { start: segment.p_vaddr, length: segment.p_memsz })
        .collect();
    let names = sections.get(usize::from(header.e_shstrndx)).map(|section| section.sh_offset);
    image.sections = sections
        .iter()
        .filter(|section| section.sh_type != SHT_NULL)
        .map(|section| described(section, names, &reader))
        .collect::<Result<_, _>>()?;
    let mut canary = false;
    let mut fortify = false;
    for (symbols, exported) in symbol_tables(&sections, &segments, &table, wide) {
        for at in 0..symbols.count.min(MAX_SYMBOLS) {
            let Some((name, undefined)) = symbol(&reader, symbols, at, wide) else { break };
            canary |= matches!(name.as_str(), "__stack_chk_fail" | "__stack_chk_fail_local" | "__stack_chk_guard");
            fortify |= name.starts_with("__") && name.ends_with("_chk");
            if exported && undefined && !name.is_empty() {
                image.imports.insert(name);
            }
        }
    }
    let has = |kind: u32| segments.iter().any(|segment| segment.p_type == kind);
    image.hardening = Some(Hardening {
        nx: segments.iter().any(|segment| segment.p_type == PT_GNU_STACK && segment.p_flags & PF_X == 0),
        pie: header.e_type == ET_DYN && (table.pie || table.debug || has(PT_INTERP)),
        relro: match (has(PT_GNU_RELRO), table.now) {
            (true, true) => Relro::Full,
            (true, false) => Relro::Partial,
            (false, _) => Relro::None,
        },
        canary,
        fortify,
        signed: bytes.ends_with(MODULE_SIGNATURE),
    });
    Ok(image)
}

fn described(section: &SectionHeader, names: Option<u64>, reader: &Reader<'_>) -> Result<RawSection, Failure> {
    let at = names.and_then(|names| usize::try_from(names).ok()?.checked_add(section.sh_name));
    let name = at.and_then(|at| reader.name(at)).unwrap_or_default();
    let flags = [(1, 'W'), (2, 'A'), (4, 'X'), (0x10, 'M'), (0x20, 'S'), (0x400, 'T'), (0x800, 'C')];
    let flags = flags.iter().filter(|(bit, _)| section.sh_flags & bit != 0).map(|(_, letter)| *letter).collect();
    let range = if section.sh_type == SHT_NOBITS {
        None
    } else {
        let end = section.sh_offset.checked_add(section.sh_size);
        let end = end.and_then(|end| usize::try_from(end).ok()).filter(|end| *end <= reader.bytes.len());
        let start = usize::try_from(section.sh_offset).ok();
        let why = || malformed(format!("section {name} ends behind the end of the file"));
        Some(start.zip(end).map(|(start, end)| start..end).ok_or_else(why)?)
    };
    Ok(RawSection { name, size: section.sh_size, flags, range })
}

fn dynamic(reader: &Reader<'_>, segments: &[ProgramHeader], wide: bool) -> Result<DynamicTable, Failure> {
    let mut table = DynamicTable::default();
    let Some(segment) = segments.iter().find(|segment| segment.p_type == PT_DYNAMIC) else { return Ok(table) };
    let word = if wide { 8 } else { 4 };
    let start = usize::try_from(segment.p_offset).map_err(malformed)?;
    let length = usize::try_from(segment.p_filesz).map_err(malformed)?;
    if reader.slice(start, length).is_none() {
        return Err(malformed("the dynamic table ends behind the end of the file"));
    }
    for entry in 0..(length / (2 * word)).min(MAX_DYNAMIC) {
        let at = start + entry * 2 * word;
        let (Some(tag), Some(value)) = (reader.word(at, wide), reader.word(at + word, wide)) else { break };
        match tag {
            0 => break,
            DT_STRTAB => table.names = Some(value),
            DT_SYMTAB => table.symbols = Some(value),
            DT_DEBUG => table.debug = true,
            DT_BIND_NOW => table.now = true,
            DT_FLAGS => table.now |= value & DF_BIND_NOW != 0,
            DT_FLAGS_1 => {
                table.now |= value & DF_1_NOW != 0;
                table.pie |= value & DF_1_PIE != 0;
            }
            _ => {}
        }
    }
    Ok(table)
}

/// The tables of symbols, and whether each is that of the dynamic linker. Without sections, the linker's one: linkers put
/// the names right behind it.
fn symbol_tables(
    sections: &[SectionHeader],
    segments: &[ProgramHeader],
    table: &DynamicTable,
    wide: bool,
) -> Vec<(SymbolTable, bool)> {
    let size = if wide { 24 } else { 16 };
    let of = |section: &SectionHeader| {
        let names = sections.get(section.sh_link as usize)?;
        Some(SymbolTable {
            at: usize::try_from(section.sh_offset).ok()?,
            count: usize::try_from(section.sh_size).ok()? / size,
            names: usize::try_from(names.sh_offset).ok()?,
        })
    };
    let find = |kind: u32| sections.iter().find(|section| section.sh_type == kind).and_then(of);
    let in_file = |address: u64| {
        let holds = |segment: &&ProgramHeader| {
            segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz
        };
        let segment = segments.iter().find(holds)?;
        usize::try_from((address - segment.p_vaddr).checked_add(segment.p_offset)?).ok()
    };
    let bare = || {
        let (at, names) = (in_file(table.symbols?)?, in_file(table.names?)?);
        Some(SymbolTable { at, count: names.checked_sub(at)? / size, names })
    };
    let linked = find(SHT_DYNSYM).or_else(bare).map(|symbols| (symbols, true));
    let all = find(SHT_SYMTAB).map(|symbols| (symbols, false));
    linked.into_iter().chain(all).collect()
}

/// Name of a symbol, and whether it is undefined.
fn symbol(reader: &Reader<'_>, table: SymbolTable, at: usize, wide: bool) -> Option<(String, bool)> {
    let (size, index) = if wide { (24, 6) } else { (16, 14) };
    let start = table.at.checked_add(at.checked_mul(size)?)?;
    let name = table.names.checked_add(reader.offset(start)?)?;
    let undefined = reader.u16(start.checked_add(index)?)? == 0;
    Some((reader.name(name).unwrap_or_default(), undefined))
}

fn architecture(machine: u16, wide: bool, big: bool) -> String {
    let name = match machine {
        EM_X86_64 => "x86_64",
        EM_386 => "x86",
        EM_AARCH64 => "aarch64",
        EM_ARM => "arm",
        EM_RISCV if wide => "riscv64",
        EM_RISCV => "riscv32",
        EM_MIPS if wide => "mips64",
        EM_MIPS => "mips",
        EM_PPC64 if big => "ppc64",
        EM_PPC64 => "ppc64le",
        EM_PPC => "ppc",
        EM_S390 => "s390x",
        EM_SPARCV9 => "sparc64",
        // Numbers of the gABI's registry that goblin does not name alike.
        94 => "xtensa",
        83 => "avr",
        258 => "loongarch64",
        other => return format!("machine-{other}"),
    };
    name.to_owned()
}
