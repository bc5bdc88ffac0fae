//! The actor dies, and the store fails, in the middle of rollouts: nothing is lost, and nothing is done twice.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_store::{StoreError, Tree};

use super::fleet::{House, live};
use super::*;
use muster_core::event::Event;

/// How often each execution came into each state, by the events that were committed.
fn told(house: &House) -> BTreeMap<(String, String), usize> {
    use muster_store::{Order, Record, Scan, Store};
    let (mut counts, mut from) = (BTreeMap::new(), None);
    loop {
        let scan = Scan { prefix: Vec::new(), from, limit: 1000, order: Order::Ascending };
        let page = house.store.scan(Tree::Outbox, &scan).unwrap();
        for (_, rec) in &page.items {
            let event = Event::decode(rec).unwrap();
            if event.name == "firmware.execution.changed" {
                let data: serde_json::Value = serde_json::from_str(event.data.get()).unwrap();
                let state = format!("{} {}", data["patch"]["attempt"], data["patch"]["state"]);
                *counts.entry((data["id"].to_string(), state)).or_default() += 1;
            }
        }
        from = page.next;
        if from.is_none() {
            return counts;
        }
    }
}

async fn rollout_under(devices: usize, house: &House, mut fault: impl AsyncFnMut(u64)) {
    let artifact = house.artifact(2).await;
    let policy = Policy { groups: vec![group(3), group(100)], ..Policy::default() };
    let made = house.job(JobKind::Update, &artifact.id, policy).await.unwrap();
    let lives: Vec<_> = (0..devices).map(|n| tokio::spawn(live(house.firmwares.clone(), device(n).id))).collect();
    for n in 0..5 {
        fault(n).await;
    }
    for seen in futures::future::join_all(lives).await {
        let seen = seen.unwrap();
        let mut ordered = seen.clone();
        ordered.sort_unstable();
        ordered.dedup();
        assert_eq!(seen, ordered, "a device never went back to what it had done");
    }
    house.job_comes_to(made.data["id"].as_str().unwrap(), JobState::Succeeded).await;
    let told = told(house);
    assert_eq!(told.len(), devices * 8);
    assert!(told.values().all(|count| *count == 1), "{told:?}");
    test_world::until(|| (0..devices).all(|n| house.fleet.runs(&format!("dev_{n:05}")) == 2)).await;
}

#[test]
fn an_actor_that_is_killed_again_and_again_installs_everything_exactly_once() {
    for seed in 0..8u64 {
        test_world::run(|tree| async move {
            let house = House::start(&tree, 10).await;
            let killer = tree.clone();
            rollout_under(10, &house, async |n| {
                // Another moment each time, over the whole rollout.
                test_world::after(Duration::from_millis(11_000 + (seed * 131 + n * 37) % 700)).await;
                killer.inject_panic("firmware/firmware");
            })
            .await;
        });
    }
}

#[test]
fn a_store_that_fails_for_a_while_delays_a_rollout_and_changes_nothing_of_it() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 10).await;
        let store = Arc::clone(&house.store);
        rollout_under(10, &house, async |_| {
            store.fail_commits(Some(StoreError::Io("no disk".into())));
            test_world::after(Duration::from_millis(900)).await;
            store.fail_commits(None);
            test_world::after(Duration::from_secs(20)).await;
        })
        .await;
    });
}

#[test]
fn what_is_not_durable_is_not_answered_told_or_seen() {
    test_world::run(|tree| async move {
        let house = House::start(&tree, 1).await;
        let artifact = house.artifact(2).await;
        house.feed.take();
        house.store.hold_commits();
        let pending = house.job(JobKind::Update, &artifact.id, Policy::default());
        let unanswered = tokio::time::timeout(Duration::from_secs(2), pending).await;
        assert!(unanswered.is_err());
        assert!(house.feed.take().is_empty());
        house.store.release();
    });
}
