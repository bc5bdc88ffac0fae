use proptest::prelude::*;

use super::super::state::PANIC_EVERY;
use super::*;

const FAILURE: Outcome = Outcome::Failure { retry_after: None };

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn granted(circuits: &mut Circuits, model: &str, now: Duration) -> CircuitGrant {
    match circuits.admit(model, now) {
        CircuitAdmission::Granted(grant) => grant,
        refused => panic!("{model}: {refused:?}"),
    }
}

fn fail(circuits: &mut Circuits, model: &str, scope: FaultScope, times: u32) {
    for _ in 0..times {
        let grant = granted(circuits, model, secs(1));
        circuits.report(secs(1), &grant, FAILURE, scope, 0.5);
    }
}

#[test]
fn a_broken_model_leaves_the_others_in_service() {
    let mut circuits = Circuits::new(BreakerOptions::default());
    fail(&mut circuits, "bad", FaultScope::Model, 5);
    assert_eq!((circuits.model_state("bad"), circuits.provider().state()), (BreakerState::Open, BreakerState::Closed));
    assert!(matches!(circuits.admit("bad", secs(2)), CircuitAdmission::Refused { .. }));
    granted(&mut circuits, "good", secs(2));
    assert!(circuits.admit_closed("good").is_some() && circuits.admit_closed("bad").is_none());
    assert_eq!(circuits.troubled().iter().map(|view| view.name).collect::<Vec<_>>(), ["bad"]);
    assert_eq!(circuits.tally(secs(2)), Tally { calls: 5, failures: 5 });
}

#[test]
fn a_broken_provider_takes_all_its_models_out() {
    let mut circuits = Circuits::new(BreakerOptions::default());
    for model in ["a", "b", "c", "d", "e"] {
        fail(&mut circuits, model, FaultScope::Provider, 1);
    }
    assert_eq!(circuits.provider().state(), BreakerState::Open);
    assert!(matches!(circuits.admit("never called", secs(2)), CircuitAdmission::Refused { .. }));
    // The probe goes to any model; a model's own failure shows that the provider is back.
    let probe = granted(&mut circuits, "a", secs(60));
    assert!(probe.decides());
    circuits.report(secs(60), &probe, FAILURE, FaultScope::Model, 0.5);
    assert_eq!((circuits.provider().state(), circuits.model_state("a")), (BreakerState::Closed, BreakerState::Closed));
}

#[test]
fn where_nothing_else_could_answer_one_call_in_ten_passes() {
    let mut circuits = Circuits::new(BreakerOptions { first_cooldown: secs(1_000), ..BreakerOptions::default() });
    fail(&mut circuits, "m", FaultScope::Model, 5);
    let mut passed = Vec::new();
    for _ in 0..PANIC_EVERY * 3 {
        if let CircuitAdmission::Granted(grant) = circuits.admit_despite_open("m", secs(2)) {
            assert!(grant.decides());
            passed.push(grant);
        }
    }
    assert_eq!(passed.len(), 3);
    circuits.report(secs(2), &passed[0], FAILURE, FaultScope::Model, 0.5);
    assert_eq!(circuits.model_state("m"), BreakerState::Open);
    circuits.report(secs(3), &passed[1], Outcome::Success, FaultScope::Model, 0.5);
    assert_eq!(circuits.model_state("m"), BreakerState::Closed, "an answer ends the cool-down");
    circuits.report(secs(3), &passed[2], FAILURE, FaultScope::Model, 0.5);
    assert_eq!(circuits.model_state("m"), BreakerState::Closed);
}

#[test]
fn a_provider_that_says_when_to_come_back_is_left_alone_until_then() {
    let mut circuits = Circuits::new(BreakerOptions::default());
    let grant = granted(&mut circuits, "m", secs(1));
    let throttled = Outcome::Throttled { retry_after: Some(secs(60)) };
    circuits.report(secs(1), &grant, throttled, FaultScope::Provider, 0.5);
    for _ in 0..PANIC_EVERY * 2 {
        let CircuitAdmission::Refused { retry_in, reason } = circuits.admit_despite_open("m", secs(2)) else {
            panic!("it was let through");
        };
        assert_eq!((retry_in, reason), (secs(59), Reason::Throttled));
    }
}

#[test]
fn a_slow_probe_that_succeeds_after_its_lease_still_closes() {
    let options = BreakerOptions { probe_lease: secs(10), ..BreakerOptions::default() };
    let mut circuits = Circuits::new(options);
    fail(&mut circuits, "m", FaultScope::Model, 5);
    let slow = granted(&mut circuits, "m", secs(100));
    let next = granted(&mut circuits, "m", secs(111));
    circuits.report(secs(112), &slow, Outcome::Success, FaultScope::Model, 0.5);
    assert_eq!(circuits.model_state("m"), BreakerState::Closed);
    circuits.report(secs(113), &next, FAILURE, FaultScope::Model, 0.5);
    assert_eq!(circuits.model_state("m"), BreakerState::Closed, "the later probe is a call like any other");
}

#[test]
fn invented_names_are_bounded_and_open_circuits_outlive_them() {
    let mut circuits = Circuits::new(BreakerOptions::default());
    fail(&mut circuits, "bad", FaultScope::Model, 5);
    for n in 0..MAX_MODELS * 2 {
        let grant = granted(&mut circuits, &format!("made-up-{n}"), secs(1));
        circuits.report(secs(1), &grant, Outcome::Success, FaultScope::Model, 0.5);
    }
    assert!(circuits.models.len() <= MAX_MODELS);
    assert_eq!(circuits.model_state("bad"), BreakerState::Open);
}

fn outcome() -> impl Strategy<Value = (Outcome, FaultScope)> {
    let outcomes = prop_oneof![
        Just(Outcome::Alive),
        Just(Outcome::Success),
        Just(FAILURE),
        Just(Outcome::Throttled { retry_after: Some(Duration::from_secs(3)) }),
        Just(Outcome::Hard),
        Just(Outcome::ClientFault),
        Just(Outcome::Cancelled),
    ];
    (outcomes, prop_oneof![Just(FaultScope::Provider), Just(FaultScope::Model)])
}

#[derive(Debug, Clone)]
enum Step {
    Admit(usize),
    Sole(usize),
    Report(usize, Outcome, FaultScope),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize).prop_map(Step::Admit),
        2 => (0..3_usize).prop_map(Step::Sole),
        4 => (0..64_usize, outcome()).prop_map(|(call, (outcome, scope))| Step::Report(call, outcome, scope)),
        1 => (0..20_000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever happens: a call is admitted exactly when both breakers allow it, and a failure of one model never opens
    /// the breaker of another model or, alone, of the provider.
    #[test]
    fn a_failure_counts_only_where_it_belongs(steps in proptest::collection::vec(step(), 1..200)) {
        const MODELS: [&str; 3] = ["a", "b", "c"];
        let mut circuits = Circuits::new(BreakerOptions::default());
        let (mut calls, mut now) = (Vec::new(), secs(1));
        let states = |circuits: &Circuits| {
            (circuits.provider().state(), MODELS.map(|model| circuits.model_state(model)))
        };
        for step in steps {
            let before = states(&circuits);
            match step {
                Step::Admit(model) => {
                    let wait = circuits.wait(MODELS[model], now);
                    match circuits.admit(MODELS[model], now) {
                        CircuitAdmission::Granted(grant) => {
                            prop_assert_eq!(wait, None);
                            calls.push(grant);
                        }
                        CircuitAdmission::Refused { .. } => {
                            prop_assert!(wait.is_some());
                            prop_assert_eq!(states(&circuits), before);
                        }
                    }
                }
                Step::Sole(model) => {
                    if let CircuitAdmission::Granted(grant) = circuits.admit_despite_open(MODELS[model], now) {
                        calls.push(grant);
                    }
                }
                Step::Report(call, outcome, scope) => {
                    if calls.is_empty() {
                        continue;
                    }
                    let grant = calls.swap_remove(call % calls.len());
                    circuits.report(now, &grant, outcome, scope, 0.5);
                    let after = states(&circuits);
                    let opened = |before: BreakerState, after: BreakerState| {
                        before != BreakerState::Open && after == BreakerState::Open
                    };
                    for (place, model) in MODELS.iter().enumerate() {
                        let allowed = **model == *grant.name && scope == FaultScope::Model;
                        prop_assert!(allowed || !opened(before.1[place], after.1[place]), "{} by {:?}", model, outcome);
                    }
                    prop_assert!(scope == FaultScope::Provider || !opened(before.0, after.0));
                }
                Step::Wait(millis) => now += Duration::from_millis(millis),
            }
        }
    }
}
