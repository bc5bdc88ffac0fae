//! The events of every channel: one message for each, with the schema of its data and, where the event has no record's
//! type, an example.
//!
//! Records are described by the types that HTTP responses use: their schemas are taken from the OpenAPI description.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::agents;

/// Events with the same form of data.
pub(super) struct EventRow {
    /// Patterns of the channels that publish it.
    pub(super) channels: &'static [&'static str],
    pub(super) names: &'static [&'static str],
    pub(super) summary: &'static str,
    pub(super) data: Data,
    /// Whether a subscriber that is behind may miss it.
    pub(super) may_be_left_out: bool,
}

/// The form of an event's data.
pub(super) enum Data {
    /// A new record, which HTTP responses extend by these fields.
    Created(&'static str, &'static [&'static str]),
    /// The fields of a record that changed, and further fields.
    Changed(&'static str, fn() -> Value),
    /// A record that the channel no longer covers.
    Withdrawn,
    /// Fields of its own, as a schema.
    Fields(fn() -> Value),
    /// As in the example.
    Example(fn() -> Value),
}

const INCIDENTS: &[&str] = &["incidents", "incidents:{id}", "incidents.restricted"];
const ALERTS: &[&str] = &["alerts", "incidents:{id}", "incidents.restricted"];
const DEVICES: &[&str] = &["devices", "devices:{id}"];
const PLACES: &[&str] = &["devices", "devices:{id}", "incidents", "incidents:{id}", "incidents.restricted"];
const JOBS: &[&str] = &["firmware", "firmware:{id}"];

const fn row(
    channels: &'static [&'static str],
    names: &'static [&'static str],
    summary: &'static str,
    data: Data,
) -> EventRow {
    EventRow { channels, names, summary, data, may_be_left_out: false }
}

const DISASTER: [EventRow; 17] = [
    row(INCIDENTS, &["incident.created"], "An incident was reported, or became visible on this channel", {
        Data::Created("Incident", &["allowed"])
    }),
    row(
        INCIDENTS,
        &[
            "incident.updated",
            "incident.attached",
            "incident.acknowledged",
            "incident.unacknowledged",
            "incident.activated",
            "incident.contained",
            "incident.escalated",
            "incident.de_escalated",
            "incident.resolved",
            "incident.closed",
            "incident.reopened",
            "incident.duplicate",
            "incident.false_alarm",
            "incident.canceled",
            "incident.silenced",
            "incident.assigned",
            "incident.noted",
        ],
        "An incident changed: the changed fields, and the entry of its timeline",
        Data::Changed("Incident", || json!({ "entry": nullable(reference("TimelineEntry")) })),
    ),
    row(&["incidents", "incidents.restricted"], &["incident.withdrawn"], "An incident is no longer visible here", {
        Data::Withdrawn
    }),
    row(
        ALERTS,
        &[
            "alert.published",
            "alert.updated",
            "alert.canceled",
            "alert.pending",
            "alert.withdrawn",
            "alert.rejected",
            "alert.lapsed",
            "alert.expired",
        ],
        "An alert was published or changed; `supersedes` lists the alerts that it replaces",
        Data::Fields(|| {
            let supersedes = json!({ "type": "array", "items": { "type": "string" } });
            versioned(json!({ "data": reference("Alert"), "supersedes": supersedes }), &["data", "supersedes"])
        }),
    ),
    row(DEVICES, &["device.created"], "A device was registered", Data::Created("DeviceBody", &[])),
    row(DEVICES, &["device.updated"], "Fields of a device changed", {
        Data::Changed("DeviceBody", || json!({ "by": text("The identifier of the principal") }))
    }),
    row(
        DEVICES,
        &["device.status_changed", "device.quarantined", "device.retired"],
        "The status of a device changed",
        Data::Changed("DeviceBody", || {
            json!({
                "from": text("The previous status"),
                "to": text("The new status"),
                "by": text("The identifier of the principal, or `system`"),
                "suppressed": {
                    "type": "integer", "minimum": 0,
                    "description": "Changes that were not published because the status alternated too often",
                },
                "reason": text("Why it changed"),
            })
        }),
    ),
    row(DEVICES, &["device.located"], "The position of a device changed", {
        Data::Changed("DeviceBody", || json!({}))
    }),
    row(
        &["devices:{id}"],
        &["device.command_queued", "device.command_sent", "device.command_acked"],
        "A command of the device was queued, delivered or completed",
        Data::Fields(|| {
            let fields = json!({ "id": text("The device"), "command": reference("DeviceCommandBody") });
            object(fields, &["id", "command"])
        }),
    ),
    row(&["devices:{id}:telemetry"], &["device.telemetry"], "The latest readings of a device, or its latest state", {
        Data::Fields(telemetry)
    }),
    row(PLACES, &["geofence.entered", "geofence.left"], "A device or incident entered or left a geofence", {
        Data::Fields(place)
    }),
    row(
        &["firmware"],
        &["firmware.artifact.ready", "firmware.artifact.rejected", "firmware.artifact.revoked"],
        "The state of an artifact changed",
        Data::Changed("ArtifactBody", || json!({})),
    ),
    row(JOBS, &["firmware.job.created"], "A job was created", Data::Created("FirmwareJobBody", &[])),
    row(
        JOBS,
        &[
            "firmware.job.approved",
            "firmware.job.denied",
            "firmware.job.started",
            "firmware.job.progress",
            "firmware.job.group_started",
            "firmware.job.group_passed",
            "firmware.job.paused",
            "firmware.job.resumed",
            "firmware.job.rolling_back",
            "firmware.job.aborting",
            "firmware.job.aborted",
            "firmware.job.completed",
        ],
        "A job changed",
        Data::Changed("FirmwareJobBody", || json!({})),
    ),
    row(
        &["firmware:{id}", "devices:{id}"],
        &["firmware.execution.changed"],
        "A job made progress on a device; `id` is `<job>/<device>`",
        Data::Changed("ExecutionBody", || json!({})),
    ),
    row(&["user:{id}"], &["user.updated"], "The account of the user changed", {
        Data::Fields(|| versioned(json!({ "what": text("What changed, such as `created`") }), &["what"]))
    }),
    row(&["system"], &["health.changed"], "The health of modules changed", Data::Fields(health)),
];

/// Every row, also of agents and their tasks.
pub(super) fn rows() -> impl Iterator<Item = &'static EventRow> {
    DISASTER.iter().chain(&agents::EVENTS)
}

/// The names of the events of a channel's pattern.
pub(super) fn of_channel(pattern: &str) -> Vec<&'static str> {
    rows().filter(|row| row.channels.contains(&pattern)).flat_map(|row| row.names).copied().collect()
}

/// The messages of every event, by name.
pub(super) fn messages(schemas: &Map<String, Value>) -> BTreeMap<String, Value> {
    rows().flat_map(|row| row.names.iter().map(|name| ((*name).to_owned(), message(name, row, schemas)))).collect()
}

fn message(name: &str, row: &EventRow, schemas: &Map<String, Value>) -> Value {
    let mut message = json!({
        "name": name,
        "summary": row.summary,
        "payload": object(
            json!({
                "ch": text("The channel"),
                "off": { "type": "integer", "minimum": 1, "description": "The offset within the channel and epoch" },
                "ev": { "const": name },
                "ts": { "type": "string", "format": "date-time" },
                "eid": text("Unique over all channels; absent where only the latest value is kept"),
                "data": row.data.schema(schemas),
            }),
            &["ch", "off", "ev", "ts", "data"],
        ),
        "x-may-be-left-out": row.may_be_left_out,
    });
    if let (Data::Example(example), Some(message)) = (&row.data, message.as_object_mut()) {
        let channel = row.channels.first().copied().unwrap_or_default();
        let frame = json!({ "ch": channel, "off": 841, "ev": name, "ts": "2026-11-21T03:00:01.120Z", "eid": "evt_01J",
            "data": example() });
        message.insert("examples".to_owned(), json!([{ "name": "as sent", "payload": frame }]));
    }
    message
}

impl Data {
    fn schema(&self, schemas: &Map<String, Value>) -> Value {
        match self {
            Self::Created(record, []) => versioned(json!({ "data": reference(record) }), &["data"]),
            Self::Created(record, without) => {
                let mut whole = schemas.get(*record).cloned().unwrap_or_default();
                if let Some(properties) = whole.get_mut("properties").and_then(Value::as_object_mut) {
                    properties.retain(|name, _| !without.contains(&name.as_str()));
                }
                if let Some(required) = whole.get_mut("required").and_then(Value::as_array_mut) {
                    required.retain(|name| !without.iter().any(|field| name == field));
                }
                versioned(json!({ "data": whole }), &["data"])
            }
            Self::Changed(record, more) => {
                let properties = schemas.get(*record).and_then(|schema| schema.get("properties"));
                let patch = json!({ "type": "object", "properties": properties });
                let mut fields = json!({ "patch": patch });
                if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more()) {
                    fields.extend(more);
                }
                versioned(fields, &["patch"])
            }
            Self::Withdrawn => versioned(json!({}), &[]),
            Self::Fields(schema) => schema(),
            Self::Example(example) => shape(&example()),
        }
    }
}

/// Fields of examples that may be null or absent.
const NULLABLE: [&str; 9] = ["from", "ms", "step", "why", "phase", "total_steps", "percent", "p50_ms", "p99_ms"];

/// The schema of values with the fields and types of an example.
pub(super) fn shape(example: &Value) -> Value {
    match example {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Number(number) if number.is_f64() => json!({ "type": "number" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::Array(items) => json!({ "type": "array", "items": items.first().map_or(json!({}), shape) }),
        Value::Object(fields) => {
            // Its keys are identifiers, not names of fields.
            let of_provider = |name: &str, value: &Value| {
                let value = value.as_object().and_then(|object| object.values().next()).filter(|_| name == "breakers");
                value.map(|value| json!({ "type": "object", "additionalProperties": shape(value) }))
            };
            let field = |(name, value): (&String, &Value)| {
                let schema = of_provider(name, value).unwrap_or_else(|| shape(value));
                (name.clone(), if NULLABLE.contains(&name.as_str()) { nullable(schema) } else { schema })
            };
            let properties: Map<_, _> = fields.iter().map(field).collect();
            let required: Vec<&String> = fields.keys().filter(|name| !NULLABLE.contains(&name.as_str())).collect();
            json!({ "type": "object", "properties": properties, "required": required })
        }
    }
}

/// An object with these fields and no others.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// The same of a record: its identifier and version come first.
fn versioned(mut fields: Value, required: &[&str]) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("id".to_owned(), text("The record's identifier"));
        fields.insert("version".to_owned(), json!({ "type": "integer", "minimum": 0 }));
    }
    let required: Vec<&str> = ["id", "version"].iter().chain(required).copied().collect();
    object(fields, &required)
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn nullable(schema: Value) -> Value {
    json!({ "oneOf": [schema, { "type": "null" }] })
}

fn point() -> Value {
    let coordinates = json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2,
        "description": "Longitude and latitude in degrees" });
    nullable(object(json!({ "type": { "const": "Point" }, "coordinates": coordinates }), &["type", "coordinates"]))
}

fn telemetry() -> Value {
    let readings = json!({ "id": text("The device"), "by": text("Who reported them"),
        "readings": { "type": "object", "additionalProperties": { "type": "object" } } });
    let state = json!({ "id": text("The device"), "status": { "type": "string" },
        "last_seen": { "type": ["string", "null"], "format": "date-time" }, "health": { "type": "object" },
        "location": point() });
    let state = object(state, &["id", "status", "last_seen", "health", "location"]);
    json!({ "oneOf": [object(readings, &["id", "by", "readings"]), state] })
}

fn place() -> Value {
    let name = json!({ "type": ["string", "null"] });
    let fields = json!({
        "geofence_id": { "type": "string" },
        "geofence_name": name,
        "geofence_kind": name,
        "subject_type": { "enum": ["device", "incident"] },
        "subject_id": { "type": "string" },
        "point": point(),
        "seen_at": { "type": "string", "format": "date-time" },
        "reason": { "enum": ["moved", "geofence_changed", "gone"] },
    });
    object(fields, &["geofence_id", "subject_type", "subject_id", "point", "seen_at", "reason"])
}

fn health() -> Value {
    let status = json!({ "type": "string" });
    let module = object(
        json!({ "module": { "type": "string" }, "from": status, "to": status, "why": { "type": ["string", "null"] } }),
        &["module", "from", "to"],
    );
    let fields = json!({ "status": status, "score": { "type": "integer", "minimum": 0, "maximum": 100 },
        "modules": { "type": "array", "items": module, "minItems": 1 } });
    object(fields, &["status", "score", "modules"])
}

/// The schemas that messages refer to, and those that these refer to.
pub(super) fn referred(messages: &Value, all: &Map<String, Value>) -> Map<String, Value> {
    let mut found = Map::new();
    let mut open = vec![messages.clone()];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let name = object.get("$ref").and_then(Value::as_str);
                let name = name.and_then(|target| target.strip_prefix("#/components/schemas/"));
                if let Some((name, schema)) = name.and_then(|name| Some((name, all.get(name)?)))
                    && found.insert(name.to_owned(), schema.clone()).is_none()
                {
                    open.push(schema.clone());
                }
                open.extend(object.into_iter().map(|(_, value)| value));
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
