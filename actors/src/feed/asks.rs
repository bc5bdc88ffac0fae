//! What waits for a feature's answer. It knows no clock: time is counted from the hub's start.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::oneshot;

use super::messages::AskHistory;
use super::subscriptions::Seat;
use super::{HistoryPage, Refused, ShardId, SubscribeAsk};

/// So often a feature is asked again whose answer was overtaken by what came out of the outbox.
const MAX_TRIES: u8 = 3;

/// Who waits.
#[derive(Debug)]
pub(super) enum Waiting {
    Subscribe(SubscribeAsk),
    History(AskHistory, oneshot::Sender<Result<HistoryPage, Refused>>),
}

impl Waiting {
    fn seat(&self) -> Option<Seat> {
        match self {
            Self::Subscribe(ask) => Some((ask.shard, ask.conn)),
            Self::History(..) => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) waiting: Waiting,
    /// How often events had come out of the outbox when it was asked.
    pub(super) generation: u64,
    tries: u8,
    until: Duration,
}

impl Asked {
    pub(super) fn new(waiting: Waiting, until: Duration) -> Self {
        Self { waiting, generation: 0, tries: 0, until }
    }

    /// Counts a try; false where there were enough.
    pub(super) fn again(&mut self, generation: u64) -> bool {
        self.generation = generation;
        self.tries += 1;
        self.tries <= MAX_TRIES
    }
}

#[derive(Debug, Default)]
pub(super) struct Asks {
    last: u64,
    asked: HashMap<u64, Asked>,
    by_seat: HashMap<Seat, Vec<u64>>,
}

impl Asks {
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn put(&mut self, asked: Asked) -> u64 {
        self.last += 1;
        if let Some(seat) = asked.waiting.seat() {
            self.by_seat.entry(seat).or_default().push(self.last);
        }
        self.asked.insert(self.last, asked);
        self.last
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Asked> {
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
        let wanted = |asked: &Asked| matches!(&asked.waiting, Waiting::Subscribe(ask) if ask.channel == channel);
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
    pub(super) fn expired(&mut self, now: Duration) -> Vec<Asked> {
        let mut ids: Vec<u64> = self.asked.iter().filter(|(_, asked)| asked.until <= now).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}
