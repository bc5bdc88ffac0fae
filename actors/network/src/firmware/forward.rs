//! What devices run is written into their records: in the background, the newest for each, until it is taken.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::device::{FirmwareStateUpdate, FirmwareView};
use muster_core::Kind;

/// How long until it is tried again where devices cannot be written.
const AGAIN: Duration = Duration::from_secs(1);

type Sets = Vec<(Arc<str>, FirmwareStateUpdate)>;

/// The way to whoever writes.
#[derive(Debug)]
pub struct Forward(UnboundedSender<Sets>);

/// Writes; holds what is still to be written, one entry a device, so no more than there are devices.
#[derive(Debug)]
pub struct Forwarder {
    from: UnboundedReceiver<Sets>,
    waiting: BTreeMap<Arc<str>, FirmwareStateUpdate>,
}

/// Both ends.
pub fn forward() -> (Forward, Forwarder) {
    let (to, from) = unbounded_channel();
    (Forward(to), Forwarder { from, waiting: BTreeMap::new() })
}

impl Forward {
    pub fn put(&self, sets: Sets) {
        if !sets.is_empty() {
            // Its other end goes only with the actor.
            let _ = self.0.send(sets);
        }
    }
}

impl Forwarder {
    /// Writes for ever; to be dropped with the actor. What is lost with it follows from the executions again.
    pub async fn run(mut self, devices: Arc<dyn FirmwareView>) {
        loop {
            while let Ok(sets) = self.from.try_recv() {
                self.take(sets);
            }
            let Some((device, set)) = self.waiting.pop_first() else {
                let Some(sets) = self.from.recv().await else { return };
                self.take(sets);
                continue;
            };
            match devices.set_firmware(Arc::clone(&device), set.clone()).await {
                Ok(()) => {}
                Err(error) if error.kind == Kind::Unavailable => {
                    // Nothing newer is there: what came meanwhile is still in the channel.
                    self.waiting.insert(device, set);
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => tracing::warn!(%device, %error, "a device's firmware was not noted"),
            }
        }
    }

    /// Puts over what waits already.
    fn take(&mut self, sets: Sets) {
        for (device, set) in sets {
            let entry = self.waiting.entry(device).or_default();
            entry.current = set.current.or(entry.current.take());
            entry.desired = set.desired.or(entry.desired.take());
            entry.previous = set.previous.or(entry.previous.take());
            entry.slot = set.slot.or(entry.slot);
            entry.sync = set.sync.or(entry.sync);
        }
    }
}
