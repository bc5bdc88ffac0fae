//! UF2 (Microsoft, USB Flashing Format specification).

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use super::reader::Reader;
use super::{Image, hex, malformed};

/// Length of a block, and the most bytes that it carries.
const BLOCK: usize = 512;
const MAX_PAYLOAD: usize = 476;
/// The magic numbers: two at the start, one at the end.
const MAGIC: [(usize, u32); 3] = [(0, 0x0a32_4655), (4, 0x9e5d_5157), (508, 0x0ab1_6f30)];
/// Flags.
const NOT_MAIN_FLASH: u32 = 1;
const FILE_CONTAINER: u32 = 0x1000;
const HAS_FAMILY: u32 = 0x2000;

/// Families of chips (`uf2families.json` of microsoft/uf2).
const FAMILIES: &[(u32, &str)] = &[
    (0xe48b_ff56, "rp2040"),
    (0xe48b_ff57, "rp2xxx-absolute"),
    (0xe48b_ff59, "rp2350-arm-s"),
    (0xe48b_ff5a, "rp2350-riscv"),
    (0xe48b_ff5b, "rp2350-arm-ns"),
    (0x68ed_2b88, "samd21"),
    (0x5511_4460, "samd51"),
    (0xada5_2840, "nrf52840"),
    (0x1b57_745f, "nrf52"),
    (0x1c5f_21b0, "esp32"),
    (0xbfdd_4eee, "esp32s2"),
    (0xc47e_5767, "esp32s3"),
    (0xd42b_a06c, "esp32c3"),
    (0x5ee2_1072, "stm32f1"),
    (0x5775_5a57, "stm32f4"),
    (0x53b8_0f00, "stm32f7"),
];

pub(super) fn read(bytes: &[u8]) -> Result<Image<'static>, Failure> {
    if !bytes.len().is_multiple_of(BLOCK) {
        return Err(malformed("is cut: its length is no multiple of the 512 bytes of a block"));
    }
    let mut pieces = BTreeMap::new();
    let mut families = BTreeSet::new();
    // Block numbers by family: a file may hold images of several.
    let mut seen = BTreeSet::new();
    let mut totals = BTreeMap::new();
    for (at, block) in bytes.chunks_exact(BLOCK).enumerate() {
        let wrong = |why: &str| malformed(format!("block {at}: {why}"));
        let reader = Reader::little(block);
        let number = |at: usize| reader.u32(at).ok_or_else(|| wrong("is cut"));
        for (offset, magic) in MAGIC {
            if number(offset)? != magic {
                return Err(wrong("has a wrong magic number"));
            }
        }
        let (flags, address, length) = (number(8)?, number(12)?, number(16)? as usize);
        let (block_number, total, family) = (number(20)?, number(24)?, number(28)?);
        if length > MAX_PAYLOAD {
            return Err(wrong("has more than 476 bytes"));
        }
        if flags & FILE_CONTAINER != 0 {
            return Err(wrong("is of a file container, which has no addresses: it cannot be read here"));
        }
        let family = (flags & HAS_FAMILY != 0).then_some(family);
        if block_number >= total || !seen.insert((family, block_number)) {
            return Err(wrong("has a number that is taken or beyond the number of blocks"));
        }
        if *totals.entry(family).or_insert(total) != total {
            return Err(wrong("has another number of blocks than those before"));
        }
        families.extend(family);
        if flags & NOT_MAIN_FLASH != 0 || length == 0 {
            continue;
        }
        let payload = reader.slice(32, length).ok_or_else(|| wrong("is cut"))?;
        if pieces.insert(u64::from(address), payload.to_vec()).is_some() {
            return Err(wrong("overlaps an earlier block"));
        }
    }
    for (family, total) in totals {
        let count = seen.iter().filter(|(of, _)| *of == family).count();
        if count != total as usize {
            return Err(malformed(format!("has {count} blocks of {total}: it is cut")));
        }
    }
    let name = |family: &u32| {
        let known = FAMILIES.iter().find(|(id, _)| id == family);
        known.map_or_else(|| format!("family-{family:#010x}"), |(_, name)| (*name).to_owned())
    };
    let names: Vec<String> = families.iter().map(name).collect();
    hex::joined("uf2", if names.is_empty() { "unknown".to_owned() } else { names.join(" ") }, pieces)
}
