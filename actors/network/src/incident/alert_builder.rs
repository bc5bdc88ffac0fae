//! CAP messages of an incident: the first Alert, Updates for material changes, the Cancel and the AllClear. Pure; who
//! publishes them is decided by their release.

use super::alert_texts::AlertTexts;
use super::checks::Checks;
use super::lifecycle::Action;
use super::record::{Audience, Incident};
use super::settings::IncidentSettings;
use crate::alert::{
    AlertInfo, AlertRecord, AlertState, MsgType, Occasion, Origin, ResponseType, Scope, Severity, Status, Urgency, end,
    has_point, update_headline, with_radius,
};
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Content of an alert as drafted by a person; what is not set follows from the incident.
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
    /// Recommended responses.
    pub response_types: Vec<ResponseType>,
    /// Radius of an area that is a point, in metres.
    pub radius_m: Option<f64>,
    /// Texts.
    pub texts: AlertTexts,
}

/// Radii that a person may set, in metres.
const RADIUS_M: std::ops::RangeInclusive<f64> = 1.0..=1_000_000.0;

impl Draft {
    /// # Errors
    /// `Invalid` with every failed check.
    pub(super) fn check(&self, incident: &Incident, now: Millis) -> Result<(), Error> {
        let mut checks = Checks::default();
        self.restriction.iter().for_each(|line| checks.line("restriction", line));
        self.note.iter().for_each(|text| checks.text("note", text));
        checks.lines("addresses", &self.addresses);
        let scope = self.scope.unwrap_or(Scope::Public);
        checks.that(scope != Scope::Restricted || self.restriction.is_some(), "restriction", "says whom it is for");
        checks.that(scope != Scope::Private || !self.addresses.is_empty(), "addresses", "says whom it is for");
        self.texts.check(&mut checks, "", now);
        let place = incident.area_desc.is_some() || incident.geometry.is_some();
        checks.that(place, "area", "the incident has neither `area_desc` nor `geometry`: an alert says where it holds");
        if let Some(radius) = self.radius_m {
            checks.that(RADIUS_M.contains(&radius), "radius_m", "must be 1 to 1,000,000 metres");
            let point = incident.geometry.as_ref().is_some_and(has_point);
            checks.that(point, "radius_m", "is for an incident at a point: the area of this one has no point");
        }
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
        let mut info = self.info(incident, draft.radius_m);
        info.response_types = draft.response_types;
        let titled = draft.texts.headline.is_some();
        draft.texts.apply(&mut info);
        if live.is_some() && !titled {
            info.headline = Some(update_headline(&info.language, &incident.title));
        }
        let mut alert = self.message(incident, MsgType::Alert, info);
        (alert.scope, alert.restriction, alert.addresses, alert.note) =
            (scope, draft.restriction, draft.addresses, draft.note);
        if let Some(live) = live {
            append_to_chain(&mut alert, live, MsgType::Update);
        }
        alert
    }

    /// Builds an Update of the current alert with the material fields of the incident.
    pub(super) fn update(
        &self,
        before: &Incident,
        after: &Incident,
        live: &AlertRecord,
        texts: AlertTexts,
    ) -> AlertRecord {
        let fresh = self.info(after, None);
        let mut info = live.info.clone().unwrap_or_else(|| fresh.clone());
        (info.severity, info.urgency, info.certainty) = (fresh.severity, fresh.urgency, fresh.certainty);
        (info.area_desc, info.geocodes) = (fresh.area_desc, fresh.geocodes);
        // An area that did not change keeps the radius that a person set.
        if before.geometry != after.geometry {
            (info.geometry, info.bbox) = (fresh.geometry, fresh.bbox);
        }
        if before.expires != after.expires {
            info.expires = fresh.expires;
        }
        if before.instruction != after.instruction {
            info.instruction = fresh.instruction;
        }
        let headline = info.headline.take().unwrap_or_else(|| after.title.clone());
        info.headline = Some(update_headline(&info.language, &headline));
        texts.apply(&mut info);
        self.after(after, live, MsgType::Update, info)
    }

    /// Builds the message that ends an alert, with words of its own: an Update with the response AllClear if the danger
    /// is over, otherwise a Cancel. Its severity is that of the alert, so that who filtered by it receives the end too.
    pub(super) fn end(
        &self,
        incident: &Incident,
        live: &AlertRecord,
        occasion: Occasion,
        texts: AlertTexts,
    ) -> AlertRecord {
        let mut info = live.info.clone().unwrap_or_else(|| self.info(incident, None));
        let language = texts.language.as_deref().unwrap_or(&info.language);
        let first = live.references.first().map_or(live.sent, |first| first.sent);
        let words = end(occasion, language, incident.kind, &info, first);
        info.headline = Some(words.headline);
        info.description = Some(words.description);
        info.instruction = Some(words.instruction);
        info.response_types = match occasion {
            Occasion::AllClear | Occasion::FalseAlarm => vec![ResponseType::AllClear],
            Occasion::Canceled => vec![ResponseType::None],
            Occasion::Duplicate => vec![ResponseType::Monitor],
        };
        if occasion != Occasion::Duplicate {
            info.urgency = Urgency::Past;
        }
        let announced = to_seconds(self.now.plus(self.settings.alert_for));
        info.expires = Some(live.expires().map_or(announced, |expires| expires.max(announced)));
        let titled = texts.headline.is_some();
        texts.apply(&mut info);
        if !titled {
            // The language of the words, which is not always the one that was wished.
            info.language = words.language;
        }
        let kind = if occasion == Occasion::AllClear { MsgType::Update } else { MsgType::Cancel };
        self.after(incident, live, kind, info)
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
            // Only its release publishes it.
            state: AlertState::PendingSecond,
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
            waits_for: None,
            approval_id: None,
            version: 1,
        }
    }

    /// Returns the content that follows from an incident. An alert holds in an area, so a point gets a radius: the given
    /// one or that of the incident's kind.
    fn info(&self, incident: &Incident, radius_m: Option<f64>) -> AlertInfo {
        let radius_m = radius_m.unwrap_or_else(|| self.settings.point_radius_m.of(incident.kind).into());
        let geometry = incident.geometry.as_ref().map(|geometry| with_radius(geometry, radius_m));
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
            bbox: geometry.as_ref().and_then(|geometry| geometry.bbox().ok()),
            geometry,
            geocodes: incident.geocodes.iter().map(|code| (code.scheme.clone(), code.value.clone())).collect(),
        }
    }

    /// Builds a message with the status Draft for an incident without one.
    pub(super) fn preview(&self, incident: &Incident) -> AlertRecord {
        let mut alert = self.message(incident, MsgType::Alert, self.info(incident, None));
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
