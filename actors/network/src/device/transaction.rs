//! One decision about devices while it is being made, and the changes that it stages.
//!
//! A transaction sees earlier decisions even if they are not durable yet; readers do not. A change stages everything or
//! nothing. Once the decision is durable the actor applies all of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_geo::Point;
use muster_store::{Op, Record, StoreHandle};
use serde_json::{Map, Value, json};

use super::command::Command;
use super::deadline::Due;
use super::entry::DeviceEntry;
use super::flap::StatusPublication;
use super::history::HistoryEntry;
use super::options::DeviceRules;
use super::pending::PendingChanges;
use super::ports::ReceivedHeartbeat;
use super::record::{Device, Status};
use super::state::Fleet;
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, EventAttributes};
use muster_core::idempotency::{Idempotency, PendingResponses};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Changes of a decision: written to the store first, applied once they are durable.
#[derive(Debug, Default)]
pub(super) struct StagedChanges {
    pub(super) entries: BTreeMap<Arc<str>, Arc<DeviceEntry>>,
    /// Unfinished commands by device.
    pub(super) open: BTreeMap<Arc<str>, Arc<Vec<Command>>>,
    /// Commands that the decision finishes.
    pub(super) finished: Vec<Command>,
    pub(super) answer: Option<(Idempotency, Value)>,
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    pub(super) heartbeats: Vec<ReceivedHeartbeat>,
    pub(super) moved: Vec<(Arc<str>, Option<Point>)>,
    pub(super) due: Vec<(Millis, Due)>,
}

impl StagedChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.ops.is_empty()
    }

    /// Adds the changes of a later decision.
    pub(super) fn append(&mut self, later: Self) {
        let Self { entries, open, finished, answer: _, ops, events, heartbeats, moved, due } = later;
        self.entries.extend(entries);
        self.open.extend(open);
        self.finished.extend(finished);
        self.ops.extend(ops);
        self.events.extend(events);
        self.heartbeats.extend(heartbeats);
        self.moved.extend(moved);
        self.due.extend(due);
    }
}

/// A decision while it is being made.
pub(super) struct DeviceTransaction<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) pending: &'a PendingChanges,
    pub(super) responses: &'a PendingResponses,
    pub(super) store: &'a StoreHandle,
    pub(super) rules: &'a DeviceRules,
    pub(super) now: Millis,
    pub(super) staged: StagedChanges,
}

impl DeviceTransaction<'_> {
    pub(super) fn present(&self, id: &str) -> Option<&DeviceEntry> {
        let staged = self.staged.entries.get(id).map(|entry| &**entry);
        staged.or_else(|| self.pending.entry(id)).or_else(|| self.fleet.entry(id))
    }

    pub(super) fn open(&self, id: &str) -> &[Command] {
        let staged = self.staged.open.get(id).map(|open| open.as_slice());
        staged.or_else(|| self.pending.open(id)).or_else(|| self.fleet.open(id)).unwrap_or_default()
    }

    /// Starts an edit of a device, to be saved or dropped.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn edit(&self, id: &str) -> Result<DeviceEdit, Error> {
        let entry = self.present(id).ok_or_else(|| no_device(id))?;
        Ok(DeviceEdit::of(entry.clone(), Some(entry.device.clone())))
    }

    /// Returns a finished command of a device.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn finished(&self, device: &str, id: &str) -> Result<Command, Error> {
        self.pending.finished(device, id).cloned().map_or_else(|| super::queries::command(self.store, device, id), Ok)
    }

    /// Returns the first response to the same idempotent request, if there is one.
    pub(super) fn replay(&self, request: Option<&Idempotency>) -> Result<Option<Value>, Error> {
        let first = request.map(|request| self.responses.replay(request, self.store, self.now));
        Ok(first.transpose()?.flatten())
    }

    /// Stages an edit.
    ///
    /// # Errors
    /// A record is too large to be stored; nothing of the edit is staged then.
    pub(super) fn save(&mut self, mut edit: DeviceEdit) -> Result<(), Error> {
        let id = Arc::clone(&edit.entry.device.id);
        if let Some(open) = &edit.open {
            edit.entry.open = open.iter().map(|command| command.id.clone()).collect();
        }
        if edit.write == WriteMode::Immediate {
            edit.entry.runtime.save_at = None;
            edit.entry.published_status = edit.entry.runtime.flap.published(edit.entry.device.status);
            edit.ops.push(Op::Put { tree: DeviceEntry::TREE, key: id.as_bytes().to_vec(), rec: edit.entry.encode()? });
        }
        for event in &edit.events {
            edit.ops.push(event.op()?);
        }
        for entry in &edit.audits {
            edit.ops.push(entry.op()?);
        }
        if let Some((request, answer)) = &edit.answer {
            edit.ops.push(request.op(self.now, answer.clone())?);
        }
        let staged = &mut self.staged;
        staged.ops.append(&mut edit.ops);
        staged.events.append(&mut edit.events);
        staged.finished.append(&mut edit.finished);
        staged.answer = edit.answer.or(staged.answer.take());
        staged.heartbeats.extend(edit.heartbeat);
        staged.moved.extend(edit.moved.map(|place| (Arc::clone(&id), place)));
        staged.due.append(&mut edit.due);
        if let Some(open) = edit.open {
            staged.open.insert(Arc::clone(&id), Arc::new(open));
        }
        staged.entries.insert(id, Arc::from(edit.entry));
        Ok(())
    }
}

/// Whether an edit is stored with its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    Immediate,
    /// Applied in memory only; stored later together with others.
    Deferred,
}

/// An edit of one device.
#[derive(Debug)]
pub(super) struct DeviceEdit {
    pub(super) entry: Box<DeviceEntry>,
    before: Option<Device>,
    pub(super) open: Option<Vec<Command>>,
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    pub(super) audits: Vec<AuditEntry>,
    /// Commands that the edit finishes.
    pub(super) finished: Vec<Command>,
    pub(super) answer: Option<(Idempotency, Value)>,
    pub(super) heartbeat: Option<ReceivedHeartbeat>,
    pub(super) moved: Option<Option<Point>>,
    pub(super) due: Vec<(Millis, Due)>,
    pub(super) write: WriteMode,
}

impl DeviceEdit {
    pub(super) fn of(entry: DeviceEntry, before: Option<Device>) -> Self {
        Self {
            entry: Box::new(entry),
            before,
            open: None,
            ops: Vec::new(),
            events: Vec::new(),
            audits: Vec::new(),
            finished: Vec::new(),
            answer: None,
            heartbeat: None,
            moved: None,
            due: Vec::new(),
            write: WriteMode::Immediate,
        }
    }

    /// Adds the write of a record.
    pub(super) fn put<R: Record>(&mut self, key: &[u8], record: &R) -> Result<(), Error> {
        self.ops.push(Op::Put { tree: R::TREE, key: key.to_vec(), rec: record.encode()? });
        Ok(())
    }

    /// Increments the version of the record.
    pub(super) fn bump(&mut self, now: Millis) {
        self.entry.device.version += 1;
        self.entry.device.updated_at = now;
    }

    /// Adds an entry to the history of the device.
    pub(super) fn note(&mut self, now: Millis, actor: &str, kind: &str, note: Option<String>) -> Result<(), Error> {
        self.history(now, actor, kind, (None, None), note)
    }

    fn history(
        &mut self,
        at: Millis,
        actor: &str,
        kind: &str,
        (from, to): (Option<Status>, Option<Status>),
        note: Option<String>,
    ) -> Result<(), Error> {
        self.entry.history += 1;
        let (seq, actor, kind) = (self.entry.history, actor.to_owned(), kind.to_owned());
        let entry = HistoryEntry { seq, at, actor, kind, from, to, note };
        self.ops.push(entry.op(&self.entry.device.id)?);
        Ok(())
    }

    /// Moves the device through these statuses and publishes the last one as far as flap damping allows.
    pub(super) fn step(
        &mut self,
        path: &[Status],
        by: &str,
        why: Option<&str>,
        transaction: &DeviceTransaction<'_>,
    ) -> Result<(), Error> {
        let (now, from) = (transaction.now, self.entry.device.status);
        for &to in path {
            let from = std::mem::replace(&mut self.entry.device.status, to);
            self.history(now, by, "status", (Some(from), Some(to)), why.map(str::to_owned))?;
        }
        let to = self.entry.device.status;
        if to == from {
            return Ok(());
        }
        self.entry.device.status_since = now;
        self.bump(now);
        let publication = self.entry.runtime.flap.changed(from, to, now, transaction.rules.flap_window);
        self.publish_status(publication, by, why, now);
        self.watch(transaction);
        Ok(())
    }

    /// Schedules the check for silence unless it is scheduled.
    pub(super) fn watch(&mut self, transaction: &DeviceTransaction<'_>) {
        if let Some(at) = self.entry.silent_at(transaction.fleet.up, transaction.rules)
            && !self.entry.runtime.watched
        {
            self.entry.runtime.watched = true;
            self.due.push((at, Due::Silent(Arc::clone(&self.entry.device.id))));
        }
    }

    /// Publishes a status change now, or schedules its publication.
    pub(super) fn publish_status(&mut self, publication: StatusPublication, by: &str, why: Option<&str>, now: Millis) {
        match publication {
            StatusPublication::At(at) => self.due.push((at, Due::PublishStatus(Arc::clone(&self.entry.device.id)))),
            StatusPublication::Now { from, .. } if from == self.entry.device.status => {}
            StatusPublication::Now { from, suppressed } => {
                let name = match self.entry.device.status {
                    Status::Quarantined => "device.quarantined",
                    Status::Retired => "device.retired",
                    _ => "device.status_changed",
                };
                let mut more = Map::new();
                more.insert("from".to_owned(), json!(from));
                more.insert("to".to_owned(), json!(self.entry.device.status));
                more.insert("by".to_owned(), json!(by));
                more.insert("suppressed".to_owned(), json!(suppressed));
                if let Some(why) = why {
                    more.insert("reason".to_owned(), json!(why));
                }
                self.event(name, now, more);
            }
        }
    }

    /// Adds an event with the fields that changed since the edit began, and the status.
    pub(super) fn event(&mut self, name: &str, now: Millis, mut more: Map<String, Value>) {
        let device = &self.entry.device;
        let mut patch = self.before.as_ref().map(|before| difference(before, device)).unwrap_or_default();
        if more.contains_key("from") {
            patch.insert("status".to_owned(), json!(device.status));
            patch.insert("status_since".to_owned(), json!(device.status_since));
        }
        more.insert("id".to_owned(), json!(device.id));
        more.insert("version".to_owned(), json!(device.version));
        more.insert("patch".to_owned(), Value::Object(patch));
        self.events.push(device_event(name, now, device, &more));
    }

    /// Adds an audit entry.
    pub(super) fn audit(&mut self, now: Millis, by: &By, action: &str, details: Value) {
        let entry = AuditEntry::new(now, by.id(), action, &self.entry.device.id, details);
        self.audits.push(entry);
    }
}

/// Builds an event of a device for its channels.
pub(super) fn device_event(name: &str, now: Millis, device: &Device, data: &impl serde::Serialize) -> Event {
    let channels = vec!["devices".to_owned(), format!("devices:{}", device.id)];
    let bbox = device.location.map(|at| [at.lon, at.lat, at.lon, at.lat]);
    Event::new(name, now, channels, data).with(EventAttributes { bbox, ..EventAttributes::default() })
}

/// Returns the fields that differ, with their new values.
fn difference(before: &Device, after: &Device) -> Map<String, Value> {
    let object = |device: &Device| match serde_json::to_value(device) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let before = object(before);
    object(after).into_iter().filter(|(name, value)| before.get(name) != Some(value)).collect()
}

pub(super) fn no_device(id: &str) -> Error {
    let id: String = id.chars().take(64).collect();
    Error::new(Kind::NotFound, format!("no device has the id {id}"))
}
