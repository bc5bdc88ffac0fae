//! Release of messages under any sequence of steps: no message is public without permission and, where its chain needs
//! it, two people.

use proptest::prelude::*;

use super::release::{active, pending, third};
use super::*;
use crate::alert::{AlertRecord, AlertState, Reference, Scope};
use muster_core::principal::Permission;

fn people() -> [By; 5] {
    [responder(), operator(), commander(), second(), third()]
}

/// One step of the model: who does what.
#[derive(Debug, Clone)]
enum Step {
    Act(usize, Action),
    Severity(usize, Severity),
    Instruction(usize, u8),
    Confirm(usize),
    Reject(usize),
    EditText(usize),
    EndAlert(usize, bool),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..people().len();
    let severities = prop::sample::select(vec![Severity::Minor, Severity::Severe, Severity::Extreme]);
    prop_oneof![
        6 => (who.clone(), prop::sample::select(Action::ALL)).prop_map(|(who, action)| Step::Act(who, action)),
        4 => who.clone().prop_map(|who| Step::Act(who, Action::Publish)),
        2 => (who.clone(), severities).prop_map(|(who, severity)| Step::Severity(who, severity)),
        2 => (who.clone(), any::<u8>()).prop_map(|(who, text)| Step::Instruction(who, text)),
        6 => who.clone().prop_map(Step::Confirm),
        1 => who.clone().prop_map(Step::Reject),
        2 => who.clone().prop_map(Step::EditText),
        2 => (who, any::<bool>()).prop_map(|(who, clear)| Step::EndAlert(who, clear)),
        2 => (1..1_000_u64).prop_map(Step::Wait),
    ]
}

/// Takes a step, whether it is permitted or not.
fn take(fixture: &mut RegistryFixture, id: &str, other: &str, step: &Step) -> Result<(), Error> {
    let by = |who: usize| people()[who].clone();
    let waiting = |fixture: &RegistryFixture| pending(fixture, id).map_or_else(String::new, |it| it.id.clone());
    match *step {
        Step::Act(who, Action::Publish) => fixture.publish(&by(who), id, Draft::default()).map(drop),
        Step::Act(_, Action::Edit | Action::Resources | Action::Note) => Ok(()),
        Step::Act(who, action) => {
            let mut transition = complete_transition(action, other, fixture.now);
            transition.details.severity = None;
            fixture.transition(&by(who), id, transition)
        }
        Step::Severity(who, severity) => {
            fixture.edit(&by(who), id, IncidentEdit { severity: Some(severity), ..IncidentEdit::default() })
        }
        Step::Instruction(who, text) => {
            let instruction = Some(Some(format!("Do {text}.")));
            fixture.edit(&by(who), id, IncidentEdit { instruction, ..IncidentEdit::default() })
        }
        Step::Confirm(who) => fixture.confirm(&by(who), &waiting(fixture)),
        Step::Reject(who) => fixture.reject(&by(who), &waiting(fixture)),
        Step::EditText(who) => fixture.edit_alert(&by(who), &waiting(fixture), "Another text"),
        Step::EndAlert(who, clear) => {
            let live = fixture.registry.alerts.live(id).map_or_else(String::new, |alert| alert.id.clone());
            let action = if clear { AlertAction::AllClear } else { AlertAction::Cancel };
            fixture.end_alert(&by(who), &live, action).map(drop)
        }
        Step::Wait(minutes) => {
            fixture.advance(MINUTE * u32::try_from(minutes).unwrap());
            Ok(())
        }
    }
}

/// Checks every message that was ever public against the rules, by its record alone.
fn require_released(fixture: &RegistryFixture, id: &str) -> Result<(), TestCaseError> {
    let may = |user: &str| people().iter().any(|by| by.id() == user && by.may(Permission::AlertsPublish));
    let sent: Vec<_> = fixture.registry.alerts.of_incident(id).filter(|alert| alert.is_sent()).cloned().collect();
    let by_reference = |reference: &Reference| sent.iter().find(|alert| alert.reference() == *reference);
    for alert in &sent {
        let severe = |alert: &AlertRecord| {
            alert.scope == Scope::Public && matches!(alert.severity(), Some(Severity::Severe | Severity::Extreme))
        };
        let chain = alert.references.iter().map(|reference| by_reference(reference).expect("a chain without gaps"));
        let two = severe(alert) || chain.into_iter().any(|earlier| severe(earlier));
        match &alert.decided_by {
            Some(decider) => {
                prop_assert!(may(decider), "{alert:?}");
                prop_assert!(!two || *decider != alert.made_by, "{alert:?}");
            }
            None => prop_assert!(!two && may(&alert.made_by), "{alert:?}"),
        }
    }
    let events = fixture.published_on(events::ALERTS);
    let published = events.iter().filter(|name| !matches!(**name, "alert.expired")).count();
    prop_assert_eq!(published, sent.len(), "each publication is of a message that was released: {:?}", events);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Number 1 of what makes alerts safe: whatever people do in whatever order, no message is public without
    /// permission and, where its chain is severe, two people; and a danger that stands is never forgotten.
    #[test]
    fn no_message_is_public_without_permission_and_where_needed_two_people(
        severity in prop::sample::select(vec![Severity::Minor, Severity::Extreme]),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut fixture = RegistryFixture::new();
        let other = fixture.report(&commander(), flood(Severity::Minor));
        let id = active(&mut fixture, severity);
        let mut rejected = false;
        for step in &steps {
            let before = fixture.get(&id).state;
            let done = take(&mut fixture, &id, &other, step).is_ok();
            rejected |= done && matches!(step, Step::Reject(_));
            require_released(&fixture, &id)?;
            let (alerts, after) = (&fixture.registry.alerts, fixture.get(&id).state);
            let waiting = alerts.of_incident(&id).filter(|alert| alert.state == AlertState::PendingSecond).count();
            prop_assert!(waiting <= 1, "one decision waits at a time");
            let live = alerts.of_incident(&id).filter(|alert| alert.is_live()).count();
            prop_assert!(live <= 1, "one warning stands at a time");
            let ends = alerts.pending(&id).is_some_and(|pending| pending.is_end());
            prop_assert!(live == 0 || after.is_open() || ends || rejected, "{before:?} {step:?}");
        }
    }
}
