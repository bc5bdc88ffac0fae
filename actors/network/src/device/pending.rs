//! Changes that were decided but are not durable yet. Pure.
//!
//! The fleet holds durable state, which is all that readers see. A decision sees all earlier decisions, so it looks
//! here first.

use std::collections::HashMap;
use std::sync::Arc;

use super::command::Command;
use super::entry::DeviceEntry;
use super::state::Fleet;
use super::transaction::StagedChanges;

/// A value and the number of the decision that records it.
type Decided<T> = (u64, T);

/// Decided changes that are not durable yet.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    entries: HashMap<Arc<str>, Decided<Arc<DeviceEntry>>>,
    open: HashMap<Arc<str>, Decided<Arc<Vec<Command>>>>,
    /// Finished commands, by the key of their record.
    finished: HashMap<Vec<u8>, Decided<Command>>,
    /// Devices that hold new keys, by thumbprint.
    kids: HashMap<Box<str>, Decided<Arc<str>>>,
}

impl PendingChanges {
    pub(super) fn entry(&self, id: &str) -> Option<&DeviceEntry> {
        self.entries.get(id).map(|(_, entry)| &**entry)
    }

    /// Returns whether a change of the device is not durable yet.
    pub(super) fn concerns(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    /// Returns the number of devices with undurable changes.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the unfinished commands of a device.
    pub(super) fn open(&self, id: &str) -> Option<&[Command]> {
        self.open.get(id).map(|(_, open)| open.as_slice())
    }

    /// Returns a finished command of a device.
    pub(super) fn finished(&self, device: &str, id: &str) -> Option<&Command> {
        self.finished.get(&Command::key(device, id)).map(|(_, command)| command)
    }

    /// Returns the device that holds a key.
    pub(super) fn holder(&self, kid: &str) -> Option<&Arc<str>> {
        self.kids.get(kid).map(|(_, holder)| holder)
    }

    /// Adds the changes of a decision.
    pub(super) fn take(&mut self, decision: u64, staged: &StagedChanges, fleet: &Fleet) {
        for (id, entry) in &staged.entries {
            let before = self.entry(id).or_else(|| fleet.entry(id));
            if before.is_none_or(|before| before.keys != entry.keys) {
                let holder = |kid: &str| (Box::from(kid), (decision, Arc::clone(id)));
                self.kids.extend(entry.keys.iter().map(|key| holder(&key.kid)));
            }
            self.entries.insert(Arc::clone(id), (decision, Arc::clone(entry)));
        }
        let open = staged.open.iter().map(|(id, open)| (Arc::clone(id), (decision, Arc::clone(open))));
        self.open.extend(open);
        let key = |command: &Command| Command::key(&command.device_id, &command.id);
        self.finished.extend(staged.finished.iter().map(|command| (key(command), (decision, command.clone()))));
    }

    /// Removes changes up to the last durable decision.
    pub(super) fn settle(&mut self, durable: u64) {
        self.entries.retain(|_, (decision, _)| *decision > durable);
        self.open.retain(|_, (decision, _)| *decision > durable);
        self.finished.retain(|_, (decision, _)| *decision > durable);
        self.kids.retain(|_, (decision, _)| *decision > durable);
    }
}
