//! Query vectors take precedence over entries, and are optional.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::Arbiter;

use super::model::{ModelBehaviour, Words};
use crate::index::Indexes;
use crate::index::tests::site::*;
use crate::port::{Candidates, Searcher};
use muster_core::test_world;
use muster_retrieval::Mode;

async fn hybrid(indexes: &Indexes, query: &str) -> Candidates {
    let mut ask = ask("key_1", query);
    ask.query.mode = Mode::Hybrid;
    indexes.search(ask).await.unwrap()
}

#[test]
fn the_same_query_is_computed_once() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::well();
        let indexes = site.start_with(&tree, site.options(&model)).await;
        for _ in 0..3 {
            assert_eq!(hybrid(&indexes, "red fox").await.warnings, [""; 0]);
        }
        hybrid(&indexes, "grey wolf").await;
        assert_eq!(model.asked().len(), 2);
        let figures = indexes.stats().await.embedding;
        assert_eq!((figures.queries, figures.known, figures.waiting), (4, 2, 0));
    });
}

#[test]
fn without_a_model_a_search_is_by_words_and_says_so() {
    for (behaviour, why) in [
        (ModelBehaviour::Absent, "no model is installed"),
        (ModelBehaviour::Fails, "out of order"),
        (ModelBehaviour::Hangs, "in time"),
        (ModelBehaviour::Short, "of length"),
        (ModelBehaviour::Panics, "broke off"),
    ] {
        let site = Site::new();
        test_world::run(|tree| async move {
            let indexes = site.start_with(&tree, site.options(&Words::new("words-1", behaviour.clone()))).await;
            site.store_and_index(&indexes, &space("key_1", "default"), "a", "red fox").await;
            let begun = tokio::time::Instant::now();
            let found = hybrid(&indexes, "fox").await;
            assert_eq!((found.hits.len(), found.mode), (1, Mode::Text), "{behaviour:?}");
            assert!(found.warnings.iter().any(|warning| warning.contains(why)), "{behaviour:?}: {:?}", found.warnings);
            assert!(begun.elapsed() <= Duration::from_millis(1_100), "{behaviour:?}");
        });
    }
}

#[test]
fn a_search_by_words_asks_no_model() {
    let site = Site::new();
    test_world::run(|tree| async move {
        let model = Words::well();
        let indexes = site.start_with(&tree, site.options(&model)).await;
        indexes.search(ask("key_1", "red fox")).await.unwrap();
        assert!(model.asked().is_empty());
    });
}

#[test]
fn a_query_waits_for_one_piece_of_an_import_at_most() {
    let site = Site::new();
    test_world::run(|tree| async move {
        for number in 0..300 {
            site.put(&space("key_1", "import"), &number.to_string(), &format!("word{number}")).await;
        }
        let model = Words::absent();
        let indexes = site.start_with(&tree, site.options(&model)).await;
        indexes.feed(&tree.group("vectors"), Arbiter::current(), Arc::clone(&Writer::new(&site, &indexes)) as _);
        model.becomes(ModelBehaviour::Well);
        while model.asked().len() < 5 {
            tokio::task::yield_now().await;
        }
        let before = model.asked().len();
        hybrid(&indexes, "an unheard query").await;
        let asked = model.asked();
        let place = asked.iter().position(|texts| texts.iter().any(|text| text.contains("unheard"))).unwrap();
        assert!(place <= before + 1, "{place} after {before}");
    });
}
