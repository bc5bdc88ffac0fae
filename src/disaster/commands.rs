//! Commands for incidents and devices over the live feed: the same operations, checks and errors as over HTTP.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::precondition::IfMatch;
use muster_core::principal::Permission;
use muster_core::{Error, Kind};
use muster_identity::By;
use muster_network::device::{CommandOutcome, NewCommand};
use muster_network::incident::{Action, IncidentTransition};
use muster_request::traced::{Closed, schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::Disaster;
use crate::agents::control::located_in_args;
use crate::body::read_value;
use crate::ws::protocol::CommandRequest;
use crate::ws::{Command, CommandSink, Done};

/// Default time that a device has to answer a command.
const PATIENCE: u32 = 300;
/// Largest answer of a device, in bytes; the same as over HTTP.
const MAX_RESULT: usize = 8 * 1024;

/// Handles `incident.acknowledge` and `device.command` of users, and `device.ack` of devices.
#[derive(Debug)]
pub(crate) struct DisasterCommands(pub(crate) Disaster);

/// Arguments of `incident.acknowledge`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Acknowledge {
    /// Version that the caller has read. Without it any version is accepted.
    version: Option<u64>,
    note: Option<String>,
}

/// Arguments of `device.command`.
#[derive(Debug, Deserialize)]
struct Order {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    /// Time for the answer, in seconds.
    timeout_s: Option<u32>,
}

/// Arguments of `device.ack`, the same as of `POST /api/v1/device/commands/{id}/ack`.
#[derive(Debug, Deserialize)]
struct Ack {
    ok: bool,
    refused: Option<bool>,
    result: Option<Value>,
}

/// Names of the commands.
const COMMANDS: [&str; 3] = ["incident.acknowledge", "device.command", "device.ack"];

/// Returns the commands as the description of the feed lists them.
pub(crate) fn described_commands() -> [Value; 3] {
    fn command<T: DeserializeOwned>(name: &str, summary: &str, target: &str) -> Value {
        json!({ "name": name, "summary": summary, "target": target, "args": schema::<T>(Closed::Yes) })
    }
    let [acknowledge, order, ack] = COMMANDS;
    [
        command::<Acknowledge>(acknowledge, "Acknowledges an incident; users", "Identifier of the incident"),
        command::<Order>(order, "Sends a command to a device; users", "Identifier of the device"),
        command::<Ack>(ack, "Acknowledges a command; devices", "Identifier of the command"),
    ]
}

impl CommandSink for DisasterCommands {
    fn run(&self, command: Command) -> Option<BoxFuture<'static, Done>> {
        let network = self.0.clone();
        match (&command.by, command.request.name.as_str()) {
            (By::Device(device), "device.ack") => {
                Some(device_ack(network, Arc::clone(device), command.request).boxed())
            }
            (By::Person(_), "incident.acknowledge") => Some(acknowledge(network, command).boxed()),
            (By::Person(_), "device.command") => Some(order(network, command).boxed()),
            _ => None,
        }
    }
}

async fn acknowledge(network: Disaster, command: Command) -> Done {
    let by = command.by;
    by.require(Permission::IncidentsWrite)?;
    let Acknowledge { version, note } = arguments(command.request.args.as_deref())?.unwrap_or_default();
    let if_match = version.map_or(IfMatch::Any, IfMatch::Version);
    let transition = IncidentTransition { note, ..IncidentTransition::new(Action::Acknowledge) };
    let answer = network.incidents.transition(by, target(command.request.target)?, if_match, transition).await?;
    raw(&answer.incident)
}

async fn order(network: Disaster, command: Command) -> Done {
    let by = command.by;
    by.require(Permission::DevicesCommand)?;
    let order: Option<Order> = arguments(command.request.args.as_deref())?;
    let Order { name, args, timeout_s } = order.ok_or_else(|| wrong("args", "must be {\"name\": …, \"args\": {…}}"))?;
    if name.is_empty() || name.len() > 100 {
        return Err(wrong("args.name", "must be 1 to 100 characters"));
    }
    let timeout = Duration::from_secs(timeout_s.unwrap_or(PATIENCE).clamp(1, 604_800).into());
    let sent =
        network.devices.command(target(command.request.target)?, NewCommand { name, args, timeout }, by, None).await?;
    raw(&sent.command)
}

async fn device_ack(network: Disaster, device: Arc<str>, request: CommandRequest) -> Done {
    let ack: Option<Ack> = arguments(request.args.as_deref())?;
    let Ack { ok, refused, result } = ack.ok_or_else(|| wrong("args", "must be {\"ok\": true or false, …}"))?;
    if result.as_ref().is_some_and(|result| result.to_string().len() > MAX_RESULT) {
        return Err(wrong("args.result", &format!("must be at most {MAX_RESULT} bytes")));
    }
    let answer = match (ok, refused) {
        (true, _) => CommandOutcome::Done,
        (false, Some(true)) => CommandOutcome::Refused,
        (false, _) => CommandOutcome::Failed,
    };
    raw(&network.devices.acknowledge(device, target(request.target)?, answer, result).await?)
}

fn target(target: Option<String>) -> Result<String, Error> {
    target.ok_or_else(|| wrong("target", "is missing: the identifier of what the command is for"))
}

fn arguments<T: DeserializeOwned>(args: Option<&RawValue>) -> Result<Option<T>, Error> {
    let Some(args) = args else { return Ok(None) };
    let value: Value = serde_json::from_str(args.get()).map_err(|error| wrong("args", &error.to_string()))?;
    if value.is_null() { Ok(None) } else { read_value(&value, "body").map(Some).map_err(located_in_args) }
}

fn wrong(field: &str, why: &str) -> Error {
    Error::field(Kind::Invalid, &["command", field], why, Value::Null)
}

fn raw(value: &impl Serialize) -> Done {
    serde_json::value::to_raw_value(value).map_err(|error| Error::new(Kind::Internal, error.to_string()))
}
