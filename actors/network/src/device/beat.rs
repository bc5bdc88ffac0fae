//! Heartbeats that change something, and what falls due without one.

use std::sync::Arc;

use muster_geo::Point;
use serde_json::{Map, Value, json};

use super::command::CommandState;
use super::deadline::Due;
use super::entry::{Heard, Report, Vouched};
use super::messages::Act;
use super::options::DeviceRules;
use super::orders;
use super::ports::Beat;
use super::record::{Device, FirmwareVersion, Status};
use super::shift::shift;
use super::state::Fleet;
use super::status::Move;
use super::trust::Judged;
use super::turn::{Edit, Turn, Write, told};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq)]
pub struct HeartbeatAnswer {
    pub status: Status,
    /// For devices whose clocks are wrong.
    pub server_time: Millis,
    /// How often it is to be heard of.
    pub heartbeat_s: u32,
    /// Commands that wait for it.
    pub commands_waiting: usize,
    /// The firmware that it is to have.
    pub desired: Option<FirmwareVersion>,
}

/// A heartbeat.
#[derive(Debug, Clone)]
pub(super) struct Hear {
    pub(super) id: Arc<str>,
    pub(super) report: Arc<Report>,
    pub(super) by: By,
}

impl Hear {
    pub(super) fn vouched(&self) -> Vouched {
        if matches!(self.by, By::Device(_)) { Vouched::ByKey } else { Vouched::ByPerson }
    }
}

/// Takes a heartbeat that changes nothing that must be written before it is answered; `None` where it does.
pub(super) fn quietly(fleet: &mut Fleet, hear: &Hear, now: Millis, rules: &DeviceRules) -> Option<Quiet> {
    let vouched = hear.vouched();
    let commands_waiting = fleet.open(&hear.id).map_or(0, <[_]>::len);
    let entry = fleet.entry_mut(&hear.id)?;
    if !entry.device.status.trusted() || !entry.is_quiet(&hear.report, vouched, now, rules) {
        return None;
    }
    let unsaved = entry.live.save_at;
    let heard = entry.hear(&hear.report, vouched, now, rules);
    let (device, save_at) = (&entry.device, entry.live.save_at);
    let quiet = Quiet {
        answer: answer(device, commands_waiting, now),
        beat: beat(&hear.id, &hear.report, now, device.status),
        vitals: vitals(device),
        moved: device.location.filter(|_| heard.moved),
    };
    if let (None, Some(at)) = (unsaved, save_at) {
        fleet.deadlines.push(at, Due::Save(Arc::clone(&hear.id)));
    }
    if quiet.moved.is_some() {
        fleet.place(&hear.id, quiet.moved);
    }
    Some(quiet)
}

/// What a quiet heartbeat tells.
#[derive(Debug)]
pub(super) struct Quiet {
    pub(super) answer: HeartbeatAnswer,
    pub(super) beat: Beat,
    pub(super) vitals: Value,
    pub(super) moved: Option<Point>,
}

/// How a device is, as its telemetry channel tells it.
pub(super) fn vitals(device: &Device) -> Value {
    json!({
        "id": device.id, "status": device.status, "last_seen": device.last_seen, "health": device.health,
        "location": device.location,
    })
}

impl Act for Hear {
    type Answer = HeartbeatAnswer;

    fn act(self, turn: &mut Turn<'_>) -> Result<HeartbeatAnswer, Error> {
        let vouched = self.vouched();
        let mut edit = turn.edit(&self.id)?;
        heard_of(edit.entry.device.status)?;
        let unsaved = edit.entry.live.save_at;
        let heard = edit.entry.hear(&self.report, vouched, turn.now, turn.rules);
        if heard.judged == Judged::Clone {
            shift(turn, &mut edit, Move::Quarantine, &By::System, Some("two devices speak under its key"))?;
            turn.save(edit)?;
            return Err(quarantined());
        }
        changed(turn, &mut edit, &heard, self.by.id())?;
        if edit.write == Write::Later && unsaved.is_none() {
            edit.due.extend(edit.entry.live.save_at.map(|at| (at, Due::Save(Arc::clone(&self.id)))));
        }
        edit.beat = Some(beat(&self.id, &self.report, turn.now, edit.entry.device.status));
        let waiting = turn.open(&self.id).len();
        let answer = answer(&edit.entry.device, waiting, turn.now);
        turn.save(edit)?;
        Ok(answer)
    }
}

/// What a heartbeat changed is written now, and told.
fn changed(turn: &Turn<'_>, edit: &mut Edit, heard: &Heard, by: &str) -> Result<(), Error> {
    let now = turn.now;
    edit.write = Write::Later;
    if heard.moved {
        edit.moved = Some(edit.entry.device.location);
    }
    if heard.located {
        edit.write = Write::Now;
        let device = &edit.entry.device;
        let patch = json!({
            "location": device.location, "location_accuracy_m": device.location_accuracy_m,
            "geohash": device.geohash, "h3": device.h3,
        });
        let data = json!({ "id": device.id, "version": device.version, "patch": patch });
        edit.events.push(told("device.located", now, device, &data));
    }
    if heard.firmware {
        edit.write = Write::Now;
        edit.bump(now);
        let current = edit.entry.device.firmware.current.as_ref();
        let note = current.map(|current| current.version.clone());
        edit.note(now, by, "firmware", note)?;
        edit.event("device.updated", now, Map::new());
    }
    if !heard.path.is_empty() {
        edit.write = Write::Now;
        edit.step(&heard.path, by, heard.ill, turn)?;
    }
    Ok(())
}

pub(super) fn beat(id: &Arc<str>, report: &Report, at: Millis, status: Status) -> Beat {
    let boot_id = report.boot_id.as_deref().map(Arc::from);
    Beat { device: Arc::clone(id), at, boot_id, firmware: report.firmware.clone(), status }
}

fn answer(device: &Device, commands_waiting: usize, server_time: Millis) -> HeartbeatAnswer {
    HeartbeatAnswer {
        status: device.status,
        server_time,
        heartbeat_s: device.heartbeat_s,
        commands_waiting,
        desired: device.firmware.desired.clone(),
    }
}

/// Refuses to hear of a device that is not trusted.
pub(super) fn heard_of(status: Status) -> Result<(), Error> {
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

/// Looks at what is due.
#[derive(Debug)]
pub(super) struct Look(pub(super) Vec<Due>);

impl Act for Look {
    type Answer = ();

    fn act(self, turn: &mut Turn<'_>) -> Result<(), Error> {
        for due in self.0 {
            let looked = match &due {
                Due::Silent(id) => silent(turn, id),
                Due::Tell(id) => tell(turn, id),
                Due::Expire(id) => expire(turn, id),
                Due::Save(id) => save(turn, id),
                // Those are taken out of memory by the actor.
                Due::Readings(_) => Ok(()),
            };
            if let Err(error) = looked {
                tracing::error!(?due, %error, "what was due was not done");
            }
        }
        Ok(())
    }
}

fn silent(turn: &mut Turn<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut edit = turn.edit(id)?;
    edit.entry.live.watched = false;
    match edit.entry.silent_at(turn.fleet.up, turn.rules) {
        Some(at) if at <= turn.now => edit.step(&[Status::Offline], "system", Some("no heartbeat"), turn)?,
        _ => {
            edit.write = Write::Later;
            edit.watch(turn);
        }
    }
    turn.save(edit)
}

fn tell(turn: &mut Turn<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut edit = turn.edit(id)?;
    let status = edit.entry.device.status;
    if let Some(tell) = edit.entry.live.flap.due(status, turn.now, turn.rules.flap_window) {
        edit.tell(tell, "system", None, turn.now);
    }
    if edit.events.is_empty() {
        edit.write = Write::Later;
    }
    turn.save(edit)
}

fn expire(turn: &mut Turn<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut open = turn.open(id).to_vec();
    if !open.iter().any(|command| command.expires_at <= turn.now) {
        return Ok(());
    }
    let mut edit = turn.edit(id)?;
    for command in open.iter_mut().filter(|command| command.expires_at <= turn.now) {
        command.finish(CommandState::Expired, Some(Value::Null), turn.now);
        orders::ended(&mut edit, command, turn.now)?;
    }
    open.retain(|command| command.state.open());
    edit.open = Some(open);
    turn.save(edit)
}

fn save(turn: &mut Turn<'_>, id: &Arc<str>) -> Result<(), Error> {
    let edit = turn.edit(id)?;
    if edit.entry.live.save_at.is_some_and(|at| at <= turn.now) { turn.save(edit) } else { Ok(()) }
}
