//! Where a term occurs: entries by rising number, each with its positions.
//!
//! An occurrence list is bytes: the gap to the entry before and the count in one number (`gap << 2 | min(count, 4) - 1`),
//! from four on the count's rest and the length of what follows, then the gaps between the positions.

use std::sync::Arc;

use super::varint;

/// Postings of a block at most.
const BLOCK: u32 = 256;
/// Bytes of a block from which on it takes no more.
const BLOCK_BYTES: usize = 8 * 1024;
/// Postings up to which a term has one block and nothing around it.
const SMALL: u32 = 16;
/// Occurrences of a term in one entry that are kept.
pub(super) const MAX_COUNT: usize = 65_535;

/// A term's occurrences in one entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    pub doc: u32,
    pub count: u32,
    /// Gaps between its positions, the first from 0.
    pub places: &'a [u8],
}

impl Item<'_> {
    /// Whether it has as many positions as it says, all rising.
    fn is_well_formed(&self) -> bool {
        let mut last = None;
        let rising = self.positions().all(|position| last.replace(position).is_none_or(|last| position > last));
        let whole = self.count >= 4 || self.places.len() == length_of(self.places, self.count);
        rising && whole && self.count as usize <= MAX_COUNT && self.positions().count() == self.count as usize
    }

    pub(super) fn positions(&self) -> impl Iterator<Item = u32> {
        let mut places = self.places;
        let mut last = 0_u32;
        std::iter::from_fn(move || {
            last = last.checked_add(varint::read_u32(&mut places)?)?;
            Some(last)
        })
    }
}

/// The gaps of rising positions, as [`Item::places`] has them, and how many they are.
pub(super) fn write_places(positions: impl Iterator<Item = u32>, out: &mut Vec<u8>) -> u32 {
    let (mut last, mut count) = (0, 0);
    for position in positions.take(MAX_COUNT) {
        varint::write(u64::from(position.saturating_sub(last)), out);
        last = position;
        count += 1;
    }
    count
}

/// Reads a block.
struct Stream<'a> {
    bytes: &'a [u8],
    doc: u32,
}

impl<'a> Iterator for Stream<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let head = varint::read(&mut self.bytes)?;
        self.doc = self.doc.wrapping_add(u32::try_from(head >> 2).ok()?);
        let (count, length) = match u32::try_from(head & 3).ok()? {
            3 => (varint::read_u32(&mut self.bytes)?.checked_add(4)?, varint::read_u32(&mut self.bytes)? as usize),
            less => (less + 1, length_of(self.bytes, less + 1)),
        };
        let (places, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(Item { doc: self.doc, count, places })
    }
}

/// Bytes of the first numbers.
fn length_of(bytes: &[u8], numbers: u32) -> usize {
    let mut length = 0;
    for _ in 0..numbers {
        length += bytes.iter().skip(length).position(|byte| *byte < 0x80).map_or(0, |last| last + 1);
    }
    length
}

fn stream(bytes: &[u8]) -> Stream<'_> {
    Stream { bytes, doc: 0 }
}

fn write(item: Item<'_>, last: u32, out: &mut Vec<u8>) {
    let gap = u64::from(item.doc.wrapping_sub(last)) << 2;
    if item.count < 4 {
        varint::write(gap | u64::from(item.count.saturating_sub(1)), out);
    } else {
        varint::write(gap | 3, out);
        varint::write(u64::from(item.count - 4), out);
        varint::write(item.places.len() as u64, out);
    }
    out.extend_from_slice(item.places);
}

/// All of a term's.
#[derive(Debug, Clone, Default)]
pub(super) enum Postings {
    #[default]
    None,
    Small(Vec<u8>),
    Many(Arc<List>),
}

#[derive(Debug, Clone, Default)]
pub(super) struct List {
    count: u32,
    /// No entry holds it more often; it may be that none does so often any more.
    most: u32,
    /// The first entry of each block.
    firsts: Vec<u32>,
    blocks: Vec<Arc<Block>>,
}

#[derive(Debug, Clone, Default)]
struct Block {
    last: u32,
    count: u32,
    bytes: Vec<u8>,
}

impl Block {
    fn of<'a>(items: impl Iterator<Item = Item<'a>>) -> Self {
        let mut block = Self::default();
        for item in items {
            block.push(item);
        }
        block.bytes.shrink_to_fit();
        block
    }

    fn push(&mut self, item: Item<'_>) {
        write(item, self.last, &mut self.bytes);
        self.last = item.doc;
        self.count += 1;
    }

    fn is_full(&self) -> bool {
        self.count >= BLOCK || self.bytes.len() >= BLOCK_BYTES
    }
}

impl Postings {
    /// How many entries hold it.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Small(bytes) => u32::try_from(stream(bytes).count()).unwrap_or(u32::MAX),
            Self::Many(list) => list.count,
        }
    }

    /// How often an entry may hold it at most.
    pub(super) fn most(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Small(bytes) => stream(bytes).map(|item| item.count).max().unwrap_or_default(),
            Self::Many(list) => list.most,
        }
    }

    pub(super) fn for_each(&self, mut each: impl FnMut(Item<'_>)) {
        match self {
            Self::None => {}
            Self::Small(bytes) => stream(bytes).for_each(each),
            Self::Many(list) => {
                for block in &list.blocks {
                    stream(&block.bytes).for_each(&mut each);
                }
            }
        }
    }

    pub(super) fn cursor(&self) -> Cursor<'_> {
        let (bytes, blocks): (&[u8], &[Arc<Block>]) = match self {
            Self::None => (&[], &[]),
            Self::Small(bytes) => (bytes, &[]),
            Self::Many(list) => (&[], &list.blocks),
        };
        Cursor { stream: stream(bytes), blocks }
    }

    /// Its blocks as they are stored.
    pub(super) fn blocks(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut cursor = self.cursor();
        let count = if cursor.stream.bytes.is_empty() { cursor.blocks.len() } else { 1 };
        (0..count).map(move |_| {
            if !cursor.stream.bytes.is_empty() {
                return std::mem::take(&mut cursor.stream.bytes);
            }
            let (first, rest) = cursor.blocks.split_first().map_or((None, cursor.blocks), |(f, r)| (Some(f), r));
            cursor.blocks = rest;
            first.map_or(&[][..], |block| &block.bytes)
        })
    }

    /// From stored blocks, telling `each` what is in them; none where they are not well formed.
    pub(super) fn from_blocks(blocks: Vec<Vec<u8>>, mut each: impl FnMut(Item<'_>) -> bool) -> Option<Self> {
        let mut list = List::default();
        let mut last = None;
        for bytes in blocks {
            let mut block = Block::default();
            let mut items = stream(&bytes);
            for item in items.by_ref() {
                let rising = last.is_none_or(|last| item.doc > last);
                if !rising || !item.is_well_formed() || !each(item) {
                    return None;
                }
                if block.count == 0 {
                    list.firsts.push(item.doc);
                }
                list.most = list.most.max(item.count);
                block.count += 1;
                last = Some(item.doc);
            }
            block.last = last?;
            let empty = block.count == 0 || !items.bytes.is_empty();
            if empty || block.count > BLOCK {
                return None;
            }
            list.count = list.count.checked_add(block.count)?;
            block.bytes = bytes;
            list.blocks.push(Arc::new(block));
        }
        Some(list.into_postings())
    }

    /// Adds an entry that is not in it.
    pub(super) fn insert(&mut self, item: Item<'_>) {
        match self {
            Self::None => *self = Self::Small(Block::of(std::iter::once(item)).bytes),
            Self::Small(bytes) => {
                let block = with(bytes, item);
                *self =
                    if block.count > SMALL { Self::Many(Arc::new(List::of(block))) } else { Self::Small(block.bytes) };
            }
            Self::Many(list) => Arc::make_mut(list).insert(item),
        }
    }

    pub(super) fn remove(&mut self, doc: u32) {
        match self {
            Self::None => {}
            Self::Small(bytes) => *self = small(Block::of(stream(bytes).filter(|item| item.doc != doc))),
            Self::Many(list) => {
                let list = Arc::make_mut(list);
                list.remove(doc);
                if list.count <= SMALL / 2 {
                    *self = small(Block::of(list.blocks.iter().flat_map(|block| stream(&block.bytes))));
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// On the heap.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Small(bytes) => bytes.capacity() + 8,
            Self::Many(list) => {
                let blocks = list.blocks.iter().map(|block| block.bytes.capacity() + size_of::<Block>() + 32);
                size_of::<List>() + 16 + list.firsts.capacity() * 4 + list.blocks.capacity() * 8 + blocks.sum::<usize>()
            }
        }
    }
}

fn small(block: Block) -> Postings {
    if block.count == 0 { Postings::None } else { Postings::Small(block.bytes) }
}

/// A block with one more.
fn with(bytes: &[u8], item: Item<'_>) -> Block {
    let before = stream(bytes).take_while(|other| other.doc < item.doc);
    let after = stream(bytes).skip_while(|other| other.doc <= item.doc);
    Block::of(before.chain(std::iter::once(item)).chain(after))
}

/// Goes through postings, skipping blocks that are not looked for.
pub(super) struct Cursor<'a> {
    stream: Stream<'a>,
    blocks: &'a [Arc<Block>],
}

impl<'a> Cursor<'a> {
    /// The first from `doc` on. What is before is passed.
    pub(super) fn seek(&mut self, doc: u32) -> Option<Item<'a>> {
        loop {
            while !self.stream.bytes.is_empty() {
                let item = self.stream.next()?;
                if item.doc >= doc {
                    return Some(item);
                }
            }
            let skipped = self.blocks.iter().take_while(|block| block.last < doc).count();
            let (first, rest) = self.blocks.get(skipped..)?.split_first()?;
            (self.stream, self.blocks) = (stream(&first.bytes), rest);
        }
    }
}

impl List {
    fn into_postings(self) -> Postings {
        match self.blocks.as_slice() {
            [] => Postings::None,
            [only] if only.count <= SMALL => Postings::Small(only.bytes.clone()),
            _ => Postings::Many(Arc::new(self)),
        }
    }

    fn of(block: Block) -> Self {
        let most = stream(&block.bytes).map(|item| item.count).max().unwrap_or_default();
        let first = stream(&block.bytes).map(|item| item.doc).next().unwrap_or_default();
        Self { count: block.count, most, firsts: vec![first], blocks: vec![Arc::new(block)] }
    }

    fn insert(&mut self, item: Item<'_>) {
        self.count += 1;
        self.most = self.most.max(item.count);
        match self.blocks.last_mut() {
            Some(last) if last.last >= item.doc => self.insert_between(item),
            Some(last) if !last.is_full() => Arc::make_mut(last).push(item),
            _ => {
                if let Some(full) = self.blocks.last_mut() {
                    Arc::make_mut(full).bytes.shrink_to_fit();
                }
                self.firsts.push(item.doc);
                self.blocks.push(Arc::new(Block::of(std::iter::once(item))));
            }
        }
    }

    fn insert_between(&mut self, item: Item<'_>) {
        let at = self.block_of(item.doc);
        let Some(block) = self.blocks.get(at) else { return };
        let whole = with(&block.bytes, item);
        if whole.count > 1 && (whole.count > BLOCK || whole.bytes.len() > 2 * BLOCK_BYTES) {
            let half = (whole.count / 2) as usize;
            let halves = [Block::of(stream(&whole.bytes).take(half)), Block::of(stream(&whole.bytes).skip(half))];
            self.replace(at..at + 1, halves);
        } else {
            self.replace(at..at + 1, [whole]);
        }
    }

    fn remove(&mut self, doc: u32) {
        let at = self.block_of(doc);
        let Some(block) = self.blocks.get(at) else { return };
        let left = Block::of(stream(&block.bytes).filter(|item| item.doc != doc));
        self.count -= block.count - left.count;
        match self.blocks.get(at + 1) {
            _ if left.count == 0 => self.replace(at..at + 1, []),
            // Else a list that shrinks would end as many blocks of one.
            Some(next) if left.count + next.count <= BLOCK / 2 => {
                let both = Block::of(stream(&left.bytes).chain(stream(&next.bytes)));
                self.replace(at..at + 2, [both]);
            }
            _ => self.replace(at..at + 1, [left]),
        }
    }

    /// The block that an entry is in, or would be.
    fn block_of(&self, doc: u32) -> usize {
        self.firsts.partition_point(|first| *first <= doc).saturating_sub(1)
    }

    fn replace<const N: usize>(&mut self, range: std::ops::Range<usize>, blocks: [Block; N]) {
        let first = |block: &Block| stream(&block.bytes).next().map_or(0, |item| item.doc);
        self.firsts.splice(range.clone(), blocks.iter().map(first));
        self.blocks.splice(range, blocks.map(Arc::new));
    }
}
