//! Registration of devices.

use std::sync::Arc;

use futures::StreamExt;
use muster_auth::PrivateKey;
use serde_json::{Value, json};

use super::api::{Api, Call, Caller, SimulateError};
use super::fleet::Options;
use super::job::Version;
use super::random::Random;
use super::state::Slot;
use super::state_file::StoredDevice;

/// Largest number of concurrent registrations.
const CONCURRENT_REGISTRATIONS: usize = 16;

/// Registers the devices from position `from` to the count of the options.
///
/// # Errors
/// There is no operator, or the server rejects a registration.
pub(super) async fn register(api: &Api, options: &Options, from: usize) -> Result<Vec<StoredDevice>, SimulateError> {
    if from >= options.count {
        return Ok(Vec::new());
    }
    let operator = options.operator.clone().ok_or_else(|| {
        let why = "registering devices needs a user's token: log in (muster login), or set MUSTER_TOKEN";
        SimulateError::Setup(why.to_owned())
    })?;
    let operator = Arc::new(Caller::Operator(operator));
    let mut made = futures::stream::iter(from..options.count)
        .map(|position| register_one(api, options, Arc::clone(&operator), position))
        .buffer_unordered(CONCURRENT_REGISTRATIONS);
    let mut devices = Vec::with_capacity(options.count - from);
    while let Some(device) = made.next().await {
        devices.push(device?);
    }
    Ok(devices)
}

async fn register_one(
    api: &Api,
    options: &Options,
    operator: Arc<Caller>,
    position: usize,
) -> Result<StoredDevice, SimulateError> {
    let key = PrivateKey::generate().map_err(|error| SimulateError::Setup(error.to_string()))?;
    let mut random = Random::for_device(options.seed, position as u64);
    let body = describe(options, position, &key, &mut random);
    // The idempotency key follows from the device's key, so that a repeated registration returns the same device.
    let name = key.public().thumbprint();
    let call = Call::register(body, &name);
    let answer = api.send_until_final(&call, &operator, &mut random).await;
    if !answer.ok() {
        let message = format!("device {position} was not registered: {} {}", answer.status, answer.message);
        let remedy = match answer.status {
            401 => ": log in again (muster login), or set MUSTER_TOKEN to a fresh token",
            403 => ": the account needs devices:write, such as an operator's",
            _ => "",
        };
        return Err(SimulateError::Rejected(message + remedy));
    }
    let record = answer.data.get("device").unwrap_or(&answer.data);
    let id = record.get("id").and_then(Value::as_str);
    let id = id.ok_or_else(|| SimulateError::Rejected("a registration was answered without an id".to_owned()))?;
    api.counts.registered.increment();
    let jwk = key.to_jwk().expose().clone();
    Ok(StoredDevice { id: id.to_owned(), key: jwk, version: options.version.clone(), previous: None, slot: Slot::A })
}

/// Builds the body of a registration. Devices are spread over some square kilometres.
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

/// Returns the default firmware version of new devices.
pub(super) fn first_version() -> Version {
    Version { artifact: None, version: "1.0.0".to_owned(), sequence: 1 }
}
