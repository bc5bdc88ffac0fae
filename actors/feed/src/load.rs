//! Reading everything back, at each start of the hub. Blocking.

use std::sync::Arc;

use muster_store::{Rec, Store, StoreError};

use super::Publication;
use super::actor::Parts;
use super::channel::Channel;
use super::epoch::{self, Epochs};
use super::frame::Framer;
use super::histories::Histories;
use super::log::{Reader, Told};
use super::outbox::{self, Outbox};
use super::record::{self, Found, Head};
use muster_core::Millis;
use muster_core::event::Event;
use muster_core::supervise::BuildError;

/// What the hub begins with.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) histories: Histories,
    pub(super) outbox: Outbox,
    pub(super) epochs: Epochs,
    /// To be in the store before anything is told, where `head_is_new`.
    pub(super) head: Head,
    pub(super) head_is_new: bool,
    /// To be noted with the head: that the feed began anew since then.
    pub(super) restored: Option<Rec>,
}

pub(super) fn load(parts: &Parts, same_process: bool) -> Result<Loaded, BuildError> {
    let store = parts.options.store.as_ref();
    let stored = Head::read(store)?;
    let waiting = outbox::ids(store)?;
    let now = parts.options.clock.now();
    let (mut histories, mut outbox) = (Histories::new(parts.options.limits.clone()), Outbox::default());
    let (mut reader, mut failed) = (Reader::default(), Ok(()));
    let replayed = parts.journal.replay(0, u64::MAX - 1, |number, payload| {
        reader.frame(number, payload, |number, told| {
            if waiting.contains(&told.event.id) {
                outbox.told(told.event.id.clone(), number);
            }
            outbox.remember(told.event.id.clone(), told.told);
            if failed.is_ok() {
                failed = restore(&mut histories, store, &told, number, now);
            }
        });
    })?;
    failed?;
    let (number, broken) = reader.end();
    let broken = !histories.restored() || broken;
    histories.trim(now);
    let boot = parts.options.boot_id.clone();
    let restored = record::restored(store)?;
    let found = Found { boot: boot.as_deref(), same_process, number, broken, restored: restored.is_some() };
    let epoch = epoch_of(stored.as_ref(), &found)?;
    let head = Head { epoch, boot, clean: false, number };
    let (channels, history) = (histories.len(), histories.held().0);
    tracing::info!(frames = replayed.frames, channels, history, epoch = %head.epoch, "feed read back");
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
            tracing::warn!(why, "the feed begins a new epoch: subscribers cannot resume");
            epoch::fresh()
        }
    }
}

fn restore(
    histories: &mut Histories,
    store: &dyn Store,
    told: &Told,
    number: u64,
    now: Millis,
) -> Result<(), StoreError> {
    let framer = Framer::of_event(&told.event);
    let name: Arc<str> = told.event.name.as_str().into();
    for (channel, &offset) in told.event.channels.iter().zip(&told.offsets) {
        let channel: Arc<str> = match histories.get(channel) {
            Some(known) => Arc::clone(&known.name),
            None => {
                let channel: Arc<str> = channel.as_str().into();
                let saved = record::offset(store, &channel)?;
                histories.insert(Channel::before(Arc::clone(&channel), offset, saved));
                channel
            }
        };
        let publication = publication(&told.event, &framer, &channel, &name, offset);
        histories.restore(publication, told.told, number);
    }
    histories.trim(now);
    Ok(())
}

/// One event on one channel.
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
