//! What may be said of an incident, at its report and later. A field that is left out stays as it is.

use muster_geo::Geometry;

use super::access::require_operator;
use super::checks::Checks;
use super::fields::{Attachment, Casualties, Geocode, PriorityOverride, Visibility};
use super::geometry;
use super::kind::IncidentKind;
use super::record::Incident;
use crate::alert::{Category, Certainty, Severity, Urgency};
use muster_core::{Error, Millis};
use muster_identity::By;

/// Of a field that may be cleared: left out, cleared, or set.
pub type Clearable<T> = Option<Option<T>>;

/// Changes of an incident's fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IncidentEdit {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub kind: Option<IncidentKind>,
    pub category: Option<Vec<Category>>,
    pub severity: Option<Severity>,
    pub urgency: Option<Urgency>,
    pub certainty: Option<Certainty>,
    pub ics_type: Option<u8>,
    /// Cleared, the priority is computed again.
    pub priority: Clearable<PriorityOverride>,
    pub visibility: Option<Visibility>,
    pub addresses: Option<Vec<String>>,
    pub geometry: Clearable<Geometry>,
    pub area_desc: Clearable<String>,
    pub geocodes: Option<Vec<Geocode>>,
    pub onset: Clearable<Millis>,
    pub effective: Clearable<Millis>,
    pub expires: Clearable<Millis>,
    pub instruction: Clearable<String>,
    pub organisations: Option<Vec<String>>,
    pub device_ids: Option<Vec<String>>,
    pub parent_id: Clearable<String>,
    pub casualties: Option<Casualties>,
    pub tags: Option<Vec<String>>,
    pub attachments: Option<Vec<Attachment>>,
}

fn put<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

impl IncidentEdit {
    /// Sets the fields of a record. A category that is not said follows from the kind.
    ///
    /// # Errors
    /// `Invalid` with every failed check; `Forbidden` where one may not say who sees it.
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
