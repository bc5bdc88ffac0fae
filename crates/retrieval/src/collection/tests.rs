use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::{Language, Mode, Query, QueryContext, search};

/// Occurs in every value, so that a search for it finds all admitted entries.
const COMMON_WORD: &str = "harbour";
const NOW: i64 = 1_000;

#[derive(Debug, Clone)]
struct ModelEntry {
    version: u32,
    key: String,
    value: String,
    tags: Vec<String>,
    thread: Option<String>,
    expires_at: Option<i64>,
    has_vector: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Put {
        id: u128,
        entry: ModelEntry,
    },
    Vector {
        id: u128,
        is_current: bool,
    },
    Remove {
        id: u128,
    },
    /// Written and read back.
    Reopen,
}

fn model_entry() -> impl Strategy<Value = ModelEntry> {
    let key = prop::sample::select(vec!["a", "a/b", "a/c", "ab", "b", "ä"]).prop_map(str::to_owned);
    let value = prop::sample::select(vec!["red", "green boats", "blue boat", ""]);
    let value = value.prop_map(|word| format!("{COMMON_WORD} {word}"));
    let tags = prop::collection::vec(prop::sample::select(vec!["x", "y", "z:1"]).prop_map(str::to_owned), 0..3);
    let thread = prop::option::of(prop::sample::select(vec!["one", "two"]).prop_map(str::to_owned));
    let expires_at = prop::option::of(NOW - 3..NOW + 3);
    (key, value, tags, thread, expires_at).prop_map(|(key, value, tags, thread, expires_at)| ModelEntry {
        version: 0,
        key,
        value,
        tags,
        thread,
        expires_at,
        has_vector: false,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0_u128..10;
    prop_oneof![
        6 => (id.clone(), model_entry()).prop_map(|(id, entry)| Step::Put { id, entry }),
        3 => (id.clone(), any::<bool>()).prop_map(|(id, is_current)| Step::Vector { id, is_current }),
        2 => id.prop_map(|id| Step::Remove { id }),
        1 => Just(Step::Reopen),
    ]
}

fn put(collection: &mut Collection, id: u128, entry: &ModelEntry) {
    collection.put(&Document {
        id,
        version: entry.version,
        key: &entry.key,
        value: &entry.value,
        tags: &entry.tags,
        thread: entry.thread.as_deref(),
        stored_at: 0,
        expires_at: entry.expires_at,
        importance: Document::IMPORTANCE,
        language: Some(Language::English),
    });
}

fn bytes(collection: &Collection) -> Vec<u8> {
    let mut bytes = Vec::new();
    collection.encode(&mut bytes).unwrap();
    bytes
}

fn reopened(collection: &Collection) -> Collection {
    let bytes = bytes(collection);
    let mut input = &*bytes;
    let read = Collection::decode(&mut input).unwrap();
    assert!(input.is_empty(), "all data is read");
    read
}

fn run(steps: Vec<Step>) -> (Collection, BTreeMap<u128, ModelEntry>) {
    let mut collection = Collection::new(CollectionOptions::new(2));
    let mut model: BTreeMap<u128, ModelEntry> = BTreeMap::new();
    for (version, step) in (1..).zip(steps) {
        match step {
            Step::Put { id, mut entry } => {
                entry.version = version;
                let same =
                    |old: &ModelEntry| (&old.key, &old.value, &old.tags) == (&entry.key, &entry.value, &entry.tags);
                entry.has_vector = model.get(&id).is_some_and(|old| old.has_vector && same(old));
                put(&mut collection, id, &entry);
                model.insert(id, entry);
            }
            Step::Vector { id, is_current } => {
                let known = model.get_mut(&id).filter(|_| is_current);
                let version = known.as_ref().map_or(0, |entry| entry.version);
                assert_eq!(collection.put_vector(id, version, &[1.0, 0.0]), known.is_some());
                if let Some(entry) = known {
                    entry.has_vector = true;
                }
            }
            Step::Remove { id } => assert_eq!(collection.remove(id), model.remove(&id).is_some()),
            Step::Reopen => collection = reopened(&collection),
        }
    }
    (collection, model)
}

/// Ids of a thread's unexpired entries, in order.
fn members(model: &BTreeMap<u128, ModelEntry>, thread: &Option<String>) -> Vec<u128> {
    let is_live = |entry: &ModelEntry| entry.expires_at.is_none_or(|at| at > NOW);
    let in_it = |entry: &ModelEntry| thread.is_some() && entry.thread == *thread && is_live(entry);
    model.iter().filter(|(_, entry)| in_it(entry)).map(|(id, _)| *id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn holds_the_entries_that_were_put_and_not_removed(steps in prop::collection::vec(step(), 0..60)) {
        let (collection, model) = run(steps);
        prop_assert_eq!(collection.len(), model.len());
        prop_assert_eq!(collection.vectors(), model.values().filter(|entry| entry.has_vector).count());
        let live = model.values().filter(|entry| entry.expires_at.is_none_or(|at| at > NOW)).count();
        prop_assert_eq!(collection.live(NOW), live);
        let without: BTreeSet<u128> = collection.without_vector(usize::MAX).into_iter().collect();
        prop_assert!(without.into_iter().eq(model.iter().filter(|(_, entry)| !entry.has_vector).map(|(id, _)| *id)));
        for id in 0..10 {
            prop_assert_eq!(collection.version(id), model.get(&id).map(|entry| entry.version));
        }
    }

    #[test]
    fn search_returns_exactly_the_entries_that_meet_its_conditions(
        steps in prop::collection::vec(step(), 0..60),
        all in prop::sample::subsequence(vec!["x", "y"], 0..=2),
        any in prop::sample::subsequence(vec!["y", "z:1", "w"], 0..=2),
        key_prefix in prop::option::of(prop::sample::select(vec!["", "a", "a/", "ab", "c"])),
        thread in prop::option::weighted(0.3, prop::sample::select(vec!["one", "three"])),
        include_expired in any::<bool>(),
    ) {
        let (collection, model) = run(steps);
        let owned = |tags: Vec<&str>| tags.into_iter().map(str::to_owned).collect::<Vec<_>>();
        let (tags_all, tags_any) = (owned(all), owned(any));
        let query = |mode| Query {
            text: COMMON_WORD.into(), mode, limit: 50, tags_all: tags_all.clone(), tags_any: tags_any.clone(),
            key_prefix: key_prefix.map(str::to_owned), thread: thread.map(str::to_owned), ..Query::default()
        };
        let context = QueryContext { now: NOW, include_expired, ..QueryContext::default() };
        let found = search(&[&collection], &query(Mode::Text), &context);
        let admits = |entry: &ModelEntry| {
            tags_all.iter().all(|tag| entry.tags.contains(tag))
                && (tags_any.is_empty() || tags_any.iter().any(|tag| entry.tags.contains(tag)))
                && entry.key.starts_with(key_prefix.unwrap_or_default())
                && thread.is_none_or(|thread| entry.thread.as_deref() == Some(thread))
                && (include_expired || entry.expires_at.is_none_or(|at| at > NOW))
        };
        let expected: BTreeSet<u128> = model.iter().filter(|(_, entry)| admits(entry)).map(|(id, _)| *id).collect();
        let ids: BTreeSet<u128> = found.hits.iter().map(|hit| hit.id).collect();
        prop_assert_eq!(ids.len(), found.hits.len(), "each once");
        prop_assert_eq!(found.total, expected.len());
        prop_assert_eq!(&ids, &expected);
        let context = QueryContext { vector: Some(&[0.6, 0.8]), ..context };
        let hybrid = search(&[&collection], &query(Mode::Hybrid), &context);
        prop_assert_eq!(hybrid.hits.iter().map(|hit| hit.id).collect::<BTreeSet<_>>(), expected, "both sides together");
        let semantic = search(&[&collection], &query(Mode::Semantic), &context);
        let near: BTreeSet<u128> = semantic.hits.iter().map(|hit| hit.id).collect();
        prop_assert!(near.into_iter().eq(ids.into_iter().filter(|id| model[id].has_vector)), "entries with a vector");
        for hit in &found.hits {
            let entry = &model[&hit.id];
            prop_assert_eq!(hit.version, entry.version);
            if !include_expired {
                let thread = members(&model, &entry.thread);
                let prev = thread.iter().copied().rfind(|id| *id < hit.id);
                let next = thread.iter().copied().find(|id| *id > hit.id);
                prop_assert_eq!((hit.prev, hit.next), (prev, next), "unexpired neighbours");
            }
        }
    }

    #[test]
    fn decoding_restores_the_collection(steps in prop::collection::vec(step(), 0..60)) {
        let (collection, _) = run(steps);
        let read = reopened(&collection);
        prop_assert_eq!(bytes(&read), bytes(&collection));
        let query = Query { text: "harbour boats".into(), limit: 50, ..Query::default() };
        let context = QueryContext { vector: Some(&[0.6, 0.8]), ..QueryContext::default() };
        prop_assert_eq!(search(&[&read], &query, &context), search(&[&collection], &query, &context));
    }

    #[test]
    fn damaged_data_is_rejected_or_decodes_to_a_valid_collection(
        steps in prop::collection::vec(step(), 0..20),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        is_cut in any::<bool>(),
    ) {
        let (collection, _) = run(steps);
        let mut bytes = bytes(&collection);
        let at = at.index(bytes.len());
        if is_cut { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(mut read) = Collection::decode(&mut &*bytes) {
            prop_assert!(!is_cut, "truncated data is rejected");
            for id in 0..10 {
                read.remove(id);
            }
            let query = Query { text: COMMON_WORD.into(), limit: 50, ..Query::default() };
            let context = QueryContext { vector: Some(&[1.0, 0.0]), ..QueryContext::default() };
            prop_assert!(search(&[&read], &query, &context).hits.len() <= read.len());
        }
    }
}

/// Compiles only where a clone may be read by another thread.
#[test]
fn collections_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Collection::new(CollectionOptions::new(2)));
}

#[test]
fn clones_do_not_change() {
    let entry = ModelEntry {
        version: 1,
        key: "k".to_owned(),
        value: COMMON_WORD.to_owned(),
        tags: vec!["x".to_owned()],
        thread: Some("one".to_owned()),
        expires_at: None,
        has_vector: false,
    };
    let mut collection = Collection::new(CollectionOptions::new(2));
    (0..300).for_each(|id| put(&mut collection, id, &entry));
    let (before, was) = (collection.clone(), bytes(&collection));
    (0..150).for_each(|id| assert!(collection.remove(id * 2)));
    put(&mut collection, 1, &ModelEntry { value: "other".to_owned(), version: 2, ..entry });
    collection.put_vector(3, 1, &[1.0, 0.0]);
    assert_eq!(bytes(&before), was);
    assert_eq!((before.len(), collection.len()), (300, 150));
}

#[test]
fn reused_numbers_keep_no_data_of_removed_entries() {
    let entry = |value: &str, tag: &str| ModelEntry {
        version: 1,
        key: "k".to_owned(),
        value: value.to_owned(),
        tags: vec![tag.to_owned()],
        thread: None,
        expires_at: Some(5),
        has_vector: false,
    };
    let mut collection = Collection::new(CollectionOptions::new(2));
    put(&mut collection, 1, &entry("secret harbour", "x"));
    collection.put_vector(1, 1, &[1.0, 0.0]);
    collection.remove(1);
    put(&mut collection, 2, &entry("open harbour", "y"));
    let context = QueryContext { vector: Some(&[1.0, 0.0]), ..QueryContext::default() };
    let found = |text: &str, tags_all: Vec<String>| {
        let query = Query { text: text.into(), tags_all, limit: 9, ..Query::default() };
        search(&[&collection], &query, &context).hits.len()
    };
    assert_eq!(found("secret", vec![]), 0);
    assert_eq!(found("harbour", vec!["x".to_owned()]), 0);
    assert_eq!(found("harbour", vec![]), 1);
}
