//! Entry vectors.

use std::time::Duration;

use std::sync::Arc;

use actix_rt::Arbiter;

use super::model::{ModelBehaviour, WordModel};
use crate::IndexOptions;
use crate::index::Indexes;
use crate::index::tests::fixture::*;
use crate::port::Searcher;
use crate::record::Owner;
use muster_core::supervise::Tree;
use muster_core::test_world;
use muster_retrieval::Mode;

async fn start(fixture: &Arc<Fixture>, tree: &Tree, model: &Arc<WordModel>) -> (Indexes, Arc<Writer>) {
    let indexes = fixture.start_with(tree, fixture.options(model)).await;
    let writer = Writer::new(fixture, &indexes);
    feed(&indexes, tree, &writer);
    (indexes, writer)
}

fn feed(indexes: &Indexes, tree: &Tree, writer: &Arc<Writer>) {
    indexes.feed(&tree.group("vectors"), Arbiter::current(), Arc::clone(writer) as _);
}

async fn vectors(indexes: &Indexes, count: u64) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(600);
    while indexes.stats().await.vectors != count {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", indexes.stats().await);
        test_world::after(Duration::from_millis(5)).await;
    }
}

/// Keys by semantic similarity, best first.
async fn nearest(indexes: &Indexes, owner: &str, query: &str) -> Vec<u128> {
    let mut text_search = text_search(owner, query);
    (text_search.query.mode, text_search.query.limit) = (Mode::Semantic, 3);
    let found = indexes.search(text_search).await.unwrap();
    assert_eq!(found.mode, Mode::Semantic, "{:?}", found.warnings);
    found.hits.iter().map(|found| found.hit.id >> 80).collect()
}

#[test]
fn entries_are_found_by_vector_once_it_is_stored() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&fixture, &tree, &WordModel::working()).await;
        let home = space("key_1", "default");
        fixture.store_and_index(&indexes, &home, "a", "red fox").await;
        fixture.store_and_index(&indexes, &home, "b", "grey wolf").await;
        vectors(&indexes, 2).await;
        assert_eq!(nearest(&indexes, "key_1", "grey wolf").await[0], 2);
        fixture.store_and_index(&indexes, &home, "b", "old tree").await;
        let stats = indexes.owner_stats(&Owner::new("key_1")).await.unwrap();
        assert_eq!((stats.entries, stats.vectors, stats.pending), (2, 1, 1), "its text is another");
        vectors(&indexes, 2).await;
        assert_eq!(nearest(&indexes, "key_1", "old tree").await[0], 2);
        assert_eq!(writer.stored().len(), 3);
        let stats = indexes.stats().await.embedding;
        assert_eq!((stats.entries, stats.refused, stats.failures, stats.fault), (3, 0, 0, None));
    });
}

#[test]
fn vector_graphs_are_built_between_searches_and_restored() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    let options = |fixture: &Fixture| {
        let mut options = fixture.options(&WordModel::working());
        options.ranking.exact_below = 10;
        options
    };
    test_world::run(|tree| async move {
        let indexes = server.start_with(&tree, options(&server)).await;
        feed(&indexes, &tree, &Writer::new(&server, &indexes));
        for number in 1..=60 {
            server
                .store_and_index(&indexes, &space("key_1", "default"), &number.to_string(), &format!("word{number}"))
                .await;
        }
        vectors(&indexes, 60).await;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while indexes.stats().await.shards.iter().any(|shard| shard.building > 0) {
            assert!(tokio::time::Instant::now() < deadline, "{:?}", indexes.stats().await);
            test_world::after(Duration::from_millis(1)).await;
        }
        assert_eq!(nearest(&indexes, "key_1", "word17").await[0], 17);
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let indexes = fixture.start_with(&tree, options(&fixture)).await;
        assert_eq!((indexes.stats().await.vectors, indexes.stats().await.pending), (60, 0));
        assert_eq!(nearest(&indexes, "key_1", "word23").await[0], 23);
    });
}

#[test]
fn vectors_stay_valid_for_versions_with_the_same_text() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&fixture, &tree, &WordModel::working()).await;
        let home = space("key_1", "default");
        fixture.store_and_index(&indexes, &home, "a", "red fox").await;
        vectors(&indexes, 1).await;
        fixture.store_and_index(&indexes, &home, "a", "red fox").await;
        assert_eq!(indexes.stats().await.vectors, 1);
        test_world::after(Duration::from_secs(120)).await;
        assert_eq!(writer.stored().len(), 1, "made once");
    });
}

#[test]
fn entries_without_vectors_are_embedded_after_a_start() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        for number in 0..100 {
            fixture.put(&space("key_1", "default"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = WordModel::working();
        let (indexes, _) = start(&fixture, &tree, &model).await;
        vectors(&indexes, 100).await;
        assert!(model.calls().iter().all(|texts| (1..=8).contains(&texts.len())), "in small pieces");
        assert_eq!(model.calls().iter().map(Vec::len).sum::<usize>(), 100, "each once");
    });
}

#[test]
fn an_import_does_not_delay_other_owners() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        for number in 0..600 {
            fixture.put(&space("key_1", "import"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = WordModel::new("words-1", ModelBehaviour::Absent);
        let (indexes, writer) = start(&fixture, &tree, &model).await;
        model.set_behaviour(ModelBehaviour::Working);
        while writer.stored().len() < 64 {
            tokio::task::yield_now().await;
        }
        fixture.store_and_index(&indexes, &space("usr_2", "default"), "one", "red fox").await;
        let before = writer.stored().len();
        vectors(&indexes, 601).await;
        let transaction = writer.stored().iter().position(|(owner, _)| owner == "usr_2").unwrap();
        assert!(transaction <= before + 64, "the round under way and its own: {transaction} after {before}");
    });
}

#[test]
fn a_model_that_becomes_ready_is_used_at_once() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::absent();
        let (indexes, _) = start(&fixture, &tree, &model).await;
        fixture.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
        test_world::after(Duration::from_secs(200)).await;
        let stats = indexes.stats().await.embedding;
        assert_eq!(stats.fault.as_deref(), Some("no model is installed"));
        assert_eq!((model.calls().len(), stats.failures), (0, 0));
        model.set_behaviour(ModelBehaviour::Working);
        let begun = tokio::time::Instant::now();
        vectors(&indexes, 1).await;
        assert!(begun.elapsed() < Duration::from_secs(1));
        assert_eq!(indexes.stats().await.embedding.fault, None);
    });
}

#[test]
fn calls_of_a_broken_model_back_off_and_store_nothing() {
    for behaviour in [
        ModelBehaviour::Fails,
        ModelBehaviour::Short,
        ModelBehaviour::Few,
        ModelBehaviour::Panics,
        ModelBehaviour::Hangs,
    ] {
        let fixture = Fixture::new();
        test_world::run(|tree| async move {
            let model = WordModel::new("words-1", behaviour.clone());
            let (indexes, writer) = start(&fixture, &tree, &model).await;
            let home = space("key_1", "default");
            fixture.store_and_index(&indexes, &home, "a", "red fox").await;
            fixture.store_and_index(&indexes, &home, "b", "grey wolf").await;
            test_world::after(Duration::from_secs(600)).await;
            let stats = indexes.stats().await;
            assert_eq!((stats.vectors, writer.stored().len()), (0, 0), "{behaviour:?}");
            assert!(stats.embedding.fault.is_some(), "{behaviour:?}");
            assert!((3..25).contains(&stats.embedding.failures), "{behaviour:?}: {:?}", stats.embedding);
            assert_eq!(found(&indexes, "key_1", "fox").await.len(), 1, "by its words all the same");
            assert!(tree.snapshot().iter().all(|actor| actor.restarts == 0), "nobody died of it");
            model.set_behaviour(ModelBehaviour::Working);
            vectors(&indexes, 2).await;
        });
    }
}

#[test]
fn a_rejected_text_does_not_block_others() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&fixture, &tree, &WordModel::working()).await;
        for number in 0..20 {
            let value = if number == 7 { "poison".to_owned() } else { format!("word{number}") };
            fixture.put(&space("key_1", "default"), &number.to_string(), &value).await;
        }
        // Duplicate report, as from a writer whose acknowledgement was lost.
        vectors(&indexes, 19).await;
        test_world::after(Duration::from_secs(600)).await;
        let stats = indexes.stats().await.embedding;
        assert_eq!(stats.entries, 19);
        assert!((1..6).contains(&(stats.refused + stats.failures)), "it is tried less and less: {stats:?}");
        assert!(writer.stored().iter().all(|(_, key)| key != "7"));
    });
}

#[test]
fn long_values_are_embedded_by_their_first_passages() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::working();
        let (indexes, _) = start(&fixture, &tree, &model).await;
        let long: Vec<String> = (0..20_000).map(|number| format!("word{number}")).collect();
        fixture.store_and_index(&indexes, &space("key_1", "default"), "long", &long.join(" ")).await;
        vectors(&indexes, 1).await;
        let calls: Vec<String> = model.calls().concat();
        assert_eq!(calls.len(), 16);
        assert!(calls[0].contains("word0 word1 ") && !calls.concat().contains("word19999"));
        assert_eq!(nearest(&indexes, "key_1", "word5 word7").await, [1]);
    });
}

#[test]
fn passages_that_are_too_long_are_halved_until_accepted() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::reading("words-1", ModelBehaviour::Working, 30);
        let (indexes, writer) = start(&fixture, &tree, &model).await;
        let home = space("key_1", "default");
        let value: Vec<String> =
            (0..100).map(|number| format!("{}", char::from(b'a' + number % 26)).repeat(4)).collect();
        fixture.store_and_index(&indexes, &home, "1", &value.join(" ")).await;
        fixture.store_and_index(&indexes, &home, "2", "short").await;
        vectors(&indexes, 2).await;
        let read: Vec<String> =
            model.calls().concat().into_iter().filter(|text| text.split(' ').count() <= 30).collect();
        assert_eq!(read.iter().filter(|text| text.contains("aaaa")).count(), 4, "each quarter has some");
        assert_eq!(writer.stored().len(), 2);
        assert_eq!(indexes.stats().await.embedding.refused, 0);
    });
}

#[test]
fn a_panic_of_the_feeder_restarts_it() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::new("words-1", ModelBehaviour::Hangs);
        let (indexes, _) = start(&fixture, &tree, &model).await;
        fixture.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
        while model.calls().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(tree.inject_panic("vectors/feeder"));
        model.set_behaviour(ModelBehaviour::Working);
        vectors(&indexes, 1).await;
        let restarts = |path: &str| tree.snapshot().iter().find(|actor| actor.path == path).unwrap().restarts;
        assert_eq!((restarts("vectors/feeder"), restarts("memory/index-0")), (1, 0));
    });
}

#[test]
fn another_model_computes_all_vectors_again() {
    let fixture = Fixture::new();
    let server = Arc::clone(&fixture);
    test_world::run(|tree| async move {
        let (indexes, _) = start(&server, &tree, &WordModel::new("old", ModelBehaviour::Working)).await;
        for (key, value) in [("a", "red fox"), ("b", "grey wolf")] {
            server.store_and_index(&indexes, &space("key_1", "default"), key, value).await;
        }
        vectors(&indexes, 2).await;
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let model = WordModel::new("new", ModelBehaviour::Absent);
        let options: IndexOptions = fixture.options(&model);
        let indexes = fixture.start_with(&tree, options).await;
        assert_eq!(indexes.stats().await.vectors, 0, "the old ones are compared with nothing");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 1, "words go on");
        let writer = Writer::new(&fixture, &indexes);
        feed(&indexes, &tree, &writer);
        model.set_behaviour(ModelBehaviour::Working);
        vectors(&indexes, 2).await;
        assert_eq!(nearest(&indexes, "key_1", "wolf").await[0], 2);
    });
}
