//! Writes of devices' firmware state: in the background, merged per device, repeated until they are accepted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::device::{FirmwareStateUpdate, FirmwareView};
use muster_core::Kind;

/// Delay before a repetition while devices cannot be written.
const RETRY_AFTER: Duration = Duration::from_secs(1);

type DeviceUpdateBatch = Vec<(Arc<str>, FirmwareStateUpdate)>;

/// Sender of updates.
#[derive(Debug)]
pub(crate) struct DeviceUpdates(UnboundedSender<DeviceUpdateBatch>);

/// Writer of updates; holds at most one pending update for each device.
#[derive(Debug)]
pub(crate) struct DeviceUpdateWriter {
    from: UnboundedReceiver<DeviceUpdateBatch>,
    waiting: BTreeMap<Arc<str>, FirmwareStateUpdate>,
}

/// Creates a sender and its writer.
pub(crate) fn device_updates() -> (DeviceUpdates, DeviceUpdateWriter) {
    let (to, from) = unbounded_channel();
    (DeviceUpdates(to), DeviceUpdateWriter { from, waiting: BTreeMap::new() })
}

impl DeviceUpdates {
    pub(crate) fn put(&self, sets: DeviceUpdateBatch) {
        if !sets.is_empty() {
            // The receiver lives as long as the actor.
            let _ = self.0.send(sets);
        }
    }
}

impl DeviceUpdateWriter {
    /// Writes for ever; dropped with the actor. Lost updates follow again from the executions.
    pub(crate) async fn run(mut self, devices: Arc<dyn FirmwareView>) {
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
                    // Nothing newer is queued here: later updates are still in the channel.
                    self.waiting.insert(device, set);
                    tokio::time::sleep(RETRY_AFTER).await;
                }
                Err(error) => tracing::warn!(%device, %error, "a device's firmware was not noted"),
            }
        }
    }

    /// Merges updates into the pending ones.
    fn take(&mut self, sets: DeviceUpdateBatch) {
        for (device, set) in sets {
            let entry = self.waiting.entry(device).or_default();
            entry.current = set.current.or(entry.current.take());
            entry.desired = set.desired.or(entry.desired.take());
            entry.previous = set.previous.or(entry.previous.take());
            entry.slot = set.slot.or(entry.slot);
            entry.sync = set.sync.or(entry.sync);
            entry.repeated = set.repeated;
        }
    }
}
