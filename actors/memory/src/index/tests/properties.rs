//! Property: after any sequence of events the index matches the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;

use super::fixture::*;
use crate::embed::tests::model::WordModel;
use crate::index::Indexes;
use crate::port::{Applied, NewVector};
use crate::record::Space;
use crate::stored;
use muster_core::test_world;

#[derive(Debug, Clone)]
enum Step {
    Put(usize, u8, u8),
    Delete(usize, u8),
    Forget(usize),
    Vector(usize, u8),
    /// Announces pending changes in order.
    Announce,
    /// Drops pending announcements, as a dying writer does.
    DropAnnouncements,
    Checkpoint,
    Panic(bool),
    /// The server is killed and restarted.
    Restart,
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..4_usize, 0..4_u8, 0..3_u8).prop_map(|(space, key, word)| Step::Put(space, key, word)),
        3 => (0..4_usize, 0..4_u8).prop_map(|(space, key)| Step::Delete(space, key)),
        1 => (0..4_usize).prop_map(Step::Forget),
        3 => (0..4_usize, 0..4_u8).prop_map(|(space, key)| Step::Vector(space, key)),
        6 => Just(Step::Announce),
        1 => Just(Step::DropAnnouncements),
        3 => Just(Step::Checkpoint),
        1 => any::<bool>().prop_map(Step::Panic),
        2 => Just(Step::Restart),
        1 => Just(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

/// Two owners of adjacent slots, two of others, with equal namespace names.
fn spaces() -> [Space; 4] {
    [space("key_1", "a"), space("key_1", "b"), space("key_2", "a"), space("usr_3", "a")]
}

const WORDS: [&str; 3] = ["fox", "wolf", "deer"];

/// By space and word: ids and versions, and the number of vectors.
type IndexContent = (BTreeMap<(usize, usize), BTreeSet<(u128, u32)>>, u64);

async fn index_content(indexes: &Indexes) -> IndexContent {
    let mut all = BTreeMap::new();
    for (number, space) in spaces().iter().enumerate() {
        for (word, text) in WORDS.iter().enumerate() {
            let mut search = text_search(space.owner.as_str(), text);
            search.namespace = Some(Arc::clone(&space.namespace));
            let found = crate::port::Searcher::search(indexes, search).await.unwrap();
            all.insert((number, word), found.hits.iter().map(|found| (found.hit.id, found.hit.version)).collect());
        }
    }
    (all, indexes.stats().await.vectors)
}

/// The same, from the store.
fn stored_content(fixture: &Fixture) -> IndexContent {
    let mut all: BTreeMap<(usize, usize), BTreeSet<(u128, u32)>> = BTreeMap::new();
    let mut vectors = 0;
    for space in 0..4 {
        (0..3).for_each(|word| drop(all.insert((space, word), BTreeSet::new())));
    }
    for record in fixture.entries() {
        let space = spaces().iter().position(|space| *space == record.place.space).unwrap();
        let word = WORDS.iter().position(|word| *word == &*record.value).unwrap();
        all.get_mut(&(space, word)).unwrap().insert((record.id.0, record.version));
        let vector = stored::vector(&fixture.store(), record.id).unwrap();
        vectors += u64::from(vector.is_some_and(|vector| record.is_vector_valid(vector.version)));
    }
    (all, vectors)
}

/// Runs one server; returns the remaining steps.
async fn run_server(
    fixture: &Arc<Fixture>,
    tree: muster_core::supervise::Tree,
    steps: &mut std::vec::IntoIter<Step>,
) -> Vec<(IndexContent, IndexContent)> {
    let indexes = fixture.begin(&tree, fixture.options(&WordModel::absent()));
    indexes.up().await;
    let (mut unannounced, mut compared): (Vec<Applied>, _) = (Vec::new(), Vec::new());
    for step in steps.by_ref() {
        match step {
            Step::Put(number, key, word) => {
                let (space, word) = (&spaces()[number], WORDS[usize::from(word)]);
                unannounced.push(fixture.put(space, &key.to_string(), word).await);
            }
            Step::Delete(number, key) => unannounced.extend(fixture.delete(&spaces()[number], &key.to_string()).await),
            Step::Forget(number) => unannounced.push(fixture.forget(&spaces()[number].owner).await),
            Step::Vector(number, key) => {
                let place = crate::record::Place::new(spaces()[number].clone(), &key.to_string());
                if let Some(entry) = stored::entry(&fixture.store(), &place).unwrap() {
                    let mut vector = vec![0.0; WordModel::DIMENSIONS];
                    vector[number] = 1.0;
                    let (id, version, model) = (entry.id, entry.version, "words-1".into());
                    let new = NewVector { place, id, version, model, vector: vector.into() };
                    unannounced.extend(fixture.vector(new).await);
                }
            }
            Step::Announce => {
                crate::port::IndexSink::apply(&indexes, std::mem::take(&mut unannounced).into()).await;
            }
            Step::DropAnnouncements => unannounced.clear(),
            Step::Checkpoint => drop(indexes.checkpoint().await),
            Step::Panic(first) => {
                tree.inject_panic(if first { "memory/index-0" } else { "memory/index-1" });
                tokio::task::yield_now().await;
            }
            Step::Restart => break,
            Step::Wait => test_world::after(Duration::from_secs(5)).await,
        }
    }
    // Lost announcements are found by polling, which takes two checks.
    crate::port::IndexSink::apply(&indexes, unannounced.into()).await;
    test_world::after(Duration::from_secs(10)).await;
    ready(&indexes).await;
    compared.push((index_content(&indexes).await, stored_content(fixture)));
    compared
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_index_equals_one_rebuilt_from_the_store(steps in steps()) {
        let (fixture, compared) = (Fixture::new(), Arc::new(Mutex::new(Vec::new())));
        let mut steps = steps.into_iter();
        while steps.len() > 0 {
            let rest = Arc::new(Mutex::new(steps));
            let (server, out, left) = (Arc::clone(&fixture), Arc::clone(&compared), Arc::clone(&rest));
            test_world::run(|tree| async move {
                let mut steps = std::mem::take(&mut *left.lock().unwrap());
                let of_server = run_server(&server, tree, &mut steps).await;
                out.lock().unwrap().extend(of_server);
                *left.lock().unwrap() = steps;
                server.kill();
            });
            fixture.revive();
            steps = std::mem::take(&mut *rest.lock().unwrap());
        }
        for (indexed, stored) in compared.lock().unwrap().iter() {
            prop_assert_eq!(indexed, stored);
        }
    }
}
