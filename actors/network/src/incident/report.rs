//! Reports: a new incident, or one more report of an open one. Pure.

use serde_json::json;

use super::act::{Changed, entry};
use super::checks::Checks;
use super::edit::Edit;
use super::kind::IncidentKind;
use super::moves::State;
use super::parts::{CapLink, Casualties, Via, Visibility};
use super::plan::Plan;
use super::record::Incident;
use super::state::{Asked, Network};
use super::timeline::Entry;
use crate::alert::Status;
use muster_core::Error;
use muster_core::ids::IdKind;
use muster_core::principal::Permission;
use muster_identity::By;

/// Reports of one incident that its timeline keeps; those beyond are only counted.
const MAX_TOLD: u64 = 1_000;

/// An incident as it is reported.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Title and kind are needed.
    pub said: Edit,
    pub dedup_key: Option<String>,
    pub status: Option<Status>,
    pub via: Option<Via>,
    pub source_ref: Option<String>,
    pub commander: Option<String>,
    pub assignees: Vec<String>,
}

/// What came of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reported {
    pub(super) id: String,
    /// It is one more report of an incident that was there.
    pub(super) attached: bool,
}

impl Network {
    /// # Errors
    /// `Forbidden`, or `Invalid` with every failed check.
    pub(super) fn report(&self, report: Report, asked: Asked<'_>) -> Result<(Plan, Reported), Error> {
        if let By::Person(_) = asked.by {
            asked.by.require(Permission::IncidentsWrite)?;
        }
        check(&report)?;
        let open = report.dedup_key.as_deref().and_then(|key| self.open_of(key, asked.by));
        let (changed, attached) = match open {
            Some(open) => (attach(open, report, asked), true),
            None => (self.create(report, asked)?, false),
        };
        let reported = Reported { id: changed.after.id.clone(), attached };
        Ok((Plan::of(changed), reported))
    }

    pub(super) fn create(&self, report: Report, asked: Asked<'_>) -> Result<Changed, Error> {
        let by = asked.by.id();
        let mut incident = blank((asked.new_id)(IdKind::Incident), self.number(asked.now), asked);
        incident.dedup_key = report.dedup_key;
        incident.status = report.status.unwrap_or(Status::Actual);
        // A device cannot pass for another source.
        if !matches!(asked.by, By::Device(_)) {
            incident.reported_via = report.via.unwrap_or(incident.reported_via);
        }
        incident.source_ref = report.source_ref;
        incident.commander = report.commander;
        incident.assignees = report.assignees;
        // Who may only write to what is assigned to it goes on with what it reported.
        if matches!(asked.by, By::Person(person) if person.role == muster_core::principal::UserRole::Responder)
            && !incident.works(by)
        {
            incident.assignees.push(by.to_owned());
        }
        report.said.apply(&mut incident, &By::System)?;
        let entry = Entry {
            seq: 1,
            at: asked.now,
            actor: by.to_owned(),
            kind: "report".to_owned(),
            from: None,
            to: Some(State::Reported),
            note: None,
            data: json!({ "via": incident.reported_via, "source_ref": incident.source_ref }),
        };
        Ok(Changed { before: None, after: incident, entry: Some(entry), event: "incident.created" })
    }
}

/// One more report of an incident: told in its timeline and counted, nothing else of it changes.
pub(super) fn attach(open: &std::sync::Arc<Incident>, report: Report, asked: Asked<'_>) -> Changed {
    let mut after = open.advanced(asked.now);
    after.reports += 1;
    let told = after.reports <= MAX_TOLD;
    if !told {
        after.timeline_seq = open.timeline_seq;
    }
    let data = json!({ "title": report.said.title, "source_ref": report.source_ref, "reports": after.reports });
    let entry = told.then(|| entry(open, &after, asked.by, "attach", report.said.summary, data));
    Changed { before: Some(open.clone()), after, entry, event: "incident.attached" }
}

fn check(report: &Report) -> Result<(), Error> {
    let mut checks = Checks::default();
    checks.that(report.said.title.is_some(), "title", "is required");
    checks.that(report.said.kind.is_some(), "kind", "is required");
    for (field, line) in [("dedup_key", &report.dedup_key), ("source_ref", &report.source_ref)] {
        line.iter().for_each(|line| checks.line(field, line));
    }
    report.commander.iter().for_each(|id| checks.id("commander", "usr_", id));
    checks.ids("assignees", "usr_", &report.assignees);
    checks.done()
}

fn blank(id: String, number: String, asked: Asked<'_>) -> Incident {
    let via = match asked.by {
        By::Person(_) => Via::Operator,
        By::Device(_) => Via::Device,
        By::Key(_) | By::System => Via::Agent,
    };
    Incident {
        id,
        number,
        dedup_key: None,
        title: String::new(),
        summary: String::new(),
        kind: IncidentKind::Other,
        category: Vec::new(),
        severity: None,
        urgency: None,
        certainty: None,
        ics_type: 5,
        priority: 0,
        priority_override: None,
        status: Status::Actual,
        state: State::Reported,
        state_since: asked.now,
        visibility: Visibility::Public,
        addresses: Vec::new(),
        geometry: None,
        area_desc: None,
        geocodes: Vec::new(),
        bbox: None,
        h3: Vec::new(),
        onset: None,
        effective: None,
        expires: None,
        instruction: None,
        reported_by: asked.by.id().to_owned(),
        reported_via: via,
        source_ref: None,
        reports: 1,
        commander: None,
        assignees: Vec::new(),
        organisations: Vec::new(),
        resources: Vec::new(),
        device_ids: Vec::new(),
        parent_id: None,
        duplicate_of: None,
        cap: CapLink::default(),
        casualties: Casualties::default(),
        tags: Vec::new(),
        attachments: Vec::new(),
        ack: None,
        silenced_until: None,
        timeline_seq: 1,
        version: 1,
        created_at: asked.now,
        updated_at: asked.now,
        closed_at: None,
    }
}
