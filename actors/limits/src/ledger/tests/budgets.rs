//! Holds and limits.

use std::time::Duration;

use futures::future::join_all;

use super::*;
use muster_core::Kind;

#[test]
fn a_hundred_concurrent_calls_share_a_budget_for_thirty_seven() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        let results = join_all((0..100).map(|_| ledger.reserve(reserve(10, Some(379), None)))).await;
        let held: Vec<Hold> = results.into_iter().filter_map(Result::ok).collect();
        assert_eq!(held.len(), 37);
        assert_eq!(spent(&ledger).await, (0, 370));
        drop(held);
        assert_eq!(spent(&ledger).await, (0, 0), "a dropped hold is released");
        let hold = ledger.reserve(reserve(379, Some(379), None)).await.unwrap();
        assert_eq!(hold.nanos(), 379);
    });
}

#[test]
fn a_rejection_names_the_budget_and_its_renewal() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        let first = ledger.reserve(reserve(60, Some(100), Some(80))).await.unwrap();
        let refused = ledger.reserve(reserve(30, Some(100), Some(80))).await.unwrap_err();
        let resets_at = Millis::parse_rfc3339("2026-02-01T00:00:00Z").unwrap();
        let spent = Exhausted { which: Budget::Model, spent_nanos: 0, held_nanos: 60, limit_nanos: 80, resets_at };
        assert_eq!(refused, Refusal::Exhausted(spent));
        // The actual cost replaces the reservation.
        ledger.post(&entry("key_1", "m", Some(45)), first);
        drop(ledger.reserve(reserve(30, Some(100), Some(80))).await.unwrap());
        // It may be higher, and then nothing is left.
        let second = ledger.reserve(reserve(30, Some(100), Some(80))).await.unwrap();
        ledger.post(&entry("key_1", "m", Some(60)), second);
        let refused = ledger.reserve(reserve(1, Some(100), Some(80))).await.unwrap_err();
        assert!(matches!(refused, Refusal::Exhausted(Exhausted { which: Budget::Key, spent_nanos: 105, .. })));
        assert_eq!(muster_core::Error::from(refused).kind, Kind::BudgetExhausted);
    });
}

#[test]
fn a_free_call_and_one_without_a_budget_need_no_hold() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        ledger.post(&entry("key_1", "m", Some(500)), Hold::none());
        assert_eq!(ledger.reserve(reserve(0, Some(1), Some(1))).await.unwrap().nanos(), 0);
        assert_eq!(ledger.reserve(reserve(9, None, None)).await.unwrap().nanos(), 0);
        assert!(ledger.reserve(reserve(9, Some(1), None)).await.is_err());
        assert!(!Ledger::needs_hold(None, None) && Ledger::needs_hold(None, Some(1)));
        assert_eq!(ledger.status().await.unwrap().open_holds, 0);
    });
}

#[test]
fn a_new_month_has_a_new_budget_and_a_hold_stays_in_its_month() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        // Eleven seconds before the end of the month.
        let clock = Clock::manual(Millis::parse_rfc3339("2026-01-31T23:59:49Z").unwrap());
        let store: StoreHandle = Arc::clone(&env.disk) as _;
        let group = tree.group("ledger");
        let options = LedgerOptions::default();
        let ledger = Ledger::start(&group, Arbiter::current(), &store, &env.folder(), &clock, options).unwrap();
        ledger.up().await;
        let hold = ledger.reserve(reserve(100, Some(100), None)).await.unwrap();
        assert!(ledger.reserve(reserve(1, Some(100), None)).await.is_err());
        clock.advance(Duration::from_secs(11));
        let next = ledger.reserve(reserve(100, Some(100), None)).await.unwrap();
        assert_eq!(spent(&ledger).await, (0, 100));
        drop(next);
        ledger.post(&Entry { at: clock.now(), ..entry("key_1", "m", Some(90)) }, hold);
        assert_eq!(spent(&ledger).await, (90, 0), "a cost counts where it is posted");
        let budgets = ledger.budgets("key_1", None, "m", Some(5)).await.unwrap();
        assert_eq!(budgets.key.limit_nanos, None);
        assert_eq!((budgets.model.spent_nanos, budgets.model.limit_nanos), (90, Some(5)));
        assert_eq!(budgets.model.resets_at, Millis::parse_rfc3339("2026-03-01T00:00:00Z").unwrap());
    });
}

#[test]
fn a_cancelled_reservation_leaves_nothing_reserved() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        for _ in 0..20 {
            let request = ledger.reserve(reserve(10, Some(1_000), None));
            let cancelled = tokio::time::timeout(Duration::ZERO, request).await;
            drop(cancelled);
        }
        let ledger = &ledger;
        // The calls that were begun have been replied to by now.
        ledger.flush().await.unwrap();
        assert_eq!(spent(ledger).await, (0, 0));
    });
}
