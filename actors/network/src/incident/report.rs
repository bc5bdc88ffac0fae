//! Reports: a new incident, or a further report of an open one. Pure.

use serde_json::json;

use super::checks::Checks;
use super::edit::IncidentEdit;
use super::fields::{CapLink, Casualties, ReportedVia, Visibility};
use super::kind::IncidentKind;
use super::lifecycle::State;
use super::plan::Plan;
use super::record::Incident;
use super::state::{IncidentRegistry, RequestContext};
use super::timeline::TimelineEntry;
use super::transition::{IncidentChange, entry};
use crate::alert::Status;
use muster_core::Error;
use muster_core::ids::IdKind;
use muster_core::principal::Permission;
use muster_identity::By;

/// Largest number of reports in one timeline; further ones are only counted.
const MAX_TIMELINE_REPORTS: u64 = 1_000;

/// A report of an incident.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewReport {
    /// Fields; title and kind are required.
    pub fields: IncidentEdit,
    /// Key by which further reports attach to the open incident.
    pub dedup_key: Option<String>,
    /// CAP status; actual by default.
    pub status: Option<Status>,
    /// How it was reported; devices cannot set it.
    pub via: Option<ReportedVia>,
    /// Identifier in the reporter's system.
    pub source_ref: Option<String>,
    /// Commander, `usr_…`.
    pub commander: Option<String>,
    /// Assignees, `usr_…`.
    pub assignees: Vec<String>,
}

/// Outcome of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportOutcome {
    pub(super) id: String,
    /// Whether it was attached to an existing incident.
    pub(super) attached: bool,
}

impl IncidentRegistry {
    /// # Errors
    /// `Forbidden`, or `Invalid` with every failed check.
    pub(super) fn report(
        &self,
        report: NewReport,
        context: RequestContext<'_>,
    ) -> Result<(Plan, ReportOutcome), Error> {
        if let By::Person(_) = context.by {
            context.by.require(Permission::IncidentsWrite)?;
        }
        check(&report)?;
        let open = report.dedup_key.as_deref().and_then(|key| self.open_of(key, context.by));
        let (changed, attached) = match open {
            Some(open) => (attach(open, report, context), true),
            None => (self.create(report, context)?, false),
        };
        let reported = ReportOutcome { id: changed.after.id.clone(), attached };
        Ok((Plan::of(changed), reported))
    }

    pub(super) fn create(&self, report: NewReport, context: RequestContext<'_>) -> Result<IncidentChange, Error> {
        let by = context.by.id();
        let mut incident = blank((context.new_id)(IdKind::Incident), self.number(context.now), context);
        incident.dedup_key = report.dedup_key;
        incident.status = report.status.unwrap_or(Status::Actual);
        // A device cannot claim another source.
        if !matches!(context.by, By::Device(_)) {
            incident.reported_via = report.via.unwrap_or(incident.reported_via);
        }
        incident.source_ref = report.source_ref;
        incident.commander = report.commander;
        incident.assignees = report.assignees;
        // A responder may write only to assigned incidents, so it is assigned to what it reports.
        if matches!(context.by, By::Person(person) if person.role == muster_core::principal::UserRole::Responder)
            && !incident.is_assigned(by)
        {
            incident.assignees.push(by.to_owned());
        }
        report.fields.apply(&mut incident, &By::System)?;
        let entry = TimelineEntry {
            seq: 1,
            at: context.now,
            actor: by.to_owned(),
            kind: "report".to_owned(),
            from: None,
            to: Some(State::Reported),
            note: None,
            data: json!({ "via": incident.reported_via, "source_ref": incident.source_ref }),
        };
        Ok(IncidentChange { before: None, after: incident, entry: Some(entry), event: "incident.created" })
    }
}

/// Attaches a further report to an incident: an entry in its timeline and its count, nothing else changes.
pub(super) fn attach(
    open: &std::sync::Arc<Incident>,
    report: NewReport,
    context: RequestContext<'_>,
) -> IncidentChange {
    let mut after = open.next_version(context.now);
    after.reports += 1;
    let listed = after.reports <= MAX_TIMELINE_REPORTS;
    if !listed {
        after.timeline_seq = open.timeline_seq;
    }
    let data = json!({ "title": report.fields.title, "source_ref": report.source_ref, "reports": after.reports });
    let entry = listed.then(|| entry(open, &after, context.by, "attach", report.fields.summary, data));
    IncidentChange { before: Some(open.clone()), after, entry, event: "incident.attached" }
}

fn check(report: &NewReport) -> Result<(), Error> {
    let mut checks = Checks::default();
    checks.that(report.fields.title.is_some(), "title", "is required");
    checks.that(report.fields.kind.is_some(), "kind", "is required");
    for (field, line) in [("dedup_key", &report.dedup_key), ("source_ref", &report.source_ref)] {
        line.iter().for_each(|line| checks.line(field, line));
    }
    report.commander.iter().for_each(|id| checks.id("commander", "usr_", id));
    checks.ids("assignees", "usr_", &report.assignees);
    checks.done()
}

fn blank(id: String, number: String, context: RequestContext<'_>) -> Incident {
    let via = match context.by {
        By::Person(_) => ReportedVia::Operator,
        By::Device(_) => ReportedVia::Device,
        By::Key(_) | By::System => ReportedVia::Agent,
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
        state_since: context.now,
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
        reported_by: context.by.id().to_owned(),
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
        created_at: context.now,
        updated_at: context.now,
        closed_at: None,
    }
}
