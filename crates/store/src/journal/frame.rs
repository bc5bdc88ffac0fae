//! The encoding of a frame: `len(u32 LE) crc32c(u32 LE) number(u64 LE) payload`. The checksum covers length, number and
//! payload.

use std::iter::FusedIterator;

/// Number of bytes before the payload.
pub(super) const HEADER: usize = 16;
/// Maximum payload of one frame, in bytes.
pub const MAX_FRAME: usize = 64 << 10;

/// Appends a frame to `out`. The caller guarantees that the payload is not empty and at most `MAX_FRAME` long.
pub(super) fn seal(number: u64, payload: &[u8], out: &mut Vec<u8>) {
    let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    out.extend(len.to_le_bytes());
    out.extend(checksum(len, number, payload).to_le_bytes());
    out.extend(number.to_le_bytes());
    out.extend(payload);
}

fn checksum(len: u32, number: u64, payload: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&len.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &number.to_le_bytes());
    crc32c::crc32c_append(crc, payload)
}

/// Iterates over the intact frames at the beginning of a byte slice, each with its number; ends at the first torn one.
#[derive(Debug, Clone)]
pub struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Reads the content of a journal file, or what [`super::Journal::take`] returned.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of bytes not read yet; after the last frame, those that are torn.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_first_chunk::<HEADER>()?;
        let &[l0, l1, l2, l3, c0, c1, c2, c3, n0, n1, n2, n3, n4, n5, n6, n7] = header;
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        let number = u64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]);
        let bytes = usize::try_from(len).ok().filter(|len| (1..=MAX_FRAME).contains(len))?;
        let (payload, rest) = rest.split_at_checked(bytes)?;
        if checksum(len, number, payload) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return None;
        }
        self.rest = rest;
        Some((number, payload))
    }
}

impl FusedIterator for Frames<'_> {}
