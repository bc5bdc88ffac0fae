//! The replies to requests, each with the schema of its `ok`.

use serde_json::{Map, Value, json};

use super::event_schemas::{nullable, object, of, reference, text, words};

/// The replies, by the request that they answer.
pub(super) const REPLIES: [(&str, &str); 7] = [
    ("connect", "connect_reply"),
    ("subscribe", "subscribe_reply"),
    ("unsubscribe", "unsubscribe_reply"),
    ("refresh", "refresh_reply"),
    ("history", "history_reply"),
    ("presence", "presence_reply"),
    ("command", "command_reply"),
];

fn count(description: &str) -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": 0, "description": description })
}

fn time(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": description })
}

/// The fields of the answer to a subscription: whether it was resumed, and from where it goes on.
fn subscription() -> Value {
    json!({
        "epoch": text("The span within which offsets are gapless"),
        "offset": count("The position: the next publication that follows has this offset plus one"),
        "recovered": { "type": "boolean",
            "description": "Whether every publication after `since` follows this reply. False without a `since`" },
        "pubs": count("Number of the missed publications that follow this reply; 0 unless `recovered`"),
        "why": { "type": "string", "enum": ["gap", "epoch", "limit"],
            "description": "Why it was not recovered, where `since` was sent: `gap` (older than the kept history), \
                `epoch` (a position of another epoch), `limit` (more missed than are sent)" },
        "state": { "type": "array", "items": reference("StateItem"),
            "description": "The state of the channel at this position, where a snapshot was requested, or recovery failed" },
    })
}

const SUBSCRIPTION: [&str; 4] = ["epoch", "offset", "recovered", "pubs"];

/// Schemas to which the messages refer, beside those of the API description.
pub(super) fn schemas() -> Map<String, Value> {
    let item = json!({
        "id": text("The identifier of the record"),
        "version": count("The version of the record"),
        "data": { "type": "object", "additionalProperties": true, "description": "The record, as over HTTP" },
    });
    let fault = json!({
        "code": { "type": "integer", "format": "int32", "minimum": 2400, "maximum": 2599 },
        "reason": words(crate::ws::protocol::FaultKind::ALL.map(|kind| kind.row().1)),
        "message": text("What is wrong, and how to mend it"),
        "retryable": { "type": "boolean", "description": "Whether the same request may succeed later" },
        "details": { "type": "object", "additionalProperties": true,
            "description": "Details for programs; `fields` lists the failed checks of a command's arguments" },
    });
    let all = [
        ("Subscription", object(subscription(), &SUBSCRIPTION)),
        ("StateItem", object(item, &["id", "version", "data"])),
        ("RequestFault", object(fault, &["code", "reason", "message", "retryable"])),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Returns the schema of the `ok` of a reply.
fn ok(request: &str) -> Value {
    match request {
        "connect" => {
            let refused = object(json!({ "error": reference("RequestFault") }), &["error"]);
            let limits = json!({ "subs": count("Subscriptions of a connection"), "frame": count("Bytes of a frame") });
            let fields = json!({
                "conn": text("Identifier of the connection"),
                "user": text("Identifier of the user, device or key"),
                "exp": count("Time at which the token expires, Unix seconds"),
                "ping": count("Interval of the heartbeat, in seconds"),
                "server_time": time("Time of the server"),
                "limits": object(limits, &["subs", "frame"]),
                "subs": { "type": "object", "description": "The answer to each subscription, by channel",
                    "additionalProperties": { "oneOf": [reference("Subscription"), refused] } },
            });
            object(fields, &["conn", "user", "exp", "ping", "server_time", "limits", "subs"])
        }
        "subscribe" => {
            let mut fields = subscription();
            if let Some(fields) = fields.as_object_mut() {
                fields.insert("ch".to_owned(), text("The channel"));
            }
            object(fields, &["ch", "epoch", "offset", "recovered", "pubs"])
        }
        "unsubscribe" => object(json!({ "ch": text("The channel") }), &["ch"]),
        "refresh" => {
            let fields = json!({ "exp": count("Time at which the new token expires, Unix seconds"),
                "server_time": time("Time of the server") });
            object(fields, &["exp", "server_time"])
        }
        "history" => reference("ChannelHistory"),
        "presence" => reference("ChannelPresence"),
        _ => json!({ "description": "The record that the command changed, or the first phase of a control", "oneOf": [
            reference("Incident"), reference("DeviceCommandBody"), of::<muster_tasks::task::ControlReply>()] }),
    }
}

/// Returns the message of the reply to a request.
pub(super) fn message(request: &str, name: &str, example: &Value) -> Value {
    let ok = ok(request);
    let payload = object(json!({ "id": count("That of the request"), "ok": ok }), &["id", "ok"]);
    let mut message = json!({ "name": name, "summary": format!("The reply to `{request}`"), "payload": payload });
    if let (Some(message), true) = (message.as_object_mut(), example.get("ok").is_some()) {
        message.insert("examples".to_owned(), json!([{ "name": "as sent", "payload": example }]));
    }
    message
}

/// Returns the payload of a rejection.
pub(super) fn refusal() -> Value {
    object(json!({ "id": count("That of the request"), "error": reference("RequestFault") }), &["id", "error"])
}

/// Returns the payload of a subscription that the server made.
pub(super) fn subscribed() -> Value {
    object(json!({ "ch": text("The channel"), "subscribed": reference("Subscription") }), &["ch", "subscribed"])
}

/// Returns the payload of a publication, whatever the event.
pub(super) fn publication() -> Value {
    let fields = json!({
        "ch": text("The channel"),
        "off": { "type": "integer", "format": "int64", "minimum": 1,
            "description": "The offset within the channel and epoch" },
        "ev": text("The event. The message of this name describes its `data`"),
        "ts": time("Time of the event"),
        "eid": nullable(text("Unique over all channels; absent where only the latest value is kept")),
        "data": { "type": "object", "additionalProperties": true },
    });
    object(fields, &["ch", "off", "ev", "ts", "data"])
}
