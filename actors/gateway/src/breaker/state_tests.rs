//! State machine tests: transitions one by one, and properties.

use proptest::prelude::*;

use super::*;

const MIDDLE: f64 = 0.5;
const FAILURE: Outcome = Outcome::Failure { retry_after: None };

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn breaker() -> Breaker {
    Breaker::new(BreakerOptions::default())
}

fn granted(breaker: &mut Breaker, now: Duration) -> Grant {
    match breaker.admit(now) {
        Admission::Granted(grant) => grant,
        Admission::Refused { retry_in } => panic!("refused for {retry_in:?}"),
    }
}

fn call(breaker: &mut Breaker, now: Duration, outcome: Outcome) {
    let grant = granted(breaker, now);
    breaker.report(now, grant, outcome, MIDDLE);
}

/// A breaker opened by five failures at `now`.
fn opened(now: Duration) -> Breaker {
    let mut breaker = breaker();
    for _ in 0..5 {
        call(&mut breaker, now, FAILURE);
    }
    assert_eq!(breaker.state(), BreakerState::Open);
    breaker
}

#[test]
fn five_failures_in_a_row_open_it_and_one_good_probe_closes_it() {
    let mut breaker = opened(at(1));
    assert_eq!(breaker.reason(), Reason::ConsecutiveFailures);
    assert_eq!(breaker.admit(at(2)), Admission::Refused { retry_in: at(4) });
    let probe = granted(&mut breaker, at(6));
    assert!(probe.probe);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert_eq!(breaker.admit(at(6)), Admission::Refused { retry_in: PROBE_WAIT });
    breaker.report(at(7), probe, Outcome::Success, MIDDLE);
    assert_eq!(breaker.state(), BreakerState::Closed);
    assert_eq!(breaker.tally(at(7)), Tally { calls: 1, failures: 0 }, "old failures are forgotten");
}

#[test]
fn half_of_ten_calls_failing_opens_it_and_four_of_ten_do_not() {
    for (failures, expected) in [(4, BreakerState::Closed), (5, BreakerState::Open)] {
        let mut breaker = breaker();
        // Successes first, and never five consecutive failures before the last.
        for n in 0..10 {
            let failed = n % 2 == 1 && n / 2 < failures;
            call(&mut breaker, at(n), if failed { FAILURE } else { Outcome::Success });
        }
        assert_eq!(breaker.state(), expected, "{failures} of ten");
    }
}

#[test]
fn each_reopening_doubles_the_cooldown_up_to_the_cap() {
    let mut breaker = opened(at(0));
    let mut now = at(0);
    for expected in [5, 10, 20, 40, 80, 120, 120] {
        let until = breaker.cooldown_until().unwrap();
        assert_eq!(until - now, at(expected));
        now = until;
        call(&mut breaker, now, FAILURE);
        assert_eq!(breaker.reason(), Reason::ProbeFailed);
    }
    now = breaker.cooldown_until().unwrap();
    call(&mut breaker, now, Outcome::Success);
    now += at(60);
    for _ in 0..5 {
        call(&mut breaker, now, FAILURE);
    }
    assert_eq!(breaker.cooldown_until(), Some(now + at(5)), "a whole good window makes up for the past");
}

#[test]
fn a_flapping_provider_keeps_its_longer_cooldown() {
    let mut breaker = opened(at(0));
    call(&mut breaker, at(5), Outcome::Success);
    for _ in 0..5 {
        call(&mut breaker, at(6), FAILURE);
    }
    assert_eq!(breaker.cooldown_until(), Some(at(16)));
}

#[test]
fn throttling_opens_at_once_for_the_requested_time() {
    let mut breaker = breaker();
    call(&mut breaker, at(0), Outcome::Throttled { retry_after: Some(at(33)) });
    assert_eq!((breaker.cooldown_until(), breaker.reason()), (Some(at(33)), Reason::Throttled));
    call(&mut breaker, at(33), Outcome::Throttled { retry_after: Some(at(2)) });
    assert_eq!(breaker.cooldown_until(), Some(at(43)), "a floor, not a ceiling: the second opening's own is longer");
}

#[test]
fn a_rejected_key_opens_it_for_long_and_a_later_one_extends_that() {
    let mut breaker = breaker();
    let late = granted(&mut breaker, at(0));
    for _ in 0..5 {
        call(&mut breaker, at(0), FAILURE);
    }
    breaker.report(at(1), late, Outcome::Hard, MIDDLE);
    assert_eq!(breaker.cooldown_until(), Some(at(301)));
    assert_eq!(breaker.opened_count(), 1);
}

#[test]
fn client_faults_do_not_count_and_make_a_probe_succeed() {
    let mut closed = breaker();
    for _ in 0..100 {
        call(&mut closed, at(0), Outcome::ClientFault);
    }
    assert_eq!((closed.state(), closed.tally(at(0))), (BreakerState::Closed, Tally::default()));
    let mut breaker = opened(at(0));
    call(&mut breaker, at(5), Outcome::ClientFault);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[test]
fn an_unreported_probe_frees_its_slot() {
    let mut breaker = opened(at(0));
    call(&mut breaker, at(5), Outcome::Cancelled);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    let lost = granted(&mut breaker, at(5));
    assert_eq!(breaker.admit(at(79)), Admission::Refused { retry_in: PROBE_WAIT });
    let next = granted(&mut breaker, at(80));
    assert!(next.probe);
    breaker.report(at(81), lost, FAILURE, MIDDLE);
    assert_eq!(breaker.state(), BreakerState::HalfOpen, "the lost probe's failure no longer counts");
    breaker.report(at(81), next, Outcome::Alive, MIDDLE);
    assert_eq!(breaker.state(), BreakerState::Closed);
    breaker.report(at(82), next, FAILURE, MIDDLE);
    assert_eq!(breaker.tally(at(82)), Tally { calls: 1, failures: 1 }, "a stream that breaks later still counts");
}

#[test]
fn reports_from_before_the_opening_do_not_count_after_it() {
    let mut breaker = breaker();
    let slow: Vec<Grant> = (0..50).map(|_| granted(&mut breaker, at(0))).collect();
    for _ in 0..5 {
        call(&mut breaker, at(0), FAILURE);
    }
    call(&mut breaker, at(5), Outcome::Success);
    for grant in slow {
        breaker.report(at(6), grant, FAILURE, MIDDLE);
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
}

#[derive(Debug, Clone)]
enum Move {
    Wait(u64),
    Ask,
    BreakerReport(usize, Outcome),
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    let wait = || prop::option::of((0_u64..100_000).prop_map(Duration::from_secs));
    prop_oneof![
        1 => Just(Outcome::Alive),
        1 => Just(Outcome::Success),
        4 => wait().prop_map(|retry_after| Outcome::Failure { retry_after }),
        1 => wait().prop_map(|retry_after| Outcome::Throttled { retry_after }),
        1 => Just(Outcome::Hard),
        1 => Just(Outcome::ClientFault),
        1 => Just(Outcome::Cancelled),
    ]
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => (0_u64..40_000).prop_map(Move::Wait),
        4 => Just(Move::Ask),
        4 => (any::<usize>(), any_outcome()).prop_map(|(which, outcome)| Move::BreakerReport(which, outcome)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Callers arrive, report, misreport, report twice or vanish at random.
    #[test]
    fn one_probe_at_most_and_none_before_its_time(moves in prop::collection::vec(any_move(), 1..300), jitter in 0.0..1.0) {
        let mut breaker = breaker();
        let mut now = Duration::ZERO;
        let mut out: Vec<Grant> = Vec::new();
        // The probe in progress and the end of its lease, tracked independently.
        let mut probe: Option<(u64, Duration)> = None;
        for step in moves {
            match step {
                Move::Wait(ms) => now += Duration::from_millis(ms),
                Move::Ask => {
                    let before = breaker;
                    match breaker.admit(now) {
                        Admission::Granted(grant) => {
                            prop_assert!(before.cooldown_until().is_none_or(|until| now >= until));
                            prop_assert_eq!(grant.probe, before.state() != BreakerState::Closed);
                            if grant.probe {
                                prop_assert!(probe.is_none_or(|(_, lease)| now >= lease), "two probes in flight");
                                probe = Some((grant.number, now + BreakerOptions::default().probe_lease));
                            }
                            out.push(grant);
                        }
                        Admission::Refused { retry_in } => {
                            prop_assert!(retry_in > Duration::ZERO && retry_in <= MAX_COOLDOWN);
                            prop_assert_ne!(before.state(), BreakerState::Closed, "a closed breaker admits every call");
                            prop_assert_eq!(before, breaker, "a refusal changes nothing");
                        }
                    }
                }
                Move::BreakerReport(which, outcome) if !out.is_empty() => {
                    let grant = out[which % out.len()];
                    breaker.report(now, grant, outcome, jitter);
                    if probe.is_some_and(|(number, _)| number == grant.number) {
                        probe = None;
                    }
                }
                Move::BreakerReport(..) => {}
            }
            let tally = breaker.tally(now);
            prop_assert!(tally.failures <= tally.calls);
            prop_assert!((0.0..=1.0).contains(&tally.failure_share()));
            prop_assert!(tally.calls as usize <= 300);
        }
        // From any state: after the longest wait, one success closes it.
        now += MAX_COOLDOWN;
        let grant = granted(&mut breaker, now);
        breaker.report(now, grant, Outcome::Success, jitter);
        prop_assert_eq!(breaker.state(), BreakerState::Closed);
        prop_assert!(matches!(breaker.admit(now), Admission::Granted(_)));
    }
}
