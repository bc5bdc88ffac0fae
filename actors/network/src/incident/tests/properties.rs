//! Invariants of the records under any sequence of actions.

use proptest::prelude::*;

use super::*;

fn actions() -> impl Strategy<Value = Vec<(Action, u64)>> {
    prop::collection::vec((prop::sample::select(Action::ALL), 0..50_u64), 1..60)
}

/// Applies any action, whether it is allowed or not.
fn apply_any(fixture: &mut RegistryFixture, id: &str, other: &str, action: Action) -> Result<(), Error> {
    let by = commander();
    match action {
        Action::Edit => {
            fixture.edit(&by, id, IncidentEdit { severity: Some(Severity::Severe), ..IncidentEdit::default() })
        }
        Action::Publish => fixture.publish(&by, id, Draft::default()).map(drop),
        Action::Note => {
            let noted = fixture
                .decide(&by, |registry, context| registry.note(id, context, "n".to_owned(), serde_json::Value::Null))?;
            fixture.apply(&noted);
            Ok(())
        }
        Action::Resources => {
            let new = NewResource { kind: "boat".to_owned(), qty: 1, status: None, note: None };
            let plan = fixture.decide(&by, |registry, context| {
                registry.resources(id, IfMatch::Any, context, ResourceRequest::Add(new))
            })?;
            fixture.apply(&plan);
            Ok(())
        }
        action => {
            let transition = complete_transition(action, other, fixture.now);
            fixture.transition(&by, id, transition)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_sequence_keeps_versions_timelines_and_finished_incidents(sequence in actions()) {
        let mut fixture = RegistryFixture::new();
        let other = fixture.report(&commander(), flood(Severity::Minor));
        let id = fixture.report(&commander(), flood(Severity::Moderate));
        for (action, minutes) in sequence {
            fixture.advance(MINUTE * u32::try_from(minutes).unwrap());
            let before = Arc::clone(fixture.get(&id));
            let allowed = before.state.permits(action);
            let done = apply_any(&mut fixture, &id, &other, action);
            let after = Arc::clone(fixture.get(&id));
            if done.is_ok() {
                prop_assert!(allowed, "{:?} took {:?}", before.state, action);
                prop_assert_eq!(after.version, before.version + 1);
                prop_assert_eq!(after.timeline_seq, before.timeline_seq + 1);
            } else {
                prop_assert_eq!(&after, &before);
            }
            let finished = matches!(before.state, State::Closed | State::Duplicate | State::FalseAlarm | State::Canceled);
            if finished && action != Action::Reopen {
                let noted = Incident {
                    version: after.version,
                    timeline_seq: after.timeline_seq,
                    updated_at: after.updated_at,
                    ..Incident::clone(&before)
                };
                prop_assert_eq!(&*after, &noted, "what is over is only annotated");
            }
            prop_assert_eq!(after.ack.is_some(), after.state == State::Acknowledged);
            let live = fixture.registry.alerts.of_incident(&id).filter(|alert| alert.is_live()).count();
            prop_assert!(live <= 1, "one warning stands at a time");
            let ends = fixture.registry.alerts.pending(&id).is_some_and(|pending| pending.is_end());
            prop_assert!(live == 0 || after.state.is_open() || ends, "no warning outlives its incident unnoticed");
        }
    }
}
