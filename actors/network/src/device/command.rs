//! What devices are asked to do: queued, sent, then acked, failed, refused or expired. Pure.
//!
//! A device may be told of a command more than once, by a long poll or by the feed, until it acknowledges it; the same
//! acknowledgement again is no error, another one is.

use std::sync::Arc;
use std::time::Duration;

use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use muster_core::{Error, Kind, Millis};

/// Where a command stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    Queued,
    /// Handed out to the device at least once.
    Sent,
    /// Done.
    Acked,
    /// The device tried.
    Failed,
    /// Nobody answered in time.
    Expired,
    /// The device would not, or the server took it back: a quarantined or retired device gets none.
    Refused,
}

impl CommandState {
    pub const fn open(self) -> bool {
        matches!(self, Self::Queued | Self::Sent)
    }

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

/// Something that a device is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// `cmd_…`.
    pub id: String,
    pub device_id: Arc<str>,
    pub name: String,
    /// At most 8 KiB.
    pub args: Map<String, Value>,
    pub state: CommandState,
    pub created_at: Millis,
    pub created_by: String,
    /// Unanswered, it is expired then.
    pub expires_at: Millis,
    /// When it was last handed out.
    pub sent_at: Option<Millis>,
    /// How often it was handed out.
    pub deliveries: u32,
    pub finished_at: Option<Millis>,
    /// What the device answered, or why the server took it back.
    pub result: Option<Value>,
}

impl Record for Command {
    const TREE: Tree = Tree::Commands;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// How a device answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Done,
    Failed,
    Refused,
}

impl Answer {
    const fn state(self) -> CommandState {
        match self {
            Self::Done => CommandState::Acked,
            Self::Failed => CommandState::Failed,
            Self::Refused => CommandState::Refused,
        }
    }
}

/// Whether an acknowledgement was heard before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acked {
    First,
    Again,
}

impl Command {
    /// Where it is stored: a device's commands stand together, in the order of their making.
    pub fn key(device: &str, id: &str) -> Vec<u8> {
        format!("{device}/{id}").into_bytes()
    }

    /// Whether it is to be handed out: for the first time, or again after `again` without an answer.
    pub fn ready(&self, now: Millis, again: Duration) -> bool {
        match self.state {
            CommandState::Queued => now < self.expires_at,
            CommandState::Sent => now < self.expires_at && self.sent_at.is_none_or(|at| now.since(at) >= again),
            _ => false,
        }
    }

    /// Handed out.
    pub fn send(&mut self, now: Millis) {
        self.state = CommandState::Sent;
        self.sent_at = Some(now);
        self.deliveries = self.deliveries.saturating_add(1);
    }

    /// The device's answer.
    ///
    /// # Errors
    /// `Conflict` where it ended otherwise.
    pub fn ack(&mut self, answer: Answer, result: Option<Value>, now: Millis) -> Result<Acked, Error> {
        if self.state == answer.state() {
            return Ok(Acked::Again);
        }
        if !self.state.open() {
            let message = format!("the command is {} already", self.state.name());
            let details = serde_json::json!({ "state": self.state.name() });
            return Err(Error::new(Kind::Conflict, message).coded("command_finished").detailing(details));
        }
        self.finish(answer.state(), result, now);
        Ok(Acked::First)
    }

    /// Ends it.
    pub fn finish(&mut self, state: CommandState, result: Option<Value>, now: Millis) {
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

    const AGAIN: Duration = Duration::from_secs(30);

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
    fn it_is_handed_out_again_until_it_is_answered_or_expires() {
        let mut command = command();
        assert!(command.ready(Millis(0), AGAIN));
        command.send(Millis(0));
        assert!(!command.ready(Millis(29_999), AGAIN) && command.ready(Millis(30_000), AGAIN));
        command.send(Millis(30_000));
        assert_eq!((command.deliveries, command.ready(Millis(100_000), AGAIN)), (2, false));
        assert_eq!(command.ack(Answer::Done, Some(json!(1)), Millis(40_000)), Ok(Acked::First));
        assert_eq!(command.ack(Answer::Done, None, Millis(50_000)), Ok(Acked::Again));
        assert_eq!((command.finished_at, command.result.clone()), (Some(Millis(40_000)), Some(json!(1))));
        assert_eq!(command.ack(Answer::Failed, None, Millis(50_000)).unwrap_err().kind, Kind::Conflict);
        assert!(!command.ready(Millis(50_000), AGAIN));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Whatever comes in whatever order: the first end stays.
        #[test]
        fn a_finished_command_never_changes(steps in prop::collection::vec(0_u8..5, 1..20)) {
            let (mut command, mut ended) = (command(), None);
            for (n, step) in steps.into_iter().enumerate() {
                let now = Millis(n as u64);
                match step {
                    0 if command.ready(now, Duration::ZERO) => command.send(now),
                    1 => drop(command.ack(Answer::Done, None, now)),
                    2 => drop(command.ack(Answer::Failed, None, now)),
                    3 => drop(command.ack(Answer::Refused, None, now)),
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
