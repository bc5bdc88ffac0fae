//! A fleet is registered, or comes back from its state file.

use std::sync::Arc;

use futures::StreamExt;
use muster_auth::PrivateKey;
use serde_json::{Value, json};

use super::api::{Api, Call, SimulateError, Who};
use super::fleet::Options;
use super::job::Version;
use super::keep::Kept;
use super::random::Random;
use super::state::Slot;

/// Registrations under way at a time.
const AT_ONCE: usize = 16;

/// Registers `count` devices.
///
/// # Errors
/// The server is not there, or refuses.
pub(super) async fn register(api: &Api, options: &Options, from: usize) -> Result<Vec<Kept>, SimulateError> {
    if from >= options.count {
        return Ok(Vec::new());
    }
    let operator = options.operator.clone().ok_or_else(|| {
        let why = "registering devices needs a person's token: log in (muster login), or set MUSTER_TOKEN";
        SimulateError::Setup(why.to_owned())
    })?;
    let operator = Arc::new(Who::Operator(operator));
    let mut made = futures::stream::iter(from..options.count)
        .map(|position| one(api, options, Arc::clone(&operator), position))
        .buffer_unordered(AT_ONCE);
    let mut devices = Vec::with_capacity(options.count - from);
    while let Some(device) = made.next().await {
        devices.push(device?);
    }
    Ok(devices)
}

async fn one(api: &Api, options: &Options, operator: Arc<Who>, position: usize) -> Result<Kept, SimulateError> {
    let key = PrivateKey::generate().map_err(|error| SimulateError::Setup(error.to_string()))?;
    let mut random = Random::of(options.seed, position as u64);
    let body = describe(options, position, &key, &mut random);
    // Of the key: the same registration tried again is the same device.
    let name = key.public().thumbprint();
    let call = Call::register(body, &name);
    let answer = api.insist(&call, &operator, &mut random).await;
    if !answer.ok() {
        let told = format!("device {position} was not registered: {} {}", answer.status, answer.message);
        let mend = match answer.status {
            401 => ": log in again (muster login), or set MUSTER_TOKEN to a fresh token",
            403 => ": the account needs devices:write, such as an operator's",
            _ => "",
        };
        return Err(SimulateError::Refused(told + mend));
    }
    let record = answer.data.get("device").unwrap_or(&answer.data);
    let id = record.get("id").and_then(Value::as_str);
    let id = id.ok_or_else(|| SimulateError::Refused("a registration was answered without an id".to_owned()))?;
    api.counts.registered.up();
    let jwk = key.to_jwk().expose().clone();
    Ok(Kept { id: id.to_owned(), key: jwk, runs: options.runs.clone(), previous: None, slot: Slot::A })
}

/// What a simulated device says that it is: spread over some square kilometres.
fn describe(options: &Options, position: usize, key: &PrivateKey, random: &mut Random) -> Value {
    let [lon, lat] = options.around;
    let at = [lon + random.between(-0.1, 0.1), lat + random.between(-0.1, 0.1)];
    json!({
        "name": format!("{} {:05}", options.name, position + 1),
        "kind": "sensor",
        "serial": format!("{}-{:05}", options.name, position + 1),
        "vendor": options.vendor,
        "hw_class": options.hw_class,
        "groups": [options.group],
        "tags": ["simulated"],
        "location": {"type": "Point", "coordinates": at},
        "heartbeat_s": options.profile.heartbeat_s,
        "public_key": key.public().to_jwk(),
    })
}

/// What a fleet begins with where nothing else is said.
pub(super) fn first_version() -> Version {
    Version { artifact: None, version: "1.0.0".to_owned(), sequence: 1 }
}
