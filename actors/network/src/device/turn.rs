//! A decision about devices in the making.
//!
//! It sees what was decided before it, though that may not be durable yet, and nobody else does. A request leaves its whole
//! change in it, or none. Once the decision is durable the actor takes all of it over.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_geo::Point;
use muster_store::{Op, Record, StoreHandle};
use serde_json::{Map, Value, json};

use super::command::Command;
use super::deadline::Due;
use super::entry::Entry;
use super::flap::Tell;
use super::history::HistoryEntry;
use super::options::DeviceRules;
use super::pending::Pending;
use super::ports::Beat;
use super::record::{Device, Status};
use super::state::Fleet;
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, EventAttributes};
use muster_core::idempotency::{Idempotency, PendingResponses};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// What a decision changes: recorded by its writes, taken over once they are durable.
#[derive(Debug, Default)]
pub struct Staged {
    pub(super) entries: BTreeMap<Arc<str>, Arc<Entry>>,
    /// The open commands of a device.
    pub(super) open: BTreeMap<Arc<str>, Arc<Vec<Command>>>,
    /// Commands that end.
    pub(super) finished: Vec<Command>,
    pub(super) answer: Option<(Idempotency, Value)>,
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    pub(super) beats: Vec<Beat>,
    pub(super) moved: Vec<(Arc<str>, Option<Point>)>,
    pub(super) due: Vec<(Millis, Due)>,
}

impl Staged {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.ops.is_empty()
    }

    /// Adds what a later decision changes.
    pub(super) fn append(&mut self, later: Self) {
        let Self { entries, open, finished, answer: _, ops, events, beats, moved, due } = later;
        self.entries.extend(entries);
        self.open.extend(open);
        self.finished.extend(finished);
        self.ops.extend(ops);
        self.events.extend(events);
        self.beats.extend(beats);
        self.moved.extend(moved);
        self.due.extend(due);
    }
}

/// A decision in the making.
pub(super) struct Turn<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) pending: &'a Pending,
    pub(super) answers: &'a PendingResponses,
    pub(super) store: &'a StoreHandle,
    pub(super) rules: &'a DeviceRules,
    pub(super) now: Millis,
    pub(super) staged: Staged,
}

impl Turn<'_> {
    pub(super) fn present(&self, id: &str) -> Option<&Entry> {
        let staged = self.staged.entries.get(id).map(|entry| &**entry);
        staged.or_else(|| self.pending.entry(id)).or_else(|| self.fleet.entry(id))
    }

    pub(super) fn open(&self, id: &str) -> &[Command] {
        let staged = self.staged.open.get(id).map(|open| open.as_slice());
        staged.or_else(|| self.pending.open(id)).or_else(|| self.fleet.open(id)).unwrap_or_default()
    }

    /// A change of a device, to be saved or dropped.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn edit(&self, id: &str) -> Result<Edit, Error> {
        let entry = self.present(id).ok_or_else(|| no_device(id))?;
        Ok(Edit::of(entry.clone(), Some(entry.device.clone())))
    }

    /// A command of a device that is not open any more.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn finished(&self, device: &str, id: &str) -> Result<Command, Error> {
        self.pending.finished(device, id).cloned().map_or_else(|| super::read::command(self.store, device, id), Ok)
    }

    /// The first answer to the same request, where there is one.
    pub(super) fn replay(&self, request: Option<&Idempotency>) -> Result<Option<Value>, Error> {
        let first = request.map(|request| self.answers.replay(request, self.store, self.now));
        Ok(first.transpose()?.flatten())
    }

    /// Leaves a change in the turn.
    ///
    /// # Errors
    /// Something is too large to be stored; nothing of the change is left then.
    pub(super) fn save(&mut self, mut edit: Edit) -> Result<(), Error> {
        let id = Arc::clone(&edit.entry.device.id);
        if let Some(open) = &edit.open {
            edit.entry.open = open.iter().map(|command| command.id.clone()).collect();
        }
        if edit.write == Write::Now {
            edit.entry.live.save_at = None;
            edit.entry.told = edit.entry.live.flap.told(edit.entry.device.status);
            edit.ops.push(Op::Put { tree: Entry::TREE, key: id.as_bytes().to_vec(), rec: edit.entry.encode()? });
        }
        for event in &edit.events {
            edit.ops.push(event.op()?);
        }
        for entry in &edit.audits {
            edit.ops.push(entry.op()?);
        }
        if let Some((asked, answer)) = &edit.answer {
            edit.ops.push(asked.op(self.now, answer.clone())?);
        }
        let staged = &mut self.staged;
        staged.ops.append(&mut edit.ops);
        staged.events.append(&mut edit.events);
        staged.finished.append(&mut edit.finished);
        staged.answer = edit.answer.or(staged.answer.take());
        staged.beats.extend(edit.beat);
        staged.moved.extend(edit.moved.map(|place| (Arc::clone(&id), place)));
        staged.due.append(&mut edit.due);
        if let Some(open) = edit.open {
            staged.open.insert(Arc::clone(&id), Arc::new(open));
        }
        staged.entries.insert(id, Arc::from(edit.entry));
        Ok(())
    }
}

/// When a change is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    Now,
    /// Some time, with others.
    Later,
}

/// A change of one device.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) entry: Box<Entry>,
    before: Option<Device>,
    pub(super) open: Option<Vec<Command>>,
    pub(super) ops: Vec<Op>,
    pub(super) events: Vec<Event>,
    pub(super) audits: Vec<AuditEntry>,
    /// Commands that end.
    pub(super) finished: Vec<Command>,
    pub(super) answer: Option<(Idempotency, Value)>,
    pub(super) beat: Option<Beat>,
    pub(super) moved: Option<Option<Point>>,
    pub(super) due: Vec<(Millis, Due)>,
    pub(super) write: Write,
}

impl Edit {
    pub(super) fn of(entry: Entry, before: Option<Device>) -> Self {
        Self {
            entry: Box::new(entry),
            before,
            open: None,
            ops: Vec::new(),
            events: Vec::new(),
            audits: Vec::new(),
            finished: Vec::new(),
            answer: None,
            beat: None,
            moved: None,
            due: Vec::new(),
            write: Write::Now,
        }
    }

    /// Adds a write of a record.
    pub(super) fn put<R: Record>(&mut self, key: &[u8], record: &R) -> Result<(), Error> {
        self.ops.push(Op::Put { tree: R::TREE, key: key.to_vec(), rec: record.encode()? });
        Ok(())
    }

    /// Counts the change of the record.
    pub(super) fn bump(&mut self, now: Millis) {
        self.entry.device.version += 1;
        self.entry.device.updated_at = now;
    }

    /// Adds an entry to the device's history.
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

    /// Moves the device through these statuses, and tells the last of them as far as flapping allows.
    pub(super) fn step(&mut self, path: &[Status], by: &str, why: Option<&str>, turn: &Turn<'_>) -> Result<(), Error> {
        let (now, from) = (turn.now, self.entry.device.status);
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
        let tell = self.entry.live.flap.changed(from, to, now, turn.rules.flap_window);
        self.tell(tell, by, why, now);
        self.watch(turn);
        Ok(())
    }

    /// Sees to it that somebody looks when it falls silent.
    pub(super) fn watch(&mut self, turn: &Turn<'_>) {
        if let Some(at) = self.entry.silent_at(turn.fleet.up, turn.rules)
            && !self.entry.live.watched
        {
            self.entry.live.watched = true;
            self.due.push((at, Due::Silent(Arc::clone(&self.entry.device.id))));
        }
    }

    /// Tells a change of status now, or sees to it that it is told later.
    pub(super) fn tell(&mut self, tell: Tell, by: &str, why: Option<&str>, now: Millis) {
        match tell {
            Tell::At(at) => self.due.push((at, Due::Tell(Arc::clone(&self.entry.device.id)))),
            Tell::Now { from, .. } if from == self.entry.device.status => {}
            Tell::Now { from, suppressed } => {
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

    /// Adds an event with what changed since the edit began, and the status.
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
        self.events.push(told(name, now, device, &more));
    }

    /// Audits what a person did, or the server by itself.
    pub(super) fn audit(&mut self, now: Millis, by: &By, action: &str, details: Value) {
        let entry = AuditEntry::new(now, by.id(), action, &self.entry.device.id, details);
        self.audits.push(entry);
    }
}

/// An event of a device on its channels.
pub(super) fn told(name: &str, now: Millis, device: &Device, data: &impl serde::Serialize) -> Event {
    let channels = vec!["devices".to_owned(), format!("devices:{}", device.id)];
    let bbox = device.location.map(|at| [at.lon, at.lat, at.lon, at.lat]);
    Event::new(name, now, channels, data).with(EventAttributes { bbox, ..EventAttributes::default() })
}

/// The fields that differ, as they are now.
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
