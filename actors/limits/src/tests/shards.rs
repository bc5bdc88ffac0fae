//! Shards: concurrency, replies to clients, eviction.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use muster_store::{MemStore, Store};

use super::support::*;
use crate::*;
use muster_core::{Clock, test_world};

fn memory() -> Arc<dyn Store> {
    Arc::new(MemStore::default())
}

#[test]
fn a_thousand_concurrent_requests_share_a_limit_of_120() {
    test_world::run(|tree| async move {
        let limiter = limiter(&tree, "limits", &memory(), &Clock::tokio(test_world::START));
        running(&tree, "limits/rate-0").await;
        let answers = join_all((0..1_000).map(|_| passes(&limiter, chat("key_1")))).await;
        assert_eq!(answers.into_iter().filter(|answer| *answer == Ok(true)).count(), 120);
        tokio::time::advance(Duration::from_millis(59_000)).await;
        assert_eq!(exhaust(&limiter, &chat("key_1")).await, 0);
        tokio::time::advance(Duration::from_millis(2_000)).await;
        assert_eq!(exhaust(&limiter, &chat("key_1")).await, 120);
    });
}

#[test]
fn reports_what_is_left_and_when_it_is_renewed() {
    test_world::run(|tree| async move {
        // The clock of the test environment follows its timers; this one stands still.
        let clock = Clock::manual(test_world::START);
        let limiter = limiter(&tree, "limits", &memory(), &clock);
        running(&tree, "limits/rate-0").await;
        let rules =
            [Rule::requests(3, Window::Minute), Rule::requests(5, Window::Hour), Rule::tokens(1_000, Window::Minute)];
        let request = || admit("key_1", &rules, Estimate { prompt: 10, completion: 90 });
        let start = test_world::START.seconds();
        for n in 1..=3_u64 {
            let Decision::Admitted { view, reservation } = limiter.admit(request()).await.unwrap() else {
                panic!("request {n} was refused");
            };
            let requests = view.requests().unwrap();
            assert_eq!((requests.rule.limit, requests.remaining), (3, 3 - n));
            assert_eq!(requests.reset, start + (n - 1) * 10 + 60, "full again when the newest has left");
            assert_eq!(view.tokens().unwrap().remaining, 1_000 - 100 * n);
            assert_eq!(view.rules[1].remaining, 5 - n);
            assert_eq!(view.rules[1].more_in, 3_600 - (n - 1) * 10, "more comes when the oldest leaves");
            limiter.settle(reservation.unwrap(), 100);
            clock.advance(Duration::from_secs(10));
        }
        clock.advance(Duration::from_millis(500));
        let Decision::Refused { view, retry_after, which } = limiter.admit(request()).await.unwrap() else {
            panic!("a fourth in a minute passed");
        };
        assert_eq!((which, retry_after), (rules[0], Duration::from_secs(30)), "29.5 s, rounded up");
        assert_eq!(view.requests().unwrap().remaining, 0);
        // Two more reach the hourly limit; its wait is then the longer one.
        clock.advance(Duration::from_secs(60));
        assert_eq!(exhaust(&limiter, &request()).await, 2);
        let Decision::Refused { which, retry_after, .. } = limiter.admit(request()).await.unwrap() else {
            panic!("a sixth in an hour passed");
        };
        assert_eq!((which, retry_after), (rules[1], Duration::from_secs(3_600 - 90)), "3,509.5 s, rounded up");
        let seen = limiter.peek(&Subject::principal("key_1"), Category::Chat, Arc::from(rules)).await.unwrap();
        assert_eq!(seen.requests().unwrap().rule, rules[1]);
        let other = limiter.peek(&Subject::principal("key_1"), Category::Memory, Arc::from(rules)).await.unwrap();
        assert_eq!(other.requests().unwrap().remaining, 3, "another category is another bucket");
    });
}

#[test]
fn without_rules_there_is_no_limit_and_no_header() {
    test_world::run(|tree| async move {
        let limiter = limiter(&tree, "limits", &memory(), &Clock::tokio(test_world::START));
        let Decision::Admitted { view, reservation } =
            limiter.admit(admit("key_1", &[], Estimate { prompt: 1, completion: 1 })).await.unwrap()
        else {
            panic!("refused without a rule");
        };
        assert_eq!((view.requests(), reservation), (None, None));
    });
}

fn anonymous_request(name: &str) -> Admit {
    let mut request = chat("");
    request.key = BucketKey { subject: Subject::anonymous(name), category: Category::Health };
    request
}

#[test]
fn anonymous_subjects_are_bounded_and_the_least_recent_is_evicted() {
    test_world::run(|tree| async move {
        let store = memory();
        let options = Options { max_anonymous: 2, ..Options::default() };
        let limiter = with(&tree, "limits", &store, &Clock::tokio(test_world::START), &options);
        running(&tree, "limits/rate-0").await;
        for name in ["a", "b", "a", "c"] {
            assert_eq!(passes(&limiter, anonymous_request(name)).await, Ok(true));
        }
        assert_eq!(exhaust(&limiter, &anonymous_request("a")).await, 118, "remembered: it was seen after b");
        assert_eq!(exhaust(&limiter, &anonymous_request("c")).await, 119);
        assert_eq!(exhaust(&limiter, &anonymous_request("b")).await, 120, "forgotten");
        assert_eq!(records(store.as_ref()), 0, "an anonymous client causes no write");
    });
}

#[test]
fn an_idle_bucket_is_evicted_exactly_and_removed_when_expired() {
    test_world::run(|tree| async move {
        let store = memory();
        let limiter = limiter(&tree, "limits", &store, &Clock::tokio(test_world::START));
        running(&tree, "limits/rate-0").await;
        let daily = admit("key_1", &[Rule::requests(100, Window::Day)], Estimate::default());
        for _ in 0..7 {
            assert_eq!(passes(&limiter, daily.clone()).await, Ok(true));
        }
        assert_eq!(records(store.as_ref()), 2, "a head and a segment");
        // Written without a lease and evicted, twenty times; losing a lease each time would be visible.
        for _ in 0..20 {
            later(Duration::from_secs(300)).await;
            let seen = limiter.peek(&daily.key.subject, Category::Chat, Arc::clone(&daily.rules)).await.unwrap();
            assert_eq!(seen.requests().unwrap().remaining, 93);
        }
        later(Duration::from_secs(86_400)).await;
        let seen = limiter.peek(&daily.key.subject, Category::Chat, Arc::clone(&daily.rules)).await.unwrap();
        assert_eq!(seen.requests().unwrap().remaining, 100);
        later(Duration::from_secs(300)).await;
        assert_eq!(records(store.as_ref()), 0);
    });
}

#[test]
fn more_keys_than_fit_in_memory_are_written_and_evicted() {
    test_world::run(|tree| async move {
        let options = Options { max_principals: 4, ..Options::default() };
        let limiter = with(&tree, "limits", &memory(), &Clock::tokio(test_world::START), &options);
        running(&tree, "limits/rate-0").await;
        for _ in 0..3 {
            for n in 0..20 {
                assert_eq!(passes(&limiter, chat(&format!("key_{n}"))).await, Ok(true));
            }
        }
        assert_eq!(exhaust(&limiter, &chat("key_0")).await, 117, "none of the three is lost, and no lease either");
    });
}

#[test]
fn unused_buckets_are_removed_from_the_store() {
    test_world::run(|tree| async move {
        let disk = Arc::new(MemStore::default());
        let (before, clock) = (PowerCutStore::new(&disk), Clock::tokio(test_world::START));
        let store: Arc<dyn Store> = before.clone();
        let old = limiter(&tree, "old", &store, &clock);
        running(&tree, "old/rate-0").await;
        assert_eq!(passes(&old, chat("key_1")).await, Ok(true));
        before.cut();
        later(Duration::from_secs(1)).await;
        let disk: Arc<dyn Store> = disk;
        let new = limiter(&tree, "new", &disk, &clock);
        running(&tree, "new/rate-0").await;
        assert_eq!(records(disk.as_ref()), 2, "with a lease that is not returned");
        later(Duration::from_secs(3_700)).await;
        test_world::until(|| records(disk.as_ref()) == 0).await;
        assert_eq!(exhaust(&new, &chat("key_1")).await, PER_MINUTE);
    });
}

#[test]
fn names_of_one_category_evict_none_of_another() {
    test_world::run(|tree| async move {
        let store = memory();
        let options = Options { max_anonymous: 2, ..Options::default() };
        let limiter = with(&tree, "limits", &store, &Clock::tokio(test_world::START), &options);
        running(&tree, "limits/rate-0").await;
        let login = |name: &str| {
            let mut request = anonymous_request(name);
            request.key.category = Category::Login;
            request
        };
        assert_eq!(exhaust(&limiter, &anonymous_request("203.0.113.7")).await, 120);
        for made_up in 0..10 {
            assert_eq!(passes(&limiter, login(&format!("203.0.113.7 user{made_up}"))).await, Ok(true));
        }
        assert_eq!(passes(&limiter, anonymous_request("203.0.113.7")).await, Ok(false), "its limit is not forgotten");
    });
}
