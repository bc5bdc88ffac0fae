//! Tokens: reserved by estimate, limited, settled in both directions.

use std::time::Duration;

use proptest::prelude::*;

use crate::bucket::{Bucket, Estimate};
use crate::rule::{Rule, Window};
use crate::shard::AdmissionPart;

const HOLD: Duration = Duration::from_secs(40);
const T0: u64 = 1_000_000_000_000;
const RULES: [Rule; 1] = [Rule::tokens(1_000, Window::Minute)];

fn remaining(bucket: &mut Bucket, now: u64) -> u64 {
    bucket.view(&RULES, now).tokens().unwrap().remaining
}

#[test]
fn an_estimate_is_limited_but_never_below_its_prompt_plus_one() {
    let mut bucket = Bucket::default();
    let first =
        bucket.admit(&RULES, AdmissionPart::Whole, Estimate { prompt: 100, completion: 800 }, HOLD, T0).unwrap();
    assert_eq!(first.spend.tokens, 900);
    let refused = bucket
        .admit(&RULES, AdmissionPart::Whole, Estimate { prompt: 100, completion: 800 }, HOLD, T0 + 1_000)
        .unwrap_err();
    assert_eq!(refused.wait, 59_000, "until the first call's tokens have left");
    let second =
        bucket.admit(&RULES, AdmissionPart::Whole, Estimate { prompt: 99, completion: 800 }, HOLD, T0 + 1_000).unwrap();
    assert_eq!(second.spend.tokens, 100);
    assert!(
        bucket.admit(&RULES, AdmissionPart::Whole, Estimate { prompt: 1, completion: 0 }, HOLD, T0 + 1_000).is_err()
    );
    let free = bucket.admit(&RULES, AdmissionPart::Whole, Estimate::default(), HOLD, T0 + 1_000).unwrap();
    assert_eq!((free.spend.tokens, free.hold), (0, None), "a call without tokens passes where tokens are spent");
}

#[test]
fn settles_in_both_directions_and_only_once() {
    let mut bucket = Bucket::default();
    let estimate = Estimate { prompt: 100, completion: 300 };
    let less = bucket.admit(&RULES, AdmissionPart::Whole, estimate, HOLD, T0).unwrap().hold.unwrap();
    let more = bucket.admit(&RULES, AdmissionPart::Whole, estimate, HOLD, T0).unwrap().hold.unwrap();
    bucket.settle(less, 150, T0 + 5);
    assert_eq!(remaining(&mut bucket, T0 + 5), 1_000 - 150 - 400);
    bucket.settle(less, 0, T0 + 5);
    assert_eq!(remaining(&mut bucket, T0 + 5), 1_000 - 150 - 400, "settled once");
    bucket.settle(more, 950, T0 + 30_000);
    assert_eq!(remaining(&mut bucket, T0 + 30_000), 0, "over its limit by what was spent beyond the reservation");
    // The reserved part has left after a minute; the additional part stays for a minute from when it was charged.
    assert_eq!(remaining(&mut bucket, T0 + 60_000), 1_000 - 550);
    assert_eq!(remaining(&mut bucket, T0 + 90_000), 1_000);
}

#[test]
fn after_its_deadline_the_estimate_is_final() {
    let mut bucket = Bucket::default();
    let estimate = Estimate { prompt: 100, completion: 300 };
    let hold = bucket.admit(&RULES, AdmissionPart::Whole, estimate, HOLD, T0).unwrap().hold.unwrap();
    assert!(!bucket.is_settled(T0 + 39_999));
    bucket.settle(hold, 0, T0 + 40_000);
    assert_eq!(remaining(&mut bucket, T0 + 40_000), 600);
    assert!(bucket.is_settled(T0 + 40_000));
}

#[derive(Debug, Clone)]
enum BucketStep {
    Wait(u64),
    Call {
        prompt: u64,
        completion: u64,
    },
    /// Settles an open reservation at a percentage of its tokens.
    Settle {
        which: prop::sample::Index,
        percent: u64,
    },
}

fn step() -> impl Strategy<Value = BucketStep> {
    prop_oneof![
        2 => (0_u64..70_000).prop_map(BucketStep::Wait),
        4 => (0_u64..200, 0_u64..400).prop_map(|(prompt, completion)| BucketStep::Call { prompt, completion }),
        3 => (any::<prop::sample::Index>(), 0_u64..200).prop_map(|(which, percent)| BucketStep::Settle { which, percent }),
    ]
}

proptest! {
    /// In any window, the charge is at most the limit plus what calls used beyond their reservations; and the charge is
    /// the estimate, or the actual usage if known in time.
    #[test]
    fn no_window_holds_more_than_its_limit_and_the_overshoot(steps in prop::collection::vec(step(), 1..200)) {
        const RULES: [Rule; 2] = [Rule::tokens(1_000, Window::Minute), Rule::tokens(8_000, Window::Hour)];
        const HOLD: Duration = Duration::from_secs(300);
        let mut bucket = Bucket::default();
        let mut now = T0;
        // Time, amount, and the overshoot included in it.
        let mut charged: Vec<(u64, u64, u64)> = Vec::new();
        let mut open: Vec<(u64, usize)> = Vec::new();
        for step in steps {
            match step {
                BucketStep::Wait(pause) => now += pause,
                BucketStep::Call { prompt, completion } => {
                    if let Ok(charge) = bucket.admit(&RULES, AdmissionPart::Whole, Estimate { prompt, completion }, HOLD, now) {
                        open.extend(charge.hold.map(|hold| (hold, charged.len())));
                        charged.push((now, charge.spend.tokens, 0));
                    }
                }
                BucketStep::Settle { which, percent } if !open.is_empty() => {
                    let (hold, place) = open.remove(which.index(open.len()));
                    let (at, reserved, _) = charged[place];
                    let spent = reserved * percent / 100;
                    bucket.settle(hold, spent, now);
                    if now < at + 300_000 {
                        charged[place].1 = reserved.min(spent);
                        charged.push((now, spent.saturating_sub(reserved), spent.saturating_sub(reserved)));
                    }
                }
                BucketStep::Settle { .. } => {}
            }
            for view in bucket.view(&RULES, now).rules {
                let inside = charged.iter().filter(|(at, ..)| at + view.rule.window.millis() > now);
                let (sum, over) = inside.fold((0, 0), |(sum, over), (_, n, more)| (sum + n, over + more));
                prop_assert!(sum <= view.rule.limit + over);
                prop_assert_eq!(view.remaining, view.rule.limit.saturating_sub(sum));
            }
        }
    }
}

#[test]
fn a_request_is_charged_by_its_head_and_its_tokens_after_its_body() {
    let rules = [Rule::requests(2, Window::Minute), Rule::tokens(1_000, Window::Minute)];
    let mut bucket = Bucket::default();
    let head = bucket.admit(&rules, AdmissionPart::Head, Estimate::default(), HOLD, T0).unwrap();
    assert_eq!((head.spend.requests, head.spend.tokens, head.hold), (1, 0, None));
    let estimate = Estimate { prompt: 900, completion: 500 };
    let tokens = bucket.admit(&rules, AdmissionPart::Tokens, estimate, HOLD, T0).unwrap();
    assert_eq!((tokens.spend.requests, tokens.spend.tokens), (0, 1_000), "limited to what is available");
    let view = bucket.view(&rules, T0);
    assert_eq!((view.requests().unwrap().remaining, view.tokens().unwrap().remaining), (1, 0));
    // No token is left, so the next request is refused by its head, although a request is.
    let refused = bucket.admit(&rules, AdmissionPart::Head, Estimate::default(), HOLD, T0).unwrap_err();
    assert_eq!(refused.rule, rules[1]);
    bucket.settle(tokens.hold.unwrap(), 10, T0);
    assert!(bucket.admit(&rules, AdmissionPart::Head, Estimate::default(), HOLD, T0).is_ok());
    let refused = bucket.admit(&rules, AdmissionPart::Head, Estimate::default(), HOLD, T0).unwrap_err();
    assert_eq!(refused.rule, rules[0]);
    // The tokens of a request that was admitted are not refused because the requests are used up.
    assert!(bucket.admit(&rules, AdmissionPart::Tokens, Estimate { prompt: 5, completion: 0 }, HOLD, T0).is_ok());
}
