//! An alert's members by the names of its elements.

use muster_cap::{Alert, Area, CapTime, Info, NamedValue, Resource};
use serde_json::json;

use muster_engine::prelude::*;

/// Members that are present.
struct Members(Map<String, Value>);

impl Members {
    fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    fn maybe(&mut self, name: &str, value: Option<&String>) {
        if let Some(value) = value {
            self.put(name, value.as_str());
        }
    }

    fn time(&mut self, name: &str, value: Option<&CapTime>) {
        if let Some(value) = value {
            self.put(name, value.as_str());
        }
    }

    fn list<T>(&mut self, name: &str, values: &[T], of: impl Fn(&T) -> Value) {
        if !values.is_empty() {
            self.put(name, values.iter().map(of).collect::<Vec<_>>());
        }
    }
}

pub(super) fn of(alert: &Alert) -> Value {
    let mut to = Members(Map::new());
    to.put("identifier", alert.identifier.as_str());
    to.put("sender", alert.sender.as_str());
    to.put("sent", alert.sent.as_str());
    to.put("status", alert.status.name());
    to.put("msgType", alert.msg_type.name());
    to.maybe("source", alert.source.as_ref());
    to.put("scope", alert.scope.name());
    to.maybe("restriction", alert.restriction.as_ref());
    to.list("addresses", &alert.addresses, |text| json!(text));
    to.list("code", &alert.codes, |text| json!(text));
    to.maybe("note", alert.note.as_ref());
    to.list("references", &alert.references, |reference| {
        json!(format!("{},{},{}", reference.sender, reference.identifier, reference.sent.as_str()))
    });
    to.list("incidents", &alert.incidents, |text| json!(text));
    to.list("info", &alert.infos, info);
    Value::Object(to.0)
}

fn info(info: &Info) -> Value {
    let mut to = Members(Map::new());
    to.put("language", info.language.as_str());
    to.list("category", &info.categories, |category| json!(category.name()));
    to.put("event", info.event.as_str());
    to.list("responseType", &info.response_types, |response| json!(response.name()));
    to.put("urgency", info.urgency.name());
    to.put("severity", info.severity.name());
    to.put("certainty", info.certainty.name());
    to.maybe("audience", info.audience.as_ref());
    to.list("eventCode", &info.event_codes, named);
    to.time("effective", info.effective.as_ref());
    to.time("onset", info.onset.as_ref());
    to.time("expires", info.expires.as_ref());
    for (name, value) in [
        ("senderName", &info.sender_name),
        ("headline", &info.headline),
        ("description", &info.description),
        ("instruction", &info.instruction),
        ("web", &info.web),
        ("contact", &info.contact),
    ] {
        to.maybe(name, value.as_ref());
    }
    to.list("parameter", &info.parameters, named);
    to.list("resource", &info.resources, resource);
    to.list("area", &info.areas, area);
    Value::Object(to.0)
}

fn named(value: &NamedValue) -> Value {
    json!({ "valueName": value.name, "value": value.value })
}

fn resource(resource: &Resource) -> Value {
    let mut to = Members(Map::new());
    to.put("resourceDesc", resource.description.as_str());
    to.put("mimeType", resource.mime_type.as_str());
    if let Some(size) = resource.size {
        to.put("size", size);
    }
    to.maybe("uri", resource.uri.as_ref());
    to.maybe("derefUri", resource.deref_uri.as_ref());
    to.maybe("digest", resource.digest.as_ref());
    Value::Object(to.0)
}

fn area(area: &Area) -> Value {
    let mut to = Members(Map::new());
    to.put("areaDesc", area.description.as_str());
    to.list("polygon", &area.polygons, |polygon| {
        json!(polygon.0.iter().map(|(lat, lon)| format!("{lat},{lon}")).collect::<Vec<_>>().join(" "))
    });
    to.list("circle", &area.circles, |circle| {
        json!(format!("{},{} {}", circle.latitude, circle.longitude, circle.radius_km))
    });
    to.list("geocode", &area.geocodes, named);
    for (name, value) in [("altitude", area.altitude), ("ceiling", area.ceiling)] {
        if let Some(value) = value {
            to.put(name, value);
        }
    }
    Value::Object(to.0)
}
