//! All channels of publications, and the order in which their histories pass. Pure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::channel::{Channel, weight};
use super::{Limits, Publication};
use crate::Millis;

/// One publication's place among all.
#[derive(Debug)]
struct Kept {
    channel: Arc<str>,
    offset: u64,
    told: Millis,
    /// Of the journal's frame that has it; 0 where none does.
    number: u64,
}

/// The channels in memory. One that has no history, no subscriber and nothing that the store does not know is dropped,
/// and made again, from the store's offset, when it is next needed.
#[derive(Debug)]
pub(super) struct Histories {
    limits: Limits,
    channels: HashMap<Arc<str>, Channel>,
    /// Oldest first; what its channel dropped by itself may still stand in it.
    order: VecDeque<Kept>,
    /// Channels whose offset the store does not know.
    dirty: HashSet<Arc<str>>,
    count: usize,
    bytes: usize,
    broken: bool,
}

impl Histories {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            channels: HashMap::new(),
            order: VecDeque::new(),
            dirty: HashSet::new(),
            count: 0,
            bytes: 0,
            broken: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Publications in all histories, and their bytes.
    pub(super) fn held(&self) -> (usize, usize) {
        (self.count, self.bytes)
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
        self.channels.insert(Arc::clone(&channel.name), channel);
    }

    /// Takes the next publication of a channel that is there.
    pub(super) fn push(&mut self, publication: Arc<Publication>, told: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        self.bytes += weight(&publication);
        self.order.push_back(Kept { channel: Arc::clone(&channel.name), offset: publication.offset, told, number });
        if channel.saved == channel.last() {
            self.dirty.insert(Arc::clone(&channel.name));
        }
        let (count, bytes) = channel.push(publication, &self.limits);
        self.count = self.count + 1 - count;
        self.bytes -= bytes;
    }

    /// Takes a publication that was read back, of a channel that is there.
    pub(super) fn restore(&mut self, publication: Arc<Publication>, told: Millis, number: u64) {
        let Some(channel) = self.channels.get_mut(&*publication.channel) else { return };
        self.bytes += weight(&publication);
        self.order.push_back(Kept { channel: Arc::clone(&channel.name), offset: publication.offset, told, number });
        let (follows, (count, bytes)) = channel.restore(publication, &self.limits);
        self.count = self.count + 1 - count;
        self.bytes -= bytes;
        self.broken |= !follows;
    }

    /// Ends reading back. True where nothing is missing.
    pub(super) fn restored(&mut self) -> bool {
        for channel in self.channels.values_mut() {
            let (reached, (count, bytes)) = channel.restored();
            self.count -= count;
            self.bytes -= bytes;
            self.broken |= !reached;
            if channel.saved != channel.last() {
                self.dirty.insert(Arc::clone(&channel.name));
            }
        }
        !self.broken
    }

    /// Drops what is too old or too much.
    pub(super) fn trim(&mut self, now: Millis) {
        while let Some(oldest) = self.order.front() {
            let over = self.bytes > self.limits.rings_bytes || self.channels.len() > self.limits.channels;
            let gone = !self.channels.get(&oldest.channel).is_some_and(|channel| channel.keeps(oldest.offset));
            if !over && !gone && now.since(oldest.told) <= self.limits.ring_age {
                break;
            }
            self.drop_oldest();
        }
    }

    /// Drops the older half of everything.
    pub(super) fn halve(&mut self) {
        for _ in 0..self.order.len().div_ceil(2) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.order.pop_front() else { return };
        let Some(channel) = self.channels.get_mut(&oldest.channel) else { return };
        if let Some(bytes) = channel.drop_through(oldest.offset) {
            self.count -= 1;
            self.bytes -= bytes;
        }
        self.release(&oldest.channel);
    }

    /// The oldest frame of the journal that a history needs.
    pub(super) fn oldest_number(&self) -> Option<u64> {
        self.order.iter().map(|kept| kept.number).find(|&number| number > 0)
    }

    /// Drops a channel that is idle.
    pub(super) fn release(&mut self, name: &str) {
        if self.channels.get(name).is_some_and(Channel::is_idle) {
            self.channels.remove(name);
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
