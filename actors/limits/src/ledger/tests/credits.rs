//! Credits: budgets stay exact while calls draw their holds without asking.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;

use super::*;

const LIMIT: Option<u64> = Some(10_000);

/// Returns the hold of a call if it was drawn from a credit.
fn drawn(ledger: &Ledger, request: Reserve) -> Option<Result<Hold, Refusal>> {
    // A question to the actor is answered in a later turn of this thread.
    ledger.reserve(request).now_or_never()
}

#[test]
fn a_busy_payer_draws_most_holds_without_asking_and_the_budget_is_exact() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        let (mut held, mut free) = (Vec::new(), 0);
        loop {
            let hold = match drawn(&ledger, reserve(3, LIMIT, None)) {
                Some(hold) => {
                    free += 1;
                    hold
                }
                None => ledger.reserve(reserve(3, LIMIT, None)).await,
            };
            match hold {
                Ok(hold) => held.push(hold),
                Err(Refusal::Exhausted(spent)) => {
                    assert_eq!((spent.spent_nanos, spent.held_nanos), (0, 9_999));
                    break;
                }
                Err(Refusal::Error(error)) => panic!("{error}"),
            }
        }
        assert_eq!(held.len(), 3_333);
        assert!(free > 2_000, "only {free} were drawn");
        drop(held);
        let budgets = ledger.budgets("key_1", LIMIT, "m", None).await.unwrap();
        assert_eq!((budgets.key.spent_nanos, budgets.key.held_nanos), (0, 0));
    });
}

#[test]
fn what_is_set_aside_for_one_key_rejects_no_other_call() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        for _ in 0..100 {
            drop(ledger.reserve(reserve(3, None, LIMIT)).await.unwrap());
        }
        assert!(drawn(&ledger, reserve(3, None, LIMIT)).is_some(), "there is a credit");
        let other = Reserve { key_id: "key_2".to_owned(), ..reserve(10_000, None, LIMIT) };
        let all = ledger.reserve(other).await.unwrap();
        assert!(ledger.reserve(reserve(1, None, LIMIT)).await.is_err());
        drop(all);
    });
}

#[test]
fn another_budget_of_the_same_payer_is_decided_by_the_actor() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        for _ in 0..100 {
            drop(ledger.reserve(reserve(3, LIMIT, None)).await.unwrap());
        }
        assert!(drawn(&ledger, reserve(3, LIMIT, None)).is_some());
        assert!(drawn(&ledger, reserve(3, Some(2), None)).is_none(), "the budget was lowered");
        assert!(ledger.reserve(reserve(3, Some(2), None)).await.is_err());
    });
}

#[test]
fn a_kill_charges_the_holds_that_were_drawn_and_nothing_of_the_credit() {
    let env = ServerEnv::new();
    let first = Arc::clone(&env);
    test_world::run(|tree| async move {
        let ledger = first.start(&tree).await;
        for _ in 0..100 {
            // Neither posted nor released.
            std::mem::forget(ledger.reserve(reserve(3, LIMIT, None)).await.unwrap());
        }
        first.kill();
    });
    test_world::run(|tree| async move {
        env.revive();
        let ledger = env.start(&tree).await;
        let key = ledger.budgets("key_1", LIMIT, "m", None).await.unwrap().key;
        assert_eq!((key.spent_nanos, key.held_nanos), (300, 0));
    });
}

#[test]
fn a_journal_that_cannot_be_written_costs_nothing() {
    test_world::run(|tree| async move {
        let env = ServerEnv::new();
        let ledger = env.start(&tree).await;
        for _ in 0..100 {
            drop(ledger.reserve(reserve(3, LIMIT, None)).await.unwrap());
        }
        let before = ledger.status().await.unwrap().open_holds;
        assert_eq!(before, 0);
        later(std::time::Duration::from_secs(1)).await;
        // Nothing is set aside any more: the whole budget is there for one call.
        drop(ledger.reserve(reserve(10_000, LIMIT, None)).await.unwrap());
    });
}

/// Advances virtual time, running everything that is due.
async fn later(by: std::time::Duration) {
    // The timeout is expected to elapse.
    let _ = tokio::time::timeout(by, std::future::pending::<()>()).await;
}

#[test]
fn threads_that_draw_at_once_never_exceed_the_budget() {
    let (env, held) = (ServerEnv::new(), Arc::new(AtomicU64::new(0)));
    let total = Arc::clone(&held);
    actix_rt::System::new().block_on(async move {
        let actor = Arbiter::new();
        let clock = Clock::system();
        let tree = Tree::new(Arbiter::current(), clock.clone());
        let store: StoreHandle = Arc::clone(&env.disk) as _;
        let options = LedgerOptions::default();
        let ledger =
            Ledger::start(&tree.group("ledger"), actor.handle(), &store, &env.folder(), &clock, options).unwrap();
        ledger.up().await;
        let threads = (0..8).map(|_| {
            let (ledger, held) = (ledger.clone(), Arc::clone(&held));
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    while let Ok(hold) = ledger.reserve(reserve(7, LIMIT, None)).await {
                        held.fetch_add(hold.nanos(), Ordering::Relaxed);
                        ledger.post(&Entry { at: clock_now(), ..entry("key_1", "m", Some(hold.nanos())) }, hold);
                    }
                });
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            tokio::task::spawn_blocking(move || thread.join().unwrap()).await.unwrap();
        }
        actor.stop();
    });
    assert_eq!(total.load(Ordering::Relaxed), 9_996, "as many calls of 7 as fit in 10,000");
}

fn clock_now() -> Millis {
    Clock::system().now()
}
