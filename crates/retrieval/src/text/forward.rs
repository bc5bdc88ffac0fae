//! Forward index: terms of each entry by number, for its removal and for scoring single entries.

use std::sync::Arc;

use super::varint;

/// Entries per chunk.
const PIECE: usize = 256;

/// Each entry's list is encoded: ascending term numbers with counts, `gap << 2
///
/// min(count, 4) - 1`, from four on the rest of the count.
#[derive(Debug, Clone, Default)]
pub(super) struct Forward {
    chunks: Vec<Arc<Piece>>,
}

#[derive(Debug, Clone, Default)]
struct Piece {
    /// End offset of each entry's bytes.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Piece {
    fn range(&self, nth: usize) -> Option<std::ops::Range<usize>> {
        let start = nth.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        Some(start as usize..*self.ends.get(nth)? as usize)
    }

    fn set(&mut self, nth: usize, list: &[u8]) {
        let end = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        if self.ends.len() <= nth {
            self.ends.resize(nth + 1, end);
        }
        let Some(range) = self.range(nth) else { return };
        let (old, new) = (range.len(), list.len());
        self.bytes.splice(range, list.iter().copied());
        for end in self.ends.iter_mut().skip(nth) {
            *end = u32::try_from(*end as usize + new - old).unwrap_or(u32::MAX);
        }
    }
}

impl Forward {
    /// Encoded list of an entry; empty if there is none.
    pub(super) fn bytes_of(&self, doc: u32) -> &[u8] {
        let (piece, nth) = place(doc);
        let list = self.chunks.get(piece).and_then(|piece| piece.bytes.get(piece.range(nth)?));
        list.unwrap_or_default()
    }

    pub(super) fn get(&self, doc: u32) -> Terms<'_> {
        Terms::new(self.bytes_of(doc))
    }

    pub(super) fn set(&mut self, doc: u32, list: &[u8]) {
        let (piece, nth) = place(doc);
        if self.chunks.len() <= piece {
            if let Some(full) = self.chunks.last_mut() {
                Arc::make_mut(full).bytes.shrink_to_fit();
            }
            self.chunks.resize_with(piece + 1, Arc::default);
        }
        if let Some(piece) = self.chunks.get_mut(piece) {
            Arc::make_mut(piece).set(nth, list);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let held = |piece: &Arc<Piece>| piece.bytes.capacity() + piece.ends.capacity() * 4 + size_of::<Piece>() + 24;
        self.chunks.iter().map(held).sum()
    }
}

const fn place(doc: u32) -> (usize, usize) {
    (doc as usize / PIECE, doc as usize % PIECE)
}

/// Decoder of an entry's terms and counts, ascending.
#[derive(Debug, Clone)]
pub(super) struct Terms<'a> {
    bytes: &'a [u8],
    term: u32,
}

impl<'a> Terms<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, term: 0 }
    }

    /// Undecoded rest: empty unless the data is invalid.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

impl Iterator for Terms<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let mut bytes = self.bytes;
        let head = varint::read(&mut bytes)?;
        let term = self.term.checked_add(u32::try_from(head >> 2).ok()?)?;
        let count = match u32::try_from(head & 3).ok()? {
            3 => varint::read_u32(&mut bytes)?.checked_add(4)?,
            less => less + 1,
        };
        (self.term, self.bytes) = (term, bytes);
        Some((term, count))
    }
}

/// Encodes ascending numbers with counts of at least 1.
pub(super) fn write_terms(terms: impl Iterator<Item = (u32, u32)>, out: &mut Vec<u8>) {
    let mut last = 0;
    for (term, count) in terms {
        let gap = u64::from(term.saturating_sub(last)) << 2;
        last = term;
        if count < 4 {
            varint::write(gap | u64::from(count.saturating_sub(1)), out);
        } else {
            varint::write(gap | 3, out);
            varint::write(u64::from(count - 4), out);
        }
    }
}
