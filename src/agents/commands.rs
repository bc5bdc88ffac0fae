//! Commands for tasks over the live feed: the same operations, checks and errors as over HTTP.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Error, Kind};
use muster_tasks::task::{Control, ControlReply, Requester};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::control::{ControlCommand, located_in_args};
use crate::ws::protocol::CommandRequest;
use crate::ws::{Command, CommandSink, Done};

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

impl CommandSink for AgentCommands {
    fn run(&self, command: Command) -> Option<BoxFuture<'static, Done>> {
        let requester = Requester::of(command.by);
        let name = ControlCommand::of(&command.request.name)?;
        if matches!(requester.by, muster_identity::By::Device(_)) {
            return None;
        }
        let tasks = Arc::clone(&self.0);
        Some(carry_out(tasks, name, command.request, requester).map(|done| done.map_err(with_details)).boxed())
    }
}

async fn carry_out(
    tasks: Arc<dyn Controls>,
    name: ControlCommand,
    request: CommandRequest,
    requester: Requester,
) -> Done {
    let control = name.read(request.args.as_deref(), request.idem.as_deref())?;
    let task = request.target.ok_or_else(missing_target)?;
    let reply = tasks.control(task, control, requester).await.map_err(located_in_args)?;
    to_raw_value(&reply).map_err(|error| Error::new(Kind::Internal, error.to_string()))
}

fn missing_target() -> Error {
    let message = "is missing: the identifier of the task";
    Error::field(Kind::Invalid, &["command", "target"], message, Value::Null)
}

/// Adds to the details of an error the invalid fields as `fields`, and `phase: refused` beside the present status of the
/// task for a conflict.
fn with_details(mut error: Error) -> Error {
    let mut details = match error.details.take().map(|details| *details) {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    if error.kind == Kind::Conflict {
        details.insert("phase".to_owned(), json!("refused"));
    }
    if !error.fields.is_empty() {
        details.insert("fields".to_owned(), json!(error.fields));
    }
    if details.is_empty() { error } else { error.detailing(Value::Object(details)) }
}
