//! Query vectors take precedence over entries, and are optional.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;

use super::model::{ModelBehaviour, WordModel};
use crate::index::Indexes;
use crate::index::tests::fixture::*;
use crate::port::{Candidates, Searcher};
use muster_core::test_world;
use muster_retrieval::Mode;

async fn hybrid(indexes: &Indexes, query: &str) -> Candidates {
    let mut text_search = text_search("key_1", query);
    text_search.query.mode = Mode::Hybrid;
    indexes.search(text_search).await.unwrap()
}

#[test]
fn equal_queries_are_computed_once() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::working();
        let indexes = fixture.start_with(&tree, fixture.options(&model)).await;
        for _ in 0..3 {
            assert_eq!(hybrid(&indexes, "red fox").await.warnings, [""; 0]);
        }
        hybrid(&indexes, "grey wolf").await;
        assert_eq!(model.calls().len(), 2);
        let figures = indexes.stats().await.embedding;
        assert_eq!((figures.queries, figures.known, figures.waiting), (4, 2, 0));
    });
}

#[test]
fn searches_without_a_model_rank_by_words_and_warn() {
    for (behaviour, why) in [
        (ModelBehaviour::Absent, "no model is installed"),
        (ModelBehaviour::Fails, "out of order"),
        (ModelBehaviour::Hangs, "in time"),
        (ModelBehaviour::Short, "of length"),
        (ModelBehaviour::Panics, "panicked"),
    ] {
        let fixture = Fixture::new();
        test_world::run(|tree| async move {
            let indexes =
                fixture.start_with(&tree, fixture.options(&WordModel::new("words-1", behaviour.clone()))).await;
            fixture.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
            let begun = tokio::time::Instant::now();
            let found = hybrid(&indexes, "fox").await;
            assert_eq!((found.hits.len(), found.mode), (1, Mode::Text), "{behaviour:?}");
            assert!(found.warnings.iter().any(|warning| warning.contains(why)), "{behaviour:?}: {:?}", found.warnings);
            assert!(begun.elapsed() <= Duration::from_millis(1_100), "{behaviour:?}");
        });
    }
}

#[test]
fn searches_by_words_do_not_call_the_model() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        let model = WordModel::working();
        let indexes = fixture.start_with(&tree, fixture.options(&model)).await;
        indexes.search(text_search("key_1", "red fox")).await.unwrap();
        assert!(model.calls().is_empty());
    });
}

#[test]
fn queries_wait_for_at_most_one_batch_of_an_import() {
    let fixture = Fixture::new();
    test_world::run(|tree| async move {
        for number in 0..300 {
            fixture.put(&space("key_1", "import"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = WordModel::absent();
        let indexes = fixture.start_with(&tree, fixture.options(&model)).await;
        indexes.feed(&tree.group("vectors"), Arbiter::current(), Arc::clone(&Writer::new(&fixture, &indexes)) as _);
        model.set_behaviour(ModelBehaviour::Working);
        while model.calls().len() < 5 {
            tokio::task::yield_now().await;
        }
        let before = model.calls().len();
        hybrid(&indexes, "an unheard query").await;
        let calls = model.calls();
        let place = calls.iter().position(|texts| texts.iter().any(|text| text.contains("unheard"))).unwrap();
        assert!(place <= before + 1, "{place} after {before}");
    });
}
