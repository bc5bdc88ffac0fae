//! Allowances: limits stay exact while callers take admissions without asking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt;
use muster_store::{MemStore, Store};
use proptest::prelude::*;

use super::support::*;
use crate::*;
use muster_core::{Clock, test_world};

const LIMIT: u64 = 2_000;

fn request(tokens: u64) -> Admit {
    let rules = [
        Rule::requests(LIMIT, Window::Minute),
        Rule::requests(3 * LIMIT, Window::Hour),
        Rule::tokens(300_000, Window::Minute),
    ];
    admit("key_1", &rules, Estimate { prompt: tokens / 2, completion: tokens - tokens / 2 })
}

/// Returns the decision if it was taken from an allowance.
fn taken(limiter: &RateLimiter, request: Admit) -> Option<Decision> {
    // A question to the shard is answered in a later turn of this thread.
    limiter.admit(request).now_or_never().map(Result::unwrap)
}

#[test]
fn a_busy_subject_takes_most_admissions_without_asking() {
    with_limiter(|LimiterFixture { limiter, .. }| async move {
        let mut free = 0;
        for n in 1..=1_000 {
            let remaining = match taken(&limiter, request(10)) {
                Some(Decision::Admitted { view, .. }) => {
                    free += 1;
                    view.requests().unwrap().remaining
                }
                Some(Decision::Refused { .. }) => panic!("request {n} was refused"),
                None => match limiter.admit(request(10)).await.unwrap() {
                    Decision::Admitted { view, .. } => view.requests().unwrap().remaining,
                    Decision::Refused { .. } => panic!("request {n} was refused"),
                },
            };
            assert!(remaining <= LIMIT - n, "{remaining} after {n}");
        }
        assert!(free > 500, "only {free} of 1,000 were taken");
    });
}

#[test]
fn what_remains_is_counted_down_by_one_for_each_request() {
    with_limiter(|LimiterFixture { limiter, .. }| async move {
        for n in 1..=LIMIT {
            let Decision::Admitted { view, reservation } = limiter.admit(request(100)).await.unwrap() else {
                panic!("request {n} was refused");
            };
            assert_eq!(view.requests().unwrap().remaining, LIMIT - n);
            assert_eq!(view.tokens().unwrap().remaining, 300_000 - 100 * n);
            assert_eq!(reservation.map(|reservation| reservation.tokens()), Some(100));
        }
        let Decision::Refused { which, .. } = limiter.admit(request(100)).await.unwrap() else {
            panic!("more than the limit passed");
        };
        assert_eq!(which, Rule::requests(LIMIT, Window::Minute));
    });
}

#[test]
fn an_allowance_that_is_not_used_does_not_count() {
    test_world::run(|tree| async move {
        let store: Arc<dyn Store> = Arc::new(MemStore::default());
        let clock = Clock::tokio(test_world::START);
        let limiter = limiter(&tree, "limits", &store, &clock);
        running(&tree, "limits/rate-0").await;
        for _ in 0..10 {
            assert_eq!(passes(&limiter, request(10)).await, Ok(true));
        }
        later(Duration::from_secs(1)).await;
        let seen = limiter.peek(&request(10).key.subject, Category::Chat, request(10).rules).await.unwrap();
        assert_eq!(seen.requests().unwrap().remaining, LIMIT - 10);
        assert_eq!(seen.tokens().unwrap().remaining, 300_000 - 100);
        assert!(taken(&limiter, request(10)).is_none(), "it has ended");
        // Exactly the rest passes.
        assert_eq!(exhaust(&limiter, &request(10)).await, LIMIT - 10);
    });
}

#[test]
fn reservations_of_taken_admissions_are_settled() {
    with_limiter(|LimiterFixture { limiter, .. }| async move {
        for _ in 0..500 {
            let Decision::Admitted { reservation, .. } = limiter.admit(request(400)).await.unwrap() else {
                panic!("refused");
            };
            limiter.settle(reservation.unwrap(), 7);
        }
        let seen = limiter.peek(&request(0).key.subject, Category::Chat, request(0).rules).await.unwrap();
        assert_eq!(seen.tokens().unwrap().remaining, 300_000 - 500 * 7);
        assert_eq!(seen.requests().unwrap().remaining, LIMIT - 500);
    });
}

#[test]
fn threads_that_take_at_once_never_exceed_the_limit() {
    let store: Arc<dyn Store> = Arc::new(MemStore::default());
    let admitted = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&admitted);
    actix_rt::System::new().block_on(async move {
        let shard = actix_rt::Arbiter::new();
        let clock = Clock::manual(test_world::START);
        let tree = muster_core::supervise::Tree::new(actix_rt::Arbiter::current(), clock.clone());
        let limiter = RateLimiter::start(&tree.group("limits"), &[shard.handle()], &store, &clock, &Options::default());
        limiter.up().await;
        let threads = (0..8).map(|_| {
            let (limiter, admitted) = (limiter.clone(), Arc::clone(&admitted));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    while passes(&limiter, chat_of(20_000)).await.unwrap() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
        }
        shard.stop();
    });
    assert_eq!(total.load(Ordering::Relaxed), 20_000);
}

fn chat_of(limit: u64) -> Admit {
    admit("key_1", &[Rule::requests(limit, Window::Minute)], Estimate::default())
}

#[test]
fn a_power_cut_with_an_open_allowance_admits_no_more_than_the_limit() {
    test_world::run(|tree| async move {
        let disk = Arc::new(MemStore::default());
        let (before, clock) = (PowerCutStore::new(&disk), Clock::manual(test_world::START));
        let store: Arc<dyn Store> = before.clone();
        let old = limiter(&tree, "old", &store, &clock);
        running(&tree, "old/rate-0").await;
        let mut passed = 0;
        for _ in 0..777 {
            passed += u64::from(passes(&old, request(1)).await.unwrap());
        }
        before.cut();
        // Taken from an allowance between the power cut and the end of the process.
        while taken(&old, request(1)).is_some() {
            passed += 1;
        }
        let disk: Arc<dyn Store> = disk;
        let new = limiter(&tree, "new", &disk, &clock);
        running(&tree, "new/rate-0").await;
        passed += exhaust(&new, &request(1)).await;
        assert!((LIMIT - LIMIT / 10..=LIMIT).contains(&passed), "{passed}");
    });
}

#[test]
fn a_shard_that_is_restarted_ends_the_allowances_of_the_previous_one() {
    with_limiter(|LimiterFixture { tree, limiter, .. }| async move {
        let mut passed = 0;
        for _ in 0..500 {
            passed += u64::from(passes(&limiter, request(1)).await.unwrap());
        }
        assert!(tree.inject_panic("limits/rate-0"));
        later(Duration::from_millis(10)).await;
        running(&tree, "limits/rate-0").await;
        while let Ok(true) = passes(&limiter, request(1)).await {
            passed += 1;
        }
        assert!(passed <= LIMIT, "{passed}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every decision is that of the definition: the sum over the window before it.
    #[test]
    fn every_decision_matches_the_definition(
        steps in prop::collection::vec((prop_oneof![8 => Just(0_u64), 6 => 1_u64..40, 2 => 40_u64..2_000, 1 => 30_000_u64..70_000], 1_u64..120, 0_u64..4), 150),
    ) {
        const MOST: u64 = 1_300;
        let rules = [Rule::requests(MOST, Window::Minute), Rule::tokens(200_000, Window::Minute)];
        with_limiter_on(Clock::manual(test_world::START), move |clock, limiter| async move {
            let (mut now, mut requests, mut tokens) = (0_u64, Vec::new(), Vec::new());
            for (pause, burst, size) in steps {
                now += pause;
                clock.advance(Duration::from_millis(pause));
                for _ in 0..burst {
                    let size = size * 100;
                    let inside = |log: &[(u64, u64)]| -> u64 {
                        log.iter().rev().take_while(|(at, _)| at + 60_000 > now).map(|(_, amount)| amount).sum()
                    };
                    let passes = inside(&requests) < MOST && inside(&tokens) + size.min(1) <= 200_000;
                    let left = 200_000 - inside(&tokens).min(200_000);
                    let decision = limiter.admit(admit("key_1", &rules, Estimate { prompt: 0, completion: size })).await.unwrap();
                    match decision {
                        Decision::Admitted { reservation, .. } => {
                            assert!(passes, "admitted beyond the limit");
                            let reserved = reservation.map_or(0, |reservation| reservation.tokens());
                            assert_eq!(reserved, size.min(left));
                            requests.push((now, 1));
                            tokens.push((now, reserved));
                        }
                        Decision::Refused { .. } => assert!(!passes, "refused although there is room"),
                    }
                }
            }
        });
    }
}

/// Runs a test with a limiter of its own on this clock.
fn with_limiter_on<F, Fut>(clock: Clock, test: F)
where
    F: FnOnce(Clock, RateLimiter) -> Fut,
    Fut: Future<Output = ()>,
{
    test_world::run(|tree| async move {
        let store: Arc<dyn Store> = Arc::new(MemStore::default());
        let limiter = limiter(&tree, "limits", &store, &clock);
        running(&tree, "limits/rate-0").await;
        test(clock, limiter).await;
    });
}
