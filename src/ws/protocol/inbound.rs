//! Parses the frames of clients. Pure.

use std::collections::BTreeMap;

use muster_feed::Position;
use serde::Deserialize;
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

/// A frame whose members are not parsed yet, so that an invalid member is reported for its `id`.
#[derive(Debug, Deserialize)]
struct Frame<'a> {
    id: Option<u32>,
    #[serde(borrow)]
    connect: Option<&'a RawValue>,
    #[serde(borrow)]
    subscribe: Option<&'a RawValue>,
    #[serde(borrow)]
    unsubscribe: Option<&'a RawValue>,
    #[serde(borrow)]
    refresh: Option<&'a RawValue>,
    #[serde(borrow)]
    history: Option<&'a RawValue>,
    #[serde(borrow)]
    presence: Option<&'a RawValue>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
}

/// The message is not a JSON object, or its `id` is invalid, so that no reply could name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

pub(super) fn read(text: &str) -> Result<Request, Unreadable> {
    let frame: Frame = serde_json::from_str(text).map_err(|_| Unreadable)?;
    // serde would also accept an array in place of an object.
    if frame.id == Some(0) || !text.trim_start().starts_with('{') {
        return Err(Unreadable);
    }
    let found = [
        frame.connect.map(|raw| part("connect", raw, ClientRequest::Connect)),
        frame.subscribe.map(|raw| part("subscribe", raw, ClientRequest::Subscribe)),
        frame.unsubscribe.map(|raw| part("unsubscribe", raw, ClientRequest::Unsubscribe)),
        frame.refresh.map(|raw| part("refresh", raw, ClientRequest::Refresh)),
        frame.history.map(|raw| part("history", raw, ClientRequest::History)),
        frame.presence.map(|raw| part("presence", raw, ClientRequest::Presence)),
        frame.command.map(|raw| part("command", raw, ClientRequest::Command)),
    ];
    let mut found = found.into_iter().flatten();
    let body = match (found.next(), found.next(), frame.id) {
        (Some(body), None, _) => body,
        // Frames of later protocol versions that need no reply are ignored.
        (None, _, None) => Ok(ClientRequest::Heartbeat),
        (None, _, Some(_)) => Err(Fault::new(
            FaultKind::BadRequest,
            "a frame with an id holds one of connect, subscribe, unsubscribe, refresh, history, presence, command",
        )),
        (Some(_), Some(_), _) => Err(Fault::new(FaultKind::BadRequest, "a frame holds one request: send two frames")),
    };
    Ok(Request { id: frame.id, body })
}

fn part<'a, T: Deserialize<'a>>(
    name: &str,
    raw: &'a RawValue,
    make: fn(T) -> ClientRequest,
) -> Result<ClientRequest, Fault> {
    serde_json::from_str(raw.get())
        .map(make)
        .map_err(|error| Fault::new(FaultKind::BadRequest, format!("{name}: {}", without_place(&error))))
}

/// Removes the position from the message, because it is relative to a member and would mislead.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Returns whether a text can be the name of a channel: no wildcard, space or control character.
pub(super) fn is_channel(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'))
}
