//! Conversion between records and CAP 1.2 documents.

use muster_cap::{Alert, Area, CapError, CapTime, Info, NamedValue, Status};

use super::area::{geometry, shapes};
use super::record::{AlertInfo, AlertRecord, Origin, Reference};
use super::state::AlertState;
use muster_core::Millis;

/// Returns the document of a record. One that is not released has the status Draft, on which no recipient acts.
///
/// # Errors
/// The record holds something that CAP cannot represent.
pub fn to_xml(record: &AlertRecord) -> Result<String, CapError> {
    Alert {
        identifier: record.identifier.clone(),
        sender: record.sender.clone(),
        sent: CapTime::utc(record.sent.0),
        status: if record.is_draft() { Status::Draft } else { record.status },
        msg_type: record.msg_type,
        source: None,
        scope: record.scope,
        restriction: record.restriction.clone(),
        addresses: record.addresses.clone(),
        codes: Vec::new(),
        note: record.note.clone(),
        references: record.references.iter().map(reference).collect(),
        incidents: record.incident_id.iter().cloned().collect(),
        infos: record.info.iter().map(info).collect(),
    }
    .to_xml()
}

fn reference(reference: &Reference) -> muster_cap::Reference {
    let (sender, identifier) = (reference.sender.clone(), reference.identifier.clone());
    muster_cap::Reference { sender, identifier, sent: CapTime::utc(reference.sent.0) }
}

fn info(info: &AlertInfo) -> Info {
    let time = |at: Option<Millis>| at.map(|at| CapTime::utc(at.0));
    let area = info.area_desc.as_ref().map(|description| {
        let mut area = Area::new(description.clone());
        info.geometry.iter().for_each(|geometry| shapes(geometry, &mut area));
        area.geocodes = info.geocodes.iter().map(|(name, value)| named(name, value)).collect();
        area
    });
    Info {
        language: info.language.clone(),
        categories: info.category.clone(),
        event: info.event.clone(),
        response_types: info.response_types.clone(),
        urgency: info.urgency,
        severity: info.severity,
        certainty: info.certainty,
        audience: info.audience.clone(),
        event_codes: Vec::new(),
        effective: time(info.effective),
        onset: time(info.onset),
        expires: time(info.expires),
        sender_name: info.sender_name.clone(),
        headline: info.headline.clone(),
        description: info.description.clone(),
        instruction: info.instruction.clone(),
        web: info.web.clone(),
        contact: info.contact.clone(),
        parameters: Vec::new(),
        resources: Vec::new(),
        areas: area.into_iter().collect(),
    }
}

fn named(name: &str, value: &str) -> NamedValue {
    NamedValue { name: name.to_owned(), value: value.to_owned() }
}

/// Builds the record of an imported message from its first `info`; the others remain in the stored document.
pub fn from_cap(alert: Alert, id: String, by: &str, now: Millis) -> AlertRecord {
    let references = alert.references.iter().map(|named| Reference {
        sender: named.sender.clone(),
        identifier: named.identifier.clone(),
        sent: Millis(named.sent.millis()),
    });
    AlertRecord {
        id,
        incident_id: None,
        origin: Origin::Imported,
        state: AlertState::Stored,
        references: references.collect(),
        identifier: alert.identifier,
        sender: alert.sender,
        sent: Millis(alert.sent.millis()),
        msg_type: alert.msg_type,
        status: alert.status,
        scope: alert.scope,
        restriction: alert.restriction,
        addresses: alert.addresses,
        note: alert.note,
        incidents: alert.incidents,
        info: alert.infos.into_iter().next().map(imported),
        made_by: by.to_owned(),
        made_at: now,
        decided_by: None,
        reason: None,
        waits_until: None,
        waits_for: None,
        approval_id: None,
        version: 1,
    }
}

fn imported(info: Info) -> AlertInfo {
    let time = |at: Option<CapTime>| at.map(|at| Millis(at.millis()));
    let geometry = geometry(&info.areas);
    let descriptions: Vec<&str> = info.areas.iter().map(|area| area.description.as_str()).collect();
    let geocodes = info.areas.iter().flat_map(|area| &area.geocodes);
    AlertInfo {
        area_desc: Some(descriptions.join("; ")).filter(|area| !area.is_empty()),
        geocodes: geocodes.map(|code| (code.name.clone(), code.value.clone())).collect(),
        bbox: geometry.as_ref().and_then(|geometry| geometry.bbox().ok()),
        geometry,
        language: info.language,
        event: info.event,
        category: info.categories,
        response_types: info.response_types,
        urgency: info.urgency,
        severity: info.severity,
        certainty: info.certainty,
        audience: info.audience,
        effective: time(info.effective),
        onset: time(info.onset),
        expires: time(info.expires),
        sender_name: info.sender_name,
        headline: info.headline,
        description: info.description,
        instruction: info.instruction,
        web: info.web,
        contact: info.contact,
    }
}
