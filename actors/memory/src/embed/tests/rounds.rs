//! Entry vectors.

use std::time::Duration;

use std::sync::Arc;

use actix_rt::Arbiter;

use super::model::{ModelBehaviour, Words};
use crate::IndexOptions;
use crate::index::Indexes;
use crate::index::tests::site::*;
use crate::port::Searcher;
use crate::record::Owner;
use muster_core::supervise::Tree;
use muster_core::test_world;
use muster_retrieval::Mode;

async fn start(site: &Arc<Site>, tree: &Tree, model: &Arc<Words>) -> (Indexes, Arc<Writer>) {
    let indexes = site.start_with(tree, site.options(model)).await;
    let writer = Writer::new(site, &indexes);
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
async fn alike(indexes: &Indexes, owner: &str, query: &str) -> Vec<u128> {
    let mut ask = ask(owner, query);
    (ask.query.mode, ask.query.limit) = (Mode::Semantic, 3);
    let found = indexes.search(ask).await.unwrap();
    assert_eq!(found.mode, Mode::Semantic, "{:?}", found.warnings);
    found.hits.iter().map(|found| found.hit.id >> 80).collect()
}

#[test]
fn an_entry_is_found_by_meaning_once_it_has_its_vector() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&site, &tree, &Words::well()).await;
        let home = space("key_1", "default");
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        site.store_and_index(&indexes, &home, "b", "grey wolf").await;
        vectors(&indexes, 2).await;
        assert_eq!(alike(&indexes, "key_1", "grey wolf").await[0], 2);
        site.store_and_index(&indexes, &home, "b", "old tree").await;
        let figures = indexes.figures(&Owner::new("key_1")).await.unwrap();
        assert_eq!((figures.entries, figures.vectors, figures.pending), (2, 1, 1), "its text is another");
        vectors(&indexes, 2).await;
        assert_eq!(alike(&indexes, "key_1", "old tree").await[0], 2);
        assert_eq!(writer.stored().len(), 3);
        let figures = indexes.stats().await.embedding;
        assert_eq!((figures.entries, figures.refused, figures.failures, figures.fault), (3, 0, 0, None));
    });
}

#[test]
fn a_graph_of_vectors_is_grown_between_searches_and_read_back() {
    let site = Site::new();
    let server = Arc::clone(&site);
    let options = |site: &Site| {
        let mut options = site.options(&Words::well());
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
        assert_eq!(alike(&indexes, "key_1", "word17").await[0], 17);
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let indexes = site.start_with(&tree, options(&site)).await;
        assert_eq!((indexes.stats().await.vectors, indexes.stats().await.pending), (60, 0));
        assert_eq!(alike(&indexes, "key_1", "word23").await[0], 23);
    });
}

#[test]
fn a_vector_stands_where_only_the_version_is_another() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&site, &tree, &Words::well()).await;
        let home = space("key_1", "default");
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        vectors(&indexes, 1).await;
        site.store_and_index(&indexes, &home, "a", "red fox").await;
        assert_eq!(indexes.stats().await.vectors, 1);
        test_world::after(Duration::from_secs(120)).await;
        assert_eq!(writer.stored().len(), 1, "made once");
    });
}

#[test]
fn a_backlog_is_worked_off_after_a_start() {
    let site = Site::new();
    test_world::run(|tree| async move {
        for number in 0..100 {
            site.put(&space("key_1", "default"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = Words::well();
        let (indexes, _) = start(&site, &tree, &model).await;
        vectors(&indexes, 100).await;
        assert!(model.asked().iter().all(|texts| (1..=8).contains(&texts.len())), "in small pieces");
        assert_eq!(model.asked().iter().map(Vec::len).sum::<usize>(), 100, "each once");
    });
}

#[test]
fn one_owners_import_does_not_keep_another_waiting() {
    let site = Site::new();
    test_world::run(|tree| async move {
        for number in 0..600 {
            site.put(&space("key_1", "import"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = Words::new("words-1", ModelBehaviour::Absent);
        let (indexes, writer) = start(&site, &tree, &model).await;
        model.becomes(ModelBehaviour::Well);
        while writer.stored().len() < 64 {
            tokio::task::yield_now().await;
        }
        site.store_and_index(&indexes, &space("usr_2", "default"), "one", "red fox").await;
        let before = writer.stored().len();
        vectors(&indexes, 601).await;
        let transaction = writer.stored().iter().position(|(owner, _)| owner == "usr_2").unwrap();
        assert!(transaction <= before + 64, "the round under way and its own: {transaction} after {before}");
    });
}

#[test]
fn a_model_that_comes_later_is_seen_at_once() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::absent();
        let (indexes, _) = start(&site, &tree, &model).await;
        site.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
        test_world::after(Duration::from_secs(200)).await;
        let figures = indexes.stats().await.embedding;
        assert_eq!(figures.fault.as_deref(), Some("no model is installed"));
        assert_eq!((model.asked().len(), figures.failures), (0, 0));
        model.becomes(ModelBehaviour::Well);
        let begun = tokio::time::Instant::now();
        vectors(&indexes, 1).await;
        assert!(begun.elapsed() < Duration::from_secs(1));
        assert_eq!(indexes.stats().await.embedding.fault, None);
    });
}

#[test]
fn a_broken_model_is_asked_less_and_less_and_nothing_of_it_is_stored() {
    for behaviour in [
        ModelBehaviour::Fails,
        ModelBehaviour::Short,
        ModelBehaviour::Few,
        ModelBehaviour::Panics,
        ModelBehaviour::Hangs,
    ] {
        let site = Site::new();
        test_world::run(|tree| async move {
            let model = Words::new("words-1", behaviour.clone());
            let (indexes, writer) = start(&site, &tree, &model).await;
            let home = space("key_1", "default");
            site.store_and_index(&indexes, &home, "a", "red fox").await;
            site.store_and_index(&indexes, &home, "b", "grey wolf").await;
            test_world::after(Duration::from_secs(600)).await;
            let stats = indexes.stats().await;
            assert_eq!((stats.vectors, writer.stored().len()), (0, 0), "{behaviour:?}");
            assert!(stats.embedding.fault.is_some(), "{behaviour:?}");
            assert!((3..25).contains(&stats.embedding.failures), "{behaviour:?}: {:?}", stats.embedding);
            assert_eq!(found(&indexes, "key_1", "fox").await.len(), 1, "by its words all the same");
            assert!(tree.snapshot().iter().all(|actor| actor.restarts == 0), "nobody died of it");
            model.becomes(ModelBehaviour::Well);
            vectors(&indexes, 2).await;
        });
    }
}

#[test]
fn a_text_that_the_model_refuses_keeps_no_other_from_its_vector() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let (indexes, writer) = start(&site, &tree, &Words::well()).await;
        for number in 0..20 {
            let value = if number == 7 { "poison".to_owned() } else { format!("word{number}") };
            site.put(&space("key_1", "default"), &number.to_string(), &value).await;
        }
        // Duplicate report, as from a writer whose acknowledgement was lost.
        vectors(&indexes, 19).await;
        test_world::after(Duration::from_secs(600)).await;
        let figures = indexes.stats().await.embedding;
        assert_eq!(figures.entries, 19);
        assert!((1..6).contains(&(figures.refused + figures.failures)), "it is tried less and less: {figures:?}");
        assert!(writer.stored().iter().all(|(_, key)| key != "7"));
    });
}

#[test]
fn a_long_value_counts_by_its_first_passages() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::well();
        let (indexes, _) = start(&site, &tree, &model).await;
        let long: Vec<String> = (0..20_000).map(|number| format!("word{number}")).collect();
        site.store_and_index(&indexes, &space("key_1", "default"), "long", &long.join(" ")).await;
        vectors(&indexes, 1).await;
        let asked: Vec<String> = model.asked().concat();
        assert_eq!(asked.len(), 16);
        assert!(asked[0].contains("word0 word1 ") && !asked.concat().contains("word19999"));
        assert_eq!(alike(&indexes, "key_1", "word5 word7").await, [1]);
    });
}

#[test]
fn a_passage_that_is_too_long_is_halved_until_the_model_reads_it() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::reading("words-1", ModelBehaviour::Well, 30);
        let (indexes, writer) = start(&site, &tree, &model).await;
        let home = space("key_1", "default");
        let value: Vec<String> =
            (0..100).map(|number| format!("{}", char::from(b'a' + number % 26)).repeat(4)).collect();
        site.store_and_index(&indexes, &home, "1", &value.join(" ")).await;
        site.store_and_index(&indexes, &home, "2", "short").await;
        vectors(&indexes, 2).await;
        let read: Vec<String> =
            model.asked().concat().into_iter().filter(|text| text.split(' ').count() <= 30).collect();
        assert_eq!(read.iter().filter(|text| text.contains("aaaa")).count(), 4, "each quarter has some");
        assert_eq!(writer.stored().len(), 2);
        assert_eq!(indexes.stats().await.embedding.refused, 0);
    });
}

#[test]
fn a_panic_in_the_pool_is_one_more_start() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::new("words-1", ModelBehaviour::Hangs);
        let (indexes, _) = start(&site, &tree, &model).await;
        site.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
        while model.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(tree.inject_panic("vectors/feeder"));
        model.becomes(ModelBehaviour::Well);
        vectors(&indexes, 1).await;
        let restarts = |path: &str| tree.snapshot().iter().find(|actor| actor.path == path).unwrap().restarts;
        assert_eq!((restarts("vectors/feeder"), restarts("memory/index-0")), (1, 0));
    });
}

#[test]
fn another_model_makes_every_vector_anew() {
    let site = Site::new();
    let server = Arc::clone(&site);
    test_world::run(|tree| async move {
        let (indexes, _) = start(&server, &tree, &Words::new("old", ModelBehaviour::Well)).await;
        for (key, value) in [("a", "red fox"), ("b", "grey wolf")] {
            server.store_and_index(&indexes, &space("key_1", "default"), key, value).await;
        }
        vectors(&indexes, 2).await;
        indexes.checkpoint().await.unwrap();
    });
    test_world::run(|tree| async move {
        let model = Words::new("new", ModelBehaviour::Absent);
        let options: IndexOptions = site.options(&model);
        let indexes = site.start_with(&tree, options).await;
        assert_eq!(indexes.stats().await.vectors, 0, "the old ones are compared with nothing");
        assert_eq!(found(&indexes, "key_1", "fox").await.len(), 1, "words go on");
        let writer = Writer::new(&site, &indexes);
        feed(&indexes, &tree, &writer);
        model.becomes(ModelBehaviour::Well);
        vectors(&indexes, 2).await;
        assert_eq!(alike(&indexes, "key_1", "wolf").await[0], 2);
    });
}
