//! What is read from the store, past the actor.

use std::collections::HashMap;
use std::sync::Arc;

use muster_store::{Order, Record, Scan, StoreError, StoreHandle, Tree};

use super::command::Command;
use super::entry::Entry;
use super::telemetry::Telemetry;
use muster_core::page::{Page, PageAsk};
use muster_core::{Error, Kind};

/// A command of a device, finished or not.
pub(super) fn command(store: &StoreHandle, device: &str, id: &str) -> Result<Command, Error> {
    let found = store.get(Tree::Commands, &Command::key(device, id))?;
    let found = found.ok_or_else(|| Error::new(Kind::NotFound, "this device has no such command"))?;
    Ok(Command::decode(&found)?)
}

/// A page of a device's commands, newest first.
pub(super) fn commands(store: &StoreHandle, device: &str, ask: &PageAsk) -> Result<Page<Command>, Error> {
    let from = ask.after.as_deref().map(|after| Command::key(device, after));
    let prefix = format!("{device}/").into_bytes();
    let scan = Scan { prefix, from, limit: ask.limit + 2, order: Order::Descending };
    let items = store.scan(Tree::Commands, &scan)?.items;
    let commands = items.iter().map(|(_, rec)| Command::decode(rec)).collect::<Result<Vec<_>, StoreError>>()?;
    let rest = commands.into_iter().filter(|command| ask.after.as_deref() != Some(&*command.id));
    Ok(Page::of(rest, ask.limit, |command| command.id.clone()))
}

/// A device's readings, as they were last written.
pub(super) fn telemetry(store: &StoreHandle, device: &str) -> Result<Telemetry, StoreError> {
    let found = store.get(Tree::Telemetry, &Telemetry::key(device))?;
    found.map_or_else(|| Ok(Telemetry::default()), |rec| Telemetry::decode(&rec))
}

/// Every device, and its open commands.
#[derive(Debug, Default)]
pub(super) struct Everything {
    pub(super) entries: Vec<Entry>,
    pub(super) open: HashMap<Arc<str>, Vec<Command>>,
}

/// Reads every device back.
pub(super) fn everything(store: &StoreHandle) -> Result<Everything, StoreError> {
    let (mut all, mut from) = (Everything::default(), None);
    loop {
        let scan = Scan { prefix: Vec::new(), from, limit: 1_000, order: Order::Ascending };
        let page = store.scan(Tree::Devices, &scan)?;
        for (_, rec) in &page.items {
            all.entries.push(Entry::decode(rec)?);
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    for entry in all.entries.iter().filter(|entry| !entry.open.is_empty()) {
        let id = &entry.device.id;
        let stored = entry.open.iter().map(|command| store.get(Tree::Commands, &Command::key(id, command)));
        let stored = stored.collect::<Result<Vec<_>, _>>()?;
        let open = stored.iter().flatten().map(Command::decode).collect::<Result<Vec<_>, _>>()?;
        all.open.insert(Arc::clone(id), open);
    }
    Ok(all)
}
