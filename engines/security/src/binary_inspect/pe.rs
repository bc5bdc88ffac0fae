//! PE and PE32+ (Microsoft, PE format).

use goblin::pe::header::Header;
use muster_engine::prelude::*;

use super::reader::Reader;
use super::{Hardening, Image, RawSection, Relro, Segment, malformed};

/// Sections that Windows loads (PE format, COFF file header: 96), libraries, and functions that are read.
const MAX_SECTIONS: u16 = 96;
const MAX_LIBRARIES: usize = 4_096;
const MAX_FUNCTIONS: usize = 50_000;
/// Flags of `DllCharacteristics`.
const DYNAMIC_BASE: u16 = 0x40;
const NX_COMPAT: u16 = 0x100;
/// Length of a section's header, and of the entry of a library in the import table.
const SECTION: usize = 40;
const LIBRARY: usize = 20;

/// Where a section is in memory and in the file.
#[derive(Debug, Clone, Copy)]
struct Mapped {
    address: u32,
    span: u32,
    at: u32,
    length: u32,
}

pub(super) fn read(bytes: &[u8]) -> Result<Image<'_>, Failure> {
    let header = Header::parse(bytes).map_err(malformed)?;
    let coff = &header.coff_header;
    if coff.number_of_sections > MAX_SECTIONS {
        return Err(malformed(format!("has {} sections; loaders take {MAX_SECTIONS}", coff.number_of_sections)));
    }
    let optional = header.optional_header.as_ref().ok_or_else(|| malformed("has no optional header"))?;
    let wide = optional.standard_fields.magic == 0x20b;
    let reader = Reader::little(bytes);
    // The signature and the COFF header are 24 bytes.
    let start = header.dos_header.pe_pointer as usize + 24 + usize::from(coff.size_of_optional_header);
    let mut image = Image::new(if wide { "pe32+" } else { "pe" }, architecture(coff.machine), bytes);
    let mut map = Vec::new();
    for section in 0..usize::from(coff.number_of_sections) {
        let (raw, mapped) = described(&reader, start + section * SECTION)
            .ok_or_else(|| malformed(format!("the header of section {section} or its bytes are cut")))?;
        let base = optional.windows_fields.image_base;
        let length = u64::from(mapped.span.max(mapped.length));
        image.segments.push(Segment { start: base.saturating_add(mapped.address.into()), length });
        image.sections.push(raw);
        map.push(mapped);
    }
    let directories = &optional.data_directories;
    if let Some(table) = directories.get_import_table() {
        imports(&reader, &map, table.virtual_address, wide, &mut image)?;
    }
    // The offset of the security cookie in the load configuration.
    let cookie = directories.get_load_config_table().and_then(|table| {
        let at = in_file(&map, table.virtual_address)?.checked_add(if wide { 0x58 } else { 0x3c })?;
        reader.word(at, wide)
    });
    let signed = directories.get_certificate_table().is_some_and(|table| {
        // The only directory whose address is an offset in the file.
        table.size > 8 && reader.slice(table.virtual_address as usize, table.size as usize).is_some()
    });
    let flags = optional.windows_fields.dll_characteristics;
    image.hardening = Some(Hardening {
        nx: flags & NX_COMPAT != 0,
        pie: flags & DYNAMIC_BASE != 0,
        relro: Relro::NotApplicable,
        canary: cookie.is_some_and(|cookie| cookie != 0),
        fortify: false,
        signed,
    });
    Ok(image)
}

fn described(reader: &Reader<'_>, at: usize) -> Option<(RawSection, Mapped)> {
    let number = |offset: usize| reader.u32(at.checked_add(offset)?);
    let mapped = Mapped { span: number(8)?, address: number(12)?, length: number(16)?, at: number(20)? };
    let bits = number(36)?;
    let flags = [(0x20, 'C'), (0x40, 'I'), (0x80, 'U'), (0x2000_0000, 'X'), (0x4000_0000, 'R'), (0x8000_0000, 'W')];
    let flags = flags.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, letter)| *letter).collect();
    let start = mapped.at as usize;
    let range = (mapped.length > 0).then(|| start..start + mapped.length as usize);
    if range.as_ref().is_some_and(|range| range.end > reader.bytes.len()) {
        return None;
    }
    Some((RawSection { name: reader.field(at, 8)?, size: mapped.length.into(), flags, range }, mapped))
}

/// Offset in the file of an address relative to the image.
fn in_file(map: &[Mapped], address: u32) -> Option<usize> {
    let holds = |section: &&Mapped| address >= section.address && address - section.address < section.length;
    let section = map.iter().find(holds)?;
    usize::try_from(u64::from(section.at) + u64::from(address - section.address)).ok()
}

/// Collects `library:function`, or `library:#ordinal`.
fn imports(reader: &Reader<'_>, map: &[Mapped], table: u32, wide: bool, image: &mut Image<'_>) -> Result<(), Failure> {
    let (size, by_ordinal) = if wide { (8, 1 << 63) } else { (4, 1 << 31) };
    let mut functions = 0;
    let Some(start) = in_file(map, table) else { return Ok(()) };
    for library in 0..MAX_LIBRARIES {
        let at = start + library * LIBRARY;
        let (Some(lookup), Some(name), Some(bound)) = (reader.u32(at), reader.u32(at + 12), reader.u32(at + 16)) else {
            return Err(malformed("the import table is cut"));
        };
        if name == 0 {
            return Ok(());
        }
        let name = in_file(map, name).and_then(|at| reader.name(at));
        let name = name.ok_or_else(|| malformed("the name of an imported library is outside of the file"))?;
        let list = if lookup == 0 { bound } else { lookup };
        let Some(list) = in_file(map, list) else { continue };
        for entry in 0.. {
            let Some(value) = reader.word(list + entry * size, wide).filter(|value| *value != 0) else { break };
            functions += 1;
            if functions > MAX_FUNCTIONS {
                return Err(malformed(format!("imports more than {MAX_FUNCTIONS} functions")));
            }
            let function = if value & by_ordinal != 0 {
                format!("#{}", value & 0xffff)
            } else {
                // A hint of two bytes precedes the name.
                let at = in_file(map, (value & 0x7fff_ffff) as u32).and_then(|at| at.checked_add(2));
                at.and_then(|at| reader.name(at)).unwrap_or_default()
            };
            image.imports.insert(format!("{name}:{function}"));
        }
    }
    Err(malformed(format!("imports from more than {MAX_LIBRARIES} libraries")))
}

fn architecture(machine: u16) -> String {
    let name = match machine {
        0x8664 => "x86_64",
        0x14c => "x86",
        0xaa64 => "aarch64",
        0x1c0 | 0x1c4 => "arm",
        0x5032 => "riscv32",
        0x5064 => "riscv64",
        0x6264 => "loongarch64",
        0xebc => "efi-byte-code",
        other => return format!("machine-{other:#x}"),
    };
    name.to_owned()
}
