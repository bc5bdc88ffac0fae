//! What incidents and alerts promise, checked on the pure network and on the actor.

mod actor;
mod alerts;
mod durability;
mod imports;
mod properties;
mod table;
mod visibility;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use muster_geo::{Geometry, Point};

use super::state::{Asked, Network};
use super::*;
use crate::alert::{Certainty, Severity, Urgency};
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

fn viewer() -> By {
    person("viewer", UserRole::Viewer)
}

/// A flood in Mainz, assessed.
fn flood(severity: Severity) -> Report {
    let said = Edit {
        title: Some("Flood at the Rhine".to_owned()),
        summary: Some("The water stands at the quay.".to_owned()),
        kind: Some(IncidentKind::Flood),
        severity: Some(severity),
        urgency: Some(Urgency::Immediate),
        certainty: Some(Certainty::Observed),
        geometry: Some(Some(Geometry::Circle { center: Point::new(8.27, 50.0), radius_m: 2_000.0 })),
        area_desc: Some(Some("Mainz, the old town".to_owned())),
        ..Edit::default()
    };
    Report { said, ..Report::default() }
}

/// A network with a clock of its own and identifiers in order.
struct Site {
    network: Network,
    now: Millis,
    ids: Cell<u32>,
    /// Every event so far: its name and its channels.
    told: Vec<(String, Vec<String>)>,
}

impl Site {
    fn new() -> Self {
        let network = Network::new(Settings::default(), Vec::new(), Vec::new());
        Self { network, now: START, ids: Cell::new(0), told: Vec::new() }
    }

    fn ask<T>(&self, by: &By, ask: impl FnOnce(&Network, Asked<'_>) -> T) -> T {
        let new_id = |kind: IdKind| {
            self.ids.set(self.ids.get() + 1);
            format!("{}_{:06}", kind.prefix(), self.ids.get())
        };
        ask(&self.network, Asked { by, now: self.now, new_id: &new_id })
    }

    fn take(&mut self, plan: &plan::Plan) {
        let told = plan.incidents.iter().flat_map(events::of).chain(plan.alerts.iter().filter_map(events::of_alert));
        self.told.extend(told.map(|event| (event.name, event.channels)));
        self.network.take(plan);
    }

    fn report(&mut self, by: &By, report: Report) -> String {
        let (plan, reported) = self.ask(by, |network, asked| network.report(report, asked)).unwrap();
        self.take(&plan);
        reported.id
    }

    fn act(&mut self, by: &By, id: &str, mv: Move) -> Result<(), Error> {
        let plan = self.ask(by, |network, asked| network.act(id, IfMatch::Any, asked, mv))?;
        self.take(&plan);
        Ok(())
    }

    fn edit(&mut self, by: &By, id: &str, edit: Edit) -> Result<(), Error> {
        let plan = self.ask(by, |network, asked| network.edit(id, IfMatch::Any, asked, edit, None))?;
        self.take(&plan);
        Ok(())
    }

    fn publish(&mut self, by: &By, id: &str, draft: Draft) -> Result<String, Error> {
        let (plan, alert) = self.ask(by, |network, asked| network.publish(id, draft, asked))?;
        self.take(&plan);
        Ok(alert)
    }

    fn confirm(&mut self, by: &By, alert: &str) -> Result<(), Error> {
        let plan = self.ask(by, |network, asked| network.confirm(alert, asked))?;
        self.take(&plan);
        Ok(())
    }

    fn get(&self, id: &str) -> &Arc<Incident> {
        self.network.get(id).unwrap()
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.plus(time);
        let plan = self.network.tick(self.now);
        self.take(&plan);
    }

    /// The names of the events on a channel.
    fn on(&self, channel: &str) -> Vec<&str> {
        let told = self.told.iter().filter(|(_, channels)| channels.iter().any(|named| named == channel));
        told.map(|(name, _)| name.as_str()).collect()
    }
}

/// A transition with everything that any of them may need.
fn full(action: Action, other: &str, now: Millis) -> Move {
    Move {
        action,
        note: Some("noted".to_owned()),
        reason: Some("with reason".to_owned()),
        more: More {
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
