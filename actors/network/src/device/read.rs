//! Records that are read from the store, beside the actor.

use std::collections::HashMap;
use std::sync::Arc;

use muster_store::{PageRequest, StoreError, StoreHandle};

use super::command::Command;
use super::entry::Entry;
use super::telemetry::Telemetry;
use muster_core::page::{Page, PageAsk};
use muster_core::{Error, Kind};

/// A command of a device, finished or not.
pub(super) fn command(store: &StoreHandle, device: &str, id: &str) -> Result<Command, Error> {
    let found = store.record(&Command::key(device, id))?;
    found.ok_or_else(|| Error::new(Kind::NotFound, "this device has no such command"))
}

/// A page of a device's commands, newest first.
pub(super) fn commands(store: &StoreHandle, device: &str, ask: &PageAsk) -> Result<Page<Command>, Error> {
    let from = ask.after.as_deref().map(|after| Command::key(device, after));
    let request = PageRequest::of(ask.limit + 2).starting_at(from).descending();
    let page = store.record_page::<Command>(format!("{device}/"), request)?;
    let commands = page.items.into_iter().map(|(_, command)| command);
    let rest = commands.filter(|command| ask.after.as_deref() != Some(&*command.id));
    Ok(Page::of(rest, ask.limit, |command| command.id.clone()))
}

/// A device's readings, as they were last written.
pub(super) fn telemetry(store: &StoreHandle, device: &str) -> Result<Telemetry, StoreError> {
    Ok(store.record(&Telemetry::key(device))?.unwrap_or_default())
}

/// Every device, and its open commands.
#[derive(Debug, Default)]
pub(super) struct Everything {
    pub(super) entries: Vec<Entry>,
    pub(super) open: HashMap<Arc<str>, Vec<Command>>,
}

/// Reads every device back.
pub(super) fn everything(store: &StoreHandle) -> Result<Everything, StoreError> {
    let mut all = Everything::default();
    for entry in store.records::<Entry>([], PageRequest::default()).values() {
        all.entries.push(entry?);
    }
    for entry in all.entries.iter().filter(|entry| !entry.open.is_empty()) {
        let id = &entry.device.id;
        let open = entry.open.iter().filter_map(|command| store.record(&Command::key(id, command)).transpose());
        let open = open.collect::<Result<Vec<_>, _>>()?;
        all.open.insert(Arc::clone(id), open);
    }
    Ok(all)
}
