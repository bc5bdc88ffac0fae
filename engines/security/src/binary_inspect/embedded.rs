//! Files within a file, by their magic numbers and the fields next to them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Finds of one kind that are kept: a format repeats its magic numbers.
const MAX_EACH: usize = 200;

/// A kind of file: the bytes that it begins with, and whether what follows fits.
struct Magic {
    kind: &'static str,
    start: &'static [u8],
    fits: fn(&[u8]) -> bool,
}

const fn magic(kind: &'static str, start: &'static [u8], fits: fn(&[u8]) -> bool) -> Magic {
    Magic { kind, start, fits }
}

static MAGICS: &[Magic] = &[
    // RFC 1952: deflate, reserved flags zero, extra flags and system of the list.
    magic("gzip", &[0x1f, 0x8b, 8], |rest| {
        byte(rest, 3).is_some_and(|flags| flags & 0xe0 == 0)
            && byte(rest, 8).is_some_and(|extra| matches!(extra, 0 | 2 | 4))
            && byte(rest, 9).is_some_and(|system| system <= 13 || system == 255)
    }),
    magic("zip", b"PK\x03\x04", |rest| byte(rest, 5) == Some(0) && byte(rest, 4).is_some_and(|version| version < 70)),
    magic("xz", &[0xfd, b'7', b'z', b'X', b'Z', 0], |rest| byte(rest, 6) == Some(0)),
    magic("bzip2", b"BZh", |rest| {
        byte(rest, 3).is_some_and(|level| level.is_ascii_digit()) && rest.get(4..10) == Some(b"1AY&SY")
    }),
    magic("zstd", &[0x28, 0xb5, 0x2f, 0xfd], |rest| byte(rest, 4).is_some_and(|flags| flags & 8 == 0)),
    magic("lz4", &[0x04, 0x22, 0x4d, 0x18], |rest| byte(rest, 4).is_some_and(|flags| flags >> 6 == 1)),
    magic("7z", &[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c], |rest| byte(rest, 6) == Some(0)),
    // The version of squashfs is 4.0.
    magic("squashfs", b"hsqs", |rest| rest.get(28..32) == Some(&[4, 0, 0, 0])),
    magic("cpio", b"0707", |rest| {
        matches!(byte(rest, 4), Some(b'0'))
            && matches!(byte(rest, 5), Some(b'1' | b'2'))
            && rest.get(6..14).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    }),
    magic("u-boot-image", &[0x27, 0x05, 0x19, 0x56], u_boot),
    magic("device-tree", &[0xd0, 0x0d, 0xfe, 0xed], |rest| rest.get(20..24) == Some(&[0, 0, 0, 17])),
    magic("ubi", b"UBI#", |rest| byte(rest, 4) == Some(1)),
    magic("cramfs", &[0x45, 0x3d, 0xcd, 0x28], |rest| rest.get(16..32) == Some(b"Compressed ROMFS")),
    magic("android-boot", b"ANDROID!", |_| true),
    magic("elf", &[0x7f, b'E', b'L', b'F'], |rest| {
        matches!(byte(rest, 4), Some(1 | 2)) && matches!(byte(rest, 5), Some(1 | 2)) && byte(rest, 6) == Some(1)
    }),
    magic("pe", b"MZ", |rest| {
        let at = rest.get(60..64).and_then(|at| <[u8; 4]>::try_from(at).ok()).map(u32::from_le_bytes);
        at.and_then(|at| rest.get(at as usize..)).is_some_and(|rest| rest.starts_with(b"PE\0\0"))
    }),
    magic("png", &[0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a], |_| true),
    magic("jpeg", &[0xff, 0xd8, 0xff], |rest| matches!(byte(rest, 3), Some(0xdb | 0xe0 | 0xe1))),
    magic("pdf", b"%PDF-", |rest| byte(rest, 5).is_some_and(|digit| digit.is_ascii_digit())),
    magic("sqlite", b"SQLite format 3\0", |_| true),
    magic("certificate", b"-----BEGIN CERTIFICATE-----", |_| true),
    magic("private-key", b"-----BEGIN ", |rest| {
        let line = rest.get(11..60).unwrap_or_default();
        let end = line.windows(5).position(|part| part == b"-----");
        end.and_then(|end| line.get(..end)).is_some_and(|label| label.ends_with(b"PRIVATE KEY"))
    }),
];

/// The kinds by the first byte of their magic numbers.
static BY_FIRST: LazyLock<BTreeMap<u8, Vec<&'static Magic>>> = LazyLock::new(|| {
    let mut table: BTreeMap<u8, Vec<&'static Magic>> = BTreeMap::new();
    for magic in MAGICS {
        if let Some(first) = magic.start.first() {
            table.entry(*first).or_default().push(magic);
        }
    }
    table
});

fn byte(rest: &[u8], at: usize) -> Option<u8> {
    rest.get(at).copied()
}

/// Whether the header's own checksum is right (`image.h` of U-Boot): CRC-32 of 64 bytes with the sum as zero.
fn u_boot(rest: &[u8]) -> bool {
    let Some(header) = rest.first_chunk::<64>() else { return false };
    let mut cleared = *header;
    for byte in cleared.iter_mut().skip(4).take(4) {
        *byte = 0;
    }
    header.get(4..8) == Some(&crc32fast::hash(&cleared).to_be_bytes())
}

/// Offsets and kinds of what is found; the file itself, at its start, does not count.
pub(super) fn find(data: &[u8], format: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    // 256 entries: a look at a map for each byte would cost more than the search.
    let firsts: Vec<Option<&Vec<&'static Magic>>> = (0..=u8::MAX).map(|byte| BY_FIRST.get(&byte)).collect();
    for (at, first) in data.iter().enumerate() {
        let Some(Some(magics)) = firsts.get(usize::from(*first)) else { continue };
        let rest = data.get(at..).unwrap_or_default();
        for magic in magics.iter().filter(|magic| rest.starts_with(magic.start) && (magic.fits)(rest)) {
            let itself = at == 0 && format.starts_with(magic.kind);
            let count = counts.entry(magic.kind).or_default();
            if !itself && *count < MAX_EACH {
                *count += 1;
                found.push((at, magic.kind));
            }
        }
    }
    found
}
