//! The messages, each with an example; a request also has the reply of a server without any event.

use serde_json::{Value, json};

use super::event_schemas::shape;
use super::{agents, replies};

/// Requests of clients.
pub(super) const REQUESTS: [&str; 7] =
    ["connect", "subscribe", "unsubscribe", "refresh", "history", "presence", "command"];
/// Messages of the server.
pub(super) const PUSHES: [&str; 8] =
    ["refusal", "publication", "position", "conflated", "subscribed", "unsubscribed", "expiring", "heartbeat"];

fn position() -> Value {
    json!({ "type": "object", "required": ["epoch", "offset"], "description": "Position of the client in a channel",
        "properties": { "epoch": { "type": "string" }, "offset": { "type": "integer", "format": "int64", "minimum": 0 } },
        "additionalProperties": false })
}

fn filter() -> Value {
    json!({ "type": "object", "description": "An event without a filtered field does not pass that filter", "properties": {
        "bbox": { "type": "array", "items": { "type": "number" }, "minItems": 4, "maxItems": 4,
            "description": "West, south, east, north; west > east crosses the antimeridian" },
        "min_severity": { "enum": crate::ws::protocol::SEVERITIES },
        "types": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 32 },
    }, "additionalProperties": false })
}

fn channel() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[A-Za-z0-9_.:-]+$" })
}

/// Returns the fields of a request, and the names of the required ones.
fn fields(name: &str) -> (Value, Value) {
    let text = || json!({ "type": "string" });
    match name {
        "connect" => (
            json!({ "token": text(), "dpop": text(), "client": text(), "subs": { "type": "object",
                "description": "Channels to subscribe to, by name",
                "additionalProperties": { "type": "object", "additionalProperties": false, "properties": {
                    "since": position(), "filter": filter(), "snapshot": { "type": "boolean" } } } } }),
            json!([]),
        ),
        "subscribe" => (
            json!({ "ch": channel(), "since": position(), "filter": filter(), "snapshot": { "type": "boolean" } }),
            json!(["ch"]),
        ),
        "refresh" => (json!({ "token": text(), "dpop": text() }), json!(["token"])),
        "history" => (
            json!({ "ch": channel(), "since": position(),
                "limit": { "type": "integer", "minimum": 1, "maximum": 500, "default": 50 } }),
            json!(["ch"]),
        ),
        "command" => (
            json!({ "name": { "type": "string", "description": "One of `x-commands`" }, "target": text(),
                "args": { "type": "object", "additionalProperties": true,
                    "description": "As `x-commands` describes for each command" }, "idem": { "type": "string", "maxLength": 255,
                "description": "Identifies the command for 10 minutes: a repetition is executed once" } }),
            json!(["name"]),
        ),
        _ => (json!({ "ch": channel() }), json!(["ch"])),
    }
}

/// Returns an example of a request, and the reply to it.
fn example(name: &str) -> (Value, Value) {
    let position = || json!({ "epoch": "k3v9", "offset": 0, "recovered": false, "pubs": 0 });
    match name {
        "connect" => (
            json!({ "id": 1, "connect": { "token": "<token>", "client": "web/1.4", "subs": { "system": {} } } }),
            json!({ "id": 1, "ok": { "conn": "con_01J", "user": "usr_01J", "exp": 1_763_690_000, "ping": 25,
                "server_time": "2026-11-21T03:00:00.000Z", "limits": { "subs": 128, "frame": 65536 },
                "subs": { "system": position() } } }),
        ),
        "subscribe" => (
            json!({ "id": 2, "subscribe": { "ch": "system", "filter": { "bbox": [8.9, 49.9, 9.8, 50.6],
                "min_severity": "Severe", "types": ["incident.created"] } } }),
            json!({ "id": 2, "ok": { "ch": "system", "epoch": "k3v9", "offset": 0, "recovered": false, "pubs": 0 } }),
        ),
        "unsubscribe" => {
            (json!({ "id": 3, "unsubscribe": { "ch": "system" } }), json!({ "id": 3, "ok": { "ch": "system" } }))
        }
        "refresh" => (
            json!({ "id": 4, "refresh": { "token": "<token>" } }),
            json!({ "id": 4, "ok": { "exp": 1_763_690_000, "server_time": "2026-11-21T03:00:00.000Z" } }),
        ),
        "history" => (
            json!({ "id": 5, "history": { "ch": "system", "limit": 200 } }),
            json!({ "id": 5, "ok": { "ch": "system", "epoch": "k3v9", "offset": 0, "recovered": true,
                "publications": [], "more": false } }),
        ),
        "presence" => (
            json!({ "id": 6, "presence": { "ch": "system" } }),
            json!({ "id": 6, "ok": { "ch": "system", "present": [] } }),
        ),
        _ => (
            json!({ "id": 7, "command": { "name": "no.such", "target": "dev_01J", "args": {}, "idem": "c1f0" } }),
            json!({ "id": 7, "error": { "code": 2422, "reason": "unknown_command", "message": "there is no command",
                "retryable": false } }),
        ),
    }
}

pub(super) fn request(name: &str) -> Value {
    let (properties, required) = fields(name);
    let (sent, reply) = example(name);
    let examples = std::iter::once(sent).chain(agents::requests(name));
    let examples: Vec<_> = examples.map(|payload| json!({ "name": "as sent", "payload": payload })).collect();
    json!({
        "name": name,
        "payload": { "type": "object", "required": [name], "properties": {
            "id": { "type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "A request with an `id` gets exactly one reply" },
            name: { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
        }, "additionalProperties": false },
        "examples": examples,
        "x-reply": reply,
    })
}

/// Returns the message of the reply to a request.
pub(super) fn reply(request: &str, name: &str) -> Value {
    replies::message(request, name, &example(request).1)
}

pub(super) fn push(name: &str) -> Value {
    let (summary, example) = match name {
        "refusal" => (
            "The rejection of a request; the connection remains open",
            json!({ "id": 2, "error": { "code": 2403, "reason": "permission_denied",
                "message": "this needs the permission `incidents:read`", "retryable": false } }),
        ),
        "publication" => (
            "An event, the same bytes for every subscriber",
            json!({ "ch": "incidents", "off": 841, "ev": "incident.updated", "ts": "2026-11-21T03:00:01.120Z",
                "eid": "evt_01J", "data": { "id": "inc_01J", "version": 8, "patch": { "state": "contained" } } }),
        ),
        "position" => (
            "The position up to which events were filtered: sent on subscribing and every 10 s",
            json!({ "ch": "incidents", "pos": 900 }),
        ),
        "conflated" => (
            "Values that were replaced before they were sent; on other channels, publications that may be dropped \
             (`task.delta`, `log`) and were, because the client was slow: its position is `to`",
            json!({ "ch": "devices:dev_9:telemetry", "conflated": { "from": 120, "to": 188 } }),
        ),
        "subscribed" => (
            "The server subscribed the connection itself: to `agents`, on the monitor",
            json!({ "ch": "agents", "subscribed": { "epoch": "k3v9", "offset": 840, "recovered": false, "pubs": 0, "state": [
                { "id": "task_01J", "version": 7, "data": { "task_id": "task_01J", "agent": "code-reviewer",
                    "status": "running" } }] } }),
        ),
        "unsubscribed" => (
            "The server ended a subscription",
            json!({ "ch": "firmware:job_01J", "unsubscribed": { "code": 2403, "reason": "permission_revoked" } }),
        ),
        "expiring" => ("The token expires soon: send `refresh`", json!({ "sys": "auth.expiring", "ttl": 60 })),
        _ => ("Sent in both directions: the client answers that of the server within 10 s", json!({})),
    };
    let payload = match name {
        "refusal" => replies::refusal(),
        "publication" => replies::publication(),
        "subscribed" => replies::subscribed(),
        _ => shape(&example),
    };
    json!({ "name": name, "summary": summary, "payload": payload,
        "examples": [{ "name": "as sent", "payload": example }] })
}
