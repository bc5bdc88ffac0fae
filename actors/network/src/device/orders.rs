//! Commands are given, handed out and answered.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{Op, PageRequest, StoreError, Tree};
use serde_json::{Map, Value, json};

use super::command::{Acked, Answer, Command, CommandState};
use super::messages::Act;
use super::record::Status;
use super::turn::{Edit, Turn};
use muster_core::event::Event;
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Commands kept of one device, finished ones too.
const MAX_KEPT: usize = 200;

/// What a device is to do.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCommand {
    pub name: String,
    pub args: Map<String, Value>,
    /// How long it waits for its answer.
    pub timeout: Duration,
}

/// Gives a command.
#[derive(Debug)]
pub(super) struct Give {
    pub(super) id: String,
    pub(super) device: String,
    pub(super) new: NewCommand,
    pub(super) by: By,
    pub(super) idempotency: Option<Idempotency>,
}

/// A command was given: its record, and whether it is told again.
#[derive(Debug, Clone, PartialEq)]
pub struct Ordered {
    pub command: Value,
    pub replayed: bool,
}

impl Act for Give {
    type Answer = Ordered;

    fn act(self, turn: &mut Turn<'_>) -> Result<Ordered, Error> {
        let Self { id, device, new, by, idempotency } = self;
        if let Some(command) = turn.replay(idempotency.as_ref())? {
            return Ok(Ordered { command, replayed: true });
        }
        let mut edit = turn.edit(&device)?;
        let now = turn.now;
        commanded(edit.entry.device.status)?;
        let mut open = turn.open(&device).to_vec();
        if open.len() >= turn.rules.max_open_commands {
            let message = format!("{} commands wait for this device already: let it answer some first", open.len());
            return Err(Error::new(Kind::Conflict, message).coded("too_many_commands"));
        }
        forget(turn, &mut edit, &open)?;
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
        edit.events.push(told("device.command_queued", now, &command));
        let answer = json!(command);
        edit.answer = idempotency.map(|asked| (asked, answer.clone()));
        open.push(command);
        edit.open = Some(open);
        turn.save(edit)?;
        Ok(Ordered { command: answer, replayed: false })
    }
}

fn commanded(status: Status) -> Result<(), Error> {
    if status.trusted() {
        return Ok(());
    }
    let message = format!("a device that is {} gets no commands", status.name());
    let details = json!({ "status": status.name(), "allowed": status.allowed() });
    Err(Error::new(Kind::Conflict, message).coded("device_not_trusted").detailing(details))
}

/// Deletes the oldest finished commands of a device that has had many.
fn forget(turn: &Turn<'_>, edit: &mut Edit, open: &[Command]) -> Result<(), Error> {
    let prefix = format!("{}/", edit.entry.device.id);
    let kept = turn.store.entries(Tree::Commands, prefix, PageRequest::of(MAX_KEPT + 1)).take(MAX_KEPT + 1);
    let kept = kept.map(|entry| Ok(entry?.0)).collect::<Result<Vec<_>, StoreError>>()?;
    if kept.len() < MAX_KEPT {
        return Ok(());
    }
    let waits = |key: &[u8]| open.iter().any(|command| Command::key(&command.device_id, &command.id) == key);
    let old = kept.into_iter().filter(|key| !waits(key)).take(2);
    edit.ops.extend(old.map(|key| Op::Delete { tree: Tree::Commands, key }));
    Ok(())
}

/// A command as it is told: on the device's own channel, for it may hold what not every viewer of all devices needs.
fn told(name: &str, now: Millis, command: &Command) -> Event {
    let data = json!({ "id": command.device_id, "command": command });
    Event::new(name, now, vec![format!("devices:{}", command.device_id)], &data)
}

/// Leaves the end of a command in a change: its record, its event, its place in the history.
pub(super) fn ended(edit: &mut Edit, command: &Command, now: Millis) -> Result<(), Error> {
    edit.put(&Command::key(&command.device_id, &command.id), command)?;
    edit.finished.push(command.clone());
    edit.events.push(told("device.command_acked", now, command));
    let note = format!("{} {} {}", command.id, command.name, command.state.name());
    let actor = if command.state == CommandState::Expired { "system" } else { &*command.device_id };
    edit.note(now, actor, "command", Some(note))
}

/// Hands out the next command of a device.
#[derive(Debug)]
pub(super) struct HandOut {
    pub(super) device: Arc<str>,
}

impl Act for HandOut {
    type Answer = Option<Command>;

    fn act(self, turn: &mut Turn<'_>) -> Result<Option<Command>, Error> {
        let (now, again) = (turn.now, turn.rules.redeliver_after);
        let mut open = turn.open(&self.device).to_vec();
        let Some(command) = open.iter_mut().find(|command| command.ready(now, again)) else { return Ok(None) };
        command.send(now);
        let command = command.clone();
        let mut edit = turn.edit(&self.device)?;
        edit.put(&Command::key(&command.device_id, &command.id), &command)?;
        edit.events.push(told("device.command_sent", now, &command));
        edit.open = Some(open);
        turn.save(edit)?;
        Ok(Some(command))
    }
}

/// The device's answer to a command.
#[derive(Debug)]
pub(super) struct Acknowledge {
    pub(super) device: Arc<str>,
    pub(super) command: String,
    pub(super) answer: Answer,
    pub(super) result: Option<Value>,
}

impl Act for Acknowledge {
    type Answer = Command;

    fn act(self, turn: &mut Turn<'_>) -> Result<Command, Error> {
        let Self { device, command: id, answer, result } = self;
        let mut open = turn.open(&device).to_vec();
        let Some(place) = open.iter().position(|command| command.id == id) else {
            let mut ended = turn.finished(&device, &id)?;
            ended.ack(answer, result, turn.now)?;
            return Ok(ended);
        };
        let mut command = open.remove(place);
        let mut edit = turn.edit(&device)?;
        // One that nobody handed out was told by the feed.
        if command.ack(answer, result, turn.now)? == Acked::First {
            ended(&mut edit, &command, turn.now)?;
        }
        edit.open = Some(open);
        turn.save(edit)?;
        Ok(command)
    }
}
