//! Heartbeats, and the checks that fall due without one.

use std::sync::Arc;

use muster_geo::Point;
use serde_json::{Map, Value, json};

use super::actions::transition;
use super::command::CommandState;
use super::command_changes;
use super::deadline::Due;
use super::drift::flag_drift;
use super::entry::{Heartbeat, HeartbeatOutcome, HeartbeatSource};
use super::messages::DeviceChange;
use super::options::DeviceRules;
use super::ports::ReceivedHeartbeat;
use super::record::{Device, Firmware, FirmwareSync, FirmwareVersion, Status};
use super::state::Fleet;
use super::status::StatusTrigger;
use super::transaction::{DeviceEdit, DeviceTransaction, WriteMode, device_event};
use super::trust::BootVerdict;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Response to a heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub struct HeartbeatResponse {
    /// Status after the heartbeat.
    pub status: Status,
    /// Time of the server, for devices whose clock is wrong.
    pub server_time: Millis,
    /// Interval between heartbeats, in seconds.
    pub heartbeat_s: u32,
    /// Number of unfinished commands for the device.
    pub commands_waiting: usize,
    /// Firmware version that the device should run; `None` if it runs it, or none is desired.
    pub desired: Option<FirmwareVersion>,
}

/// Applies a heartbeat as a durable change.
#[derive(Debug, Clone)]
pub(super) struct RecordHeartbeat {
    pub(super) id: Arc<str>,
    pub(super) report: Arc<Heartbeat>,
    pub(super) by: By,
}

impl RecordHeartbeat {
    pub(super) fn source(&self) -> HeartbeatSource {
        if matches!(self.by, By::Device(_)) { HeartbeatSource::DeviceKey } else { HeartbeatSource::Operator }
    }
}

/// Applies a heartbeat that changes nothing that must be stored before it is answered; `None` if it changes more.
pub(super) fn record_quietly(
    fleet: &mut Fleet,
    request: &RecordHeartbeat,
    now: Millis,
    rules: &DeviceRules,
) -> Option<QuietHeartbeat> {
    let source = request.source();
    let commands_waiting = fleet.open(&request.id).map_or(0, <[_]>::len);
    let entry = fleet.entry_mut(&request.id)?;
    if !entry.device.status.trusted() || !entry.is_quiet(&request.report, source, now, rules) {
        return None;
    }
    let unsaved = entry.runtime.save_at;
    let outcome = entry.apply_heartbeat(&request.report, source, now, rules);
    let (device, save_at) = (&entry.device, entry.runtime.save_at);
    let quiet = QuietHeartbeat {
        response: response(device, commands_waiting, now),
        received_heartbeat: received_heartbeat(&request.id, &request.report, now, device.status),
        health_summary: health_summary(device),
        moved: device.location.filter(|_| outcome.moved),
    };
    if let (None, Some(at)) = (unsaved, save_at) {
        fleet.deadlines.push(at, Due::Save(Arc::clone(&request.id)));
    }
    if quiet.moved.is_some() {
        fleet.place(&request.id, quiet.moved);
    }
    Some(quiet)
}

/// Result of a heartbeat that was applied without a durable change.
#[derive(Debug)]
pub(super) struct QuietHeartbeat {
    pub(super) response: HeartbeatResponse,
    pub(super) received_heartbeat: ReceivedHeartbeat,
    pub(super) health_summary: Value,
    pub(super) moved: Option<Point>,
}

/// Returns the health of a device as its telemetry channel publishes it.
pub(super) fn health_summary(device: &Device) -> Value {
    json!({
        "id": device.id, "status": device.status, "last_seen": device.last_seen, "health": device.health,
        "location": device.location,
    })
}

impl DeviceChange for RecordHeartbeat {
    type Output = HeartbeatResponse;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<HeartbeatResponse, Error> {
        let source = self.source();
        let mut edit = transaction.edit(&self.id)?;
        require_reporting(edit.entry.device.status)?;
        let unsaved = edit.entry.runtime.save_at;
        let before = edit.entry.device.firmware.clone();
        let outcome = edit.entry.apply_heartbeat(&self.report, source, transaction.now, transaction.rules);
        if outcome.verdict == BootVerdict::Clone {
            transition(
                transaction,
                &mut edit,
                StatusTrigger::Quarantine,
                &By::System,
                Some("two devices speak under its key"),
            )?;
            transaction.save(edit)?;
            return Err(quarantined());
        }
        record_changes(transaction, &mut edit, &outcome, &before, self.by.id())?;
        if edit.write == WriteMode::Deferred && unsaved.is_none() {
            edit.due.extend(edit.entry.runtime.save_at.map(|at| (at, Due::Save(Arc::clone(&self.id)))));
        }
        edit.heartbeat = Some(received_heartbeat(&self.id, &self.report, transaction.now, edit.entry.device.status));
        let waiting = transaction.open(&self.id).len();
        let response = response(&edit.entry.device, waiting, transaction.now);
        transaction.save(edit)?;
        Ok(response)
    }
}

/// Stages and publishes what a heartbeat changed.
fn record_changes(
    transaction: &DeviceTransaction<'_>,
    edit: &mut DeviceEdit,
    outcome: &HeartbeatOutcome,
    firmware_before: &Firmware,
    by: &str,
) -> Result<(), Error> {
    let now = transaction.now;
    edit.write = WriteMode::Deferred;
    if outcome.moved {
        edit.moved = Some(edit.entry.device.location);
    }
    if outcome.location_published {
        edit.write = WriteMode::Immediate;
        let device = &edit.entry.device;
        let patch = json!({
            "location": device.location, "location_accuracy_m": device.location_accuracy_m,
            "geohash": device.geohash, "h3": device.h3,
        });
        let data = json!({ "id": device.id, "version": device.version, "patch": patch });
        edit.events.push(device_event("device.located", now, device, &data));
    }
    if outcome.firmware {
        edit.write = WriteMode::Immediate;
        edit.bump(now);
        let current = edit.entry.device.firmware.current.as_ref();
        let note = current.map(|current| current.version.clone());
        edit.note(now, by, "firmware", note)?;
        edit.event("device.updated", now, Map::new());
        edit.firmware_changed(firmware_before, transaction);
    }
    if !outcome.path.is_empty() {
        edit.write = WriteMode::Immediate;
        edit.step(&outcome.path, by, outcome.unhealthy, transaction)?;
    }
    Ok(())
}

pub(super) fn received_heartbeat(id: &Arc<str>, report: &Heartbeat, at: Millis, status: Status) -> ReceivedHeartbeat {
    let boot_id = report.boot_id.as_deref().map(Arc::from);
    ReceivedHeartbeat { device: Arc::clone(id), at, boot_id, firmware: report.firmware.clone(), status }
}

fn response(device: &Device, commands_waiting: usize, server_time: Millis) -> HeartbeatResponse {
    HeartbeatResponse {
        status: device.status,
        server_time,
        heartbeat_s: device.heartbeat_s,
        commands_waiting,
        desired: device.firmware.desired.clone().filter(|_| device.firmware.sync != FirmwareSync::InSync),
    }
}

/// Rejects reports of a device that is not trusted.
pub(super) fn require_reporting(status: Status) -> Result<(), Error> {
    match status {
        Status::Quarantined => Err(quarantined()),
        Status::Retired => Err(super::register::retired()),
        _ => Ok(()),
    }
}

fn quarantined() -> Error {
    let message = "the device is quarantined: release it first (POST /api/v1/devices/{id}/release)";
    Error::new(Kind::Conflict, message).coded("device_quarantined")
}

/// Processes deadlines that have passed.
#[derive(Debug)]
pub(super) struct ProcessDue(pub(super) Vec<Due>);

impl DeviceChange for ProcessDue {
    type Output = ();

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<(), Error> {
        for due in self.0 {
            let looked = match &due {
                Due::Silent(id) => mark_silent(transaction, id),
                Due::PublishStatus(id) => publish_status(transaction, id),
                Due::Expire(id) => expire_commands(transaction, id),
                Due::Drift(id) => flag_drift(transaction, id),
                Due::Save(id) => save_heartbeat(transaction, id),
                // The actor stores readings itself.
                Due::Readings(_) => Ok(()),
            };
            if let Err(error) = looked {
                tracing::error!(?due, %error, "what was due was not done");
            }
        }
        Ok(())
    }
}

fn mark_silent(transaction: &mut DeviceTransaction<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut edit = transaction.edit(id)?;
    edit.entry.runtime.watched = false;
    match edit.entry.silent_at(transaction.fleet.up, transaction.rules) {
        Some(at) if at <= transaction.now => {
            edit.step(&[Status::Offline], "system", Some("no heartbeat"), transaction)?
        }
        _ => {
            edit.write = WriteMode::Deferred;
            edit.watch(transaction);
        }
    }
    transaction.save(edit)
}

fn publish_status(transaction: &mut DeviceTransaction<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut edit = transaction.edit(id)?;
    let status = edit.entry.device.status;
    if let Some(publication) = edit.entry.runtime.flap.due(status, transaction.now, transaction.rules.flap_window) {
        edit.publish_status(publication, "system", None, transaction.now);
    }
    if edit.events.is_empty() {
        edit.write = WriteMode::Deferred;
    }
    transaction.save(edit)
}

fn expire_commands(transaction: &mut DeviceTransaction<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut open = transaction.open(id).to_vec();
    if !open.iter().any(|command| command.expires_at <= transaction.now) {
        return Ok(());
    }
    let mut edit = transaction.edit(id)?;
    for command in open.iter_mut().filter(|command| command.expires_at <= transaction.now) {
        command.finish(CommandState::Expired, Some(Value::Null), transaction.now);
        command_changes::record_end(&mut edit, command, transaction.now)?;
    }
    open.retain(|command| command.state.open());
    edit.open = Some(open);
    transaction.save(edit)
}

fn save_heartbeat(transaction: &mut DeviceTransaction<'_>, id: &Arc<str>) -> Result<(), Error> {
    let edit = transaction.edit(id)?;
    if edit.entry.runtime.save_at.is_some_and(|at| at <= transaction.now) { transaction.save(edit) } else { Ok(()) }
}
