//! Rounds of the hub: the order of its work.

use std::time::Duration;

use super::Delivery;
use super::actor::Hub;
use super::epoch;
use super::inbox::Input;
use super::outbox::Reading;
use muster_core::event::Event;
use muster_store::StoreError;

/// Maximum number of inputs processed in one round, before other actors on the thread run.
const MAX_INPUTS: usize = 512;
/// An event that has been in the outbox for this time was not passed to the feed, and will not be.
const UNPUBLISHED_AFTER: Duration = Duration::from_secs(5);

impl Hub {
    /// Processes queued inputs and delivers the results to shards.
    pub(super) fn round(&mut self) {
        // The input that woke this round may still be in the inbox.
        let mut more = false;
        while let Some(restriction) = self.resources.inbox.take_restriction() {
            self.apply_restriction(&restriction);
        }
        match self.reading.take() {
            Some(reading) if self.stuck.is_none() => {
                self.continue_reading(reading);
                more = true;
            }
            reading => {
                self.reading = reading;
                self.process_inputs();
            }
        }
        self.flush();
        if more || self.resources.inbox.len() > 0 || (self.reading.is_some() && self.stuck.is_none()) {
            self.resources.inbox.wake();
        }
    }

    fn process_inputs(&mut self) {
        self.publish_latest_values(self.resources.inbox.values());
        let mut events = Vec::new();
        for _ in 0..MAX_INPUTS {
            match self.resources.inbox.pop() {
                Some(Input::Event(event)) => events.push(event),
                other => {
                    self.publish_or_keep(std::mem::take(&mut events));
                    match other {
                        Some(Input::Spilled) => {
                            // Rejected events were committed before this input was taken.
                            self.reading = Some(Reading::default());
                            return;
                        }
                        Some(input) => self.input(input),
                        None => return,
                    }
                }
            }
        }
        self.publish_or_keep(events);
    }

    fn input(&mut self, input: Input) {
        match input {
            Input::Event(event) => self.publish_or_keep(vec![event]),
            Input::Transient(event) => self.publish_transient_event(&event),
            Input::Lost => self.begin_transient_epoch(),
            Input::Spilled => self.reading = Some(Reading::default()),
            Input::State(id, state) => self.handle_reply(id, state),
            Input::Subscribe(request) => self.subscribe(request),
            Input::Unsubscribe(shard, conn, channel) => self.unsubscribe((shard, conn), &channel),
            Input::Gone(shard, conn) => self.connection_closed((shard, conn)),
            Input::Detached(shard) => self.detached(shard),
            Input::Closed(channel, reason) => self.close(&channel, reason),
            Input::ChannelRestriction(restriction) => self.apply_restriction(&restriction),
            Input::Viewer(shard, conn, viewer) => self.update_viewer((shard, conn), &viewer),
        }
    }

    /// Publishes events; if that fails, they and all later ones remain in the outbox, to be published from there.
    fn publish_or_keep(&mut self, events: Vec<Event>) {
        if !events.is_empty()
            && self.stuck.is_none()
            && let Err(error) = self.publish_events(events)
        {
            self.keep_in_outbox(&error);
        }
    }

    /// Begins new epochs for channels without durable history, after events of them were lost.
    fn begin_transient_epoch(&mut self) {
        // Without randomness, a derived value serves as the new epoch.
        self.epochs.memory = epoch::fresh().unwrap_or_else(|_| format!("{}x", self.epochs.memory));
        self.histories.clear_transient();
        for shard in self.resources.shared.ports().keys() {
            self.detached(*shard);
            self.out.push(*shard, Delivery::Reset);
        }
    }

    fn keep_in_outbox(&mut self, error: &StoreError) {
        if self.stuck.is_none() {
            tracing::error!(%error, "the feed cannot write its journal: events wait in the outbox");
        }
        self.stuck = Some(error.to_string());
        self.reading = Some(Reading::default());
    }

    /// Publishes the next page of the outbox.
    fn continue_reading(&mut self, reading: Reading) {
        let store = std::sync::Arc::clone(&self.resources.options.store);
        let mark_published = self.outbox.read(store.as_ref(), reading).and_then(|found| {
            let ids: Vec<String> = found.events.iter().map(|event| event.id.clone()).collect();
            if !ids.is_empty() {
                self.generation += 1;
                self.publish_events(found.events)?;
            }
            let now = self.now();
            ids.into_iter().for_each(|id| self.outbox.remember(id, now));
            Ok(found.next)
        });
        match mark_published {
            Ok(next) => self.reading = next,
            Err(error) => self.keep_in_outbox(&error),
        }
    }

    pub(super) fn tick(&mut self) {
        for pending in self.pending.expired(self.started_at.elapsed()) {
            tracing::warn!("a feature did not reply to a request for the state of a channel");
            self.refuse_unavailable(pending.waiting);
        }
        let now = self.now();
        self.histories.trim(now);
        if let Some(why) = self.stuck.take() {
            self.continue_reading(Reading::default());
            if self.stuck.is_none() {
                tracing::info!(fault = why, "the feed can write again");
                self.resources.inbox.wake();
            }
        }
        self.flush();
    }

    /// Publishes events of features that died between committing and publishing them.
    pub(super) fn publish_unpublished(&mut self) {
        if self.reading.is_none() {
            let late = u64::try_from(UNPUBLISHED_AFTER.as_millis()).unwrap_or(u64::MAX);
            let until = muster_core::Millis(self.now().0.saturating_sub(late));
            self.reading = Some(Reading::until(until));
            self.resources.inbox.wake();
        }
    }

    /// Passes the deliveries of the round to the shards.
    pub(super) fn flush(&mut self) {
        for shard in self.out.flush(&self.resources.shared.ports()) {
            tracing::warn!(
                shard = shard.0,
                "the queue of a shard is full: the shard is detached and its connections must reconnect"
            );
            self.overflows += 1;
            self.resources.shared.detach(shard);
            self.detached(shard);
        }
    }

    fn close(&mut self, channel: &str, reason: &'static str) {
        let name: std::sync::Arc<str> = channel.into();
        for connection in self.subscriptions.closed(channel) {
            self.unpin(channel);
            let channel = std::sync::Arc::clone(&name);
            self.out.push(connection.0, Delivery::Unsubscribed { conn: connection.1, channel, reason });
        }
    }
}
