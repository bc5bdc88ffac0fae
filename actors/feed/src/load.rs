//! Restores the hub's state from store and journal at each start. Blocking.

use std::sync::Arc;

use muster_store::{Rec, Store, StoreError};

use super::Publication;
use super::actor::HubResources;
use super::channel::Channel;
use super::epoch::{self, Epochs};
use super::frame::Framer;
use super::histories::Histories;
use super::log::{LoggedEvent, Reader};
use super::outbox::{self, Outbox};
use super::record::{self, Found, Head};
use muster_core::Millis;
use muster_core::event::Event;
use muster_core::supervise::BuildError;

/// State with which the hub starts.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) histories: Histories,
    pub(super) outbox: Outbox,
    pub(super) epochs: Epochs,
    /// Must be stored before anything is published, if `head_is_new`.
    pub(super) head: Head,
    pub(super) head_is_new: bool,
    /// Restore mark to be stored with the head, because the feed begins a new epoch after a restore.
    pub(super) restored: Option<Rec>,
}

pub(super) fn load(resources: &HubResources, same_process: bool) -> Result<Loaded, BuildError> {
    let store = resources.options.store.as_ref();
    let stored = Head::read(store)?;
    let waiting = outbox::ids(store)?;
    let now = resources.options.clock.now();
    let (mut histories, mut outbox) = (Histories::new(resources.options.limits.clone()), Outbox::default());
    let (mut reader, mut failed) = (Reader::default(), Ok(()));
    let replayed = resources.journal.replay(0, u64::MAX - 1, |number, payload| {
        reader.frame(number, payload, |number, logged| {
            if waiting.contains(&logged.event.id) {
                outbox.mark_published(logged.event.id.clone(), number);
            }
            outbox.remember(logged.event.id.clone(), logged.published_at);
            if failed.is_ok() {
                failed = restore(&mut histories, store, &logged, number, now);
            }
        });
    })?;
    failed?;
    let (number, broken) = reader.end();
    let broken = !histories.restored() || broken;
    histories.trim(now);
    let boot = resources.options.boot_id.clone();
    let restored = record::restored(store)?;
    let found = Found { boot: boot.as_deref(), same_process, number, broken, restored: restored.is_some() };
    let epoch = epoch_of(stored.as_ref(), &found)?;
    let head = Head { epoch, boot, clean: false, number };
    let (channels, history) = (histories.len(), histories.held().0);
    tracing::info!(frames = replayed.frames, channels, history, epoch = %head.epoch, "feed restored");
    let epochs = Epochs { durable: head.epoch.clone(), memory: epoch::fresh()? };
    Ok(Loaded {
        head_is_new: restored.is_some() || stored.as_ref() != Some(&head),
        histories,
        outbox,
        epochs,
        head,
        restored,
    })
}

fn epoch_of(stored: Option<&Head>, found: &Found<'_>) -> Result<String, String> {
    let Some(head) = stored else { return epoch::fresh() };
    match head.proves(found) {
        Ok(()) => Ok(head.epoch.clone()),
        Err(why) => {
            tracing::warn!(why, "the feed begins a new epoch: subscribers cannot resume from earlier positions");
            epoch::fresh()
        }
    }
}

fn restore(
    histories: &mut Histories,
    store: &dyn Store,
    logged: &LoggedEvent,
    number: u64,
    now: Millis,
) -> Result<(), StoreError> {
    let framer = Framer::of_event(&logged.event);
    let name: Arc<str> = logged.event.name.as_str().into();
    for (channel, &offset) in logged.event.channels.iter().zip(&logged.offsets) {
        let channel: Arc<str> = match histories.get(channel) {
            Some(known) => Arc::clone(&known.name),
            None => {
                let channel: Arc<str> = channel.as_str().into();
                let saved = record::offset(store, &channel)?;
                histories.insert(Channel::before(Arc::clone(&channel), offset, saved));
                channel
            }
        };
        let publication = publication(&logged.event, &framer, &channel, &name, offset);
        histories.restore(publication, logged.published_at, number);
    }
    histories.trim(now);
    Ok(())
}

/// Creates the publication of an event on a channel.
pub(super) fn publication(
    event: &Event,
    framer: &Framer,
    channel: &Arc<str>,
    name: &Arc<str>,
    offset: u64,
) -> Arc<Publication> {
    Arc::new(Publication {
        json: framer.on(channel, offset),
        channel: Arc::clone(channel),
        offset,
        name: Arc::clone(name),
        traits: event.traits.clone(),
        priority: event.priority,
        loss: event.loss,
        at: event.at,
    })
}
