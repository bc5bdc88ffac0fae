//! Devices as they were decided, where a decision is not durable yet. Pure.
//!
//! The fleet holds what is durable, and readers look at nothing else. A decision sees what was decided before it, durable
//! or not: it looks here first.

use std::collections::HashMap;
use std::sync::Arc;

use super::command::Command;
use super::entry::Entry;
use super::state::Fleet;
use super::turn::Staged;

/// Something decided, and the decision that records it.
type Decided<T> = (u64, T);

/// What is decided and not durable.
#[derive(Debug, Default)]
pub(super) struct Pending {
    entries: HashMap<Arc<str>, Decided<Arc<Entry>>>,
    open: HashMap<Arc<str>, Decided<Arc<Vec<Command>>>>,
    /// Finished commands, by the key of their record.
    finished: HashMap<Vec<u8>, Decided<Command>>,
    /// Holders of new keys.
    kids: HashMap<Box<str>, Decided<Arc<str>>>,
}

impl Pending {
    pub(super) fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id).map(|(_, entry)| &**entry)
    }

    /// Whether a change of the device is not durable yet.
    pub(super) fn concerns(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    /// Number of devices that it concerns.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The commands of a device that are not finished.
    pub(super) fn open(&self, id: &str) -> Option<&[Command]> {
        self.open.get(id).map(|(_, open)| open.as_slice())
    }

    /// A command of a device that has ended.
    pub(super) fn finished(&self, device: &str, id: &str) -> Option<&Command> {
        self.finished.get(&Command::key(device, id)).map(|(_, command)| command)
    }

    /// Whose key it is.
    pub(super) fn holder(&self, kid: &str) -> Option<&Arc<str>> {
        self.kids.get(kid).map(|(_, holder)| holder)
    }

    /// Takes over what a decision changes.
    pub(super) fn take(&mut self, decision: u64, staged: &Staged, fleet: &Fleet) {
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

    /// Forgets what is durable, given the last durable decision.
    pub(super) fn settle(&mut self, durable: u64) {
        self.entries.retain(|_, (decision, _)| *decision > durable);
        self.open.retain(|_, (decision, _)| *decision > durable);
        self.finished.retain(|_, (decision, _)| *decision > durable);
        self.kids.retain(|_, (decision, _)| *decision > durable);
    }
}
