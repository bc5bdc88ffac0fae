//! Publishing: assigns offsets, writes the journal, encodes frames and passes them to shards.

use std::collections::HashSet;
use std::sync::Arc;

use muster_store::StoreError;

use super::actor::Hub;
use super::channel::Channel;
use super::frame::Framer;
use super::histories::Pool;
use super::load::publication;
use super::log::Writer;
use super::{ChannelKind, Delivery, record};
use muster_core::event::{DropPolicy, Event, LatestValue};

/// An event of a batch, with its channels and offsets.
struct Staged {
    event: Event,
    positions: Vec<EventPosition>,
}

struct EventPosition {
    channel: Arc<str>,
    offset: u64,
    durable: bool,
}

impl Hub {
    /// Publishes events once: events that were published already are skipped. Either all are published or, if they
    /// cannot be written, none.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written or a channel's offset cannot be read.
    pub(super) fn publish_events(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        let mut batch = Vec::with_capacity(events.len());
        let written = events.into_iter().try_for_each(|event| self.stage(event, &mut batch));
        match written.and_then(|()| self.write(&batch)) {
            Ok(number) => {
                batch.into_iter().for_each(|staged| self.publish(staged, number));
                let now = self.now();
                self.histories.trim(now);
                Ok(())
            }
            Err(error) => {
                for staged in batch {
                    self.outbox.settled(&[staged.event.id]);
                    for position in staged.positions {
                        self.histories.get_mut(&position.channel).into_iter().for_each(Channel::unstage);
                    }
                }
                Err(error)
            }
        }
    }

    fn stage(&mut self, event: Event, batch: &mut Vec<Staged>) -> Result<(), StoreError> {
        if self.outbox.is_published(&event.id) {
            return Ok(());
        }
        self.outbox.mark_published(event.id.clone(), 0);
        let mut positions = Vec::with_capacity(event.channels.len());
        let mut opened = Ok(());
        for name in &event.channels {
            match self.open(name) {
                Ok(Some(channel)) => positions.push(EventPosition {
                    channel: Arc::clone(&channel.name),
                    offset: channel.stage(),
                    durable: channel.pool == Pool::Durable,
                }),
                Ok(None) => {
                    tracing::error!(channel = %name, event = %event.name, "no rule defines this channel: the event is not published on it")
                }
                Err(error) => opened = Err(error),
            }
        }
        batch.push(Staged { event, positions });
        opened
    }

    /// Writes a batch; returns the number of its first frame, or 0 if it contains no durable publication.
    fn write(&mut self, batch: &[Staged]) -> Result<u64, StoreError> {
        let (mut writer, now) = (Writer::default(), self.now());
        for staged in batch.iter().filter(|staged| staged.positions.iter().any(|position| position.durable)) {
            let durable = staged.positions.iter().filter(|position| position.durable);
            writer.line(&staged.event, now, durable.map(|position| (&*position.channel, position.offset)))?;
        }
        if writer.is_empty() {
            return Ok(0);
        }
        let number = writer.append(&self.resources.journal)?;
        self.reached = self.resources.journal.stats().last;
        Ok(number)
    }

    fn publish(&mut self, staged: Staged, number: u64) {
        let Staged { event, positions } = staged;
        self.deliver_event(&event, positions, number);
        self.outbox.mark_published(event.id, number);
    }

    /// Encodes and delivers an event.
    fn deliver_event(&mut self, event: &Event, positions: Vec<EventPosition>, number: u64) {
        let (framer, name, now) = (Framer::of_event(event), Arc::<str>::from(event.name.as_str()), self.now());
        for position in positions {
            let publication = publication(event, &framer, &position.channel, &name, position.offset);
            for shard in self.subscriptions.shards(&position.channel) {
                self.out.push(shard, Delivery::Publication(Arc::clone(&publication)));
            }
            self.histories.push(publication, now, if position.durable { number } else { 0 });
            self.published += 1;
        }
    }

    /// Publishes a transient event, which is neither in the outbox nor in the journal.
    pub(super) fn publish_transient_event(&mut self, event: &Event) {
        let mut positions = Vec::with_capacity(event.channels.len());
        for name in &event.channels {
            // Nobody has a position in a channel that is not in memory, so an event that may be dropped is not missed.
            if event.loss == DropPolicy::Conflated && self.histories.get(name).is_none() {
                continue;
            }
            match self.open(name) {
                Ok(Some(channel)) if channel.pool != Pool::Durable => positions.push(EventPosition {
                    channel: Arc::clone(&channel.name),
                    offset: channel.stage(),
                    durable: false,
                }),
                _ => {
                    tracing::error!(channel = %name, event = %event.name, "no rule defines this channel without durable history: the transient event is not published on it")
                }
            }
        }
        if !positions.is_empty() {
            self.deliver_event(event, positions, 0);
            let now = self.now();
            self.histories.trim(now);
        }
    }

    /// Returns the channel, creating it if necessary; `None` if no rule defines it as a log.
    ///
    /// # Errors
    ///
    /// Fails if its offset cannot be read.
    pub(super) fn open(&mut self, name: &str) -> Result<Option<&mut Channel>, StoreError> {
        if self.histories.get(name).is_none() {
            let Some(rule) = self.resources.rules.find(name).filter(|rule| rule.kind == ChannelKind::Log) else {
                return Ok(None);
            };
            let last = match rule.pool() {
                Pool::Durable => record::offset(self.resources.options.store.as_ref(), name)?,
                Pool::Memory | Pool::Transient => self.histories.floor(),
            };
            self.histories.insert(Channel::new(name.into(), rule.pool(), last));
        }
        Ok(self.histories.get_mut(name))
    }

    /// Processes latest values; only those of subscribed channels are encoded.
    pub(super) fn publish_latest_values(&mut self, values: Vec<LatestValue>) {
        for value in last_of_each_key(values) {
            let known = self.latest_channels.get_mut(&value.channel).is_some();
            let rule =
                || self.resources.rules.find(&value.channel).is_some_and(|rule| rule.kind == ChannelKind::Latest);
            if !known && !rule() {
                tracing::error!(channel = %value.channel, "no rule defines this channel as one of latest values");
                continue;
            }
            let Some((values, key, offset)) = self.latest_channels.put(&value.channel, &value.key, value.data.clone())
            else {
                continue;
            };
            if values.pins == 0 {
                continue;
            }
            let (channel, json) = (&values.name, Framer::of_latest(&value).on(&value.channel, offset));
            for shard in self.subscriptions.shards(channel) {
                let (channel, key, json) = (Arc::clone(channel), Arc::clone(&key), json.clone());
                self.out.push(shard, Delivery::Latest { channel, key, offset, json });
            }
            self.published += 1;
        }
    }
}

/// Returns the last value of each key, in the order of arrival.
fn last_of_each_key(values: Vec<LatestValue>) -> Vec<LatestValue> {
    let mut seen = HashSet::new();
    let mut last: Vec<bool> = values.iter().rev().map(|value| seen.insert((&*value.channel, &*value.key))).collect();
    last.reverse();
    values.into_iter().zip(last).filter_map(|(value, last)| last.then_some(value)).collect()
}
