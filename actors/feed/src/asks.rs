//! What waits for a feature's answer. It knows no clock: time is counted from the hub's start.

use std::collections::HashMap;
use std::time::Duration;

use super::ShardId;
use super::subscriptions::Seat;

/// So often a feature is asked again whose answer was overtaken by what came out of the outbox.
const MAX_TRIES: u8 = 3;

/// Who waits for an answer.
pub(super) trait Waits {
    /// The connection that is to be told; with its end, and that of its subscription, nobody waits any more.
    fn seat(&self) -> Option<Seat>;
    /// The channel that the answer is about.
    fn channel(&self) -> &str;
}

#[derive(Debug)]
pub(super) struct Asked<W> {
    pub(super) waiting: W,
    /// How often events had come out of the outbox when it was asked.
    pub(super) generation: u64,
    tries: u8,
    until: Duration,
}

impl<W> Asked<W> {
    pub(super) fn new(waiting: W, until: Duration) -> Self {
        Self { waiting, generation: 0, tries: 0, until }
    }

    /// Counts a try; false where there were enough.
    pub(super) fn again(&mut self, generation: u64) -> bool {
        self.generation = generation;
        self.tries += 1;
        self.tries <= MAX_TRIES
    }
}

#[derive(Debug)]
pub(super) struct Asks<W> {
    last: u64,
    asked: HashMap<u64, Asked<W>>,
    by_seat: HashMap<Seat, Vec<u64>>,
}

impl<W> Default for Asks<W> {
    fn default() -> Self {
        Self { last: 0, asked: HashMap::new(), by_seat: HashMap::new() }
    }
}

impl<W: Waits> Asks<W> {
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn put(&mut self, asked: Asked<W>) -> u64 {
        self.last += 1;
        if let Some(seat) = asked.waiting.seat() {
            self.by_seat.entry(seat).or_default().push(self.last);
        }
        self.asked.insert(self.last, asked);
        self.last
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Asked<W>> {
        let asked = self.asked.remove(&id)?;
        if let Some(seat) = asked.waiting.seat()
            && let Some(ids) = self.by_seat.get_mut(&seat)
        {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.by_seat.remove(&seat);
            }
        }
        Some(asked)
    }

    /// The connection no longer wants that channel.
    pub(super) fn withdraw(&mut self, seat: Seat, channel: &str) {
        let wanted = |asked: &Asked<W>| asked.waiting.channel() == channel;
        let ids: Vec<u64> = self.by_seat.get(&seat).into_iter().flatten().copied().collect();
        for id in ids {
            if self.asked.get(&id).is_some_and(wanted) {
                self.take(id);
            }
        }
    }

    /// The connection is gone.
    pub(super) fn gone(&mut self, seat: Seat) {
        for id in self.by_seat.remove(&seat).unwrap_or_default() {
            self.asked.remove(&id);
        }
    }

    pub(super) fn detached(&mut self, shard: ShardId) {
        let seats: Vec<Seat> = self.by_seat.keys().filter(|seat| seat.0 == shard).copied().collect();
        seats.into_iter().for_each(|seat| self.gone(seat));
    }

    /// Takes those that waited long enough.
    pub(super) fn expired(&mut self, now: Duration) -> Vec<Asked<W>> {
        let mut ids: Vec<u64> = self.asked.iter().filter(|(_, asked)| asked.until <= now).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}
