//! Commands for devices: queued, sent, then acknowledged, failed, refused or expired. Pure.
//!
//! A command may be delivered more than once, by long poll or by the feed, until the device acknowledges it. Repeating
//! the same acknowledgement is no error; a different one is.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use muster_core::{Error, Kind, Millis};

/// State of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    /// Not delivered yet.
    Queued,
    /// Delivered to the device at least once.
    Sent,
    /// The device has executed it.
    Acked,
    /// The device tried and failed.
    Failed,
    /// Not acknowledged in time.
    Expired,
    /// Refused by the device, or withdrawn by the server because the device was quarantined or retired.
    Refused,
}

impl CommandState {
    /// Returns whether the command is unfinished.
    pub const fn open(self) -> bool {
        matches!(self, Self::Queued | Self::Sent)
    }

    /// Returns the name of the state in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Acked => "acked",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Refused => "refused",
        }
    }
}

/// A command for a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Identifier, `cmd_…`.
    pub id: String,
    /// The device.
    pub device_id: Arc<str>,
    /// Name of the command, which the device interprets.
    pub name: String,
    /// Arguments, at most 8 KiB of JSON.
    pub args: Map<String, Value>,
    /// Current state.
    pub state: CommandState,
    /// When it was queued.
    pub created_at: Millis,
    /// Principal that queued it.
    pub created_by: String,
    /// When it expires unless it is acknowledged before.
    pub expires_at: Millis,
    /// When it was last delivered.
    pub sent_at: Option<Millis>,
    /// Number of deliveries.
    pub deliveries: u32,
    /// When it finished.
    pub finished_at: Option<Millis>,
    /// Result that the device reported, or why the server withdrew the command.
    pub result: Option<Value>,
}

impl Record for Command {
    const TREE: Tree = Tree::Commands;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// Outcome that a device reports for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// Executed.
    Done,
    /// Tried and failed.
    Failed,
    /// Not tried.
    Refused,
}

impl CommandOutcome {
    const fn state(self) -> CommandState {
        match self {
            Self::Done => CommandState::Acked,
            Self::Failed => CommandState::Failed,
            Self::Refused => CommandState::Refused,
        }
    }
}

/// Whether an acknowledgement is the first or a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcknowledgementKind {
    First,
    Repeated,
}

impl Command {
    /// Returns the key of the record: the commands of a device are adjacent, oldest first.
    pub(super) fn key(device: &str, id: &str) -> Vec<u8> {
        format!("{device}/{id}").into_bytes()
    }

    /// Returns whether the command is due for delivery: for the first time, or again once `again` has passed without an
    /// acknowledgement.
    pub(super) fn ready(&self, now: Millis, again: Duration) -> bool {
        match self.state {
            CommandState::Queued => now < self.expires_at,
            CommandState::Sent => now < self.expires_at && self.sent_at.is_none_or(|at| now.since(at) >= again),
            _ => false,
        }
    }

    /// Notes a delivery.
    pub(super) fn send(&mut self, now: Millis) {
        self.state = CommandState::Sent;
        self.sent_at = Some(now);
        self.deliveries = self.deliveries.saturating_add(1);
    }

    /// Acknowledges the command.
    ///
    /// # Errors
    /// `Conflict` if it has finished with another outcome.
    pub(super) fn ack(
        &mut self,
        answer: CommandOutcome,
        result: Option<Value>,
        now: Millis,
    ) -> Result<AcknowledgementKind, Error> {
        if self.state == answer.state() {
            return Ok(AcknowledgementKind::Repeated);
        }
        if !self.state.open() {
            let message = format!("the command is {} already", self.state.name());
            let details = serde_json::json!({ "state": self.state.name() });
            return Err(Error::new(Kind::Conflict, message).coded("command_finished").detailing(details));
        }
        self.finish(answer.state(), result, now);
        Ok(AcknowledgementKind::First)
    }

    /// Finishes the command.
    pub(super) fn finish(&mut self, state: CommandState, result: Option<Value>, now: Millis) {
        self.state = state;
        self.finished_at = Some(now);
        self.result = result;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const RETRY_AFTER: Duration = Duration::from_secs(30);

    fn command() -> Command {
        Command {
            id: "cmd_1".into(),
            device_id: "dev_1".into(),
            name: "siren.on".into(),
            args: Map::new(),
            state: CommandState::Queued,
            created_at: Millis(0),
            created_by: "usr_1".into(),
            expires_at: Millis(100_000),
            sent_at: None,
            deliveries: 0,
            finished_at: None,
            result: None,
        }
    }

    #[test]
    fn a_command_is_delivered_again_until_it_is_acknowledged_or_expires() {
        let mut command = command();
        assert!(command.ready(Millis(0), RETRY_AFTER));
        command.send(Millis(0));
        assert!(!command.ready(Millis(29_999), RETRY_AFTER) && command.ready(Millis(30_000), RETRY_AFTER));
        command.send(Millis(30_000));
        assert_eq!((command.deliveries, command.ready(Millis(100_000), RETRY_AFTER)), (2, false));
        assert_eq!(command.ack(CommandOutcome::Done, Some(json!(1)), Millis(40_000)), Ok(AcknowledgementKind::First));
        assert_eq!(command.ack(CommandOutcome::Done, None, Millis(50_000)), Ok(AcknowledgementKind::Repeated));
        assert_eq!((command.finished_at, command.result.clone()), (Some(Millis(40_000)), Some(json!(1))));
        assert_eq!(command.ack(CommandOutcome::Failed, None, Millis(50_000)).unwrap_err().kind, Kind::Conflict);
        assert!(!command.ready(Millis(50_000), RETRY_AFTER));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// In any order of events the first final state stays.
        #[test]
        fn a_finished_command_never_changes(steps in prop::collection::vec(0_u8..5, 1..20)) {
            let (mut command, mut ended) = (command(), None);
            for (n, step) in steps.into_iter().enumerate() {
                let now = Millis(n as u64);
                match step {
                    0 if command.ready(now, Duration::ZERO) => command.send(now),
                    1 => drop(command.ack(CommandOutcome::Done, None, now)),
                    2 => drop(command.ack(CommandOutcome::Failed, None, now)),
                    3 => drop(command.ack(CommandOutcome::Refused, None, now)),
                    4 if command.state.open() => command.finish(CommandState::Expired, None, now),
                    _ => {}
                }
                if !command.state.open() {
                    let end = ended.get_or_insert((command.state, command.finished_at));
                    prop_assert_eq!(*end, (command.state, command.finished_at));
                }
            }
        }
    }
}
