//! Whatever fails, no window admits too much, and at most one lease is lost.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use muster_store::{MemStore, Store};
use proptest::prelude::*;

use super::support::*;
use crate::*;
use muster_core::{Clock, test_world};

/// A twentieth of 120.
const LEASE: u64 = 6;

#[test]
fn a_panic_loses_at_most_a_lease() {
    with_limiter(|LimiterFixture { tree, limiter, .. }| async move {
        for _ in 0..30 {
            assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
        }
        assert!(tree.inject_panic("limits/rate-0"));
        test_world::until(|| tree.snapshot().iter().any(|actor| actor.restarts == 1)).await;
        running(&tree, "limits/rate-0").await;
        let after = exhaust(&limiter, &chat("key_1")).await;
        assert!((90 - LEASE..=90).contains(&after), "30 before and {after} after");
    });
}

#[test]
fn panics_under_load_admit_nothing_extra() {
    with_limiter(|LimiterFixture { tree, limiter, .. }| async move {
        let (passed, refused) = (Cell::new(0_u64), Cell::new(0_u64));
        let client = async || {
            for _ in 0..40 {
                match passes(&limiter, chat("key_1")).await {
                    Ok(true) => passed.set(passed.get() + 1),
                    Ok(false) => refused.set(refused.get() + 1),
                    // Temporarily down: a typed error, immediately.
                    Err(error) => assert_eq!(error.kind, muster_core::Kind::Unavailable),
                }
                later(Duration::from_millis(5)).await;
            }
        };
        let faults = async {
            for restarts in 1..=4 {
                later(Duration::from_millis(3)).await;
                assert!(tree.inject_panic("limits/rate-0"));
                test_world::until(|| tree.snapshot().iter().any(|actor| actor.restarts == restarts)).await;
                running(&tree, "limits/rate-0").await;
            }
        };
        tokio::join!(join_all((0..8).map(|_| client())), faults);
        let rest = exhaust(&limiter, &chat("key_1")).await;
        let all = passed.get() + rest;
        assert!(all <= PER_MINUTE, "{all} in one minute");
        // One caller per panic may have been charged without a reply.
        assert!(all >= PER_MINUTE - 4 * (LEASE + 8), "{all} in one minute");
    });
}

/// The last write of an incarnation reaches the disk after its successor has read the store.
#[test]
fn a_write_that_outlives_its_actor_admits_nothing_extra() {
    for before in 1..30 {
        with_limiter(move |LimiterFixture { tree, disk, limiter }| async move {
            for _ in 0..before {
                assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
            }
            disk.hold_commits();
            // Some are within the lease; the others are charged and wait.
            let requests = join_all((0..20).map(|_| passes(&limiter, chat("key_1"))));
            let fault = async {
                disk.held(1).await;
                assert!(tree.inject_panic("limits/rate-0"));
                test_world::until(|| tree.snapshot().iter().any(|actor| actor.restarts == 1)).await;
                running(&tree, "limits/rate-0").await;
                // The successor reads, and its first write is queued behind.
                let (first, ()) = tokio::join!(passes(&limiter, chat("key_1")), async {
                    disk.held(2).await;
                    disk.release();
                });
                first
            };
            let (answers, first) = tokio::join!(requests, fault);
            let acknowledged = answers.iter().filter(|answer| **answer == Ok(true)).count() as u64;
            assert!(acknowledged <= LEASE, "{acknowledged} passed while nothing could be written");
            assert_eq!(first, Ok(true));
            let all = before + acknowledged + 1 + exhaust(&limiter, &chat("key_1")).await;
            assert!((PER_MINUTE - LEASE..=PER_MINUTE).contains(&all), "{all} with {before} before");
        });
    }
}

#[test]
fn a_clean_restart_loses_nothing() {
    let disk = Arc::new(MemStore::default());
    let day = [Rule::requests(100, Window::Day), Rule::tokens(10_000, Window::Day)];
    let request = admit("key_1", &day, Estimate { prompt: 10, completion: 90 });
    let (store, repeated): (Arc<dyn Store>, Admit) = (disk.clone(), request.clone());
    test_world::run(|tree| async move {
        let limiter = limiter(&tree, "limits", &store, &Clock::manual(test_world::START));
        running(&tree, "limits/rate-0").await;
        for n in 0..41 {
            let Decision::Admitted { reservation, .. } = limiter.admit(repeated.clone()).await.unwrap() else {
                panic!("request {n} was refused");
            };
            if n == 20 {
                tree.drain();
            }
            limiter.settle(reservation.unwrap(), 60);
        }
    });
    let store: Arc<dyn Store> = disk;
    test_world::run(|tree| async move {
        let limiter = limiter(&tree, "limits", &store, &Clock::manual(test_world::START));
        running(&tree, "limits/rate-0").await;
        let seen = limiter.peek(&request.key.subject, Category::Chat, Arc::clone(&request.rules)).await.unwrap();
        assert_eq!(seen.requests().unwrap().remaining, 59);
        assert_eq!(seen.tokens().unwrap().remaining, 10_000 - 41 * 60);
        assert_eq!(exhaust(&limiter, &request).await, 59);
    });
}

#[test]
fn after_a_drain_even_a_power_cut_loses_nothing() {
    test_world::run(|tree| async move {
        let disk = Arc::new(MemStore::default());
        let (power, clock) = (PowerCutStore::new(&disk), Clock::manual(test_world::START));
        let store: Arc<dyn Store> = power.clone();
        let old = limiter(&tree, "old", &store, &clock);
        running(&tree, "old/rate-0").await;
        let rules = [Rule::requests(100, Window::Day), Rule::tokens(10_000, Window::Day)];
        let request = |id: &str| admit(id, &rules, Estimate { prompt: 10, completion: 90 });
        for n in 0..100 {
            assert_eq!(passes(&old, request(&format!("key_{n}"))).await, Ok(true));
        }
        let Decision::Admitted { reservation, .. } = old.admit(request("key_7")).await.unwrap() else {
            panic!("refused");
        };
        tree.drain();
        later(Duration::from_secs(1)).await;
        // In progress when draining began, and finished afterwards.
        old.settle(reservation.unwrap(), 60);
        later(Duration::from_secs(1)).await;
        power.cut();
        let disk: Arc<dyn Store> = disk;
        let new = limiter(&tree, "new", &disk, &clock);
        running(&tree, "new/rate-0").await;
        for n in 0..100 {
            let key = request(&format!("key_{n}"));
            let seen = new.peek(&key.key.subject, Category::Chat, key.rules).await.unwrap();
            let expected = if n == 7 { (98, 10_000 - 100 - 60) } else { (99, 10_000 - 100) };
            assert_eq!((seen.requests().unwrap().remaining, seen.tokens().unwrap().remaining), expected, "key_{n}");
        }
    });
}

#[test]
fn a_stop_without_a_drain_loses_nothing_either() {
    let disk = Arc::new(MemStore::default());
    for _ in 0..5 {
        let store: Arc<dyn Store> = disk.clone();
        test_world::run(|tree| async move {
            let limiter = limiter(&tree, "limits", &store, &Clock::manual(test_world::START));
            running(&tree, "limits/rate-0").await;
            for _ in 0..24 {
                assert_eq!(passes(&limiter, chat("key_1")).await, Ok(true));
            }
        });
    }
    let store: Arc<dyn Store> = disk;
    test_world::run(|tree| async move {
        let limiter = limiter(&tree, "limits", &store, &Clock::manual(test_world::START));
        running(&tree, "limits/rate-0").await;
        assert_eq!(passes(&limiter, chat("key_1")).await, Ok(false), "5 × 24 have passed");
    });
}

/// A run of the server: a number of requests at intervals of some milliseconds, ended by a power cut.
type ServerRun = (u64, u64);

/// Runs each server on the same disk, each ended by a power cut; returns the admitted requests with their times.
fn run_servers(runs: Vec<ServerRun>, rules: Vec<Rule>, estimate: Estimate) -> Vec<(u64, u64)> {
    let passed = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&passed);
    test_world::run(|tree| async move {
        let disk = Arc::new(MemStore::default());
        let clock = Clock::manual(test_world::START);
        for (number, (requests, pause)) in runs.into_iter().enumerate() {
            let power = PowerCutStore::new(&disk);
            let store: Arc<dyn Store> = power.clone();
            let group = format!("run-{number}");
            let limiter = limiter(&tree, &group, &store, &clock);
            running(&tree, &format!("{group}/rate-0")).await;
            for _ in 0..requests {
                clock.advance(Duration::from_millis(pause));
                if let Decision::Admitted { reservation, .. } =
                    limiter.admit(admit("key_1", &rules, estimate)).await.unwrap()
                {
                    let tokens = reservation.map_or(0, |reservation| reservation.tokens());
                    seen.lock().unwrap().push((clock.now().0, tokens));
                }
            }
            // The power cut happens at any point of its last writes, which never arrive: some more requests are
            // admitted within the lease, unrecorded.
            power.cut();
            let more = join_all((0..20).map(|_| limiter.admit(admit("key_1", &rules, estimate)))).await;
            for decision in more.into_iter().flatten() {
                if let Decision::Admitted { reservation, .. } = decision {
                    let tokens = reservation.map_or(0, |reservation| reservation.tokens());
                    seen.lock().unwrap().push((clock.now().0, tokens));
                }
            }
        }
    });
    let passed = passed.lock().unwrap();
    passed.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For any number of power cuts, no span of a window's length admits more than its limit.
    #[test]
    fn no_window_admits_more_than_its_limit_across_power_cuts(
        runs in prop::collection::vec((0_u64..80, prop_oneof![Just(0_u64), 1_u64..2_000]), 1..6),
        limits in (1_u64..130, 1_u64..300, 1_u64..4_000),
    ) {
        let rules = vec![
            Rule::requests(limits.0, Window::Minute),
            Rule::requests(limits.1, Window::Hour),
            Rule::tokens(limits.2, Window::Minute),
        ];
        let passed = run_servers(runs, rules, Estimate { prompt: 0, completion: 25 });
        for (place, (end, _)) in passed.iter().enumerate() {
            let inside = |window: Window| passed[..=place].iter().filter(move |(at, _)| at + window.millis() > *end);
            prop_assert!(inside(Window::Minute).count() as u64 <= limits.0);
            prop_assert!(inside(Window::Hour).count() as u64 <= limits.1);
            prop_assert!(inside(Window::Minute).map(|(_, tokens)| tokens).sum::<u64>() <= limits.2);
        }
    }
}

#[test]
fn a_power_cut_loses_at_most_a_lease() {
    for before in 0..40 {
        let rules = vec![Rule::requests(PER_MINUTE, Window::Minute)];
        let passed = run_servers(vec![(before, 0), (150, 0)], rules, Estimate::default()).len() as u64;
        assert!((PER_MINUTE - LEASE..=PER_MINUTE).contains(&passed), "{passed} with a cut after {before}");
    }
}

#[test]
fn a_log_of_many_segments_is_restored() {
    let disk = Arc::new(MemStore::default());
    let day = admit("key_1", &[Rule::requests(2_000, Window::Day)], Estimate::default());
    let (store, repeated): (Arc<dyn Store>, Admit) = (disk.clone(), day.clone());
    test_world::run(|tree| async move {
        let clock = Clock::manual(test_world::START);
        let limiter = limiter(&tree, "limits", &store, &clock);
        running(&tree, "limits/rate-0").await;
        for _ in 0..1_500 {
            clock.advance(Duration::from_secs(40));
            assert_eq!(passes(&limiter, repeated.clone()).await, Ok(true));
        }
    });
    assert_eq!(records(disk.as_ref()), 1 + 1_500_usize.div_ceil(256));
    let store: Arc<dyn Store> = disk;
    test_world::run(|tree| async move {
        // Half of them have left: they came at 40, 80 … 60,000 s.
        let clock = Clock::manual(test_world::START.plus(Duration::from_secs(86_400 + 30_000)));
        let limiter = limiter(&tree, "limits", &store, &clock);
        running(&tree, "limits/rate-0").await;
        assert_eq!(exhaust(&limiter, &day).await, 1_250);
        tree.drain();
        test_world::until(|| records(store.as_ref()) == 1 + 2 + (1_500 % 256 > 0) as usize + 1).await;
    });
}
