//! All channels with publications, and the order in which their histories expire. Pure.
//!
//! Histories are divided into three pools with separate bounds: a flood on channels without durable history takes no
//! space from durable ones, and one on channels of single resources takes none from the channel of the whole
//! collection.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::channel::{Channel, weight};
use super::{Limits, Publication};
use muster_core::Millis;

/// A publication in the order of expiry.
#[derive(Debug)]
struct HistoryEntry {
    channel: Arc<str>,
    offset: u64,
    published_at: Millis,
    /// Number of the journal frame that contains it; 0 if none does.
    number: u64,
}

/// The pool to which a channel's history belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pool {
    /// Channels with durable history.
    Durable,
    /// Channels without durable history, of which there are few.
    Memory,
    /// Channels without durable history for single resources, of which there are as many as resources.
    Transient,
}

/// The histories of a pool.
#[derive(Debug, Default)]
struct PoolState {
    /// Oldest first; may contain publications that their channel has dropped already.
    order: VecDeque<HistoryEntry>,
    channels: usize,
    count: usize,
    bytes: usize,
}

/// The channels in memory. A channel without history, subscribers and unsaved offsets is dropped, and created again
/// from the stored offset when it is needed.
#[derive(Debug)]
pub(super) struct Histories {
    limits: Limits,
    channels: HashMap<Arc<str>, Channel>,
    pools: [PoolState; 3],
    /// Channels whose offset is not saved.
    dirty: HashSet<Arc<str>>,
    /// Greater than every position in a dropped channel without durable history.
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

    fn pool(&mut self, pool: Pool) -> &mut PoolState {
        let [durable, memory, transient] = &mut self.pools;
        match pool {
            Pool::Durable => durable,
            Pool::Memory => memory,
            Pool::Transient => transient,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Returns the number of publications in all histories, and their bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        self.pools.iter().fold((0, 0), |held, pool| (held.0 + pool.count, held.1 + pool.bytes))
    }

    /// Returns the start offset of a channel without durable history, which is above every position in an earlier
    /// channel of the same name.
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

    /// Adds a channel.
    pub(super) fn insert(&mut self, channel: Channel) {
        self.pool(channel.pool).channels += 1;
        self.channels.insert(Arc::clone(&channel.name), channel);
    }

    /// Appends a publication to an existing channel.
    pub(super) fn push(&mut self, publication: Arc<Publication>, published_at: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        let entry =
            HistoryEntry { channel: Arc::clone(&channel.name), offset: publication.offset, published_at, number };
        if channel.pool == Pool::Durable && channel.saved == channel.last() {
            self.dirty.insert(Arc::clone(&channel.name));
        }
        let (more, pool) = (weight(&publication), channel.pool);
        let dropped = channel.push(publication, &self.limits);
        self.pool(pool).add(entry, more, dropped);
    }

    /// Appends a publication read from the journal to an existing channel.
    pub(super) fn restore(&mut self, publication: Arc<Publication>, published_at: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        let entry =
            HistoryEntry { channel: Arc::clone(&channel.name), offset: publication.offset, published_at, number };
        let (more, pool) = (weight(&publication), channel.pool);
        let (follows, dropped) = channel.restore(publication, &self.limits);
        self.pool(pool).add(entry, more, dropped);
        self.broken |= !follows;
    }

    /// Ends restoring. Returns true if nothing is missing.
    pub(super) fn restored(&mut self) -> bool {
        let [durable, ..] = &mut self.pools;
        for channel in self.channels.values_mut() {
            let (reached, dropped) = channel.restored();
            durable.discount(dropped);
            self.broken |= !reached;
            if channel.saved != channel.last() {
                self.dirty.insert(Arc::clone(&channel.name));
            }
        }
        !self.broken
    }

    /// Drops publications that are too old or exceed the bounds.
    pub(super) fn trim(&mut self, now: Millis) {
        for pool in [Pool::Durable, Pool::Memory, Pool::Transient] {
            while self.has_too_much(pool, now) {
                self.drop_oldest(pool);
            }
        }
    }

    fn has_too_much(&mut self, pool: Pool, now: Millis) -> bool {
        let (bytes, channels) = match pool {
            Pool::Durable | Pool::Memory => (self.limits.rings_bytes, self.limits.channels),
            Pool::Transient => (self.limits.transient_bytes, self.limits.transient_channels),
        };
        let age = self.limits.ring_age;
        let pool_state = self.pool(pool);
        let over = pool_state.bytes > bytes || pool_state.channels > channels;
        let Some(oldest) = pool_state.order.front() else { return false };
        if over || now.since(oldest.published_at) > age {
            return true;
        }
        let (name, offset) = (Arc::clone(&oldest.channel), oldest.offset);
        !self.channels.get(&name).is_some_and(|channel| channel.contains(offset))
    }

    /// Drops the older half of the durable histories.
    pub(super) fn halve(&mut self) {
        for _ in 0..self.pool(Pool::Durable).order.len().div_ceil(2) {
            self.drop_oldest(Pool::Durable);
        }
    }

    fn drop_oldest(&mut self, pool: Pool) {
        let Some(oldest) = self.pool(pool).order.pop_front() else { return };
        let Some(channel) = self.channels.get_mut(&oldest.channel) else { return };
        if let Some(bytes) = channel.drop_through(oldest.offset) {
            self.pool(pool).discount((1, bytes));
        }
        self.release(&oldest.channel);
    }

    /// Clears the histories of channels without durable history, because a new epoch begins.
    pub(super) fn clear_transient(&mut self) {
        for pool in [Pool::Memory, Pool::Transient] {
            self.pool(pool).order.clear();
        }
        let names: Vec<_> = self.channels.values().filter(|it| it.pool != Pool::Durable).map(|it| &it.name).collect();
        for name in names.into_iter().cloned().collect::<Vec<_>>() {
            let Some(channel) = self.channels.get_mut(&name) else { continue };
            let (pool, dropped) = (channel.pool, channel.clear());
            self.pool(pool).discount(dropped);
            self.release(&name);
        }
    }

    /// Returns the number of the oldest journal frame that a history needs.
    pub(super) fn oldest_number(&self) -> Option<u64> {
        let [durable, ..] = &self.pools;
        durable.order.iter().map(|entry| entry.number).find(|&number| number > 0)
    }

    /// Drops a channel if it is idle.
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

    /// Removes and returns the unsaved offsets.
    pub(super) fn take_unsaved(&mut self) -> Vec<(Arc<str>, u64)> {
        let names = std::mem::take(&mut self.dirty);
        names.into_iter().filter_map(|name| self.channels.get(&name).map(|channel| (name, channel.last()))).collect()
    }

    /// Marks offsets as saved.
    pub(super) fn saved(&mut self, offsets: &[(Arc<str>, u64)]) {
        for (name, offset) in offsets {
            let Some(channel) = self.channels.get_mut(name) else { continue };
            channel.saved = channel.saved.max(*offset);
            // The channel may have continued meanwhile without being marked as unsaved.
            if channel.saved != channel.last() {
                self.dirty.insert(Arc::clone(name));
            }
            self.release(name);
        }
    }

    /// Marks offsets as unsaved again.
    pub(super) fn not_saved(&mut self, offsets: Vec<(Arc<str>, u64)>) {
        self.dirty.extend(offsets.into_iter().map(|(name, _)| name));
    }
}

impl PoolState {
    /// Accounts for an appended publication of a given weight and for those dropped for it.
    fn add(&mut self, entry: HistoryEntry, weight: usize, dropped: (usize, usize)) {
        self.order.push_back(entry);
        self.count += 1;
        self.bytes += weight;
        self.discount(dropped);
    }

    fn discount(&mut self, (count, bytes): (usize, usize)) {
        self.count -= count;
        self.bytes -= bytes;
    }
}
