//! Windows, compared with their definition.

use std::time::Duration;

use proptest::prelude::*;

use crate::bucket::{Bucket, Estimate};
use crate::log::{EXACT, EventLog};
use crate::rule::{LimitUnit, Rule, Window};
use crate::shard::AdmissionPart;

const HOLD: Duration = Duration::from_secs(40);

/// Returns the sum of what was admitted in the window that ends at `now`, by definition.
fn inside(admitted: &[(u64, u64)], window: Window, now: u64) -> u64 {
    admitted.iter().filter(|(at, _)| at + window.millis() > now).map(|(_, amount)| amount).sum()
}

/// Pauses of a client that bursts, paces itself, waits and stays away.
fn pause() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0_u64), 4 => 1_u64..50, 3 => 50_u64..5_000, 2 => 5_000_u64..70_000, 1 => 0_u64..90_000_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A request is rejected exactly if one of its rules would be violated, and then no rule is charged.
    #[test]
    fn every_decision_matches_the_definition(
        steps in prop::collection::vec((pause(), 0_u64..60, 0_u64..60), 1..300),
        limits in (1_u64..30, 1_u64..60, 1_u64..80, 1_u64..400, 1_u64..900),
    ) {
        let rules = [
            Rule::requests(limits.0, Window::Minute),
            Rule::requests(limits.1, Window::Hour),
            Rule::requests(limits.2, Window::Day),
            Rule::tokens(limits.3, Window::Minute),
            Rule::tokens(limits.4, Window::Day),
        ];
        let mut bucket = Bucket::default();
        let (mut requests, mut tokens) = (Vec::new(), Vec::new());
        let mut now = 1_000_000_000_000;
        for (pause, prompt, completion) in steps {
            now += pause;
            let left = |rule: &Rule| {
                let admitted = if rule.unit == LimitUnit::Requests { &requests } else { &tokens };
                rule.limit - inside(admitted, rule.window, now)
            };
            let least = prompt + completion.min(1);
            let lefts = rules.map(|rule| left(&rule));
            let passes = lefts[0].min(lefts[1]).min(lefts[2]) > 0 && lefts[3].min(lefts[4]) >= least;
            let decision = bucket.admit(&rules, AdmissionPart::Whole, Estimate { prompt, completion }, HOLD, now);
            prop_assert_eq!(decision.is_ok(), passes);
            if let Ok(charge) = decision {
                prop_assert_eq!(charge.spend.tokens, (prompt + completion).min(lefts[3]).min(lefts[4]));
                requests.push((now, 1));
                tokens.push((now, charge.spend.tokens));
            }
            for (view, rule) in bucket.view(&rules, now).rules.iter().zip(rules) {
                let admitted = if rule.unit == LimitUnit::Requests { &requests } else { &tokens };
                prop_assert_eq!(view.remaining, rule.limit - inside(admitted, rule.window, now));
                let last = admitted.iter().rev().find(|(at, n)| *n > 0 && at + rule.window.millis() > now);
                let full = last.map_or(now, |(at, _)| at + rule.window.millis());
                prop_assert_eq!(view.reset, full.div_ceil(1000));
            }
        }
    }

    /// After the wait stated by a rejection the same request is admitted, and a millisecond earlier it is not.
    #[test]
    fn the_wait_of_a_rejection_is_exact(
        steps in prop::collection::vec((pause(), 1_u64..60), 1..200),
        limits in (1_u64..10, 1_u64..40, 60_u64..200),
    ) {
        let rules = [
            Rule::requests(limits.0, Window::Minute),
            Rule::requests(limits.1, Window::Hour),
            Rule::tokens(limits.2, Window::Minute),
        ];
        let mut bucket = Bucket::default();
        let mut now = 1_000_000_000_000;
        for (pause, prompt) in steps {
            now += pause;
            let estimate = Estimate { prompt, completion: 0 };
            if let Err(refusal) = bucket.admit(&rules, AdmissionPart::Whole, estimate, HOLD, now) {
                prop_assert!(refusal.wait > 0);
                prop_assert!(bucket.admit(&rules, AdmissionPart::Whole, estimate, HOLD, now + refusal.wait - 1).is_err());
                now += refusal.wait;
                prop_assert!(bucket.admit(&rules, AdmissionPart::Whole, estimate, HOLD, now).is_ok());
            }
        }
    }

    /// A client that waits at least window / limit between its requests is never rejected.
    #[test]
    fn a_client_that_paces_itself_is_never_rejected(
        limit in 1_u64..3_000,
        window in prop::sample::select(Window::ALL.to_vec()),
        start in 0_u64..100_000,
        late in prop::collection::vec(prop_oneof![5 => Just(0_u64), 1 => 1_u64..100_000], 1..20),
    ) {
        let rules = [Rule::requests(limit, window)];
        let mut bucket = Bucket::default();
        let mut slack = start;
        for n in 0..limit * 2 + 10 {
            slack += late[usize::try_from(n).unwrap() % late.len()] * u64::from(n % 97 == 0);
            // The clock has a resolution of milliseconds.
            let now = n * window.millis() / limit + slack;
            prop_assert!(bucket.admit(&rules, AdmissionPart::Whole, Estimate::default(), HOLD, now).is_ok(), "request {}", n);
        }
    }

    /// A clock that is set back neither admits more, measured in real time, nor locks anyone out.
    #[test]
    fn a_clock_set_back_admits_nothing_extra(
        steps in prop::collection::vec((pause(), prop_oneof![6 => Just(0_u64), 1 => 0_u64..200_000]), 1..200),
        limit in 1_u64..12,
    ) {
        let rules = [Rule::requests(limit, Window::Minute)];
        let mut bucket = Bucket::default();
        let (mut true_time, mut behind) = (1_000_000_000_000_u64, 0_u64);
        let mut admitted = Vec::new();
        for (pause, set_back) in steps {
            true_time += pause;
            behind += set_back;
            if bucket.admit(&rules, AdmissionPart::Whole, Estimate::default(), HOLD, true_time - behind).is_ok() {
                admitted.push((true_time, 1));
                prop_assert!(inside(&admitted, Window::Minute, true_time) <= limit);
            }
        }
        true_time += Window::Minute.millis();
        prop_assert!(bucket.admit(&rules, AdmissionPart::Whole, Estimate::default(), HOLD, true_time - behind).is_ok());
    }
}

/// The hour and day limits of the plans at full rate, for one and a half windows.
#[test]
fn the_limits_of_plans_are_exact_at_full_rate() {
    let limits =
        [(100, Window::Hour), (3_000, Window::Hour), (100, Window::Day), (10_000, Window::Day), (100_000, Window::Day)];
    for (limit, window) in limits {
        let rules = [Rule::requests(limit, window)];
        let mut bucket = Bucket::default();
        for n in 0..limit * 3 / 2 {
            let now = n * window.millis() / limit;
            assert!(
                bucket.admit(&rules, AdmissionPart::Whole, Estimate::default(), HOLD, now).is_ok(),
                "{limit} per {window:?}: {n}"
            );
        }
        let now = (limit * 3 / 2 - 1) * window.millis() / limit;
        assert!(
            bucket.admit(&rules, AdmissionPart::Whole, Estimate::default(), HOLD, now).is_err(),
            "one more is one too many"
        );
    }
}

/// Beyond the individually kept entries: bounded, never too much, and a client slower by 1/100,000 is never rejected.
#[test]
fn a_limit_beyond_the_exact_range_never_admits_too_much() {
    let (limit, window) = (500_000_u64, Window::Hour);
    let mut log = EventLog::default();
    let mut admitted: std::collections::VecDeque<u64> = std::collections::VecDeque::new();
    for n in 0..limit * 5 / 4 {
        let now = n * (window.millis() + window.millis() / 100_000) / limit;
        log.advance(now);
        log.watch(window, now);
        while admitted.front().is_some_and(|at| at + window.millis() <= now) {
            admitted.pop_front();
        }
        assert!(log.used(LimitUnit::Requests, window) >= admitted.len() as u64, "counts at least what is inside");
        assert!(log.used(LimitUnit::Requests, window) < limit, "paced request {n}");
        log.push(now, 1, 0);
        admitted.push_back(now);
    }
    assert!(log.next() - log.first() <= EXACT as u64 + 100_001);
}
