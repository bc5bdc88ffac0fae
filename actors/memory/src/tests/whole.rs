//! Consistency of a store: every record belongs to an existing entry, and the tallies match.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use muster_store::Rec;
use proptest::prelude::*;

use super::*;
use crate::record::Tally;
use crate::tallies::whole as all_of;

/// Panics with what is left over or missing.
pub(super) fn check(store: &MemStore) {
    let entries = entries_in(store);
    let mut wanted: BTreeMap<&str, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut want = |tree: Rows, key: Vec<u8>| {
        wanted.entry(tree.name()).or_default().insert(key);
    };
    let mut tallies: BTreeMap<Vec<u8>, Tally> = BTreeMap::new();
    for entry in &entries {
        want(Rows::MemoryIds, place::id(entry.owner(), entry.id));
        want(Rows::MemoryIds, place::id_in(&entry.place.space, entry.id));
        want(Rows::MemoryVectors, place::vector(entry.id));
        let mut ends = vec![(entry.expires_at, entry.version)];
        for kept in &entry.kept {
            want(Rows::MemoryHistory, place::version(entry.id, kept.version));
            ends.push((kept.expires_at, kept.version));
        }
        for (at, version) in ends {
            at.into_iter().for_each(|at| want(Rows::MemoryExpiry, place::end(at, entry.id, version)));
        }
        for space in [entry.place.space.clone(), all_of(entry.owner())] {
            let tally = tallies.entry(place::tally(&space)).or_default();
            tally.entries += 1;
            tally.versions += entry.kept.len() as u64;
            tally.bytes += entry.bytes();
        }
    }
    for tree in [Rows::MemoryIds, Rows::MemoryHistory, Rows::MemoryExpiry] {
        let aside = |key: &[u8]| tree == Rows::MemoryIds && !key.starts_with(b"by/") && !key.starts_with(b"in/");
        let there = rows(store, tree).into_iter().map(|(key, _)| key).filter(|key| !aside(key)).collect();
        assert_eq!(wanted.remove(tree.name()).unwrap_or_default(), there, "{tree:?}");
    }
    let vectors: BTreeSet<Vec<u8>> = rows(store, Rows::MemoryVectors).into_iter().map(|(key, _)| key).collect();
    assert!(vectors.is_subset(&wanted.remove(Rows::MemoryVectors.name()).unwrap_or_default()), "a vector of nothing");
    let counted: BTreeMap<Vec<u8>, Tally> = rows(store, Rows::MemoryIds)
        .into_iter()
        .filter(|(key, _)| key.starts_with(b"n/"))
        .map(|(key, bytes)| (key, Tally::decode(&Rec { schema: 1, bytes }).unwrap()))
        .collect();
    assert_eq!(counted, tallies);
}

#[derive(Debug, Clone)]
enum Do {
    Store { mine: bool, key: u8, value: u8, ttl: Option<u64> },
    Delete { key: u8 },
    Forget,
    Sweep,
    Wait { ms: u64 },
    Kill,
    Let,
}

fn step() -> impl Strategy<Value = Do> {
    prop_oneof![
        12 => (any::<bool>(), 0..6_u8, 0..3_u8, proptest::option::of(1..4_u64))
            .prop_map(|(mine, key, value, ttl)| Do::Store { mine, key, value, ttl }),
        2 => (0..6_u8).prop_map(|key| Do::Delete { key }),
        1 => Just(Do::Forget),
        1 => Just(Do::Sweep),
        2 => (0..1_500_u64).prop_map(|ms| Do::Wait { ms }),
        1 => Just(Do::Kill),
        3 => Just(Do::Let),
    ]
}

type Acknowledged = Arc<Mutex<Vec<Arc<EntryRecord>>>>;

/// Sends requests without waiting, so that they interleave with the actor's end.
fn begin(bench: &Bench, step: Do, acknowledged: &Acknowledged) {
    let (memory, me, other) = (bench.memory.clone(), bench.me.clone(), bench.other.clone());
    let (noted, owner) = (Arc::clone(acknowledged), Owner::new("key_me"));
    actix_rt::spawn(async move {
        match step {
            Do::Store { mine, key, value, ttl } => {
                let (by, ttl_seconds) = if mine { (&me, ttl) } else { (&other, None) };
                let entry = NewEntry { ttl_seconds, ..new(&format!("k{key}"), &format!("v{value}")) };
                if let Ok(reply) = memory.store(entry, by, Precondition::None, None).await {
                    noted.lock().unwrap().push(reply.record);
                }
            }
            Do::Delete { key } => drop(memory.delete(None, &format!("k{key}"), Precondition::None, &me).await),
            Do::Forget => drop(memory.forget(&owner, &me).await),
            Do::Sweep => drop(memory.sweep().await),
            Do::Wait { .. } | Do::Kill | Do::Let => {}
        }
    });
}

fn run(steps: Vec<Do>) {
    test_world::run(|tree| async move {
        let bench = Bench::new(&tree).await;
        let acknowledged = Acknowledged::default();
        for step in steps {
            match step {
                Do::Wait { ms } => test_world::after(Duration::from_millis(ms)).await,
                Do::Kill => {
                    bench.tree.inject_panic("memory/memory");
                }
                Do::Let => {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                }
                asked => begin(&bench, asked, &acknowledged),
            }
            tokio::task::yield_now().await;
        }
        // Longer than any back-off, call and time to live: everything has expired.
        test_world::after(Duration::from_secs(200)).await;
        bench.memory.up().await;
        bench.memory.sweep().await.unwrap();
        check(&bench.store);
        assert!(!rows(&bench.store, Rows::MemoryIds).iter().any(|(key, _)| key.starts_with(b"gone/")));
        let stored = entries_in(&bench.store);
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
    fn a_store_is_whole_whoever_races_and_dies(steps in prop::collection::vec(step(), 1..60)) {
        run(steps);
    }
}
