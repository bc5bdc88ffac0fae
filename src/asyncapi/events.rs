//! The events of every channel: a message for each, with the schema of its data and, if that is not the type of a record,
//! an example.
//!
//! Records are described by the types that HTTP responses use: their schemas are taken from the OpenAPI description.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::event_schemas::{health, nullable, object, of, place, reference, telemetry, text, typed, versioned};
use super::{agents, governance};

/// Events with data of the same form.
pub(super) struct EventRow {
    /// Patterns of the channels on which the events are published.
    pub(super) channels: &'static [&'static str],
    pub(super) names: &'static [&'static str],
    pub(super) summary: &'static str,
    pub(super) data: Data,
    /// Whether publications may be dropped for a slow subscriber.
    pub(super) may_be_left_out: bool,
}

/// The form of an event's data.
pub(super) enum Data {
    /// A new record without these fields, which only HTTP responses have.
    Created(&'static str, &'static [&'static str]),
    /// A whole record, and further fields.
    Whole(&'static str, fn() -> Value),
    /// The fields of a record that changed, and further fields.
    Changed(&'static str, fn() -> Value),
    /// A record that the channel no longer covers.
    Withdrawn,
    /// Fields described by a schema.
    Fields(fn() -> Value),
    /// Fields with the names and types of an example, some of them by the types that serialize them.
    Example(fn() -> Value, fn() -> Value),
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

const DISASTER: [EventRow; 18] = [
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
        Data::Whole("Alert", || json!({ "supersedes": { "type": "array", "items": { "type": "string" } } })),
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
                "from": of::<muster_network::device::Status>(),
                "to": of::<muster_network::device::Status>(),
                "by": text("The identifier of the principal, or `system`"),
                "suppressed": {
                    "type": "integer", "minimum": 0,
                    "description": "Changes that were not published because the status alternated too often",
                },
                "reason": text("Why it changed"),
            })
        }),
    ),
    row(
        DEVICES,
        &["device.drift_detected", "device.drift_resolved"],
        "A device has run another firmware than the desired one for longer than `devices.drift_grace_seconds`, or no \
         longer does",
        Data::Changed("DeviceBody", || {
            json!({
                "severity": {
                    "type": "string", "enum": ["major", "minor"],
                    "description": "`major` if the installed version is older than the desired one, otherwise `minor`",
                },
                "installed": { "type": ["object", "null"], "description": "The version that the device runs" },
                "desired": { "type": ["object", "null"], "description": "The version that the device should run" },
                "differs_since": {
                    "type": ["string", "null"], "format": "date-time", "description": "Since when they differ",
                },
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
            "firmware.job.rollback_requested",
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

/// Returns every row, including those of agents and their tasks.
pub(super) fn rows() -> impl Iterator<Item = &'static EventRow> {
    DISASTER.iter().chain(&agents::EVENTS).chain(&governance::EVENTS)
}

/// Returns the names of the events of a channel's pattern.
pub(super) fn of_channel(pattern: &str) -> Vec<&'static str> {
    rows().filter(|row| row.channels.contains(&pattern)).flat_map(|row| row.names).copied().collect()
}

/// Returns the message of every event, by name.
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
    if let (Data::Example(example, _), Some(message)) = (&row.data, message.as_object_mut()) {
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
            Self::Created(record, without) => whole(schemas, record, without, &json!({})),
            Self::Whole(record, more) => whole(schemas, record, &[], &more()),
            Self::Changed(record, more) => {
                let properties = schemas.get(*record).and_then(|schema| schema.get("properties"));
                let patch = json!({ "type": "object", "properties": properties, "additionalProperties": false });
                let mut fields = json!({ "patch": patch });
                if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more()) {
                    fields.extend(more);
                }
                versioned(fields, &["patch"])
            }
            Self::Withdrawn => versioned(json!({}), &[]),
            Self::Fields(schema) => schema(),
            Self::Example(example, types) => typed(&example(), types()),
        }
    }
}

/// Returns the schema of a record without some of its fields, with others beside them, and with no further ones.
fn whole(schemas: &Map<String, Value>, record: &str, without: &[&str], more: &Value) -> Value {
    let schema = schemas.get(record).cloned().unwrap_or_default();
    let field = |name: &str| schema.get(name).cloned().unwrap_or_default();
    let mut properties = field("properties").as_object().cloned().unwrap_or_default();
    properties.retain(|name, _| !without.contains(&name.as_str()));
    let more = more.as_object().cloned().unwrap_or_default();
    let required = field("required");
    let required = required.as_array().into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<&str> =
        required.filter(|name| !without.contains(name)).chain(more.keys().map(String::as_str)).collect();
    properties.extend(more.clone());
    object(json!(properties), &required)
}
