//! Controls of tasks as clients send them: the body of a request over HTTP, the `args` of a command over a socket. Both
//! are read by the same definitions, and `muster_tasks` checks the same bounds for both.

use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Kind};
use muster_request::{Fields, Request};
use muster_tasks::task::{Control, RedirectMode, Verb};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::body::from_json;

/// The fields that every control has.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct ControlBody {
    /// Identifies the control for 24 h: a repetition gets the first response. At most 512 bytes; generated if it is left
    /// out. Over a socket the command's `idem` takes its place.
    pub request_id: Option<String>,
    /// Reason for the audit log, at most 512 bytes.
    #[request(example = "not needed any more")]
    pub reason: Option<String>,
    /// Applies the control only if the task is still at this `seq`.
    pub if_seq: Option<u64>,
}

/// How a task is paused.
#[derive(Debug, Request)]
#[request(may_be_empty)]
pub struct PauseBody {
    #[request(flatten)]
    pub control: ControlBody,
    /// Aborts the step in progress, which runs again on resume. By default the task pauses at the next step boundary.
    #[request(default = false, example = true)]
    pub now: bool,
}

/// The new instruction of a task.
#[derive(Debug, Request)]
#[request(example = { "instruction": "Leave the appendix out" })]
pub struct RedirectBody {
    #[request(flatten)]
    pub control: ControlBody,
    /// Text of the instruction, 1 byte to 8 KiB.
    pub instruction: String,
    /// `steer` (default): the instruction takes effect at the next step boundary. `interrupt`: the step in progress is
    /// aborted and the rest is planned again. `agent`: another agent continues the task.
    #[request(default, schema = String)]
    pub mode: RedirectMode,
    /// Identifier of the agent that continues the task: required with the mode `agent`, rejected with any other.
    #[request(with = successor, using = mode)]
    pub agent: Option<String>,
}

/// Reads the agent that continues the task, which the mode `agent` requires and every other mode rejects.
pub(crate) fn successor(fields: &mut Fields<'_>, name: &str, mode: &RedirectMode) -> Option<String> {
    let agent = fields.string(name);
    if (*mode == RedirectMode::Agent) != agent.is_some() {
        fields.fail(name, "names the agent that takes over, with the mode `agent` and no other");
    }
    agent
}

impl ControlBody {
    /// Returns the control with this verb.
    pub(crate) fn of(self, verb: Verb) -> Control {
        let Self { request_id, reason, if_seq } = self;
        Control { verb, request_id: request_id.unwrap_or_else(|| new_id(IdKind::Request)), if_seq, reason }
    }
}

impl From<PauseBody> for Control {
    fn from(PauseBody { control, now }: PauseBody) -> Self {
        control.of(Verb::Pause { now })
    }
}

impl From<RedirectBody> for Control {
    fn from(RedirectBody { control, instruction, mode, agent }: RedirectBody) -> Self {
        control.of(Verb::Redirect { mode, instruction, agent })
    }
}

/// The commands that control tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlCommand {
    Pause,
    Resume,
    Kill,
    Redirect,
}

impl ControlCommand {
    pub(crate) const ALL: [Self; 4] = [Self::Pause, Self::Resume, Self::Kill, Self::Redirect];

    /// Returns the name of the command on the wire.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pause => "agent.pause",
            Self::Resume => "agent.resume",
            Self::Kill => "agent.kill",
            Self::Redirect => "agent.redirect",
        }
    }

    /// Returns the command of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.name() == name)
    }

    /// Reads the control from the `args` and the `idem` of a command. Without `args` it has every default.
    ///
    /// # Errors
    /// `Invalid`, as for the body of the same control over HTTP.
    pub(crate) fn read(self, args: Option<&RawValue>, idem: Option<&str>) -> Result<Control, Error> {
        let mut args = match args.map(|args| serde_json::from_str(args.get())).transpose() {
            Ok(None | Some(Value::Null)) => Map::new(),
            Ok(Some(Value::Object(args))) => args,
            Ok(Some(other)) => {
                return Err(Error::field(Kind::Invalid, &["command", "args"], "must be a JSON object", other));
            }
            Err(error) => {
                return Err(Error::field(Kind::Invalid, &["command", "args"], error.to_string(), Value::Null));
            }
        };
        if let Some(idem) = idem {
            args.insert("request_id".to_owned(), idem.into());
        }
        let body = Value::Object(args);
        let control = match self {
            Self::Pause => from_json::<PauseBody>(&body).map(Control::from),
            Self::Resume => from_json::<ControlBody>(&body).map(|body| body.of(Verb::Resume)),
            Self::Kill => from_json::<ControlBody>(&body).map(|body| body.of(Verb::Kill)),
            Self::Redirect => from_json::<RedirectBody>(&body).map(Control::from),
        };
        control.map_err(located_in_args)
    }
}

/// Replaces the start `body` of each field's location by `command`, `args`.
pub(crate) fn located_in_args(mut error: Error) -> Error {
    for field in &mut error.fields {
        if field.loc.first().is_some_and(|first| first == "body") {
            field.loc.splice(..1, ["command".to_owned(), "args".to_owned()]);
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, args: &str) -> Result<Control, Error> {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        ControlCommand::of(name).unwrap().read(Some(&args), Some("c1"))
    }

    #[test]
    fn each_command_is_read_as_its_verb() {
        let verb = |name: &str, args: &str| read(name, args).unwrap().verb;
        assert_eq!(verb("agent.pause", "{}"), Verb::Pause { now: false });
        assert_eq!(verb("agent.pause", r#"{"now":true}"#), Verb::Pause { now: true });
        assert_eq!(verb("agent.resume", "{}"), Verb::Resume);
        assert_eq!(verb("agent.kill", "{}"), Verb::Kill);
        let instruction = "go on".to_owned();
        assert_eq!(
            verb("agent.redirect", r#"{"instruction":"go on"}"#),
            Verb::Redirect { mode: RedirectMode::Steer, instruction: instruction.clone(), agent: None }
        );
        let agent = Some("json-wrangler".to_owned());
        assert_eq!(
            verb("agent.redirect", r#"{"mode":"agent","instruction":"go on","agent":"json-wrangler"}"#),
            Verb::Redirect { mode: RedirectMode::Agent, instruction, agent }
        );
        let control = read("agent.kill", r#"{"reason":"stuck","if_seq":7}"#).unwrap();
        assert_eq!((control.request_id.as_str(), control.if_seq), ("c1", Some(7)));
        assert_eq!(control.reason.as_deref(), Some("stuck"));
        let generated = ControlCommand::Kill.read(None, None).unwrap();
        assert!(!generated.request_id.is_empty());
    }

    #[test]
    fn an_invalid_argument_is_rejected_with_its_location() {
        for (name, args, field) in [
            ("agent.pause", r#"{"now":"yes"}"#, Some("now")),
            ("agent.redirect", "{}", Some("instruction")),
            ("agent.redirect", r#"{"instruction":"x","mode":"agent"}"#, Some("agent")),
            ("agent.redirect", r#"{"instruction":"x","agent":"y"}"#, Some("agent")),
            ("agent.redirect", r#"{"instruction":"x","mode":"swap"}"#, Some("mode")),
            ("agent.kill", "[]", None),
        ] {
            let error = read(name, args).unwrap_err();
            let location: Vec<_> = ["command", "args"].into_iter().chain(field).map(str::to_owned).collect();
            assert_eq!((error.kind, &error.fields[0].loc), (Kind::Invalid, &location), "{name} {args}");
        }
    }
}
