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

#[test]
fn keys_of_a_team_share_its_budget_over_races_and_a_kill() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        let of = |key: usize| Reserve {
            key_id: format!("key_{key}"),
            team: "team_1".to_owned(),
            team_limit: Some(379),
            ..reserve(10, Some(1_000), None)
        };
        let results = join_all((0..100).map(|n| ledger.reserve(of(n % 4)))).await;
        let mut held = Vec::new();
        for result in results {
            match result {
                Ok(hold) => held.push(hold),
                Err(Refusal::Exhausted(spent)) => assert_eq!(spent.which, Budget::Team),
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(held.len(), 37);
        let team = Attribution { team: "team_1", ..Attribution::default() };
        for hold in held.drain(..17) {
            ledger.post(&Entry { attribution: team, ..entry("key_1", "m", Some(8)) }, hold);
        }
        let view = ledger.budget(Budget::Team, "team_1", Some(379)).await.unwrap();
        assert_eq!((view.spent_nanos, view.held_nanos), (17 * 8, 200));
        // The server is killed with 20 calls in flight, which are charged.
        env.kill();
        held.into_iter().for_each(std::mem::forget);
        tree.stop().await;
        env.revive();
        let again = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let ledger = env.start(&again).await;
        let view = ledger.budget(Budget::Team, "team_1", Some(379)).await.unwrap();
        assert_eq!((view.spent_nanos, view.held_nanos), (17 * 8 + 200, 0));
        assert!(ledger.reserve(Reserve { nanos: 44, ..of(9) }).await.is_err(), "43 are left");
        again.stop().await;
    });
}

#[test]
fn a_key_has_a_hundred_tags_a_day_and_its_further_ones_are_one() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let tagged = |ledger: &Ledger, key: &str, tag: &str| {
            let attribution = Attribution { tags: tag, ..Attribution::default() };
            ledger.post(&Entry { attribution, ..entry(key, "m", Some(1)) }, Hold::none());
        };
        let ledger = env.start(&tree).await;
        for n in 0..80 {
            tagged(&ledger, "key_1", &format!("t{n}"));
        }
        ledger.flush().await.unwrap();
        env.kill();
        for n in 70..130 {
            tagged(&ledger, "key_1", &format!("t{n}"));
        }
        tagged(&ledger, "key_2", "t129");
        tree.stop().await;
        env.revive();
        let again = Tree::new(Arbiter::current(), Clock::tokio(test_world::START));
        let ledger = env.start(&again).await;
        let rows = async |query: Query| ledger.usage(Query { dimension: Dimension::Tag, ..query }).await.unwrap();
        let of_key = |key: &str| Query { key_id: Some(key.to_owned()), ..all() };
        let found = rows(of_key("key_1")).await;
        let requests = |tag: &str| found.iter().find(|row| row.subject == tag).map(|row| row.row.requests);
        assert_eq!((found.len(), requests("t75"), requests("t99")), (101, Some(2), Some(1)));
        assert_eq!((requests("t100"), requests("other")), (None, Some(30)));
        assert_eq!(rows(of_key("key_2")).await.len(), 1, "the share of another key");
        let one = rows(Query { subject: Some("t129".to_owned()), ..all() }).await;
        assert_eq!(one.len(), 1);
        again.stop().await;
    });
}
