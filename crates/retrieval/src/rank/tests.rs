use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::{Bm25, Collection, CollectionOptions, Document, Language};

/// An entry by its id: value, thread and direction of its vector.
struct Sample<'a> {
    id: u128,
    value: &'a str,
    thread: Option<&'a str>,
    vector: Option<[f32; 3]>,
    importance: f32,
    stored_at: i64,
    expires_at: Option<i64>,
}

const SAMPLE: Sample<'_> = Sample {
    id: 0,
    value: "",
    thread: None,
    vector: None,
    importance: Document::IMPORTANCE,
    stored_at: 0,
    expires_at: None,
};

fn collection(entries: &[Sample<'_>]) -> Collection {
    let mut collection = Collection::new(CollectionOptions::new(3));
    for made in entries {
        collection.put(&Document {
            id: made.id,
            version: 1,
            key: "",
            value: made.value,
            tags: &[],
            thread: made.thread,
            stored_at: made.stored_at,
            expires_at: made.expires_at,
            importance: made.importance,
            language: Some(Language::English),
        });
        if let Some(vector) = made.vector {
            assert!(collection.put_vector(made.id, 1, &vector));
        }
    }
    collection
}

const EAST: [f32; 3] = [1.0, 0.0, 0.0];
const NORTH: [f32; 3] = [0.0, 1.0, 0.0];

const NO_VECTOR: QueryContext<'_> = QueryContext { vector: None, now: 0, include_expired: false, alpha: None };
const WITH_VECTOR: QueryContext<'_> = QueryContext { vector: Some(&EAST), ..NO_VECTOR };

fn query(text: &str) -> Query {
    Query { text: text.into(), limit: 20, ..Query::default() }
}

fn ids(results: &SearchResults) -> Vec<u128> {
    results.hits.iter().map(|hit| hit.id).collect()
}

#[test]
fn candidates_of_either_side_are_scored_by_both() {
    let all = collection(&[
        Sample { id: 1, value: "the boat left", vector: Some(NORTH), ..SAMPLE },
        Sample { id: 2, value: "a ship departed", vector: Some(EAST), ..SAMPLE },
        Sample { id: 3, value: "boat", vector: Some(EAST), ..SAMPLE },
        Sample { id: 4, value: "bread", vector: Some(NORTH), ..SAMPLE },
    ]);
    let results = search(&[&all], &query("boat"), &WITH_VECTOR);
    assert_eq!((results.mode, results.total), (Mode::Hybrid, 4));
    let order = ids(&results);
    assert_eq!((order[0], order[3]), (3, 4), "both, and neither");
    let hit = &results.hits[0];
    assert!((hit.semantic.unwrap() - 1.0).abs() < 1e-3 && hit.text.unwrap() > 0.0);
}

#[test]
fn ranking_falls_back_to_words_or_vector_alone() {
    let all = collection(&[
        Sample { id: 1, value: "boat", vector: Some(NORTH), ..SAMPLE },
        Sample { id: 2, value: "ship", vector: Some(EAST), ..SAMPLE },
    ]);
    let text = search(&[&all], &query("boat"), &NO_VECTOR);
    assert_eq!((text.mode, ids(&text)), (Mode::Text, vec![1]));
    assert!(text.hits[0].semantic.is_none() && text.hits[0].explain.semantic.is_none());
    let semantic = search(&[&all], &query("…!?"), &WITH_VECTOR);
    assert_eq!((semantic.mode, ids(&semantic)), (Mode::Semantic, vec![2, 1]));
    let nothing = search(&[&all], &query("…!?"), &NO_VECTOR);
    assert_eq!((nothing.hits.len(), nothing.total), (0, 0));
    let foreign = search(
        &[&all],
        &Query { mode: Mode::Semantic, ..query("boat") },
        &QueryContext { vector: Some(&[1.0]), ..NO_VECTOR },
    );
    assert_eq!((foreign.mode, ids(&foreign)), (Mode::Text, vec![1]));
    assert!(foreign.warnings[0].contains("another model"));
}

#[test]
fn entries_without_a_vector_are_found_by_their_words() {
    let all = collection(&[
        Sample { id: 1, value: "boat", ..SAMPLE },
        Sample { id: 2, value: "bread", vector: Some(EAST), ..SAMPLE },
        Sample { id: 3, value: "bread", vector: Some(NORTH), ..SAMPLE },
    ]);
    let results = search(&[&all], &query("boat"), &WITH_VECTOR);
    assert!(ids(&results).contains(&1));
    assert!(results.warnings[0].starts_with("1 entries have no vector yet"));
    let hit = results.hits.iter().find(|hit| hit.id == 1).unwrap();
    let part = hit.explain.semantic.as_ref().unwrap();
    assert_eq!((hit.semantic, part.own, part.cosine), (None, None, part.mean), "neither gains nor loses");
    let semantic = search(&[&all], &Query { mode: Mode::Semantic, ..query("boat") }, &WITH_VECTOR);
    assert_eq!(ids(&semantic), [2, 3]);
}

#[test]
fn thread_neighbours_contribute_to_an_entrys_score() {
    let all = collection(&[
        Sample { id: 1, value: "which boat did you take", thread: Some("t"), vector: Some(EAST), ..SAMPLE },
        Sample { id: 2, value: "the blue one", thread: Some("t"), vector: Some(NORTH), ..SAMPLE },
        Sample { id: 3, value: "the blue one", vector: Some(NORTH), ..SAMPLE },
    ]);
    assert_eq!(ids(&search(&[&all], &query("boat"), &NO_VECTOR)), [1, 2], "by words");
    let results = search(&[&all], &Query { mode: Mode::Semantic, ..query("") }, &WITH_VECTOR);
    assert_eq!(ids(&results), [1, 2, 3], "by vector");
    // (0, 1) + .3 (1, 0), whose cosine with (1, 0) is .3 / sqrt(1.09).
    let part = results.hits[1].explain.semantic.as_ref().unwrap();
    assert!((part.cosine - 0.3 / 1.09_f32.sqrt()).abs() < 1e-3, "{part:?}");
    assert!(part.own.unwrap().abs() < 1e-3 && part.neighbours == 1);
    assert_eq!((results.hits[1].prev, results.hits[1].next), (Some(1), None));
}

#[test]
fn expired_entries_are_neither_returned_nor_named_as_neighbours() {
    let all = collection(&[
        Sample { id: 1, value: "boat", thread: Some("t"), ..SAMPLE },
        Sample { id: 2, value: "boat", thread: Some("t"), expires_at: Some(50), vector: Some(EAST), ..SAMPLE },
        Sample { id: 3, value: "boat", thread: Some("t"), ..SAMPLE },
    ]);
    let at = |now| search(&[&all], &query("boat"), &QueryContext { now, ..WITH_VECTOR });
    assert_eq!(at(49).total, 3);
    let results = at(50);
    assert_eq!((ids(&results), results.total), (vec![1, 3], 2), "expired from that moment on");
    assert_eq!((results.hits[0].next, results.hits[1].prev), (Some(3), Some(1)), "it is skipped");
    let kept = search(&[&all], &query("boat"), &QueryContext { now: 50, include_expired: true, ..NO_VECTOR });
    assert_eq!(kept.total, 3);
}

#[test]
fn equal_scores_are_ordered_by_id() {
    let all = collection(&[5, 3, 9, 1].map(|id| Sample { id, value: "boat", ..SAMPLE }));
    assert_eq!(ids(&search(&[&all], &query("boat"), &NO_VECTOR)), [1, 3, 5, 9]);
}

#[test]
fn importance_and_age_change_the_score() {
    let all = collection(&[
        Sample { id: 1, value: "boat", ..SAMPLE },
        Sample { id: 2, value: "boat", importance: 1.0, ..SAMPLE },
        Sample { id: 3, value: "boat", stored_at: 1_000, ..SAMPLE },
        Sample { id: 4, value: "boat", importance: 0.0, ..SAMPLE },
    ]);
    assert_eq!(ids(&search(&[&all], &query("boat"), &NO_VECTOR)), [2, 1, 3, 4]);
    let aged = search(
        &[&all],
        &Query { half_life: Some(Duration::from_secs(1)), ..query("boat") },
        &QueryContext { now: 1_000, ..NO_VECTOR },
    );
    assert_eq!(ids(&aged), [2, 3, 1, 4]);
    let decays: Vec<f32> = aged.hits.iter().map(|hit| hit.explain.decay).collect();
    assert_eq!(decays, [1.0, 1.0, 0.5, 0.25]);
}

#[test]
fn entries_below_the_minimum_score_are_omitted() {
    let all = collection(&[
        Sample { id: 1, value: "blue boat", vector: Some(EAST), ..SAMPLE },
        Sample { id: 2, value: "bread", vector: Some(NORTH), ..SAMPLE },
    ]);
    let with = |min_score| Query { min_score, ..query("blue boat") };
    let [best, worst] = &search(&[&all], &with(None), &WITH_VECTOR).hits[..] else { panic!("two") };
    assert!(best.score > 0.5 && worst.score < 0.1, "{} {}", best.score, worst.score);
    let results = search(&[&all], &with(Some(best.score)), &WITH_VECTOR);
    assert_eq!((ids(&results), results.total), (vec![1], 1));
    assert_eq!(search(&[&all], &with(Some(1.1)), &WITH_VECTOR).total, 0);
}

#[test]
fn diversity_ranks_similar_entries_lower() {
    let near = [0.9, 0.1, 0.0];
    let all = collection(&[
        Sample { id: 1, value: "boat", vector: Some(EAST), ..SAMPLE },
        Sample { id: 2, value: "boat", vector: Some(EAST), ..SAMPLE },
        Sample { id: 3, value: "boat", vector: Some([0.8, 0.0, 0.6]), ..SAMPLE },
    ]);
    let with =
        |mmr| search(&[&all], &Query { mmr, ..query("boat") }, &QueryContext { vector: Some(&near), ..NO_VECTOR });
    assert_eq!(ids(&with(None)), [1, 2, 3]);
    let results = with(Some(0.5));
    assert_eq!(ids(&results), [1, 3, 2]);
    let likeness: Vec<f32> = results.hits.iter().map(|hit| hit.explain.likeness.unwrap()).collect();
    for (results, expected) in likeness.iter().zip([0.0, 0.8, 1.0]) {
        assert!((results - expected).abs() < 1e-3, "{likeness:?}");
    }
    assert_eq!(ids(&with(Some(1.0))), [1, 2, 3]);
}

#[test]
fn the_parts_of_a_score_add_up_to_it() {
    let all = collection(&[
        Sample { id: 1, value: "a blue boat in the harbour", thread: Some("t"), vector: Some(EAST), ..SAMPLE },
        Sample {
            id: 2,
            value: "harbour lights",
            thread: Some("t"),
            vector: Some([0.6, 0.8, 0.0]),
            importance: 0.9,
            ..SAMPLE
        },
        Sample { id: 3, value: "blue lights", vector: Some(NORTH), stored_at: -500, ..SAMPLE },
        Sample { id: 4, value: "boat", ..SAMPLE },
    ]);
    for mode in [Mode::Hybrid, Mode::Text, Mode::Semantic] {
        let results = search(
            &[&all],
            &Query { mode, half_life: Some(Duration::from_millis(700)), ..query("blue boat harbour") },
            &WITH_VECTOR,
        );
        assert!(results.hits.len() > 1);
        for hit in &results.hits {
            let Explain { text, semantic, alpha, fused, importance, best, decay, score, .. } = &hit.explain;
            let of_text = text.as_ref().map_or((0.0, 0.0), |part| {
                let terms: f32 = part.terms.iter().map(|term| term.contribution).sum();
                assert!((terms - part.bm25).abs() < 1e-5);
                (part.weight * part.bm25, (part.bm25 - part.mean) / part.deviation)
            });
            let of_vector = semantic
                .as_ref()
                .map_or((0.0, 0.0), |part| (part.weight * part.cosine, (part.cosine - part.mean) / part.deviation));
            let sum = (of_text.0 + of_vector.0 + importance) / best;
            assert!((sum.clamp(0.0, 1.0) * decay - score).abs() < 1e-5, "{hit:?}");
            assert!(((1.0 - alpha) * of_text.1 + alpha * of_vector.1 - fused).abs() < 1e-4, "{hit:?}");
            assert_eq!(*score, hit.score);
        }
    }
}

#[test]
fn changed_bm25_parameters_apply_to_later_searches() {
    let mut all = collection(&[
        Sample { id: 1, value: "boat and much else that was written of the harbour", ..SAMPLE },
        Sample { id: 2, value: "boat", ..SAMPLE },
    ]);
    let bm25 =
        |all: &Collection| search(&[all], &query("boat"), &NO_VECTOR).hits[0].explain.text.as_ref().unwrap().bm25;
    assert_eq!(ids(&search(&[&all], &query("boat"), &NO_VECTOR)), [2, 1], "the shorter first");
    all.set_bm25(Bm25 { k1: 1.0, b: 0.0, prior: 0.0 });
    assert_eq!(ids(&search(&[&all], &query("boat"), &NO_VECTOR)), [1, 2], "length does not count");
    // ln(1 + .5 / 2.5), once in an entry of which 1 / (1 + k1) counts.
    assert!((bm25(&all) - 1.2_f32.ln() / 2.0).abs() < 1e-6);
}

#[test]
fn pages_are_parts_of_one_list() {
    let values: Vec<String> = (0..90).map(|n| format!("boat {}", "and more ".repeat(n))).collect();
    let made: Vec<Sample<'_>> = values.iter().zip(1..).map(|(value, id)| Sample { id, value, ..SAMPLE }).collect();
    let all = collection(&made);
    let whole = search(&[&all], &Query { limit: 100, ..query("boat") }, &NO_VECTOR);
    assert_eq!(whole.hits.len(), 90);
    let pages =
        (0..10).map(|page| search(&[&all], &Query { limit: 10, offset: page * 10, ..query("boat") }, &NO_VECTOR));
    let paged: Vec<Hit> = pages.inspect(|page| assert_eq!(page.total, 90)).flat_map(|page| page.hits).collect();
    assert_eq!(paged, whole.hits);
}

#[test]
fn words_beyond_the_512th_are_reported_as_ignored() {
    let all = collection(&[Sample { id: 1, value: "w1", ..SAMPLE }]);
    let text: Vec<String> = (0..600).map(|n| format!("w{n}")).collect();
    let results = search(&[&all], &query(&text.join(" ")), &NO_VECTOR);
    assert!(results.warnings[0].contains("512"));
    assert_eq!(ids(&results), [1]);
}

const WORDS: [&str; 6] = ["boat", "boats", "harbour", "blue", "lights", "lighthouse"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn several_collections_are_ranked_as_one(
        values in prop::collection::vec((prop::collection::vec(prop::sample::select(&WORDS[..]), 1..8), 0_usize..3), 1..20),
        text in prop::collection::vec(prop::sample::select(&WORDS[..]), 1..4),
    ) {
        let values: Vec<(String, usize)> = values.into_iter().map(|(words, of)| (words.join(" "), of)).collect();
        let made = |of: Option<usize>| {
            let some = values.iter().zip(1..).filter(|((_, one), _)| of.is_none_or(|of| of == *one));
            some.map(|((value, _), id)| Sample { id, value, ..SAMPLE }).collect::<Vec<_>>()
        };
        let text = text.join(" ");
        let whole = search(&[&collection(&made(None))], &Query { limit: 50, ..query(&text) }, &NO_VECTOR);
        let parts = [0, 1, 2].map(|of| collection(&made(Some(of))));
        let results = search(&parts.each_ref(), &Query { limit: 50, ..query(&text) }, &NO_VECTOR);
        let scores = |results: &SearchResults| {
            let mut all: Vec<(u128, f32)> = results.hits.iter().map(|hit| (hit.id, hit.score)).collect();
            all.sort_by_key(|(id, _)| *id);
            all
        };
        prop_assert_eq!(results.total, whole.total);
        for ((id, score), (other, expected)) in scores(&results).into_iter().zip(scores(&whole)) {
            prop_assert_eq!(id, other);
            prop_assert!((score - expected).abs() < 1e-5);
        }
    }

    #[test]
    fn any_query_returns_ordered_scores_within_bounds(
        values in prop::collection::vec(("\\PC{0,80}", prop::option::of("\\PC{0,3}")), 1..12),
        text in "(.|\\PC){0,200}",
        vector in prop::option::of(prop::array::uniform3(-1.0_f32..1.0)),
        numbers in (any::<f32>(), any::<f32>(), any::<f32>(), any::<Duration>(), any::<i64>()),
    ) {
        let (alpha, mmr, min_score, half_life, now) = numbers;
        let made: Vec<Sample<'_>> = values.iter().zip(1..).map(|((value, thread), id)| Sample {
            id, value, thread: thread.as_deref(), vector: (id % 2 == 0).then_some(EAST), ..SAMPLE
        }).collect();
        let all = collection(&made);
        let context = QueryContext { vector: vector.as_ref().map(|v| &v[..]), now, ..NO_VECTOR };
        for (query, alpha) in [
            (query(&text), None),
            (Query { half_life: Some(half_life), ..query(&text) }, Some(alpha)),
            (Query { min_score: Some(min_score), offset: 1, limit: 2, ..query(&text) }, None),
            (Query { mmr: Some(mmr), ..query(&text) }, None),
        ] {
            let results = search(&[&all], &query, &QueryContext { alpha, ..context });
            prop_assert!(results.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
            let is_falling = results.hits.is_sorted_by(|a, b| a.score >= b.score);
            prop_assert!(is_falling || query.mmr.is_some());
            prop_assert!(results.hits.len() <= query.limit.min(results.total));
        }
    }
}
