//! What is done to a device: maintenance, quarantine, release, retirement, new credentials, firmware.

use std::sync::Arc;
use std::time::Duration;

use muster_auth::Secret;
use serde_json::{Map, Value, json};

use super::command::CommandState;
use super::key::Given;
use super::messages::Act;
use super::orders;
use super::ports::SetFirmware;
use super::record::{Device, Status};
use super::register::{free, retired};
use super::status::Move;
use super::trust::Boots;
use super::turn::{Edit, Turn};
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind};
use muster_identity::By;

/// What an operator does with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    BeginMaintenance,
    EndMaintenance,
    Quarantine,
    Release,
    Retire,
}

/// Does it.
#[derive(Debug)]
pub(super) struct Shift {
    pub(super) id: String,
    pub(super) deed: Deed,
    pub(super) reason: Option<String>,
    pub(super) by: By,
    /// `IfMatch::Any` where the caller names none.
    pub(super) version: IfMatch,
}

impl Act for Shift {
    type Answer = Device;

    fn act(self, turn: &mut Turn<'_>) -> Result<Device, Error> {
        let Self { id, deed, reason, by, version } = self;
        let mut edit = turn.edit(&id)?;
        version.check(edit.entry.device.version)?;
        let happened = match deed {
            Deed::BeginMaintenance => Move::Maintain,
            Deed::EndMaintenance if heard_lately(&edit, turn) => Move::ResumeHeard,
            Deed::EndMaintenance => Move::ResumeSilent,
            Deed::Quarantine => Move::Quarantine,
            Deed::Release => Move::Release,
            Deed::Retire => Move::Retire,
        };
        let device = shift(turn, &mut edit, happened, &by, reason.as_deref())?;
        turn.save(edit)?;
        Ok(device)
    }
}

fn heard_lately(edit: &Edit, turn: &Turn<'_>) -> bool {
    let device = &edit.entry.device;
    let bound = u64::from(device.heartbeat_s) * u64::from(turn.rules.offline_after_intervals);
    device.last_seen.is_some_and(|at| turn.now.since(at) <= Duration::from_secs(bound))
}

/// Moves a device as `by` wants it, with everything that hangs on it.
pub(super) fn shift(
    turn: &Turn<'_>,
    edit: &mut Edit,
    happened: Move,
    by: &By,
    reason: Option<&str>,
) -> Result<Device, Error> {
    let (now, from) = (turn.now, edit.entry.device.status);
    let to = from.moved(happened)?;
    if !to.trusted() {
        take_back(turn, edit, to)?;
    }
    match to {
        Status::Retired => {
            edit.entry.keys.clear();
            edit.entry.device.credentials = None;
            edit.moved = Some(None);
        }
        Status::Provisioned => {
            edit.entry.boots = Boots::default();
            edit.entry.live.bad = Default::default();
        }
        _ => {}
    }
    edit.step(&[to], by.id(), reason, turn)?;
    let details = json!({ "from": from, "to": to, "reason": reason });
    edit.audit(now, by, &format!("device.{}", happened.name()), details);
    Ok(edit.entry.device.clone())
}

/// A device that is not trusted gets no commands: those that wait are refused.
fn take_back(turn: &Turn<'_>, edit: &mut Edit, to: Status) -> Result<(), Error> {
    let mut open = turn.open(&edit.entry.device.id).to_vec();
    for command in &mut open {
        let why = json!({ "error": format!("the device was {}", to.name()) });
        command.finish(CommandState::Refused, Some(why), turn.now);
        orders::ended(edit, command, turn.now)?;
    }
    edit.open = Some(Vec::new());
    Ok(())
}

/// Gives a device another key.
#[derive(Debug)]
pub(super) struct Rotate {
    pub(super) id: String,
    pub(super) given: Given,
    /// How long the old key is taken yet.
    pub(super) grace: Duration,
    pub(super) by: By,
}

/// A device has another key.
#[derive(Debug, Clone)]
pub struct Rotated {
    pub device: Device,
    /// The private half of a key that the server made. It is shown this once.
    pub private_key: Option<Secret<Value>>,
}

impl Act for Rotate {
    type Answer = Rotated;

    fn act(self, turn: &mut Turn<'_>) -> Result<Rotated, Error> {
        let Self { id, given, grace, by } = self;
        let mut edit = turn.edit(&id)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        free(turn, &id, &given.key.kid)?;
        if edit.entry.keys.iter().any(|key| key.kid == given.key.kid) {
            let message = "the device has this key already: make a new pair";
            return Err(Error::new(Kind::Conflict, message).coded("key_in_use"));
        }
        let now = turn.now;
        edit.entry.device.credentials = Some(given.key.credentials(now));
        // Of the keys before, the one that was present goes on for the grace; what was on grace ends now.
        let old = edit.entry.keys.drain(..).find(|key| key.until.is_none());
        edit.entry.keys.push(given.key);
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
        turn.save(edit)?;
        Ok(Rotated { device, private_key: given.private })
    }
}

/// Writes what a device's firmware is or is to be.
#[derive(Debug)]
pub(super) struct WriteFirmware {
    pub(super) id: Arc<str>,
    pub(super) set: SetFirmware,
}

impl Act for WriteFirmware {
    type Answer = ();

    fn act(self, turn: &mut Turn<'_>) -> Result<(), Error> {
        let Self { id, set } = self;
        let mut edit = turn.edit(&id)?;
        if edit.entry.device.status == Status::Retired {
            return Err(retired());
        }
        let firmware = &mut edit.entry.device.firmware;
        let before = firmware.clone();
        firmware.current = set.current.or_else(|| firmware.current.take());
        firmware.desired = set.desired.unwrap_or_else(|| firmware.desired.take());
        firmware.previous = set.previous.or_else(|| firmware.previous.take());
        firmware.slot = set.slot.or(firmware.slot);
        firmware.sync = set.sync.unwrap_or(firmware.sync);
        if *firmware == before {
            return Ok(());
        }
        edit.bump(turn.now);
        edit.event("device.updated", turn.now, Map::new());
        turn.save(edit)
    }
}

/// Counts signatures that did not verify.
#[derive(Debug)]
pub(super) struct CountBad {
    pub(super) device: Arc<str>,
    pub(super) more: u32,
}

impl Act for CountBad {
    type Answer = ();

    fn act(self, turn: &mut Turn<'_>) -> Result<(), Error> {
        let mut edit = turn.edit(&self.device)?;
        let now = turn.now;
        let threshold = turn.rules.quarantine_at_bad_signatures;
        let count = edit.entry.live.bad.count(self.more, now);
        let details = json!({ "bad_signatures": edit.entry.live.bad.total(), "window_s": 3600 });
        if threshold > 0 && edit.entry.live.bad.total() >= threshold && edit.entry.device.status.trusted() {
            edit.audit(now, &By::System, "device.bad_signatures", details);
            shift(turn, &mut edit, Move::Quarantine, &By::System, Some("bad signatures"))?;
        } else if count.is_some() {
            edit.audit(now, &By::System, "device.bad_signatures", details.clone());
            edit.event("device.updated", now, Map::from_iter([("security".to_owned(), details)]));
        } else {
            edit.write = super::turn::Write::Later;
        }
        turn.save(edit)
    }
}
