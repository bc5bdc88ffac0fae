//! CAP messages of an incident: the first Alert, Updates for material changes, the Cancel and the AllClear. Pure; it
//! also decides who may send them and whether a second person has to confirm.

use super::checks::Checks;
use super::lifecycle::Action;
use super::record::{Audience, Incident};
use super::settings::IncidentSettings;
use crate::alert::{
    AlertChange, AlertInfo, AlertRecord, AlertState, MsgType, Origin, ResponseType, Scope, Severity, Status, Urgency,
};
use muster_core::principal::Permission;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Content of an alert as drafted by a person; fields that are not set follow from the incident.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// CAP scope.
    pub scope: Option<Scope>,
    /// Restriction; required by the scope Restricted.
    pub restriction: Option<String>,
    /// Addressees; required by the scope Private.
    pub addresses: Vec<String>,
    /// Note of the message.
    pub note: Option<String>,
    /// Language tag, such as `en-US`.
    pub language: Option<String>,
    /// Recommended responses.
    pub response_types: Vec<ResponseType>,
    /// Intended audience.
    pub audience: Option<String>,
    /// Headline.
    pub headline: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Instruction.
    pub instruction: Option<String>,
    /// Expiry.
    pub expires: Option<Millis>,
    /// Address of further information, `https://…`.
    pub web: Option<String>,
    /// Contact.
    pub contact: Option<String>,
}

impl Draft {
    /// # Errors
    /// `Invalid` with every failed check.
    pub(super) fn check(&self, incident: &Incident, now: Millis) -> Result<(), Error> {
        let mut checks = Checks::default();
        let lines = [
            ("restriction", &self.restriction),
            ("audience", &self.audience),
            ("headline", &self.headline),
            ("contact", &self.contact),
        ];
        lines.iter().for_each(|(field, line)| line.iter().for_each(|line| checks.line(field, line)));
        let texts = [("note", &self.note), ("description", &self.description), ("instruction", &self.instruction)];
        texts.iter().for_each(|(field, text)| text.iter().for_each(|text| checks.text(field, text)));
        checks.lines("addresses", &self.addresses);
        let scope = self.scope.unwrap_or(Scope::Public);
        checks.that(scope != Scope::Restricted || self.restriction.is_some(), "restriction", "says whom it is for");
        checks.that(scope != Scope::Private || !self.addresses.is_empty(), "addresses", "says whom it is for");
        let tag =
            |tag: &String| (2..=35).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        checks.that(self.language.as_ref().is_none_or(tag), "language", "must be a tag such as en-US");
        checks.that(self.web.as_ref().is_none_or(|web| web.starts_with("https://")), "web", "must begin with https://");
        checks.that(self.expires.is_none_or(|expires| expires > now), "expires", "must be to come");
        let place = incident.area_desc.is_some() || incident.geometry.is_some();
        checks.that(place, "area", "the incident has neither `area_desc` nor `geometry`: an alert says where it holds");
        checks.done()
    }
}

/// Checks that an alert with this scope may be published for an incident.
///
/// # Errors
/// `Conflict` if the incident is not actual, not assessed, or not visible to the scope's audience.
pub(super) fn require_publishable(incident: &Incident, scope: Scope) -> Result<(), Error> {
    if incident.status != Status::Actual {
        let message = format!("an incident of status {} is never published", incident.status.name());
        return Err(Error::new(Kind::Conflict, message).coded("not_actual"));
    }
    incident.state.require(Action::Publish)?;
    if incident.severity.is_none() || incident.urgency.is_none() || incident.certainty.is_none() {
        let message = "severity, urgency and certainty are not all set: triage or change the incident first";
        return Err(Error::new(Kind::Conflict, message).coded("not_assessed"));
    }
    if scope == Scope::Public && incident.audience() != Audience::Public {
        let message = "the incident is not public: publish with a narrower scope, or make it public first";
        return Err(Error::new(Kind::Conflict, message).coded("not_public"));
    }
    Ok(())
}

/// Builds the messages of one change.
#[derive(Debug)]
pub(super) struct AlertBuilder<'a> {
    pub(super) by: &'a By,
    pub(super) now: Millis,
    pub(super) settings: &'a IncidentSettings,
    /// Identifier of the new message.
    pub(super) id: String,
}

impl AlertBuilder<'_> {
    /// Builds the first Alert, or an Update of the current one, from a draft.
    pub(super) fn build(&self, incident: &Incident, draft: Draft, live: Option<&AlertRecord>) -> AlertRecord {
        let scope = draft.scope.or(live.map(|live| live.scope)).unwrap_or(Scope::Public);
        let mut info = self.info(incident);
        info.language = draft.language.unwrap_or(info.language);
        info.response_types = draft.response_types;
        info.audience = draft.audience;
        info.headline = draft.headline.or(info.headline);
        info.description = draft.description.or(info.description);
        info.instruction = draft.instruction.or(info.instruction);
        info.expires = draft.expires.or(info.expires);
        (info.web, info.contact) = (draft.web, draft.contact);
        let mut alert = self.message(incident, MsgType::Alert, info);
        (alert.scope, alert.restriction, alert.addresses, alert.note) =
            (scope, draft.restriction, draft.addresses, draft.note);
        if let Some(live) = live {
            append_to_chain(&mut alert, live, MsgType::Update);
        }
        alert
    }

    /// Builds an Update of the current alert with the material fields of the incident.
    pub(super) fn update(&self, before: &Incident, after: &Incident, live: &AlertRecord) -> AlertRecord {
        let fresh = self.info(after);
        let mut info = live.info.clone().unwrap_or_else(|| fresh.clone());
        (info.severity, info.urgency, info.certainty) = (fresh.severity, fresh.urgency, fresh.certainty);
        (info.area_desc, info.geometry, info.bbox, info.geocodes) =
            (fresh.area_desc, fresh.geometry, fresh.bbox, fresh.geocodes);
        if before.expires != after.expires {
            info.expires = fresh.expires;
        }
        if before.instruction != after.instruction {
            info.instruction = fresh.instruction;
        }
        self.after(after, live, MsgType::Update, info)
    }

    /// Builds the all-clear: an Update with urgency Past and response AllClear.
    pub(super) fn all_clear(&self, incident: &Incident, live: &AlertRecord) -> AlertRecord {
        let mut info = live.info.clone().unwrap_or_else(|| self.info(incident));
        info.urgency = Urgency::Past;
        info.response_types = vec![ResponseType::AllClear];
        info.expires = Some(self.now.plus(self.settings.alert_for));
        self.after(incident, live, MsgType::Update, info)
    }

    /// Builds a Cancel.
    pub(super) fn cancel(&self, incident: &Incident, live: &AlertRecord, why: Option<String>) -> AlertRecord {
        let info = live.info.clone().unwrap_or_else(|| self.info(incident));
        let mut alert = self.after(incident, live, MsgType::Cancel, info);
        alert.note = why;
        alert
    }

    /// Returns whether a second person has to confirm a message: severe public ones, and those caused by a person who
    /// may not publish.
    pub(super) fn needs_confirmation(&self, alert: &AlertRecord) -> bool {
        let grave = alert.severity().is_some_and(|severity| severity.rank() >= Severity::Severe.rank());
        (grave && alert.scope == Scope::Public) || !self.by.may(Permission::AlertsPublish)
    }

    /// Turns a message into a proposal.
    pub(super) fn propose(&self, mut alert: AlertRecord) -> AlertChange {
        alert.state = AlertState::PendingSecond;
        alert.waits_until = Some(self.now.plus(self.settings.confirm_within));
        AlertChange::new(alert, self.now, Some("alert.pending"))
    }

    fn after(&self, incident: &Incident, live: &AlertRecord, kind: MsgType, info: AlertInfo) -> AlertRecord {
        let mut alert = self.message(incident, kind, info);
        (alert.scope, alert.restriction, alert.addresses) =
            (live.scope, live.restriction.clone(), live.addresses.clone());
        append_to_chain(&mut alert, live, kind);
        alert
    }

    fn message(&self, incident: &Incident, msg_type: MsgType, info: AlertInfo) -> AlertRecord {
        AlertRecord {
            id: self.id.clone(),
            incident_id: Some(incident.id.clone()),
            origin: Origin::Published,
            state: AlertState::Published,
            identifier: self.id.clone(),
            sender: self.settings.sender.clone(),
            sent: to_seconds(self.now),
            msg_type,
            status: incident.status,
            scope: Scope::Public,
            restriction: None,
            addresses: Vec::new(),
            references: Vec::new(),
            note: None,
            incidents: Vec::new(),
            info: Some(info),
            made_by: self.by.id().to_owned(),
            made_at: self.now,
            decided_by: None,
            reason: None,
            waits_until: None,
            version: 1,
        }
    }

    fn info(&self, incident: &Incident) -> AlertInfo {
        AlertInfo {
            language: "en-US".to_owned(),
            event: incident.kind.event().to_owned(),
            category: incident.category.clone(),
            response_types: Vec::new(),
            urgency: incident.urgency.unwrap_or(Urgency::Unknown),
            severity: incident.severity.unwrap_or(Severity::Unknown),
            certainty: incident.certainty.unwrap_or(crate::alert::Certainty::Unknown),
            audience: None,
            effective: incident.effective.map(to_seconds),
            onset: incident.onset.map(to_seconds),
            expires: incident.expires.or(Some(self.now.plus(self.settings.alert_for))).map(to_seconds),
            sender_name: Some(self.settings.sender_name.clone()),
            headline: Some(incident.title.clone()),
            description: Some(incident.summary.clone()).filter(|summary| !summary.is_empty()),
            instruction: incident.instruction.clone(),
            web: None,
            contact: None,
            area_desc: Some(incident.area_desc.clone().unwrap_or_else(|| incident.title.clone())),
            geometry: incident.geometry.clone(),
            bbox: incident.bbox,
            geocodes: incident.geocodes.iter().map(|code| (code.scheme.clone(), code.value.clone())).collect(),
        }
    }

    /// Builds a message with the status Draft for an incident without one.
    pub(super) fn preview(&self, incident: &Incident) -> AlertRecord {
        let mut alert = self.message(incident, MsgType::Alert, self.info(incident));
        alert.status = Status::Draft;
        alert
    }
}

/// Truncates a time to seconds, because CAP times have no fractions.
pub(super) fn to_seconds(at: Millis) -> Millis {
    Millis(at.0 / 1000 * 1000)
}

/// Makes a message the next of a chain: it refers to every message before it.
fn append_to_chain(alert: &mut AlertRecord, live: &AlertRecord, kind: MsgType) {
    alert.msg_type = kind;
    alert.references = live.references.iter().cloned().chain([live.reference()]).collect();
}

/// Returns whether a change requires an Update: severity, area, expiry or instruction.
pub(super) fn is_material(before: &Incident, after: &Incident) -> bool {
    before.severity != after.severity
        || before.geometry != after.geometry
        || before.area_desc != after.area_desc
        || before.geocodes != after.geocodes
        || before.expires != after.expires
        || before.instruction != after.instruction
}
