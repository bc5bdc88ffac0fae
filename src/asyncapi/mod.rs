//! The description of the live feed in AsyncAPI 3.0, generated from the tables that the feed itself uses, with examples
//! that a test sends.

mod agents;
mod event_schemas;
mod events;
mod governance;
mod messages;
mod replies;

use muster_feed::{AGENTS, Audience, ChannelKind, ChannelRule, ChannelState, DISASTER, Retention};
use serde_json::{Map, Value, json};

use crate::ws::protocol::{FaultKind, ProtocolOptions, SUBPROTOCOL};
use crate::ws::{Close, MAX_PER_DEVICE};
use messages::{PUSHES, REQUESTS, push, reply, request};
use replies::REPLIES;

/// Returns the document.
pub fn description() -> Value {
    let requests = REQUESTS.iter().map(|name| ((*name).to_owned(), request(name)));
    let pushes = PUSHES.iter().map(|name| ((*name).to_owned(), push(name)));
    let replies = REPLIES.iter().map(|(request, name)| ((*name).to_owned(), reply(request, name)));
    let mut messages: Map<String, Value> = requests.chain(replies).chain(pushes).collect();
    let of_the_socket: Map<String, Value> = messages.keys().map(|name| (name.clone(), refer(name))).collect();
    let api = crate::openapi::described();
    let mut all = api.pointer("/components/schemas").and_then(Value::as_object).cloned().unwrap_or_default();
    all.extend(replies::schemas());
    messages.extend(events::messages(&all));
    let schemas = event_schemas::referred(&json!(messages), &all);
    let rules = DISASTER.iter().chain(AGENTS);
    let mut channels: Map<String, Value> = rules.map(|rule| (key(rule.pattern), channel(rule))).collect();
    channels.insert(
        "socket".to_owned(),
        json!({
            "address": "/api/v1/realtime",
            "title": "The socket",
            "description": format!(
                "One JSON object per text frame, subprotocol `{SUBPROTOCOL}`. A request with an `id` gets exactly one \
                 reply with the same `id`; one without gets none."
            ),
            "messages": of_the_socket.clone(),
            "bindings": { "ws": { "method": "GET" } },
        }),
    );
    channels.insert(
        "monitor".to_owned(),
        json!({
            "address": "/api/q62/dashboard/agents",
            "title": "The socket of the agent monitor",
            "description": "The same frames, for API keys with the scope `agents` and users with `agents:read` or \
                `agents:control`. The server subscribes to `agents` with a snapshot: in the reply to `connect`, or, where \
                the handshake carried the key or token, in a frame `subscribed`.",
            "messages": of_the_socket,
            "bindings": { "ws": { "method": "GET" } },
        }),
    );
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Muster live feed",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Subscriptions with a gapless order for each channel. `off` is incremented by one within a \
                channel and epoch; a client that sends a position as `since` receives every later publication. Delivery \
                is at least once: `eid` is unique over all channels.",
        },
        "defaultContentType": "application/json",
        "servers": { "this": { "host": "127.0.0.1:8080", "protocol": "ws",
            "security": [{ "$ref": "#/components/securitySchemes/session" },
                { "$ref": "#/components/securitySchemes/device" },
                { "$ref": "#/components/securitySchemes/key" }] } },
        "channels": channels,
        "operations": operations(),
        "components": {
            "messages": messages,
            "schemas": schemas,
            "securitySchemes": {
                "session": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "At the handshake, or as the first frame `connect`; never in the query" },
                "key": { "type": "http", "scheme": "bearer", "bearerFormat": "mst_…",
                    "description": "An API key with the scope `agents`, sent as a session's token. It grants access to \
                        the channels of agents and of the key's own tasks (with the scope `admin`, or the roles \
                        `auditor` or `operations`, of all tasks), and to `system`. When the key is revoked or expires, \
                        or its old secret ends after a rotation, the connection is closed with 4011" },
                "device": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT of typ dev+jwt",
                    "description": "A token of at most 5 minutes that the device signs itself, sent as a session's. It \
                        grants access to the device's own channel `devices:{id}`, to which the server subscribes it; \
                        every other channel is rejected with 2403 permission_denied. `refresh` accepts a new token of \
                        the same device. When the device is quarantined or retired, or its key is replaced, the \
                        connection is closed with 4011" },
            },
        },
        "x-commands": agents::commands(),
        "x-close-codes": Close::ALL.map(|close| json!({
            "code": close.code(), "reason": close.name(), "then": close.then().description() })),
        "x-error-codes": FaultKind::ALL.map(|kind| {
            let (code, reason) = kind.row();
            json!({ "code": code, "reason": reason, "retryable": kind.retryable() })
        }),
        "x-limits": limits(&ProtocolOptions::default()),
    })
}

fn limits(options: &ProtocolOptions) -> Value {
    json!({
        "subscriptions": options.max_subscriptions,
        "frame_bytes": options.max_frame,
        "device_connections": MAX_PER_DEVICE,
        "channel_name_bytes": 255,
        "commands_per_second": options.commands.per_second,
        "commands_at_once": options.commands.burst,
        "frames_per_second": options.frames.per_second,
        "frames_at_once": options.frames.burst,
        "connect_within_seconds": options.connect_within.as_secs(),
        "heartbeat_seconds": options.heartbeat.as_secs(),
        "answer_within_seconds": options.answer_within.as_secs(),
        "token_grace_seconds": options.expiry_grace.as_secs(),
        "command_idempotency_seconds": 600,
    })
}

/// Returns the name of a channel in a form that is allowed for keys of the document.
fn key(pattern: &str) -> String {
    pattern.replace(['{', '}'], "").replace([':', '.'], "_")
}

/// Returns a reference to a message.
fn refer(name: &str) -> Value {
    json!({ "$ref": format!("#/components/messages/{name}") })
}

fn channel(rule: &ChannelRule) -> Value {
    let kind = match rule.kind {
        ChannelKind::Log => "every publication in order, with a history",
        ChannelKind::Latest => "only the newest value of each key; skipped values are reported as `conflated`",
    };
    let events = events::of_channel(rule.pattern);
    let messages: Map<String, Value> = events.iter().map(|name| ((*name).to_owned(), refer(name))).collect();
    let mut channel = json!({
        "address": rule.pattern,
        "description": format!("Subscribed to over the socket: {kind}."),
        "messages": messages,
        "x-permission": rule.permission.name(),
        "x-durable": rule.retention == Retention::Durable && rule.kind == ChannelKind::Log,
        "x-snapshot": rule.state == ChannelState::Provided,
        "x-audience": match rule.audience {
            Audience::Everyone => "everyone with the permission",
            Audience::Own => "the user with this identifier, with the permission",
            Audience::Resource => "everyone with the permission, and the device with this identifier",
            Audience::Owners(_) if rule.kind == ChannelKind::Latest =>
                "everyone with the permission, API keys with the scope `agents`, people with `agents:control`",
            Audience::Owners(_) => "everyone with the permission; API keys with the scope `agents` and people with \
                `agents:control` receive the events of their own tasks only",
        },
    });
    if rule.pattern.contains("{id}")
        && let Some(channel) = channel.as_object_mut()
    {
        channel.insert("parameters".to_owned(), json!({ "id": { "description": "The identifier of the record" } }));
    }
    channel
}

fn operations() -> Map<String, Value> {
    let of = |name: &str| json!({ "$ref": format!("#/channels/socket/messages/{name}") });
    let socket = json!({ "$ref": "#/channels/socket" });
    let requests = REPLIES.iter().map(|(name, reply)| {
        let reply = json!({ "channel": socket, "messages": [of(reply), of("refusal")] });
        ((*name).to_owned(), json!({ "action": "receive", "channel": socket, "messages": [of(name)], "reply": reply }))
    });
    let pushes = PUSHES
        .iter()
        .filter(|name| **name != "refusal")
        .map(|name| (format!("send_{name}"), json!({ "action": "send", "channel": socket, "messages": [of(name)] })));
    requests.chain(pushes).collect()
}
