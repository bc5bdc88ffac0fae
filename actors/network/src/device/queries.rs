//! Reads of stored records that bypass the actor.

use std::collections::HashMap;
use std::sync::Arc;

use muster_store::{PageRequest, StoreError, StoreHandle};

use super::command::Command;
use super::entry::DeviceEntry;
use super::telemetry::Telemetry;
use muster_core::page::{Page, PageParams};
use muster_core::{Error, Kind};

/// Returns a command of a device, finished or not.
pub(super) fn command(store: &StoreHandle, device: &str, id: &str) -> Result<Command, Error> {
    let found = store.record(&Command::key(device, id))?;
    found.ok_or_else(|| Error::new(Kind::NotFound, "this device has no such command"))
}

/// Returns a page of the commands of a device, newest first.
pub(super) fn commands(store: &StoreHandle, device: &str, params: &PageParams) -> Result<Page<Command>, Error> {
    let from = params.after.as_deref().map(|after| Command::key(device, after));
    let request = PageRequest::of(params.limit + 2).starting_at(from).descending();
    let page = store.record_page::<Command>(format!("{device}/"), request)?;
    let commands = page.items.into_iter().map(|(_, command)| command);
    let rest = commands.filter(|command| params.after.as_deref() != Some(&*command.id));
    Ok(Page::of(rest, params.limit, |command| command.id.clone()))
}

/// Returns the stored readings of a device.
pub(super) fn telemetry(store: &StoreHandle, device: &str) -> Result<Telemetry, StoreError> {
    Ok(store.record(&Telemetry::key(device))?.unwrap_or_default())
}

/// All devices and their open commands.
#[derive(Debug, Default)]
pub(super) struct StoredDevices {
    pub(super) entries: Vec<DeviceEntry>,
    pub(super) open: HashMap<Arc<str>, Vec<Command>>,
}

/// Reads all devices.
pub(super) fn load_all(store: &StoreHandle) -> Result<StoredDevices, StoreError> {
    let mut all = StoredDevices::default();
    for entry in store.records::<DeviceEntry>([], PageRequest::default()).values() {
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
