//! What devices run is written into their records: in the background, the newest for each, until it is taken.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::Kind;
use crate::device::{FirmwareView, SetFirmware};

/// How long until it is tried again where devices cannot be written.
const AGAIN: Duration = Duration::from_secs(1);

/// What is still to be written, one entry a device.
#[derive(Debug, Default)]
pub struct Forward {
    waiting: std::sync::Mutex<BTreeMap<Arc<str>, SetFirmware>>,
    more: Notify,
}

impl Forward {
    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, SetFirmware>> {
        self.waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts over what waits already.
    pub fn put(&self, sets: Vec<(Arc<str>, SetFirmware)>) {
        if sets.is_empty() {
            return;
        }
        let mut waiting = self.waiting();
        for (device, set) in sets {
            let entry = waiting.entry(device).or_default();
            entry.current = set.current.or(entry.current.take());
            entry.desired = set.desired.or(entry.desired.take());
            entry.previous = set.previous.or(entry.previous.take());
            entry.slot = set.slot.or(entry.slot);
            entry.sync = set.sync.or(entry.sync);
        }
        drop(waiting);
        self.more.notify_one();
    }

    fn take(&self) -> Option<(Arc<str>, SetFirmware)> {
        self.waiting().pop_first()
    }

    /// Writes for ever; to be dropped with the actor. What is lost with it follows from the executions again.
    pub async fn run(self: Arc<Self>, devices: Arc<dyn FirmwareView>) {
        loop {
            let Some((device, set)) = self.take() else {
                self.more.notified().await;
                continue;
            };
            match devices.set_firmware(Arc::clone(&device), set.clone()).await {
                Ok(()) => {}
                Err(error) if error.kind == Kind::Unavailable => {
                    self.put_back(device, set);
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => tracing::warn!(%device, %error, "a device's firmware was not noted"),
            }
        }
    }

    /// What came meanwhile is newer.
    fn put_back(&self, device: Arc<str>, set: SetFirmware) {
        let newer = self.waiting().remove(&device);
        self.put(vec![(Arc::clone(&device), set)]);
        self.put(newer.map(|newer| (device, newer)).into_iter().collect());
    }
}
