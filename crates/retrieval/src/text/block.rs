//! A block of a posting list.
//!
//! It consists of two byte sequences, so that counting does not decode positions. Heads: per entry the document gap and
//! the count in one number (`gap << 2
//!
//! min(count, 4) - 1`), from four on the rest of the count. Places: per entry the position gaps, the first from 0.

use super::varint;

/// Maximum postings of a block.
pub(super) const BLOCK: u32 = 256;
/// Size in bytes from which a block accepts no more.
pub(super) const BLOCK_BYTES: usize = 8 * 1024;
/// Maximum stored occurrences of a term in one entry.
pub(super) const MAX_COUNT: usize = 65_535;

/// Occurrences of a term in one entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    pub doc: u32,
    pub count: u32,
    /// Position gaps, the first from 0.
    pub places: &'a [u8],
}

impl Item<'_> {
    /// Returns whether it has the stated number of positions, in ascending order.
    pub(super) fn is_well_formed(&self) -> bool {
        let mut last = None;
        let rising = self.positions().all(|position| last.replace(position).is_none_or(|last| position > last));
        rising && self.count as usize <= MAX_COUNT && self.positions().count() == self.count as usize
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = u32> {
        positions(self.places, u32::MAX)
    }
}

/// Decodes this number of positions.
#[inline]
pub(super) fn positions(mut places: &[u8], count: u32) -> impl Iterator<Item = u32> {
    let (mut last, mut left) = (0_u32, count);
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        last = last.checked_add(varint::read_u32(&mut places)?)?;
        Some(last)
    })
}

/// Encodes ascending positions as in [`Item::places`]; returns their number.
pub(super) fn write_places(positions: impl Iterator<Item = u32>, out: &mut Vec<u8>) -> u32 {
    let (mut last, mut count) = (0, 0);
    for position in positions.take(MAX_COUNT) {
        varint::write(u64::from(position.saturating_sub(last)), out);
        last = position;
        count += 1;
    }
    count
}

/// The bytes of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct View<'a> {
    pub heads: &'a [u8],
    pub places: &'a [u8],
}

impl<'a> View<'a> {
    pub(super) fn counts(self) -> Counts<'a> {
        Counts { bytes: self.heads, doc: 0 }
    }

    pub(super) fn items(self) -> Items<'a> {
        Items { counts: self.counts(), places: self.places }
    }

    /// Both sequences concatenated after the length of the first.
    pub(super) fn pack(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.heads.len() + self.places.len() + 2);
        varint::write(self.heads.len() as u64, &mut bytes);
        bytes.extend_from_slice(self.heads);
        bytes.extend_from_slice(self.places);
        bytes
    }

    pub(super) fn unpack(mut bytes: &'a [u8]) -> Self {
        let length = varint::read_u32(&mut bytes).unwrap_or_default() as usize;
        let (heads, places) = bytes.split_at_checked(length).unwrap_or_default();
        Self { heads, places }
    }
}

/// Decoder of heads: entries with their counts.
#[derive(Clone)]
pub(super) struct Counts<'a> {
    pub bytes: &'a [u8],
    doc: u32,
}

impl Iterator for Counts<'_> {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        let head = varint::read_u32(&mut self.bytes)?;
        self.doc = self.doc.wrapping_add(head >> 2);
        let count = match head & 3 {
            3 => varint::read_u32(&mut self.bytes)?.checked_add(4)?,
            less => less + 1,
        };
        Some((self.doc, count))
    }
}

/// Decoder of heads and places.
#[derive(Clone)]
pub(super) struct Items<'a> {
    pub counts: Counts<'a>,
    pub places: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let (doc, count) = self.counts.next()?;
        let (places, rest) = self.places.split_at_checked(length_of(self.places, count))?;
        self.places = rest;
        Some(Item { doc, count, places })
    }
}

/// Number of bytes of the first numbers.
pub(super) fn length_of(bytes: &[u8], numbers: u32) -> usize {
    let (mut at, mut left) = (0, numbers);
    // The last byte of each number has its highest bit clear: eight bytes are counted at once.
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let ends = (!u64::from_le_bytes(*eight) & 0x8080_8080_8080_8080) >> 7;
        // Sum of the bytes, in the highest byte.
        let ends = (ends.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32;
        if ends >= left {
            break;
        }
        (at, left) = (at + 8, left - ends);
    }
    for byte in bytes.get(at..).unwrap_or_default() {
        if left == 0 {
            break;
        }
        left -= u32::from(*byte < 0x80);
        at += 1;
    }
    at
}

pub(super) fn write_head(item: Item<'_>, last: u32, heads: &mut Vec<u8>) {
    let gap = u64::from(item.doc.wrapping_sub(last)) << 2;
    if item.count < 4 {
        varint::write(gap | u64::from(item.count.saturating_sub(1)), heads);
    } else {
        varint::write(gap | 3, heads);
        varint::write(u64::from(item.count - 4), heads);
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub last: u32,
    pub count: u32,
    pub heads: Vec<u8>,
    pub places: Vec<u8>,
}

impl Block {
    pub(super) fn of<'a>(items: impl Iterator<Item = Item<'a>>) -> Self {
        let mut block = Self::default();
        for item in items {
            block.push(item);
        }
        block.seal();
        block
    }

    pub(super) fn view(&self) -> View<'_> {
        View { heads: &self.heads, places: &self.places }
    }

    pub(super) fn first(&self) -> u32 {
        self.view().counts().next().map_or(0, |(doc, _)| doc)
    }

    pub(super) fn most(&self) -> u32 {
        self.view().counts().map(|(_, count)| count).max().unwrap_or_default()
    }

    pub(super) fn push(&mut self, item: Item<'_>) {
        write_head(item, self.last, &mut self.heads);
        self.places.extend_from_slice(item.places);
        self.last = item.doc;
        self.count += 1;
    }

    pub(super) fn seal(&mut self) {
        self.heads.shrink_to_fit();
        self.places.shrink_to_fit();
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= BLOCK || self.places.len() >= BLOCK_BYTES
    }
}

/// Returns a copy with one more posting.
pub(super) fn with(view: View<'_>, item: Item<'_>) -> Block {
    let before = view.items().take_while(|other| other.doc < item.doc);
    let after = view.items().skip_while(|other| other.doc <= item.doc);
    Block::of(before.chain(std::iter::once(item)).chain(after))
}

/// Returns a copy without a posting.
pub(super) fn without(view: View<'_>, doc: u32) -> Block {
    Block::of(view.items().filter(|item| item.doc != doc))
}
