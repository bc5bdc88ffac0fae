//! Commands for tasks over the live feed: the same operations, checks and errors as over HTTP.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Kind};
use muster_tasks::task::{Control, ControlReply, RedirectMode, Requester, Verb};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::ws::protocol::CommandRequest;
use crate::ws::{Command, CommandSink, Done};

/// Longest instruction, in bytes. A frame holds at most 64 KiB.
const MAX_INSTRUCTION: usize = 32 << 10;
const MAX_REASON: usize = 1_000;

/// Controls tasks on behalf of a caller.
pub trait Controls: Send + Sync + std::fmt::Debug {
    /// # Errors
    /// `NotFound` for another's task, `Forbidden`, `Conflict` with the present status.
    fn control(
        self: Arc<Self>,
        task: String,
        control: Control,
        requester: Requester,
    ) -> BoxFuture<'static, Result<ControlReply, Error>>;
}

/// Handles `agent.pause`, `agent.resume`, `agent.kill` and `agent.redirect` of users and API keys.
#[derive(Debug)]
pub struct AgentCommands(pub Arc<dyn Controls>);

/// Arguments common to all task commands.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Plain {
    reason: Option<String>,
    if_seq: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Pause {
    now: bool,
    reason: Option<String>,
    if_seq: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Redirect {
    mode: RedirectMode,
    instruction: String,
    agent: Option<String>,
    reason: Option<String>,
    if_seq: Option<u64>,
}

impl CommandSink for AgentCommands {
    fn run(&self, command: Command) -> Option<BoxFuture<'static, Done>> {
        let requester = Requester::of(command.by);
        let known = ["agent.pause", "agent.resume", "agent.kill", "agent.redirect"];
        if !known.contains(&command.request.name.as_str()) || matches!(requester.by, muster_identity::By::Device(_)) {
            return None;
        }
        let tasks = Arc::clone(&self.0);
        Some(carry_out(tasks, command.request, requester).boxed())
    }
}

async fn carry_out(tasks: Arc<dyn Controls>, ask: CommandRequest, requester: Requester) -> Done {
    let control = control(&ask)?;
    let task = ask.target.ok_or_else(|| wrong("target", "is missing: the identifier of the task"))?;
    let reply = tasks.control(task, control, requester).await.map_err(refused)?;
    to_raw_value(&reply).map_err(|error| Error::new(Kind::Internal, error.to_string()))
}

/// What a command does to its task.
fn control(ask: &CommandRequest) -> Result<Control, Error> {
    let (verb, reason, if_seq) = match ask.name.as_str() {
        "agent.pause" => {
            let Pause { now, reason, if_seq } = arguments(ask.args.as_deref())?;
            (Verb::Pause { now }, reason, if_seq)
        }
        "agent.redirect" => redirect(arguments(ask.args.as_deref())?)?,
        name => {
            let Plain { reason, if_seq } = arguments(ask.args.as_deref())?;
            (if name == "agent.resume" { Verb::Resume } else { Verb::Kill }, reason, if_seq)
        }
    };
    if reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON) {
        return Err(wrong("args.reason", &format!("must be at most {MAX_REASON} bytes")));
    }
    let request_id = ask.idem.clone().unwrap_or_else(|| new_id(IdKind::Request));
    Ok(Control { verb, request_id, if_seq, reason })
}

fn redirect(args: Redirect) -> Result<(Verb, Option<String>, Option<u64>), Error> {
    let Redirect { mode, instruction, agent, reason, if_seq } = args;
    if instruction.trim().is_empty() || instruction.len() > MAX_INSTRUCTION {
        return Err(wrong("args.instruction", &format!("must be 1 to {MAX_INSTRUCTION} bytes, not only white space")));
    }
    if (mode == RedirectMode::Agent) != agent.is_some() {
        return Err(wrong("args.agent", "names the agent that takes over, with the mode `agent` and no other"));
    }
    Ok((Verb::Redirect { mode, instruction, agent }, reason, if_seq))
}

/// Adds `phase: refused` to the details of a conflict, beside the present status of the task.
fn refused(mut error: Error) -> Error {
    if error.kind == Kind::Conflict {
        let mut details = error.details.take().map_or_else(|| json!({}), |details| *details);
        if let Some(details) = details.as_object_mut() {
            details.insert("phase".to_owned(), json!("refused"));
        }
        return error.detailing(details);
    }
    error
}

fn arguments<T: DeserializeOwned + Default>(args: Option<&RawValue>) -> Result<T, Error> {
    let read = args.map_or_else(|| Ok(T::default()), |args| serde_json::from_str(args.get()));
    read.map_err(|error| wrong("args", &format!("are not as this command takes them: {error}")))
}

fn wrong(field: &str, why: &str) -> Error {
    Error::field(Kind::Invalid, &["command", field], why, Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, args: &str) -> Result<Control, Error> {
        let args = Some(RawValue::from_string(args.to_owned()).unwrap());
        control(&CommandRequest { name: name.to_owned(), target: None, args, idem: Some("c1".to_owned()) })
    }

    #[test]
    fn each_command_is_its_verb() {
        let verb = |name: &str, args: &str| asked(name, args).unwrap().verb;
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
        let control = asked("agent.kill", r#"{"reason":"stuck","if_seq":7}"#).unwrap();
        assert_eq!((control.request_id.as_str(), control.if_seq), ("c1", Some(7)));
        assert_eq!(control.reason.as_deref(), Some("stuck"));
    }

    #[test]
    fn what_a_command_does_not_take_is_refused() {
        for (name, args) in [
            ("agent.kill", r#"{"now":true}"#),
            ("agent.pause", r#"{"now":"yes"}"#),
            ("agent.redirect", "{}"),
            ("agent.redirect", r#"{"instruction":"  "}"#),
            ("agent.redirect", r#"{"instruction":"x","mode":"agent"}"#),
            ("agent.redirect", r#"{"instruction":"x","agent":"y"}"#),
            ("agent.redirect", r#"{"instruction":"x","mode":"swap"}"#),
        ] {
            assert_eq!(asked(name, args).map_err(|error| error.kind), Err(Kind::Invalid), "{name} {args}");
        }
    }
}
