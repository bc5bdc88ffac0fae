//! The hub's turns: what is done in which order.

use std::time::Duration;

use super::Delivery;
use super::actor::Hub;
use super::epoch;
use super::inbox::Input;
use super::outbox::Reading;
use muster_core::event::Event;
use muster_store::StoreError;

/// Things done in one turn, before others on the same thread get theirs.
const TURN: usize = 512;
/// What stands in the outbox so long was not handed over, and will not be.
const STRAGGLES: Duration = Duration::from_secs(5);

impl Hub {
    /// Does some of what waits, and hands shards what is for them.
    pub(super) fn turn(&mut self) {
        // What woke this turn may still be in the inbox.
        let mut more = false;
        while let Some(review) = self.parts.inbox.review() {
            self.review(&review);
        }
        match self.reading.take() {
            Some(reading) if self.stuck.is_none() => {
                self.read_on(reading);
                more = true;
            }
            reading => {
                self.reading = reading;
                self.work();
            }
        }
        self.flush();
        if more || self.parts.inbox.len() > 0 || (self.reading.is_some() && self.stuck.is_none()) {
            self.parts.inbox.wake();
        }
    }

    fn work(&mut self) {
        self.tell_latest(self.parts.inbox.values());
        let mut events = Vec::new();
        for _ in 0..TURN {
            match self.parts.inbox.pop() {
                Some(Input::Event(event)) => events.push(event),
                other => {
                    self.tell_or_stay(std::mem::take(&mut events));
                    match other {
                        Some(Input::Spilled) => {
                            // Whatever was turned away was committed before this was taken.
                            self.reading = Some(Reading::default());
                            return;
                        }
                        Some(input) => self.input(input),
                        None => return,
                    }
                }
            }
        }
        self.tell_or_stay(events);
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Event(event) => self.tell_or_stay(vec![event]),
            Input::Told(event) => self.tell_passing(&event),
            Input::Lost => self.begin_memory_anew(),
            Input::Spilled => self.reading = Some(Reading::default()),
            Input::State(id, state) => self.answered(id, state),
            Input::Subscribe(ask) => self.subscribe(ask),
            Input::Unsubscribe(shard, conn, channel) => self.unsubscribe((shard, conn), &channel),
            Input::Gone(shard, conn) => self.gone((shard, conn)),
            Input::Detached(shard) => self.detached(shard),
            Input::Closed(channel, reason) => self.close(&channel, reason),
            Input::ChannelRestriction(review) => self.review(&review),
            Input::Viewer(shard, conn, viewer) => self.looks_anew((shard, conn), &viewer),
        }
    }

    /// Tells events; where that cannot be, they and all that follow stay in the outbox, to be told from there.
    fn tell_or_stay(&mut self, events: Vec<Event>) {
        if !events.is_empty()
            && self.stuck.is_none()
            && let Err(error) = self.tell(events)
        {
            self.stay(&error);
        }
    }

    /// Events of channels that keep nothing were lost: no position in one of them proves anything any more.
    fn begin_memory_anew(&mut self) {
        // Another epoch without randomness is another all the same.
        self.epochs.memory = epoch::fresh().unwrap_or_else(|_| format!("{}x", self.epochs.memory));
        self.histories.forget_memory();
        for shard in self.parts.shared.ports().keys() {
            self.detached(*shard);
            self.out.push(*shard, Delivery::Reset);
        }
    }

    fn stay(&mut self, error: &StoreError) {
        if self.stuck.is_none() {
            tracing::error!(%error, "the feed cannot write its journal: events wait in the outbox");
        }
        self.stuck = Some(error.to_string());
        self.reading = Some(Reading::default());
    }

    /// Tells the next page of the outbox.
    fn read_on(&mut self, reading: Reading) {
        let store = std::sync::Arc::clone(&self.parts.options.store);
        let told = self.outbox.read(store.as_ref(), reading).and_then(|found| {
            let ids: Vec<String> = found.events.iter().map(|event| event.id.clone()).collect();
            if !ids.is_empty() {
                self.generation += 1;
                self.tell(found.events)?;
            }
            let now = self.now();
            ids.into_iter().for_each(|id| self.outbox.remember(id, now));
            Ok(found.next)
        });
        match told {
            Ok(next) => self.reading = next,
            Err(error) => self.stay(&error),
        }
    }

    pub(super) fn tick(&mut self) {
        for asked in self.asks.expired(self.born.elapsed()) {
            tracing::warn!("a feature did not answer for the state of a channel");
            self.refuse_unavailable(asked.waiting);
        }
        let now = self.now();
        self.histories.trim(now);
        if let Some(why) = self.stuck.take() {
            self.read_on(Reading::default());
            if self.stuck.is_none() {
                tracing::info!(why, "the feed writes its journal again");
                self.parts.inbox.wake();
            }
        }
        self.flush();
    }

    /// Events of features that died between their commit and their word.
    pub(super) fn look_for_stragglers(&mut self) {
        if self.reading.is_none() {
            let late = u64::try_from(STRAGGLES.as_millis()).unwrap_or(u64::MAX);
            let until = muster_core::Millis(self.now().0.saturating_sub(late));
            self.reading = Some(Reading::until(until));
            self.parts.inbox.wake();
        }
    }

    /// Hands over what the turn has for the shards.
    pub(super) fn flush(&mut self) {
        for shard in self.out.flush(&self.parts.shared.ports()) {
            tracing::warn!(shard = shard.0, "a shard takes no more: its connections come again");
            self.overflows += 1;
            self.parts.shared.detach(shard);
            self.detached(shard);
        }
    }

    fn close(&mut self, channel: &str, reason: &'static str) {
        let name: std::sync::Arc<str> = channel.into();
        for seat in self.subscriptions.closed(channel) {
            self.unpin(channel);
            let channel = std::sync::Arc::clone(&name);
            self.out.push(seat.0, Delivery::Unsubscribed { conn: seat.1, channel, reason });
        }
    }
}
