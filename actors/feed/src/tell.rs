//! Telling: offsets given out, the journal written, frames made, shards handed them.

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

/// An event of a batch, with its places.
struct Staged {
    event: Event,
    places: Vec<Place>,
}

struct Place {
    channel: Arc<str>,
    offset: u64,
    durable: bool,
}

impl Hub {
    /// Tells events, once: those that were told already are left out. All of them or, where they cannot be written, none.
    ///
    /// # Errors
    /// The journal takes nothing, or a channel's offset cannot be read.
    pub(super) fn tell(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
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
                    for place in staged.places {
                        self.histories.get_mut(&place.channel).into_iter().for_each(Channel::unstage);
                    }
                }
                Err(error)
            }
        }
    }

    fn stage(&mut self, event: Event, batch: &mut Vec<Staged>) -> Result<(), StoreError> {
        if self.outbox.knows(&event.id) {
            return Ok(());
        }
        self.outbox.told(event.id.clone(), 0);
        let mut places = Vec::with_capacity(event.channels.len());
        let mut opened = Ok(());
        for name in &event.channels {
            match self.open(name) {
                Ok(Some(channel)) => places.push(Place {
                    channel: Arc::clone(&channel.name),
                    offset: channel.stage(),
                    durable: channel.pool == Pool::Durable,
                }),
                Ok(None) => tracing::error!(channel = %name, event = %event.name, "no rule knows this channel"),
                Err(error) => opened = Err(error),
            }
        }
        batch.push(Staged { event, places });
        opened
    }

    /// Writes a batch; answers the number of its first frame, 0 where nothing of it is to be read back.
    fn write(&mut self, batch: &[Staged]) -> Result<u64, StoreError> {
        let (mut writer, now) = (Writer::default(), self.now());
        for staged in batch.iter().filter(|staged| staged.places.iter().any(|place| place.durable)) {
            let durable = staged.places.iter().filter(|place| place.durable);
            writer.line(&staged.event, now, durable.map(|place| (&*place.channel, place.offset)))?;
        }
        if writer.is_empty() {
            return Ok(0);
        }
        let number = writer.append(&self.parts.journal)?;
        self.reached = self.parts.journal.stats().last;
        Ok(number)
    }

    fn publish(&mut self, staged: Staged, number: u64) {
        let Staged { event, places } = staged;
        self.spread(&event, places, number);
        self.outbox.told(event.id, number);
    }

    /// Makes the frames of an event and hands them out.
    fn spread(&mut self, event: &Event, places: Vec<Place>, number: u64) {
        let (framer, name, now) = (Framer::of_event(event), Arc::<str>::from(event.name.as_str()), self.now());
        for place in places {
            let publication = publication(event, &framer, &place.channel, &name, place.offset);
            for shard in self.subscriptions.shards(&place.channel) {
                self.out.push(shard, Delivery::Publication(Arc::clone(&publication)));
            }
            self.histories.push(publication, now, if place.durable { number } else { 0 });
            self.published += 1;
        }
    }

    /// Tells an event of channels that keep nothing: neither the outbox nor the journal knows of it.
    pub(super) fn tell_passing(&mut self, event: &Event) {
        let mut places = Vec::with_capacity(event.channels.len());
        for name in &event.channels {
            // Nobody has a position in a channel that is not in memory, so nobody misses what may be left out.
            if event.loss == DropPolicy::Conflated && self.histories.get(name).is_none() {
                continue;
            }
            match self.open(name) {
                Ok(Some(channel)) if channel.pool != Pool::Durable => {
                    places.push(Place { channel: Arc::clone(&channel.name), offset: channel.stage(), durable: false })
                }
                _ => tracing::error!(channel = %name, event = %event.name, "no channel that keeps nothing is named so"),
            }
        }
        if !places.is_empty() {
            self.spread(event, places, 0);
            let now = self.now();
            self.histories.trim(now);
        }
    }

    /// The channel, made where it is not in memory; `None` where no rule knows it as one of publications.
    ///
    /// # Errors
    /// Its offset cannot be read.
    pub(super) fn open(&mut self, name: &str) -> Result<Option<&mut Channel>, StoreError> {
        if self.histories.get(name).is_none() {
            let Some(rule) = self.parts.rules.find(name).filter(|rule| rule.kind == ChannelKind::Log) else {
                return Ok(None);
            };
            let last = match rule.pool() {
                Pool::Durable => record::offset(self.parts.options.store.as_ref(), name)?,
                Pool::Memory | Pool::Passing => self.histories.floor(),
            };
            self.histories.insert(Channel::new(name.into(), rule.pool(), last));
        }
        Ok(self.histories.get_mut(name))
    }

    /// Takes newest values; only what somebody subscribes to is made into a frame.
    pub(super) fn tell_latest(&mut self, values: Vec<LatestValue>) {
        for value in newest(values) {
            let known = self.latests.get_mut(&value.channel).is_some();
            let rule = || self.parts.rules.find(&value.channel).is_some_and(|rule| rule.kind == ChannelKind::Latest);
            if !known && !rule() {
                tracing::error!(channel = %value.channel, "no rule knows this channel as one of newest values");
                continue;
            }
            let Some((values, key, offset)) = self.latests.put(&value.channel, &value.key, value.data.clone()) else {
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

/// Of the values of one key the last, in their order.
fn newest(values: Vec<LatestValue>) -> Vec<LatestValue> {
    let mut seen = HashSet::new();
    let mut last: Vec<bool> = values.iter().rev().map(|value| seen.insert((&*value.channel, &*value.key))).collect();
    last.reverse();
    values.into_iter().zip(last).filter_map(|(value, last)| last.then_some(value)).collect()
}
