//! All channels of publications, and the order in which their histories pass. Pure.
//!
//! Histories pass in three companies, each within bounds of its own: a flood of what keeps nothing over a restart takes no
//! room from what is read back, and one of single things takes none from the channel that tells of all of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::channel::{Channel, weight};
use super::{Limits, Publication};
use muster_core::Millis;

/// One publication's place among all.
#[derive(Debug)]
struct Kept {
    channel: Arc<str>,
    offset: u64,
    told: Millis,
    /// Of the journal's frame that has it; 0 where none does.
    number: u64,
}

/// The company in which a channel's history passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pool {
    /// Of channels that are read back.
    Durable,
    /// Of channels that are not, and of which there are a few.
    Memory,
    /// Of such channels of single things, of which there are as many as things.
    Passing,
}

/// The histories of one company.
#[derive(Debug, Default)]
struct Company {
    /// Oldest first; what its channel dropped by itself may still stand in it.
    order: VecDeque<Kept>,
    channels: usize,
    count: usize,
    bytes: usize,
}

/// The channels in memory. One that has no history, no subscriber and nothing that the store does not know is dropped,
/// and made again, from the store's offset, when it is next needed.
#[derive(Debug)]
pub(super) struct Histories {
    limits: Limits,
    channels: HashMap<Arc<str>, Channel>,
    pools: [Company; 3],
    /// Channels whose offset the store does not know.
    dirty: HashSet<Arc<str>>,
    /// Above every position in a channel that was dropped and is not read back.
    floor: u64,
    broken: bool,
}

impl Histories {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            channels: HashMap::new(),
            pools: Default::default(),
            dirty: HashSet::new(),
            floor: 0,
            broken: false,
        }
    }

    fn pool(&mut self, pool: Pool) -> &mut Company {
        let [durable, memory, passing] = &mut self.pools;
        match pool {
            Pool::Durable => durable,
            Pool::Memory => memory,
            Pool::Passing => passing,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Publications in all histories, and their bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        self.pools.iter().fold((0, 0), |held, pool| (held.0 + pool.count, held.1 + pool.bytes))
    }

    /// Where a channel begins that is not read back: no position in an earlier one of its name reaches so far.
    pub(super) fn floor(&self) -> u64 {
        self.floor
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Channel> {
        self.channels.values()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Channel> {
        self.channels.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Channel> {
        self.channels.get_mut(name)
    }

    /// Puts a channel in that is not there.
    pub(super) fn insert(&mut self, channel: Channel) {
        self.pool(channel.pool).channels += 1;
        self.channels.insert(Arc::clone(&channel.name), channel);
    }

    /// Takes the next publication of a channel that is there.
    pub(super) fn push(&mut self, publication: Arc<Publication>, told: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        let kept = Kept { channel: Arc::clone(&channel.name), offset: publication.offset, told, number };
        if channel.pool == Pool::Durable && channel.saved == channel.last() {
            self.dirty.insert(Arc::clone(&channel.name));
        }
        let (more, pool) = (weight(&publication), channel.pool);
        let gone = channel.push(publication, &self.limits);
        self.pool(pool).took(kept, more, gone);
    }

    /// Takes a publication that was read back, of a channel that is there.
    pub(super) fn restore(&mut self, publication: Arc<Publication>, told: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        let kept = Kept { channel: Arc::clone(&channel.name), offset: publication.offset, told, number };
        let (more, pool) = (weight(&publication), channel.pool);
        let (follows, gone) = channel.restore(publication, &self.limits);
        self.pool(pool).took(kept, more, gone);
        self.broken |= !follows;
    }

    /// Ends reading back. True where nothing is missing.
    pub(super) fn restored(&mut self) -> bool {
        let [durable, ..] = &mut self.pools;
        for channel in self.channels.values_mut() {
            let (reached, gone) = channel.restored();
            durable.lost(gone);
            self.broken |= !reached;
            if channel.saved != channel.last() {
                self.dirty.insert(Arc::clone(&channel.name));
            }
        }
        !self.broken
    }

    /// Drops what is too old or too much.
    pub(super) fn trim(&mut self, now: Millis) {
        for pool in [Pool::Durable, Pool::Memory, Pool::Passing] {
            while self.has_too_much(pool, now) {
                self.drop_oldest(pool);
            }
        }
    }

    fn has_too_much(&mut self, pool: Pool, now: Millis) -> bool {
        let (bytes, channels) = match pool {
            Pool::Durable | Pool::Memory => (self.limits.rings_bytes, self.limits.channels),
            Pool::Passing => (self.limits.passing_bytes, self.limits.passing_channels),
        };
        let age = self.limits.ring_age;
        let company = self.pool(pool);
        let over = company.bytes > bytes || company.channels > channels;
        let Some(oldest) = company.order.front() else { return false };
        if over || now.since(oldest.told) > age {
            return true;
        }
        let (name, offset) = (Arc::clone(&oldest.channel), oldest.offset);
        !self.channels.get(&name).is_some_and(|channel| channel.keeps(offset))
    }

    /// Drops the older half of what the journal has.
    pub(super) fn halve(&mut self) {
        for _ in 0..self.pool(Pool::Durable).order.len().div_ceil(2) {
            self.drop_oldest(Pool::Durable);
        }
    }

    fn drop_oldest(&mut self, pool: Pool) {
        let Some(oldest) = self.pool(pool).order.pop_front() else { return };
        let Some(channel) = self.channels.get_mut(&oldest.channel) else { return };
        if let Some(bytes) = channel.drop_through(oldest.offset) {
            self.pool(pool).lost((1, bytes));
        }
        self.release(&oldest.channel);
    }

    /// Forgets the histories of channels that are not read back: another epoch begins there.
    pub(super) fn forget_memory(&mut self) {
        for pool in [Pool::Memory, Pool::Passing] {
            self.pool(pool).order.clear();
        }
        let names: Vec<_> = self.channels.values().filter(|it| it.pool != Pool::Durable).map(|it| &it.name).collect();
        for name in names.into_iter().cloned().collect::<Vec<_>>() {
            let Some(channel) = self.channels.get_mut(&name) else { continue };
            let (pool, gone) = (channel.pool, channel.clear());
            self.pool(pool).lost(gone);
            self.release(&name);
        }
    }

    /// The oldest frame of the journal that a history needs.
    pub(super) fn oldest_number(&self) -> Option<u64> {
        let [durable, ..] = &self.pools;
        durable.order.iter().map(|kept| kept.number).find(|&number| number > 0)
    }

    /// Drops a channel that is idle.
    pub(super) fn release(&mut self, name: &str) {
        if !self.channels.get(name).is_some_and(Channel::is_idle) {
            return;
        }
        let Some(channel) = self.channels.remove(name) else { return };
        self.pool(channel.pool).channels -= 1;
        if channel.pool != Pool::Durable {
            self.floor = self.floor.max(channel.last() + 1);
        }
    }

    /// Takes the offsets that the store does not know.
    pub(super) fn take_unsaved(&mut self) -> Vec<(Arc<str>, u64)> {
        let names = std::mem::take(&mut self.dirty);
        names.into_iter().filter_map(|name| self.channels.get(&name).map(|channel| (name, channel.last()))).collect()
    }

    /// They are in the store.
    pub(super) fn saved(&mut self, offsets: &[(Arc<str>, u64)]) {
        for (name, offset) in offsets {
            let Some(channel) = self.channels.get_mut(name) else { continue };
            channel.saved = channel.saved.max(*offset);
            // It may have gone on meanwhile, when it was not taken for unsaved anew.
            if channel.saved != channel.last() {
                self.dirty.insert(Arc::clone(name));
            }
            self.release(name);
        }
    }

    /// They are not.
    pub(super) fn not_saved(&mut self, offsets: Vec<(Arc<str>, u64)>) {
        self.dirty.extend(offsets.into_iter().map(|(name, _)| name));
    }
}

impl Company {
    /// A history took a publication of that weight; others went for it.
    fn took(&mut self, kept: Kept, weight: usize, gone: (usize, usize)) {
        self.order.push_back(kept);
        self.count += 1;
        self.bytes += weight;
        self.lost(gone);
    }

    fn lost(&mut self, (count, bytes): (usize, usize)) {
        self.count -= count;
        self.bytes -= bytes;
    }
}
