//! Changes of commands: queueing, delivery, acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{Op, PageRequest, StoreError, Tree};
use serde_json::{Map, Value, json};

use super::command::{AcknowledgementKind, Command, CommandOutcome, CommandState};
use super::messages::DeviceChange;
use super::record::Status;
use super::transaction::{DeviceEdit, DeviceTransaction};
use muster_core::event::Event;
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Number of commands kept for one device, including finished ones.
const MAX_KEPT: usize = 200;

/// A command to be queued.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCommand {
    /// Name of the command, which the device interprets.
    pub name: String,
    /// Arguments, at most 8 KiB of JSON.
    pub args: Map<String, Value>,
    /// Time that the device has to acknowledge it.
    pub timeout: Duration,
}

/// Queues a command.
#[derive(Debug)]
pub(super) struct QueueCommand {
    pub(super) id: String,
    pub(super) device: String,
    pub(super) new: NewCommand,
    pub(super) by: By,
    pub(super) idempotency: Option<Idempotency>,
}

/// Result of queueing a command.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedCommand {
    /// The command as JSON; on replay the body of the first response.
    pub command: Value,
    /// Whether this repeats the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

impl DeviceChange for QueueCommand {
    type Output = QueuedCommand;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<QueuedCommand, Error> {
        let Self { id, device, new, by, idempotency } = self;
        if let Some(command) = transaction.replay(idempotency.as_ref())? {
            return Ok(QueuedCommand { command, replayed: true });
        }
        let mut edit = transaction.edit(&device)?;
        let now = transaction.now;
        require_trusted(edit.entry.device.status)?;
        let mut open = transaction.open(&device).to_vec();
        if open.len() >= transaction.rules.max_open_commands {
            let message = format!("{} commands wait for this device already: let it answer some first", open.len());
            return Err(Error::new(Kind::Conflict, message).coded("too_many_commands"));
        }
        delete_oldest_finished(transaction, &mut edit, &open)?;
        let command = Command {
            id,
            device_id: Arc::clone(&edit.entry.device.id),
            name: new.name,
            args: new.args,
            state: CommandState::Queued,
            created_at: now,
            created_by: by.id().to_owned(),
            expires_at: now.plus(new.timeout),
            sent_at: None,
            deliveries: 0,
            finished_at: None,
            result: None,
        };
        edit.put(&Command::key(&command.device_id, &command.id), &command)?;
        edit.note(now, by.id(), "command", Some(format!("{} {} queued", command.id, command.name)))?;
        edit.audit(now, &by, "device.command", json!({ "command": command.id, "name": command.name }));
        edit.events.push(command_event("device.command_queued", now, &command));
        let answer = json!(command);
        edit.answer = idempotency.map(|request| (request, answer.clone()));
        open.push(command);
        edit.open = Some(open);
        transaction.save(edit)?;
        Ok(QueuedCommand { command: answer, replayed: false })
    }
}

fn require_trusted(status: Status) -> Result<(), Error> {
    if status.trusted() {
        return Ok(());
    }
    let message = format!("a device that is {} gets no commands", status.name());
    let details = json!({ "status": status.name(), "allowed": status.allowed() });
    Err(Error::new(Kind::Conflict, message).coded("device_not_trusted").detailing(details))
}

/// Deletes the oldest finished commands of a device past the number kept.
fn delete_oldest_finished(
    transaction: &DeviceTransaction<'_>,
    edit: &mut DeviceEdit,
    open: &[Command],
) -> Result<(), Error> {
    let prefix = format!("{}/", edit.entry.device.id);
    let kept = transaction.store.entries(Tree::Commands, prefix, PageRequest::of(MAX_KEPT + 1)).take(MAX_KEPT + 1);
    let kept = kept.map(|entry| Ok(entry?.0)).collect::<Result<Vec<_>, StoreError>>()?;
    if kept.len() < MAX_KEPT {
        return Ok(());
    }
    let waits = |key: &[u8]| open.iter().any(|command| Command::key(&command.device_id, &command.id) == key);
    let old = kept.into_iter().filter(|key| !waits(key)).take(2);
    edit.ops.extend(old.map(|key| Op::Delete { tree: Tree::Commands, key }));
    Ok(())
}

/// Builds an event of a command for the device's own channel only, because it may hold what not every reader of all
/// devices needs.
fn command_event(name: &str, now: Millis, command: &Command) -> Event {
    let data = json!({ "id": command.device_id, "command": command });
    Event::new(name, now, vec![format!("devices:{}", command.device_id)], &data)
}

/// Adds the end of a command to an edit: its record, its event and its history entry.
pub(super) fn record_end(edit: &mut DeviceEdit, command: &Command, now: Millis) -> Result<(), Error> {
    edit.put(&Command::key(&command.device_id, &command.id), command)?;
    edit.finished.push(command.clone());
    edit.events.push(command_event("device.command_acked", now, command));
    let note = format!("{} {} {}", command.id, command.name, command.state.name());
    let actor = if command.state == CommandState::Expired { "system" } else { &*command.device_id };
    edit.note(now, actor, "command", Some(note))
}

/// Delivers the next command of a device.
#[derive(Debug)]
pub(super) struct DeliverCommand {
    pub(super) device: Arc<str>,
}

impl DeviceChange for DeliverCommand {
    type Output = Option<Command>;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Option<Command>, Error> {
        let (now, again) = (transaction.now, transaction.rules.redeliver_after);
        let mut open = transaction.open(&self.device).to_vec();
        let Some(command) = open.iter_mut().find(|command| command.ready(now, again)) else { return Ok(None) };
        command.send(now);
        let command = command.clone();
        let mut edit = transaction.edit(&self.device)?;
        edit.put(&Command::key(&command.device_id, &command.id), &command)?;
        edit.events.push(command_event("device.command_sent", now, &command));
        edit.open = Some(open);
        transaction.save(edit)?;
        Ok(Some(command))
    }
}

/// Acknowledges a command.
#[derive(Debug)]
pub(super) struct AcknowledgeCommand {
    pub(super) device: Arc<str>,
    pub(super) command: String,
    pub(super) answer: CommandOutcome,
    pub(super) result: Option<Value>,
}

impl DeviceChange for AcknowledgeCommand {
    type Output = Command;

    fn apply(self, transaction: &mut DeviceTransaction<'_>) -> Result<Command, Error> {
        let Self { device, command: id, answer, result } = self;
        let mut open = transaction.open(&device).to_vec();
        let Some(place) = open.iter().position(|command| command.id == id) else {
            let mut record_end = transaction.finished(&device, &id)?;
            record_end.ack(answer, result, transaction.now)?;
            return Ok(record_end);
        };
        let mut command = open.remove(place);
        let mut edit = transaction.edit(&device)?;
        // A command that was never polled was delivered by the feed.
        if command.ack(answer, result, transaction.now)? == AcknowledgementKind::First {
            record_end(&mut edit, &command, transaction.now)?;
        }
        edit.open = Some(open);
        transaction.save(edit)?;
        Ok(command)
    }
}
