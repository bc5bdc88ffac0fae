//! Actions of operators on a device (maintenance, quarantine, release, retirement), key rotation and firmware state.

use std::sync::Arc;
use std::time::Duration;

use muster_auth::Secret;
use serde_json::{Map, Value, json};

use super::command::CommandState;
use super::command_changes;
use super::credentials::NewKey;
use super::messages::DeviceChange;
use super::ports::FirmwareStateUpdate;
use super::record::{Device, FirmwareSync, Status};
use super::register::{free, retired};
use super::status::StatusTrigger;
use super::transaction::{DeviceEdit, DeviceTransaction};
use super::trust::Boots;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::By;

/// Action of an operator on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceAction {
    /// Begins maintenance, during which missing heartbeats are ignored.
    BeginMaintenance,
    /// Ends maintenance; the device is online or offline by its last heartbeat.
    EndMaintenance,
    /// Blocks the credentials and rejects commands until a release.
    Quarantine,
    /// Ends the quarantine; the device is provisioned again.
    Release,
    /// Removes the device permanently and destroys its credentials.
    Retire,
}

/// Applies a [`DeviceAction`].
#[derive(Debug)]
pub(super) struct ApplyAction {
    pub(super) id: String,
    pub(super) action: DeviceAction,
    pub(super) reason: Option<String>,
    pub(super) by: By,
    /// `IfMatch::Any` if the caller sent no version.
    pub(super) version: IfMatch,
}

impl DeviceChange for ApplyAction {
    type Output = Device;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Device, Error> {
        let Self { id, action, reason, by, version } = self;
        let mut edit = transaction.edit(&id)?;
        version.check(edit.entry.device.version)?;
        let trigger = match action {
            DeviceAction::BeginMaintenance => StatusTrigger::BeginMaintenance,
            DeviceAction::EndMaintenance if sent_recently(&edit, transaction) => StatusTrigger::ResumeOnline,
            DeviceAction::EndMaintenance => StatusTrigger::ResumeOffline,
            DeviceAction::Quarantine => StatusTrigger::Quarantine,
            DeviceAction::Release => StatusTrigger::Release,
            DeviceAction::Retire => StatusTrigger::Retire,
        };
        let device = transition(transaction, &mut edit, trigger, &by, reason.as_deref())?;
        transaction.save(edit)?;
        Ok(device)
    }
}

fn sent_recently(edit: &DeviceEdit, transaction: &DeviceTransaction<'_>) -> bool {
    let device = &edit.entry.device;
    let bound = u64::from(device.heartbeat_s) * u64::from(transaction.rules.offline_after_intervals);
    device.last_seen.is_some_and(|at| transaction.now.since(at) <= Duration::from_secs(bound))
}

/// Applies a status transition with all its consequences: open commands, keys, history, event, audit.
pub(super) fn transition(
    transaction: &DeviceTransaction<'_>,
    edit: &mut DeviceEdit,
    trigger: StatusTrigger,
    by: &By,
    reason: Option<&str>,
) -> Result<Device, Error> {
    let (now, from) = (transaction.now, edit.entry.device.status);
    let to = from.transition(trigger)?;
    if !to.trusted() {
        refuse_open_commands(transaction, edit, to)?;
    }
    match to {
        Status::Retired => {
            edit.entry.keys.clear();
            edit.entry.device.credentials = None;
            edit.moved = Some(None);
        }
        Status::Provisioned => {
            edit.entry.boots = Boots::default();
            edit.entry.runtime.bad = Default::default();
        }
        _ => {}
    }
    edit.step(&[to], by.id(), reason, transaction)?;
    let details = json!({ "from": from, "to": to, "reason": reason });
    edit.audit(now, by, &format!("device.{}", trigger.name()), details);
    Ok(edit.entry.device.clone())
}

/// Refuses the open commands of a device that is no longer trusted.
fn refuse_open_commands(transaction: &DeviceTransaction<'_>, edit: &mut DeviceEdit, to: Status) -> Result<(), Error> {
    let mut open = transaction.open(&edit.entry.device.id).to_vec();
    for command in &mut open {
        let why = json!({ "error": format!("the device was {}", to.name()) });
        command.finish(CommandState::Refused, Some(why), transaction.now);
        command_changes::record_end(edit, command, transaction.now)?;
    }
    edit.open = Some(Vec::new());
    Ok(())
}

/// Replaces the key of a device.
#[derive(Debug)]
pub(super) struct Rotate {
    pub(super) id: String,
    pub(super) new_key: NewKey,
    /// How long the old key stays valid.
    pub(super) grace: Duration,
    pub(super) by: By,
}

/// A device after its key was replaced.
#[derive(Debug, Clone)]
pub struct Rotated {
    /// The device.
    pub device: Device,
    /// The private key as a JWK, if the server generated it. It is returned only here.
    pub private_key: Option<Secret<Value>>,
}

impl DeviceChange for Rotate {
    type Output = Rotated;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Rotated, Error> {
        let Self { id, new_key, grace, by } = self;
        let mut edit = transaction.edit(&id)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        free(transaction, &id, &new_key.key.kid)?;
        if edit.entry.keys.iter().any(|key| key.kid == new_key.key.kid) {
            let message = "the device has this key already: make a new pair";
            return Err(Error::new(Kind::Conflict, message).coded("key_in_use"));
        }
        let now = transaction.now;
        edit.entry.device.credentials = Some(new_key.key.credentials(now));
        // The key that was current stays valid for the grace period; one that already was in its grace period ends now.
        let old = edit.entry.keys.drain(..).find(|key| key.until.is_none());
        edit.entry.keys.push(new_key.key);
        if let Some(mut old) = old.filter(|_| grace > Duration::ZERO) {
            old.until = Some(now.plus(grace));
            edit.entry.keys.push(old);
        }
        edit.bump(now);
        edit.note(now, by.id(), "credentials", Some("rotated".to_owned()))?;
        let kid = edit.entry.keys.first().map(|key| key.kid.clone());
        edit.audit(now, &by, "device.credentials_rotated", json!({ "kid": kid, "grace_s": grace.as_secs() }));
        edit.event("device.updated", now, Map::from_iter([("by".to_owned(), json!(by.id()))]));
        let device = edit.entry.device.clone();
        transaction.save(edit)?;
        Ok(Rotated { device, private_key: new_key.private })
    }
}

/// Updates the firmware state of a device.
#[derive(Debug)]
pub(super) struct WriteFirmware {
    pub(super) id: Arc<str>,
    pub(super) set: FirmwareStateUpdate,
}

impl DeviceChange for WriteFirmware {
    type Output = ();

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<(), Error> {
        let Self { id, set } = self;
        let mut edit = transaction.edit(&id)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        let firmware = &mut edit.entry.device.firmware;
        let before = firmware.clone();
        let applied = set.desired.as_ref().is_none_or(|desired| *desired == firmware.desired);
        if set.repeated && applied && firmware.sync != FirmwareSync::Pending {
            return Ok(());
        }
        firmware.current = set.current.or_else(|| firmware.current.take());
        firmware.desired = set.desired.unwrap_or_else(|| firmware.desired.take());
        firmware.previous = set.previous.or_else(|| firmware.previous.take());
        firmware.slot = set.slot.or(firmware.slot);
        firmware.sync = set.sync.unwrap_or(firmware.sync);
        firmware.compare(transaction.now);
        if *firmware == before {
            return Ok(());
        }
        edit.bump(transaction.now);
        edit.event("device.updated", transaction.now, Map::new());
        edit.firmware_changed(&before, transaction);
        transaction.save(edit)
    }
}

/// Counts invalid signatures under a device's identifier.
#[derive(Debug)]
pub(super) struct CountBad {
    pub(super) device: Arc<str>,
    pub(super) more: u32,
}

impl DeviceChange for CountBad {
    type Output = ();

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<(), Error> {
        let mut edit = transaction.edit(&self.device)?;
        let now = transaction.now;
        let threshold = transaction.rules.quarantine_at_bad_signatures;
        let count = edit.entry.runtime.bad.count(self.more, now);
        let details = json!({ "bad_signatures": edit.entry.runtime.bad.total(), "window_s": 3600 });
        if threshold > 0 && edit.entry.runtime.bad.total() >= threshold && edit.entry.device.status.trusted() {
            edit.audit(now, &By::System, "device.bad_signatures", details);
            transition(transaction, &mut edit, StatusTrigger::Quarantine, &By::System, Some("bad signatures"))?;
        } else if count.is_some() {
            edit.audit(now, &By::System, "device.bad_signatures", details.clone());
            edit.event("device.updated", now, Map::from_iter([("security".to_owned(), details)]));
        } else {
            edit.write = super::transaction::WriteMode::Deferred;
        }
        transaction.save(edit)
    }
}
