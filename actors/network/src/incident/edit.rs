//! Editable fields of an incident, in its report and later.

use muster_geo::Geometry;

use super::access::require_operator;
use super::alert_texts::AlertTexts;
use super::checks::Checks;
use super::fields::{Attachment, Casualties, Geocode, PriorityOverride, Visibility};
use super::geometry;
use super::kind::IncidentKind;
use super::record::Incident;
use crate::alert::{Category, Certainty, Severity, Urgency};
use muster_core::{Error, Millis};
use muster_identity::By;

/// Change of a clearable field: left as it is, cleared or set.
pub type Clearable<T> = Option<Option<T>>;

/// A requested change of an incident's fields, with what is said about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EditRequest {
    /// The fields.
    pub edit: IncidentEdit,
    /// Note of the timeline.
    pub note: Option<String>,
    /// Texts of the Update that the change causes.
    pub alert: AlertTexts,
}

impl From<IncidentEdit> for EditRequest {
    fn from(edit: IncidentEdit) -> Self {
        Self { edit, ..Self::default() }
    }
}

/// Changes of an incident's fields; see [`Incident`]. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IncidentEdit {
    /// Title, one line.
    pub title: Option<String>,
    /// Summary.
    pub summary: Option<String>,
    /// Kind.
    pub kind: Option<IncidentKind>,
    /// CAP categories, 1 to 12.
    pub category: Option<Vec<Category>>,
    /// Severity.
    pub severity: Option<Severity>,
    /// Urgency.
    pub urgency: Option<Urgency>,
    /// Certainty.
    pub certainty: Option<Certainty>,
    /// ICS type, 5 (least) to 1.
    pub ics_type: Option<u8>,
    /// Priority set by a person; if cleared, it is computed.
    pub priority: Clearable<PriorityOverride>,
    /// Visibility.
    pub visibility: Option<Visibility>,
    /// Users that may see a private incident.
    pub addresses: Option<Vec<String>>,
    /// Area or point.
    pub geometry: Clearable<Geometry>,
    /// Description of the area.
    pub area_desc: Clearable<String>,
    /// Codes of the area.
    pub geocodes: Option<Vec<Geocode>>,
    /// Expected onset.
    pub onset: Clearable<Millis>,
    /// Start of validity.
    pub effective: Clearable<Millis>,
    /// End of validity.
    pub expires: Clearable<Millis>,
    /// Instruction for the people affected.
    pub instruction: Clearable<String>,
    /// Organisations involved.
    pub organisations: Option<Vec<String>>,
    /// Devices concerned.
    pub device_ids: Option<Vec<String>>,
    /// Incident of which this one is a part.
    pub parent_id: Clearable<String>,
    /// Casualties.
    pub casualties: Option<Casualties>,
    /// Tags; replaces all.
    pub tags: Option<Vec<String>>,
    /// Attachments; replaces all.
    pub attachments: Option<Vec<Attachment>>,
}

fn put<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

impl IncidentEdit {
    /// Applies the changes. A category that is not set follows from the kind.
    ///
    /// # Errors
    /// `Invalid` with every failed check; `Forbidden` if the caller may not change the visibility.
    pub(super) fn apply(self, incident: &mut Incident, by: &By) -> Result<(), Error> {
        if self.visibility.is_some() || self.addresses.is_some() {
            require_operator(by)?;
        }
        let mut checks = Checks::default();
        self.check(&mut checks);
        if let Some(set) = &self.geometry {
            geometry::set(incident, set.clone(), &mut checks);
        }
        if let Some(kind) = self.kind
            && self.category.is_none()
        {
            incident.category = kind.categories().to_vec();
        }
        put(&mut incident.title, self.title);
        put(&mut incident.summary, self.summary);
        put(&mut incident.kind, self.kind);
        put(&mut incident.category, self.category);
        incident.severity = self.severity.or(incident.severity);
        incident.urgency = self.urgency.or(incident.urgency);
        incident.certainty = self.certainty.or(incident.certainty);
        put(&mut incident.ics_type, self.ics_type);
        put(&mut incident.priority_override, self.priority);
        put(&mut incident.visibility, self.visibility);
        put(&mut incident.addresses, self.addresses);
        put(&mut incident.area_desc, self.area_desc);
        put(&mut incident.geocodes, self.geocodes);
        put(&mut incident.onset, self.onset);
        put(&mut incident.effective, self.effective);
        put(&mut incident.expires, self.expires);
        put(&mut incident.instruction, self.instruction);
        put(&mut incident.organisations, self.organisations);
        put(&mut incident.device_ids, self.device_ids);
        put(&mut incident.parent_id, self.parent_id);
        put(&mut incident.casualties, self.casualties);
        put(&mut incident.tags, self.tags);
        put(&mut incident.attachments, self.attachments);
        incident.prioritize();
        checks.ordered("expires", incident.onset, incident.expires);
        checks.ordered("expires", incident.effective, incident.expires);
        checks.that(
            incident.parent_id.as_deref() != Some(&incident.id),
            "parent_id",
            "an incident is not its own part",
        );
        checks.done()
    }

    fn check(&self, checks: &mut Checks) {
        for (field, line) in [("title", self.title.as_ref()), ("area_desc", flat(&self.area_desc))] {
            line.iter().for_each(|line| checks.line(field, line));
        }
        for (field, text) in [("summary", self.summary.as_ref()), ("instruction", flat(&self.instruction))] {
            text.iter().for_each(|text| checks.text(field, text));
        }
        for (field, lines) in [("tags", &self.tags), ("organisations", &self.organisations)] {
            lines.iter().for_each(|lines| checks.lines(field, lines));
        }
        if let Some(category) = &self.category {
            checks.that((1..=12).contains(&category.len()), "category", "must be 1 to 12");
        }
        if let Some(kind) = self.ics_type {
            checks.that((1..=5).contains(&kind), "ics_type", "must be 1 to 5");
        }
        if let Some(Some(set)) = &self.priority {
            checks.that(set.value <= 100, "priority.value", "must be 0 to 100");
            checks.text("priority.reason", &set.reason);
        }
        self.addresses.iter().for_each(|ids| checks.ids("addresses", "usr_", ids));
        self.device_ids.iter().for_each(|ids| checks.ids("device_ids", "dev_", ids));
        flat(&self.parent_id).iter().for_each(|id| checks.id("parent_id", "inc_", id));
        for code in self.geocodes.iter().flatten() {
            checks.line("geocodes", &code.scheme);
            checks.line("geocodes", &code.value);
        }
        for attachment in self.attachments.iter().flatten() {
            checks.line("attachments", &attachment.name);
            let fits = attachment.uri.len() <= 2_000 && attachment.uri.starts_with("https://");
            checks.that(fits, "attachments", "a uri must begin with https:// and be at most 2,000 characters");
        }
        for (field, len) in [
            ("geocodes", self.geocodes.as_ref().map_or(0, Vec::len)),
            ("attachments", self.attachments.as_ref().map_or(0, Vec::len)),
        ] {
            checks.that(len <= super::checks::LIST, field, "must be at most 100");
        }
    }
}

fn flat<T>(set: &Clearable<T>) -> Option<&T> {
    set.as_ref().and_then(Option::as_ref)
}
