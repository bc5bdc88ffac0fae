//! Events of incidents and alerts and their channels.

use serde_json::{Map, Value, json};

use super::record::{Audience, Incident};
use super::transition::IncidentChange;
use crate::alert::{AlertChange, AlertRecord, Scope, Severity};
use muster_core::event::{Event, EventAttributes};

/// Channel of all public incidents.
pub const PUBLIC: &str = "incidents";
/// Channel of restricted incidents.
pub const RESTRICTED: &str = "incidents.restricted";
/// Channel of actual public alerts.
pub const ALERTS: &str = "alerts";

/// Returns the channel of one incident.
pub fn own(id: &str) -> String {
    format!("incidents:{id}")
}

const fn shared(audience: Audience) -> Option<&'static str> {
    match audience {
        Audience::Public => Some(PUBLIC),
        Audience::Restricted => Some(RESTRICTED),
        Audience::Private => None,
    }
}

/// Returns the events of a change. If the audience changes, the old channel gets a withdrawal and the new one the full
/// record.
pub fn of(changed: &IncidentChange) -> Vec<Event> {
    let after = &changed.after;
    let now = shared(after.audience());
    let Some(before) = &changed.before else {
        return vec![event("incident.created", after, &[now], &json!(after))];
    };
    let then = shared(before.audience());
    let patch =
        json!({ "id": after.id, "version": after.version, "patch": patch(before, after), "entry": changed.entry });
    if now == then {
        return vec![event(changed.event, after, &[now], &patch)];
    }
    let mut events = Vec::new();
    if then.is_some() {
        let gone = json!({ "id": after.id, "version": after.version });
        events.push(Event::new("incident.withdrawn", after.updated_at, channels(None, &[then]), &gone));
    }
    if now.is_some() {
        events.push(with_attributes(
            after,
            Event::new("incident.created", after.updated_at, channels(None, &[now]), after),
        ));
    }
    events.push(event(changed.event, after, &[None], &patch));
    events
}

fn channels(own: Option<String>, shared: &[Option<&str>]) -> Vec<String> {
    shared.iter().flatten().map(|&name| name.to_owned()).chain(own).collect()
}

fn event(name: &str, incident: &Incident, shared: &[Option<&str>], data: &Value) -> Event {
    with_attributes(incident, Event::new(name, incident.updated_at, channels(Some(own(&incident.id)), shared), data))
}

/// Adds the attributes that subscriptions filter by. A silenced incident is never urgent.
fn with_attributes(incident: &Incident, event: Event) -> Event {
    let severity = incident.severity.map(Severity::rank);
    let event = event.with(EventAttributes {
        bbox: incident.bbox.map(muster_geo::BBox::to_array),
        severity,
        ..EventAttributes::default()
    });
    let silenced = incident.silenced_until.is_some_and(|until| until > incident.updated_at);
    let urgent = incident.severity == Some(Severity::Extreme) && incident.audience() == Audience::Public;
    if urgent && !silenced { event.urgent() } else { event }
}

/// Returns the fields that differ, with their new values.
fn patch(before: &Incident, after: &Incident) -> Map<String, Value> {
    let (Value::Object(before), Value::Object(after)) = (json!(before), json!(after)) else { return Map::new() };
    after.into_iter().filter(|(field, value)| before.get(field) != Some(value)).collect()
}

/// Returns the event of an alert's change. Proposals and alerts that are not public go to the writers of the incident
/// only.
pub fn of_alert(change: &AlertChange) -> Option<Event> {
    let alert = &change.after;
    let name = change.event?;
    let own = alert.incident_id.as_deref().map(own);
    let channels = match alert.scope {
        _ if alert.is_public() => channels(own, &[Some(ALERTS)]),
        Scope::Public | Scope::Restricted => channels(None, &[Some(RESTRICTED)]),
        Scope::Private => channels(own, &[]),
    };
    let mut data = json!(alert);
    if let Some(data) = data.as_object_mut() {
        data.insert("supersedes".to_owned(), json!(change.supersedes));
    }
    let event = Event::new(name, change.at, channels, &data).with(alert_attributes(alert));
    let urgent = alert.is_public() && alert.severity() == Some(Severity::Extreme);
    Some(if urgent { event.urgent() } else { event })
}

fn alert_attributes(alert: &AlertRecord) -> EventAttributes {
    EventAttributes {
        bbox: alert.bbox().map(muster_geo::BBox::to_array),
        severity: alert.severity().map(Severity::rank),
        ..EventAttributes::default()
    }
}
