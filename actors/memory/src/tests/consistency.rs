//! Consistency of a store: every record belongs to an existing entry, and the usage is correct.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use muster_store::Rec;
use proptest::prelude::*;

use super::*;
use crate::record::Usage;
use crate::usage_cache::owner_total;

/// Asserts that no record is missing or left over.
pub(super) fn check(store: &MemStore) {
    let entries = entries_in(store);
    let mut expected: BTreeMap<&str, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut expect = |tree: Rows, key: Vec<u8>| {
        expected.entry(tree.name()).or_default().insert(key);
    };
    let mut usages: BTreeMap<Vec<u8>, Usage> = BTreeMap::new();
    for entry in &entries {
        expect(Rows::MemoryIds, keys::id(entry.owner(), entry.id));
        expect(Rows::MemoryIds, keys::id_in(&entry.place.space, entry.id));
        expect(Rows::MemoryVectors, keys::vector(entry.id));
        let mut ends = vec![(entry.expires_at, entry.version)];
        for kept in &entry.kept {
            expect(Rows::MemoryHistory, keys::version(entry.id, kept.version));
            ends.push((kept.expires_at, kept.version));
        }
        for (at, version) in ends {
            at.into_iter().for_each(|at| expect(Rows::MemoryExpiry, keys::expiry(at, entry.id, version)));
        }
        for space in [entry.place.space.clone(), owner_total(entry.owner())] {
            let usage = usages.entry(keys::usage(&space)).or_default();
            usage.entries += 1;
            usage.versions += entry.kept.len() as u64;
            usage.bytes += entry.bytes();
        }
    }
    for tree in [Rows::MemoryIds, Rows::MemoryHistory, Rows::MemoryExpiry] {
        let aside = |key: &[u8]| tree == Rows::MemoryIds && !key.starts_with(b"by/") && !key.starts_with(b"in/");
        let there = rows(store, tree).into_iter().map(|(key, _)| key).filter(|key| !aside(key)).collect();
        assert_eq!(expected.remove(tree.name()).unwrap_or_default(), there, "{tree:?}");
    }
    let vectors: BTreeSet<Vec<u8>> = rows(store, Rows::MemoryVectors).into_iter().map(|(key, _)| key).collect();
    assert!(
        vectors.is_subset(&expected.remove(Rows::MemoryVectors.name()).unwrap_or_default()),
        "a vector without an entry"
    );
    let counted: BTreeMap<Vec<u8>, Usage> = rows(store, Rows::MemoryIds)
        .into_iter()
        .filter(|(key, _)| key.starts_with(b"n/"))
        .map(|(key, bytes)| (key, Usage::decode(&Rec { schema: 1, bytes }).unwrap()))
        .collect();
    assert_eq!(counted, usages);
}

#[derive(Debug, Clone)]
enum Step {
    Store { mine: bool, key: u8, value: u8, ttl: Option<u64> },
    Delete { key: u8 },
    Forget,
    Sweep,
    Wait { ms: u64 },
    Kill,
    Yield,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (any::<bool>(), 0..6_u8, 0..3_u8, proptest::option::of(1..4_u64))
            .prop_map(|(mine, key, value, ttl)| Step::Store { mine, key, value, ttl }),
        2 => (0..6_u8).prop_map(|key| Step::Delete { key }),
        1 => Just(Step::Forget),
        1 => Just(Step::Sweep),
        2 => (0..1_500_u64).prop_map(|ms| Step::Wait { ms }),
        1 => Just(Step::Kill),
        3 => Just(Step::Yield),
    ]
}

type Acknowledged = Arc<Mutex<Vec<Arc<EntryRecord>>>>;

/// Sends requests without waiting, so that they interleave with the actor's end.
fn begin(fixture: &Fixture, step: Step, acknowledged: &Acknowledged) {
    let (memory, me, other) = (fixture.memory.clone(), fixture.me.clone(), fixture.other.clone());
    let (acknowledged_records, owner) = (Arc::clone(acknowledged), Owner::new("key_me"));
    actix_rt::spawn(async move {
        match step {
            Step::Store { mine, key, value, ttl } => {
                let (by, ttl_seconds) = if mine { (&me, ttl) } else { (&other, None) };
                let entry = NewEntry { ttl_seconds, ..new(&format!("k{key}"), &format!("v{value}")) };
                if let Ok(reply) = memory.store(entry, by, Precondition::None, None).await {
                    acknowledged_records.lock().unwrap().push(reply.record);
                }
            }
            Step::Delete { key } => drop(memory.delete(None, &format!("k{key}"), Precondition::None, &me).await),
            Step::Forget => drop(memory.forget(&owner, &me).await),
            Step::Sweep => drop(memory.sweep().await),
            Step::Wait { .. } | Step::Kill | Step::Yield => {}
        }
    });
}

fn run(steps: Vec<Step>) {
    test_world::run(|tree| async move {
        let fixture = Fixture::new(&tree).await;
        let acknowledged = Acknowledged::default();
        for step in steps {
            match step {
                Step::Wait { ms } => test_world::after(Duration::from_millis(ms)).await,
                Step::Kill => {
                    fixture.tree.inject_panic("memory/memory");
                }
                Step::Yield => {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                }
                request => begin(&fixture, request, &acknowledged),
            }
            tokio::task::yield_now().await;
        }
        // Longer than any back-off, call and time to live: everything has expired.
        test_world::after(Duration::from_secs(200)).await;
        fixture.memory.up().await;
        fixture.memory.sweep().await.unwrap();
        check(&fixture.store);
        assert!(!rows(&fixture.store, Rows::MemoryIds).iter().any(|(key, _)| key.starts_with(b"gone/")));
        let stored = entries_in(&fixture.store);
        assert!(stored.iter().all(|entry| entry.expires_at.is_none()));
        // The others do not expire: each is as acknowledged, or as a later change left it.
        for record in acknowledged.lock().unwrap().iter().filter(|record| record.owner().as_str() == "key_other") {
            let there = stored.iter().find(|entry| entry.place == record.place);
            assert!(there.is_some_and(|there| there.id == record.id && there.seq >= record.seq), "{record:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_consistent_after_any_races_and_crashes(steps in prop::collection::vec(step(), 1..60)) {
        run(steps);
    }
}
