use std::io::{self, Write};

use crate::vector::DecodeError;
use crate::vector::codec::ChecksumReader;
use crate::vector::rows::Rows;

const NONE: u32 = u32::MAX;
/// More layers than any number of documents needs: 16^8 is 2^32.
pub(super) const MAX_LEVEL: usize = 15;

/// Adjacency lists by layer. A list is a row: the count, then the slots.
#[derive(Debug, Clone)]
pub(super) struct Layers {
    links: usize,
    /// Level of the node plus one; 0 if the slot is not a node.
    levels: Rows<u8>,
    base: Rows<u32>,
    /// First of a node's rows above the base layer.
    upper_at: Rows<u32>,
    upper: Rows<u32>,
    /// Free rows above the base layer, by run length.
    spare: Vec<Vec<u32>>,
    entry: Option<u32>,
}

impl Layers {
    pub fn new(links: usize) -> Self {
        Self {
            links,
            levels: Rows::new(1),
            base: Rows::new(1 + 2 * links),
            upper_at: Rows::new(1),
            upper: Rows::new(1 + links),
            spare: vec![Vec::new(); MAX_LEVEL + 1],
            entry: None,
        }
    }

    pub const fn entry(&self) -> Option<u32> {
        self.entry
    }

    pub const fn set_entry(&mut self, entry: Option<u32>) {
        self.entry = entry;
    }

    /// Capacity in slots.
    pub const fn slots(&self) -> usize {
        self.levels.len()
    }

    pub fn level(&self, slot: u32) -> Option<usize> {
        self.levels.value(slot as usize).unwrap_or_default().checked_sub(1).map(usize::from)
    }

    pub fn top(&self) -> usize {
        self.entry.and_then(|entry| self.level(entry)).unwrap_or_default()
    }

    /// Slots that are nodes.
    pub fn nodes(&self) -> Vec<u32> {
        let levels = self.levels.blocks().flat_map(|(_, levels)| levels).zip(0_u32..);
        levels.filter(|(level, _)| **level > 0).map(|(_, slot)| slot).collect()
    }

    /// Maximum links of a node on a layer.
    pub const fn most(&self, level: usize) -> usize {
        if level == 0 { 2 * self.links } else { self.links }
    }

    #[inline(always)]
    pub fn links(&self, slot: u32, level: usize) -> &[u32] {
        let list = if level == 0 { self.base.row(slot as usize) } else { self.upper.row(self.upper_row(slot, level)) };
        let Some((count, links)) = list.split_first() else { return &[] };
        links.get(..*count as usize).unwrap_or_default()
    }

    /// Keeps at most [`Layers::most`].
    pub fn set_links(&mut self, slot: u32, level: usize, links: impl Iterator<Item = u32>) {
        let Some((count, places)) = self.list_mut(slot, level).split_first_mut() else { return };
        *count = 0;
        for (place, link) in places.iter_mut().zip(links) {
            *place = link;
            *count += 1;
        }
    }

    /// Returns whether there was space for one more.
    pub fn add_link(&mut self, slot: u32, level: usize, link: u32) -> bool {
        let Some((count, places)) = self.list_mut(slot, level).split_first_mut() else { return false };
        let Some(place) = places.get_mut(*count as usize) else { return false };
        *place = link;
        *count += 1;
        true
    }

    /// Makes a slot a node without links.
    pub fn put(&mut self, slot: u32, level: usize) {
        let at = slot as usize;
        if at >= self.levels.len() {
            self.levels.grow(at + 1);
            self.base.grow(at + 1);
            self.upper_at.grow(at + 1);
        }
        self.levels.set(at, &[level as u8 + 1]);
        let upper = if level == 0 { NONE } else { self.upper_rows(level) };
        self.upper_at.set(at, &[upper]);
        for level in 0..=level {
            self.set_links(slot, level, std::iter::empty());
        }
    }

    /// Removes a node without incoming links.
    pub fn remove(&mut self, slot: u32) {
        let Some(level) = self.level(slot) else { return };
        if let (Some(upper), Some(spare)) = (self.upper_at.value(slot as usize), self.spare.get_mut(level))
            && upper != NONE
        {
            spare.push(upper);
        }
        self.levels.set(slot as usize, &[0]);
    }

    /// Selects the highest of these nodes as entry point.
    pub fn choose_entry(&mut self, admits: impl Fn(u32) -> bool) {
        let levels = self.levels.blocks().flat_map(|(_, levels)| levels).zip(0_u32..);
        let nodes = levels.filter(|(level, slot)| **level > 0 && admits(*slot));
        self.entry = nodes.max_by_key(|(level, slot)| (**level, !*slot)).map(|(_, slot)| slot);
    }

    pub fn bytes(&self) -> usize {
        self.levels.bytes() + self.base.bytes() + self.upper_at.bytes() + self.upper.bytes()
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        let entry = self.entry.map_or(0, |entry| u64::from(entry) + 1);
        out.write_all(&entry.to_le_bytes())?;
        self.levels.encode(out)?;
        self.base.encode(out)?;
        self.upper_at.encode(out)?;
        self.upper.encode(out)
    }

    pub fn decode(links: usize, slots: usize, source: &mut ChecksumReader<'_>) -> Result<Self, DecodeError> {
        let entry = source.bounded(slots)?.checked_sub(1);
        let mut layers = Self {
            entry: entry.and_then(|entry| u32::try_from(entry).ok()),
            levels: Rows::decode(1, source)?,
            base: Rows::decode(1 + 2 * links, source)?,
            upper_at: Rows::decode(1, source)?,
            upper: Rows::decode(1 + links, source)?,
            ..Self::new(links)
        };
        layers.check(slots)?;
        layers.find_spare();
        Ok(layers)
    }

    fn check(&self, slots: usize) -> Result<(), DecodeError> {
        let nodes = self.levels.len();
        let fits = |rows: &Rows<u32>, most: usize| {
            (0..rows.len()).map(|at| rows.row(at)).all(|list| match list.split_first() {
                Some((count, links)) => {
                    let links = links.get(..*count as usize);
                    *count as usize <= most
                        && links.is_some_and(|links| links.iter().all(|link| (*link as usize) < nodes))
                }
                None => false,
            })
        };
        let levels = self.levels.blocks().flat_map(|(_, levels)| levels).zip(0_u32..);
        let mut levels = levels.filter(|(level, _)| **level > 1);
        let upper = levels.all(|(level, slot)| {
            let top = self.upper_row(slot, usize::from(*level) - 1);
            usize::from(*level) <= MAX_LEVEL + 1 && top < self.upper.len()
        });
        let even = nodes <= slots && [self.base.len(), self.upper_at.len()] == [nodes; 2];
        let entered = self.entry.is_none_or(|entry| self.level(entry).is_some());
        let linked = fits(&self.base, self.most(0)) && fits(&self.upper, self.most(1));
        if even && entered && upper && linked {
            Ok(())
        } else {
            Err(DecodeError::Malformed("its graph is inconsistent"))
        }
    }

    fn find_spare(&mut self) {
        let mut used = vec![false; self.upper.len()];
        for slot in self.nodes() {
            for level in 1..=self.level(slot).unwrap_or_default() {
                if let Some(used) = used.get_mut(self.upper_row(slot, level)) {
                    *used = true;
                }
            }
        }
        if let Some(single) = self.spare.get_mut(1) {
            single.extend(used.iter().zip(0_u32..).filter(|(used, _)| !**used).map(|(_, row)| row));
        }
    }

    fn upper_rows(&mut self, level: usize) -> u32 {
        if let Some(spare) = self.spare.get_mut(level).and_then(Vec::pop) {
            return spare;
        }
        let first = self.upper.len();
        self.upper.grow(first + level);
        first as u32
    }

    #[inline(always)]
    fn upper_row(&self, slot: u32, level: usize) -> usize {
        let first = self.upper_at.value(slot as usize).unwrap_or(NONE);
        (first as usize).saturating_add(level).saturating_sub(1)
    }

    fn list_mut(&mut self, slot: u32, level: usize) -> &mut [u32] {
        if level == 0 {
            self.base.row_mut(slot as usize)
        } else {
            let row = self.upper_row(slot, level);
            self.upper.row_mut(row)
        }
    }
}
