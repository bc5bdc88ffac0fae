//! Posting lists: entries in ascending order with positions, in blocks shared between clones.

use std::sync::Arc;

use super::block::{BLOCK, BLOCK_BYTES, Block, Item, View, with, without, write_head};
use super::cursor::Cursor;

/// Maximum postings stored in a single inline block.
const SMALL: u32 = 16;

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
    /// Upper bound of the counts.
    most: u32,
    /// First entry of each block.
    firsts: Vec<u32>,
    blocks: Vec<Arc<Block>>,
}

impl Postings {
    /// Number of entries.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Small(bytes) => u32::try_from(View::unpack(bytes).counts().count()).unwrap_or(u32::MAX),
            Self::Many(list) => list.count,
        }
    }

    /// Upper bound of the counts.
    pub(super) fn most(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Small(bytes) => View::unpack(bytes).counts().map(|(_, count)| count).max().unwrap_or_default(),
            Self::Many(list) => list.most,
        }
    }

    /// Calls `each` for each entry with its count.
    pub(super) fn each_count(&self, mut each: impl FnMut(u32, u32)) {
        let mut run = |view: View<'_>| view.counts().for_each(|(doc, count)| each(doc, count));
        match self {
            Self::None => {}
            Self::Small(bytes) => run(View::unpack(bytes)),
            Self::Many(list) => list.blocks.iter().for_each(|block| run(block.view())),
        }
    }

    pub(super) fn cursor(&self) -> Cursor<'_> {
        let (view, blocks): (View<'_>, &[Arc<Block>]) = match self {
            Self::None => (View::default(), &[]),
            Self::Small(bytes) => (View::unpack(bytes), &[]),
            Self::Many(list) => (View::default(), &list.blocks),
        };
        Cursor::new(view, blocks)
    }

    /// Its encoded blocks.
    pub(super) fn views(&self) -> Vec<View<'_>> {
        match self {
            Self::None => Vec::new(),
            Self::Small(bytes) => vec![View::unpack(bytes)],
            Self::Many(list) => list.blocks.iter().map(|block| block.view()).collect(),
        }
    }

    /// Builds from encoded blocks and reports their content to `each`; `None` if they are malformed.
    pub(super) fn from_blocks(blocks: Vec<(Vec<u8>, Vec<u8>)>, mut each: impl FnMut(Item<'_>)) -> Option<Self> {
        let mut list = List::default();
        let mut last = None;
        for (heads, places) in blocks {
            let mut block = Block { heads, places, ..Block::default() };
            let mut items = block.view().items();
            let mut count = 0;
            for item in items.by_ref() {
                if last.replace(item.doc).is_some_and(|last| item.doc <= last) || !item.is_well_formed() {
                    return None;
                }
                list.most = list.most.max(item.count);
                count += 1;
                each(item);
            }
            if count == 0 || count > BLOCK || !items.counts.bytes.is_empty() || !items.places.is_empty() {
                return None;
            }
            (block.last, block.count) = (last?, count);
            list.count = list.count.checked_add(count)?;
            list.firsts.push(block.first());
            list.blocks.push(Arc::new(block));
        }
        Some(list.into_postings())
    }

    /// Inserts a posting that is not present.
    pub(super) fn insert(&mut self, item: Item<'_>) {
        match self {
            Self::None => *self = small(&Block::of(std::iter::once(item))),
            Self::Small(bytes) => {
                if append(bytes, item) {
                    return;
                }
                let block = with(View::unpack(bytes), item);
                *self = if block.count > SMALL { Self::Many(Arc::new(List::of(block))) } else { small(&block) };
            }
            Self::Many(list) => Arc::make_mut(list).insert(item),
        }
    }

    pub(super) fn remove(&mut self, doc: u32) {
        match self {
            Self::None => {}
            Self::Small(bytes) => *self = small(&without(View::unpack(bytes), doc)),
            Self::Many(list) => {
                let list = Arc::make_mut(list);
                list.remove(doc);
                if list.count <= SMALL / 2 {
                    *self = small(&Block::of(list.blocks.iter().flat_map(|block| block.view().items())));
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Heap size in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Small(bytes) => bytes.capacity() + 8,
            Self::Many(list) => {
                let held =
                    |block: &Arc<Block>| block.heads.capacity() + block.places.capacity() + size_of::<Block>() + 40;
                let blocks: usize = list.blocks.iter().map(held).sum();
                size_of::<List>() + 16 + list.firsts.capacity() * 4 + list.blocks.capacity() * 8 + blocks
            }
        }
    }
}

fn small(block: &Block) -> Postings {
    if block.count == 0 { Postings::None } else { Postings::Small(block.view().pack()) }
}

/// Appends to a small list, if the posting belongs there and fits.
fn append(bytes: &mut Vec<u8>, item: Item<'_>) -> bool {
    let heads = View::unpack(bytes).heads;
    let end = heads.len() + 1;
    let (last, count) = View::unpack(bytes).counts().fold((0, 0), |(_, count), (doc, _)| (doc, count + 1));
    let mut head = Vec::with_capacity(8);
    write_head(item, last, &mut head);
    let length = heads.len() + head.len();
    // The length of the heads must stay one byte.
    let (Some(first), true) =
        (u8::try_from(length).ok().filter(|length| *length < 0x80), count < SMALL && last < item.doc)
    else {
        return false;
    };
    bytes.reserve_exact(head.len() + item.places.len());
    bytes.splice(end..end, head);
    bytes.extend_from_slice(item.places);
    if let Some(length) = bytes.first_mut() {
        *length = first;
    }
    true
}

impl List {
    fn of(block: Block) -> Self {
        Self { count: block.count, most: block.most(), firsts: vec![block.first()], blocks: vec![Arc::new(block)] }
    }

    fn into_postings(self) -> Postings {
        match self.blocks.as_slice() {
            [] => Postings::None,
            [only] if only.count <= SMALL => small(only),
            _ => Postings::Many(Arc::new(self)),
        }
    }

    fn insert(&mut self, item: Item<'_>) {
        self.count += 1;
        self.most = self.most.max(item.count);
        match self.blocks.last_mut() {
            Some(last) if last.last >= item.doc => self.insert_between(item),
            Some(last) if !last.is_full() => Arc::make_mut(last).push(item),
            last => {
                if let Some(full) = last {
                    Arc::make_mut(full).seal();
                }
                self.firsts.push(item.doc);
                self.blocks.push(Arc::new(Block::of(std::iter::once(item))));
            }
        }
    }

    fn insert_between(&mut self, item: Item<'_>) {
        let at = self.block_of(item.doc);
        let Some(block) = self.blocks.get(at) else { return };
        let whole = with(block.view(), item);
        if whole.count > 1 && (whole.count > BLOCK || whole.places.len() > 2 * BLOCK_BYTES) {
            let half = (whole.count / 2) as usize;
            let items = whole.view().items();
            self.replace(at..at + 1, [Block::of(items.clone().take(half)), Block::of(items.skip(half))]);
        } else {
            self.replace(at..at + 1, [whole]);
        }
    }

    fn remove(&mut self, doc: u32) {
        let at = self.block_of(doc);
        let Some(block) = self.blocks.get(at) else { return };
        let left = without(block.view(), doc);
        self.count -= block.count - left.count;
        match self.blocks.get(at + 1) {
            _ if left.count == 0 => self.replace(at..at + 1, []),
            // Otherwise a shrinking list would end as many blocks of one posting.
            Some(next) if left.count + next.count <= BLOCK / 2 => {
                let both = Block::of(left.view().items().chain(next.view().items()));
                self.replace(at..at + 2, [both]);
            }
            _ => self.replace(at..at + 1, [left]),
        }
    }

    /// Block of an entry, or its insertion point.
    fn block_of(&self, doc: u32) -> usize {
        self.firsts.partition_point(|first| *first <= doc).saturating_sub(1)
    }

    fn replace<const N: usize>(&mut self, range: std::ops::Range<usize>, blocks: [Block; N]) {
        self.firsts.splice(range.clone(), blocks.iter().map(Block::first));
        self.blocks.splice(range, blocks.map(Arc::new));
    }
}
