//! Shares, choices and averages, with numbers that repeat.

use std::cell::Cell;

use proptest::prelude::*;

use super::state::PeakEwma;
use super::*;
use std::time::Duration;

/// Numbers in `0..1` of a linear congruential generator (Knuth's MMIX), the same in each run.
fn numbers() -> impl FnMut() -> f64 {
    let state = Cell::new(42_u64);
    move || {
        state.set(state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        (state.get() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn standing(weight: u32, load: f64) -> Standing {
    Standing { weight, ready: true, load }
}

/// How often each comes first in `rounds` choices.
fn firsts(balance: Balance, standings: &[Standing], rounds: u32) -> Vec<u32> {
    let (mut draw, mut counts) = (numbers(), vec![0; standings.len()]);
    for _ in 0..rounds {
        counts[arranged(balance, standings, &mut draw)[0]] += 1;
    }
    counts
}

#[test]
fn weights_are_shares() {
    let counts = firsts(Balance::Weight, &[standing(3, 0.0), standing(1, 0.0), standing(0, 0.0)], 10_000);
    // Four standard errors of a binomial share of 3/4: 173.
    assert!(counts[0].abs_diff(7_500) < 174 && counts[2] == 0, "{counts:?}");
    // Where the first is out of service, the second has all, not the third.
    let broken = Standing { ready: false, ..standing(3, 0.0) };
    assert_eq!(firsts(Balance::Weight, &[broken, standing(1, 0.0), standing(0, 0.0)], 100), [0, 100, 0]);
    // None of the others is left.
    assert_eq!(firsts(Balance::Weight, &[broken, standing(0, 0.0)], 100), [0, 100]);
}

#[test]
fn the_less_loaded_of_two_is_chosen() {
    let two = [standing(1, 200.0), standing(1, 20.0)];
    assert_eq!(firsts(Balance::Latency, &two, 1000), [0, 1000]);
    // Of three, the most loaded is never the less loaded of two; the least loaded is in two pairs of three.
    let counts = firsts(Balance::Latency, &[standing(1, 1.0), standing(1, 2.0), standing(1, 3.0)], 9_000);
    assert!(counts[0].abs_diff(6_000) < 180 && counts[2] == 0, "{counts:?}");
    assert_eq!(firsts(Balance::Order, &two, 10), [10, 0]);
}

#[test]
fn an_average_rises_at_once_and_falls_slowly() {
    let (ms, at) = (Duration::from_millis, Duration::from_secs);
    let slow = PeakEwma::default().with(ms(100), at(0)).with(ms(2_000), at(1));
    assert!((slow.now(at(1)) - 2_000.0).abs() < 0.5);
    let recovered = slow.with(ms(100), at(2));
    assert!(recovered.now(at(2)) > 1_900.0, "{recovered:?}");
    // After thirty seconds without a call it is 1/e of what it was.
    assert!((slow.now(at(31)) - 2_000.0 / std::f32::consts::E).abs() < 0.5);
}

proptest! {
    /// Every provider has a place, once, and one that is not ready comes after all that are.
    #[test]
    fn each_has_one_place(
        standings in proptest::collection::vec((0_u32..5, any::<bool>(), 0.0..1e6), 0..8),
        balance in prop_oneof![Just(Balance::Order), Just(Balance::Weight), Just(Balance::Latency)],
        seed in 0.0..1.0,
    ) {
        let standings: Vec<Standing> =
            standings.into_iter().map(|(weight, ready, load)| Standing { weight, ready, load }).collect();
        let mut drawn: f64 = seed;
        let order = arranged(balance, &standings, || {
            drawn = (drawn + 0.618_033_988_749_895).fract();
            drawn
        });
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..standings.len()).collect::<Vec<_>>());
        let ready: Vec<bool> = order.iter().map(|place| standings[*place].ready).collect();
        prop_assert!(ready.is_sorted_by_key(|ready| !ready));
    }
}
