//! Parses the frames of clients. Pure.

use std::collections::BTreeMap;

use muster_feed::Position;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::FilterRequest;
use super::fault::{Fault, FaultKind};

/// A parsed frame.
#[derive(Debug)]
pub(super) struct Request {
    /// A request, which gets exactly one reply.
    pub(super) id: Option<u32>,
    pub(super) body: Result<ClientRequest, Fault>,
}

#[derive(Debug)]
pub(super) enum ClientRequest {
    Heartbeat,
    Connect(Connect),
    Subscribe(Subscribe),
    Unsubscribe(Channel),
    Refresh(Refresh),
    History(History),
    Presence(Channel),
    Command(Command),
}

/// A client's position in a channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Since {
    pub epoch: String,
    pub offset: u64,
}

impl From<Since> for Position {
    fn from(since: Since) -> Self {
        Self { epoch: since.epoch.into(), offset: since.offset }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Connect {
    pub(super) token: Option<String>,
    pub(super) dpop: Option<String>,
    /// Name and version of the client, which nothing depends on.
    #[serde(rename = "client")]
    _client: Option<String>,
    pub(super) subs: BTreeMap<String, SubOptions>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SubOptions {
    pub(super) since: Option<Since>,
    pub(super) filter: Option<FilterRequest>,
    pub(super) snapshot: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Subscribe {
    pub(super) ch: String,
    #[serde(default)]
    pub(super) since: Option<Since>,
    #[serde(default)]
    pub(super) filter: Option<FilterRequest>,
    #[serde(default)]
    pub(super) snapshot: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Channel {
    pub(super) ch: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refresh {
    pub(super) token: String,
    #[serde(default)]
    pub(super) dpop: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct History {
    pub(super) ch: String,
    #[serde(default)]
    pub(super) since: Option<Since>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Command {
    pub(super) name: String,
    #[serde(default)]
    pub(super) target: Option<String>,
    #[serde(default)]
    pub(super) args: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) idem: Option<String>,
}

/// Names of the members of a frame.
const MEMBERS: [&str; 8] = ["id", "connect", "subscribe", "unsubscribe", "refresh", "history", "presence", "command"];

/// The message is not a JSON object, or its `id` is invalid, so that no reply could name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

pub(super) fn read(text: &str) -> Result<Request, Unreadable> {
    // The members are parsed later, so that an invalid one is reported for its `id`.
    let mut frame: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|_| Unreadable)?;
    frame.retain(|_, raw| raw.get() != "null");
    let id: Option<u32> =
        frame.get("id").map(|id| serde_json::from_str(id.get())).transpose().map_err(|_| Unreadable)?;
    if id == Some(0) {
        return Err(Unreadable);
    }
    let of = |name: &str| frame.get(name).copied();
    let found = [
        of("connect").map(|raw| part("connect", raw, ClientRequest::Connect)),
        of("subscribe").map(|raw| part("subscribe", raw, ClientRequest::Subscribe)),
        of("unsubscribe").map(|raw| part("unsubscribe", raw, ClientRequest::Unsubscribe)),
        of("refresh").map(|raw| part("refresh", raw, ClientRequest::Refresh)),
        of("history").map(|raw| part("history", raw, ClientRequest::History)),
        of("presence").map(|raw| part("presence", raw, ClientRequest::Presence)),
        of("command").map(|raw| part("command", raw, ClientRequest::Command)),
    ];
    let mut found = found.into_iter().flatten();
    let bad = |message: String| Err(Fault::new(FaultKind::BadRequest, message));
    let unknown = frame.keys().find(|name| !MEMBERS.contains(&name.as_str()));
    let body = match (found.next(), found.next(), id, unknown) {
        // Frames of later protocol versions that need no reply are ignored.
        (None, _, None, _) => Ok(ClientRequest::Heartbeat),
        (_, _, _, Some(name)) => bad(muster_names::unknown("field", name, &MEMBERS)),
        (Some(body), None, _, None) => body,
        (None, _, Some(_), None) => bad("a frame with an id holds one of connect, subscribe, unsubscribe, refresh, \
             history, presence, command"
            .to_owned()),
        (Some(_), Some(_), _, None) => bad("a frame holds one request: send two frames".to_owned()),
    };
    Ok(Request { id, body })
}

fn part<T: DeserializeOwned>(name: &str, raw: &RawValue, make: fn(T) -> ClientRequest) -> Result<ClientRequest, Fault> {
    let bad = |why: String| Fault::new(FaultKind::BadRequest, format!("{name}: {why}"));
    let value = serde_json::from_str(raw.get()).map_err(|error| bad(error.to_string()))?;
    muster_request::read_value(&value, name).map(make).map_err(|rejection| bad(rejection.message))
}

/// Returns whether a text can be the name of a channel: no wildcard, space or control character.
pub(super) fn is_channel(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'))
}
