//! Tests of incidents and alerts, on the pure registry and on the actor.

mod actor;
mod alerts;
mod durability;
mod imports;
mod lifecycle;
mod properties;
mod release;
mod release_rules;
mod visibility;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use muster_geo::{Geometry, Point};

use super::state::{IncidentRegistry, RequestContext};
use super::*;
use crate::alert::{AlertAction, Certainty, Severity, Urgency};
use muster_core::ids::IdKind;
use muster_core::precondition::IfMatch;
use muster_core::principal::UserRole;
use muster_core::test_world::START;
use muster_core::{Error, Millis};
use muster_identity::{By, Person};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn person(id: &str, role: UserRole) -> By {
    By::Person(Arc::new(Person {
        user_id: format!("usr_{id}").into(),
        email: format!("{id}@example.org").into(),
        role,
        session_id: "ses_1".into(),
        permissions: role.permissions(),
    }))
}

fn operator() -> By {
    person("operator", UserRole::Operator)
}

fn commander() -> By {
    person("commander", UserRole::IncidentCommander)
}

fn second() -> By {
    person("second", UserRole::IncidentCommander)
}

/// A responder, to whom [`complete_transition`] assigns an incident.
fn responder() -> By {
    person("responder", UserRole::Responder)
}

fn viewer() -> By {
    person("viewer", UserRole::Viewer)
}

/// Returns the report of an assessed flood in Mainz.
fn flood(severity: Severity) -> NewReport {
    let fields = IncidentEdit {
        title: Some("Flood at the Rhine".to_owned()),
        summary: Some("The water stands at the quay.".to_owned()),
        kind: Some(IncidentKind::Flood),
        severity: Some(severity),
        urgency: Some(Urgency::Immediate),
        certainty: Some(Certainty::Observed),
        geometry: Some(Some(Geometry::Circle { center: Point::new(8.27, 50.0), radius_m: 2_000.0 })),
        area_desc: Some(Some("Mainz, the old town".to_owned())),
        ..IncidentEdit::default()
    };
    NewReport { fields, ..NewReport::default() }
}

/// A registry with a clock of its own and sequential identifiers.
struct RegistryFixture {
    registry: IncidentRegistry,
    now: Millis,
    ids: Cell<u32>,
    /// Name and channels of every event so far.
    published: Vec<(String, Vec<String>)>,
}

impl RegistryFixture {
    fn new() -> Self {
        let registry = IncidentRegistry::new(IncidentSettings::default(), Vec::new(), Vec::new());
        Self { registry, now: START, ids: Cell::new(0), published: Vec::new() }
    }

    fn decide<T>(&self, by: &By, request: impl FnOnce(&IncidentRegistry, RequestContext<'_>) -> T) -> T {
        let new_id = |kind: IdKind| {
            self.ids.set(self.ids.get() + 1);
            format!("{}_{:06}", kind.prefix(), self.ids.get())
        };
        request(&self.registry, RequestContext { by, now: self.now, new_id: &new_id })
    }

    fn apply(&mut self, plan: &plan::Plan) {
        let published =
            plan.incidents.iter().flat_map(events::of).chain(plan.alerts.iter().filter_map(events::of_alert));
        self.published.extend(published.map(|event| (event.name, event.channels)));
        self.registry.apply(plan);
    }

    fn report(&mut self, by: &By, report: NewReport) -> String {
        let (plan, reported) = self.decide(by, |registry, context| registry.report(report, context)).unwrap();
        self.apply(&plan);
        reported.id
    }

    fn transition(&mut self, by: &By, id: &str, transition: IncidentTransition) -> Result<(), Error> {
        let plan = self.decide(by, |registry, context| registry.transition(id, IfMatch::Any, context, transition))?;
        self.apply(&plan);
        Ok(())
    }

    fn edit(&mut self, by: &By, id: &str, edit: IncidentEdit) -> Result<(), Error> {
        let plan = self.decide(by, |registry, context| {
            registry.edit(id, IfMatch::Any, context, edit, None, AlertTexts::default())
        })?;
        self.apply(&plan);
        Ok(())
    }

    fn publish(&mut self, by: &By, id: &str, draft: Draft) -> Result<String, Error> {
        let (plan, alert) = self.decide(by, |registry, context| registry.publish(id, draft, context))?;
        self.apply(&plan);
        Ok(alert)
    }

    fn confirm(&mut self, by: &By, alert: &str) -> Result<(), Error> {
        let plan = self.decide(by, |registry, context| registry.confirm(alert, IfMatch::Any, None, context))?;
        self.apply(&plan);
        Ok(())
    }

    fn get(&self, id: &str) -> &Arc<Incident> {
        self.registry.get(id).unwrap()
    }

    fn advance(&mut self, time: Duration) {
        self.now = self.now.plus(time);
        let plan = self.registry.tick(self.now);
        self.apply(&plan);
    }

    fn reject(&mut self, by: &By, alert: &str) -> Result<(), Error> {
        let plan = self.decide(by, |registry, context| registry.reject(alert, "not so", None, context))?;
        self.apply(&plan);
        Ok(())
    }

    fn edit_alert(&mut self, by: &By, alert: &str, headline: &str) -> Result<(), Error> {
        let texts = AlertTexts { headline: Some(headline.to_owned()), ..AlertTexts::default() };
        let plan = self.decide(by, |registry, context| registry.edit_alert(alert, IfMatch::Any, texts, context))?;
        self.apply(&plan);
        Ok(())
    }

    fn end_alert(&mut self, by: &By, alert: &str, action: AlertAction) -> Result<String, Error> {
        let (note, texts) = (Some("noted".to_owned()), AlertTexts::default());
        let (plan, id) =
            self.decide(by, |registry, context| registry.end_alert(alert, action, note, texts, context))?;
        self.apply(&plan);
        Ok(id)
    }

    /// Returns the names of the events on a channel.
    fn published_on(&self, channel: &str) -> Vec<&str> {
        let published = self.published.iter().filter(|(_, channels)| channels.iter().any(|named| named == channel));
        published.map(|(name, _)| name.as_str()).collect()
    }
}

/// Returns a transition with every parameter that any action needs.
fn complete_transition(action: Action, other: &str, now: Millis) -> IncidentTransition {
    IncidentTransition {
        action,
        note: Some("noted".to_owned()),
        alert: AlertTexts::default(),
        details: TransitionDetails {
            severity: Some(Severity::Moderate),
            urgency: Some(Urgency::Expected),
            certainty: Some(Certainty::Likely),
            ics_type: None,
            commander: Some("usr_commander".to_owned()),
            assignees: Some(vec!["usr_responder".to_owned()]),
            organisations: None,
            duplicate_of: Some(other.to_owned()),
            until: Some(now.plus(HOUR)),
        },
    }
}
