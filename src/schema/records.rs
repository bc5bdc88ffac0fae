//! Completes the schemas of responses by the types that serialize them: names of states and kinds, times, bounds of
//! numbers, and the members of objects within a record.

use muster_core::health::OverallStatus;
use muster_core::principal::{Permission, UserRole};
use muster_identity::keys::{LimitOverride, PlanA, PlanB, Role, Scope};
use muster_network::{alert, device, firmware, geofence, incident};
use muster_providers::FinishReason;
use muster_request::describe::refined;
use muster_request::traced::{Closed, KnownField, schema_with};
use muster_tasks::task;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A schema, and where it applies: a property `Component.property`, or the properties of a whole component.
struct Row {
    schema: Option<Value>,
    places: &'static [&'static str],
}

/// The type of a record or of a field.
fn of<T: DeserializeOwned>(places: &'static [&'static str]) -> Row {
    Row { schema: schema_with::<T>(Closed::No, &geography()), places }
}

/// A closed set of words.
fn words<'w>(words: impl IntoIterator<Item = &'w str>, places: &'static [&'static str]) -> Row {
    let words: Vec<&str> = words.into_iter().collect();
    Row { schema: Some(json!({ "type": "string", "enum": words })), places }
}

/// A list of words of a closed set.
fn lists<'w>(members: impl IntoIterator<Item = &'w str>, places: &'static [&'static str]) -> Row {
    let Row { schema, places } = words(members, places);
    Row { schema: schema.map(|items| json!({ "type": "array", "items": items })), places }
}

/// A list of objects.
fn list(item: Value, places: &'static [&'static str]) -> Row {
    Row { schema: Some(json!({ "type": "array", "items": item })), places }
}

/// Objects whose members are another's: parameters, results, JSON Schemas.
fn any(places: &'static [&'static str]) -> Row {
    Row { schema: Some(json!({ "type": "object", "additionalProperties": true })), places }
}

/// A call to a provider, as it is reported.
fn attempt() -> Value {
    let text = json!({ "type": "string" });
    let latency = json!({ "type": "integer", "format": "int64", "minimum": 0 });
    json!({ "type": "object", "required": ["provider", "model", "outcome", "latency_ms"], "properties": {
        "provider": text, "model": text, "outcome": text, "latency_ms": latency } })
}

/// Fields that hold GeoJSON, whose types read themselves.
fn geography() -> Vec<KnownField> {
    let point = json!({ "type": "Point", "coordinates": [8.64, 49.87] });
    let named = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let bbox =
        json!({ "type": "array", "items": { "type": "number", "format": "double" }, "minItems": 4, "maxItems": 4 });
    vec![
        ("geometry", point.clone(), named("GeoGeometry")),
        ("location", point.clone(), named("GeoPoint")),
        ("point", point, named("GeoPoint")),
        ("bbox", json!([8.5, 49.8, 8.8, 50.0]), bbox),
    ]
}

fn rows() -> Vec<Row> {
    let always = |word: &'static str, places| words([word], places);
    vec![
        of::<incident::Incident>(&["Incident", "ReportedIncident", "ChangedIncident", "IncidentDetails"]),
        of::<incident::State>(&["DeviceIncident.state"]),
        of::<incident::TimelineEntry>(&["TimelineEntry"]),
        of::<alert::AlertRecord>(&["Alert"]),
        of::<incident::ImportOutcome>(&["Imported.fate"]),
        of::<device::Device>(&["DeviceBody"]),
        of::<device::Command>(&["DeviceCommandBody", "HandedCommand"]),
        of::<device::Status>(&["HeartbeatBody.status"]),
        of::<device::Telemetry>(&["TelemetryBody"]),
        of::<firmware::ExecState>(&["ExecutionBody.state"]),
        of::<firmware::ExecError>(&["ExecutionBody.error"]),
        of::<device::FirmwareVersion>(&["ExecutionBody.from", "ExecutionBody.to"]),
        of::<firmware::ArtifactState>(&["ArtifactBody.state"]),
        of::<firmware::Manifest>(&["ArtifactBody"]),
        of::<firmware::Job>(&["FirmwareJobBody"]),
        of::<firmware::SigningKey>(&["SigningKeyBody"]),
        of::<firmware::ExecState>(&["DeviceJobBody.state"]),
        of::<firmware::JobKind>(&["DeviceJobBody.kind"]),
        words(["install", "configure", "reboot", "rollback"], &["DeviceJobBody.action"]),
        of::<firmware::Mode>(&["DeviceJobBody.mode"]),
        of::<device::FirmwareVersion>(&["DeviceJobBody.to"]),
        of::<firmware::Manifest>(&["DeviceJobBody.artifact"]),
        of::<geofence::Fence>(&["FenceBody"]),
        of::<geofence::SubjectKind>(&["InsideBody.subject_type"]),
        of::<LimitOverride>(&["KeyBody.limits", "CreatedKey.limits"]),
        of::<PlanA>(&["KeyBody.plan_a", "CreatedKey.plan_a"]),
        of::<PlanB>(&["KeyBody.plan_b", "CreatedKey.plan_b"]),
        lists(
            Scope::ALL.iter().map(|scope| scope.name()),
            &["KeyBody.scopes", "CreatedKey.scopes", "Roles.scopes", "RoleGrants.scopes"],
        ),
        lists(Role::ALL.iter().map(|role| role.name()), &["KeyBody.roles", "CreatedKey.roles"]),
        words(
            UserRole::ALL.iter().map(|role| role.name()),
            &["UserBody.role", "LoginUser.role", "Me.role", "RoleGrants.role"],
        ),
        lists(
            Permission::ALL.iter().map(|permission| permission.name()),
            &[
                "UserBody.permissions",
                "UserBody.grants",
                "LoginUser.permissions",
                "Me.permissions",
                "Roles.permissions",
                "RoleGrants.permissions",
            ],
        ),
        of::<task::Status>(&["TaskBody.status", "TaskBegun.status", "ControlAnswer.status"]),
        of::<task::StepRecord>(&["StepBody"]),
        of::<task::Progress>(&["ProgressBody"]),
        of::<task::FirstPhase>(&["ControlAnswer.phase"]),
        words(["accepted", "already", "refused"], &["BulkEntry.phase"]),
        of::<task::Effective>(&["ControlAnswer.effective"]),
        of::<FinishReason>(&["ChatReplyAgent.finish_reason", "GatewayReply.finish_reason", "ChoiceB.finish_reason"]),
        words(["closed", "open", "half_open"], &["GatewayReply.breaker"]),
        words(
            muster_engines::Family::ALL.map(muster_engines::Family::name),
            &["EngineBody.family", "EngineEntry.family"],
        ),
        of::<task::Priority>(&["TaskBody.priority"]),
        of::<task::Abort>(&["ControlAnswer.abort"]),
        of::<task::RedirectMode>(&["BulkBody.mode"]),
        words(["pause", "resume", "kill", "redirect"], &["BulkBody.verb", "PendingBody.verb"]),
        words(["debug", "info", "warn", "error"], &["LineBody.level"]),
        of::<device::Slot>(&["FirmwareBody.slot"]),
        of::<device::FirmwareSync>(&["FirmwareBody.sync"]),
        words(
            [OverallStatus::Operational, OverallStatus::Degraded, OverallStatus::Outage].map(OverallStatus::name),
            &["HealthReport.status"],
        ),
        words(["published", "promoted", "dropped", "revoked"], &["KeyChange.change"]),
        words(
            ["raw", "swu", "raucb", "mender", "delta", "tar", "config"],
            &["ArtifactBody.format", "NewArtifactBody.format"],
        ),
        words(["system", "developer", "user", "assistant", "tool"], &["ChatMessageAgent.role", "ChatMessageB.role"]),
        words(["max_output_tokens", "content_filter"], &["Incomplete.reason"]),
        words(["pure", "workspace", "model", "state"], &["EngineBody.nature", "EngineEntry.nature"]),
        words(["hybrid", "text", "semantic"], &["SearchBody.mode"]),
        words(["gap", "epoch", "limit"], &["ChannelHistory.why"]),
        always("chat.completion", &["ChatCompletion.object"]),
        always("list", &["Embeddings.object", "ModelListB.object"]),
        always("embedding", &["Embedding.object"]),
        always("model", &["ModelB.object"]),
        always("response", &["ResponseObject.object"]),
        always("assistant", &["AnswerMessage.role", "MessagesAnswer.role", "OutputItemMessage.role"]),
        always("function", &["ToolCallB.type"]),
        always("message", &["MessagesAnswer.type"]),
        always("error", &["ErrorMessages.type"]),
        always("output_text", &["OutputText.type"]),
        always("disabled", &["ResponseObject.truncation"]),
        always("OKP", &["Jwk.kty"]),
        always("Ed25519", &["Jwk.crv"]),
        always("EdDSA", &["Jwk.alg"]),
        always("sig", &["Jwk.use"]),
        list(attempt(), &["ChatReplyAgent.attempts", "GatewayReply.attempts"]),
        any(&[
            "TaskBody.params",
            "TaskBody.result",
            "AgentBody.parameters",
            "AgentEntry.parameters",
            "EngineBody.example",
            "EngineBody.input_schema",
            "EngineBody.output_schema",
            "EventBodyOfTask.data",
            "ContentBlockToolUse.input",
            "MessagesTool.input_schema",
        ]),
    ]
}

/// Completes the schemas of the components of a document. Returns the rows that changed nothing.
fn apply(components: &mut Map<String, Value>) -> Vec<&'static str> {
    let mut unused = Vec::new();
    for Row { schema, places } in rows() {
        for place in places {
            let changed = schema.as_ref().is_some_and(|schema| match place.split_once('.') {
                Some((component, property)) => {
                    let properties =
                        components.get_mut(component).and_then(|component| component.get_mut("properties"));
                    properties.is_some_and(|properties| complete(properties, property, schema))
                }
                None => components.get_mut(*place).and_then(|component| component.get_mut("properties")).is_some_and(
                    |properties| {
                        let traced = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                        traced.filter(|(name, traced)| complete(properties, name, traced)).count() > 0
                    },
                ),
            });
            if !changed {
                unused.push(*place);
            }
        }
    }
    unused
}

/// Completes one property; returns whether that changed it.
fn complete(properties: &mut Value, name: &str, traced: &Value) -> bool {
    let Some(property) = properties.get_mut(name) else { return false };
    let says = |name: &str| property.get(name).is_some();
    if !["type", "$ref", "oneOf", "allOf", "enum"].into_iter().any(says) {
        // Nothing is said: null included.
        let Some((own, traced)) = property.as_object().zip(traced.as_object()) else { return false };
        let whole = own.clone().into_iter().chain(traced.clone()).collect();
        let is_any = traced.is_empty();
        *property = Value::Object(whole);
        return !is_any;
    }
    // Whether null is sent is said by the response's own type.
    let traced = not_null(traced.clone());
    match refined(property, traced) {
        Some(refined) => {
            *property = refined;
            true
        }
        None => false,
    }
}

/// Returns a schema without null.
fn not_null(mut schema: Value) -> Value {
    let Some(object) = schema.as_object_mut() else { return schema };
    if let Some([form, null]) = object.get("oneOf").and_then(Value::as_array).map(Vec::as_slice)
        && *null == json!({ "type": "null" })
    {
        return form.clone();
    }
    if let Some([kind, _]) = object.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        let kind = kind.clone();
        object.insert("type".to_owned(), kind);
        if let Some(names) = object.get_mut("enum").and_then(Value::as_array_mut) {
            names.retain(|name| !name.is_null());
        }
    }
    schema
}

/// Completes the schemas of a description.
pub fn complete_all(document: &mut Value) {
    if let Some(components) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
        apply(components);
        components.values_mut().for_each(times);
    }
}

/// Marks the texts that are times: each member whose name ends with `_at` is one.
fn times(schema: &mut Value) {
    for (name, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let is_time = name.ends_with("_at") || ["timestamp", "server_time"].contains(&name.as_str());
        let time = json!({ "type": "string", "format": "date-time" });
        if let Some(refined) = is_time.then(|| refined(property, time)).flatten() {
            *property = refined;
        }
        times(property);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_completes_something() {
        let mut document = serde_json::to_value(crate::openapi::description()).unwrap();
        let components = document.pointer_mut("/components/schemas").unwrap().as_object_mut().unwrap();
        assert_eq!(apply(components), Vec::<&str>::new());
    }

    #[test]
    fn a_record_is_described_by_its_own_type() {
        let document = crate::openapi::described();
        let incident = &document["components"]["schemas"]["Incident"]["properties"];
        assert_eq!(incident["state"]["enum"][0], "reported");
        assert_eq!(incident["state_since"]["format"], "date-time");
        assert_eq!(incident["casualties"]["properties"]["injured"]["minimum"], 0);
        assert_eq!(incident["geometry"]["oneOf"][0]["$ref"], "#/components/schemas/GeoGeometry");
        let job = &document["components"]["schemas"]["FirmwareJobBody"]["properties"];
        assert_eq!(job["policy"]["properties"]["groups"]["items"]["properties"]["soak_s"]["type"], "integer");
        let key = &document["components"]["schemas"]["KeyBody"]["properties"];
        assert_eq!(key["plan_b"]["enum"], json!(["free", "pro", "enterprise"]));
    }
}
