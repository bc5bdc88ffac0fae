use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::model::{Model, Random, apply, steps};
use super::{draw, encoded, filled, small};
use crate::vector::{VectorIndex, VectorOptions};
use crate::{DocNo, Filter};

/// Recall of the ten nearest.
fn recall(index: &VectorIndex, vectors: &[Vec<f32>], filter: Filter<'_>) -> f64 {
    let model = Model((0..).zip(vectors.to_vec()).collect());
    let queries = draw(40, index.dimensions(), 99);
    let hits = queries.iter().map(|query| {
        let nearest: Vec<u32> = model.nearest(query, filter).into_iter().take(10).map(|(doc, _)| doc).collect();
        index.search(query, filter, 10).iter().filter(|(doc, _)| nearest.contains(&doc.0)).count()
    });
    hits.sum::<usize>() as f64 / 400.0
}

#[test]
fn graph_search_has_high_recall() {
    let vectors = draw(2000, 24, 1);
    let mut index = filled(small(24), &vectors);
    assert_eq!(index.waiting(), 0);
    assert!(recall(&index, &vectors, Filter::All) > 0.97);
    let half: RoaringBitmap = (0..2000).filter(|doc| doc % 2 == 0).collect();
    let few: RoaringBitmap = (0..2000).filter(|doc| doc % 50 == 0).collect();
    assert!(recall(&index, &vectors, Filter::Only(&half)) > 0.97);
    assert!(recall(&index, &vectors, Filter::Only(&few)) >= 1.0, "few are scanned");
    // Vectors outside the graph are scanned.
    let more = [vectors, draw(300, 24, 2)].concat();
    for (doc, vector) in (0..).zip(&more).skip(2000) {
        index.insert(DocNo(doc), vector).unwrap();
    }
    assert_eq!(index.waiting(), 300);
    assert!(recall(&index, &more, Filter::All) > 0.97);
}

#[test]
fn recall_and_memory_survive_replacing_all_vectors() {
    let mut vectors = draw(900, 24, 1);
    let mut index = filled(small(24), &vectors);
    let bytes = index.bytes();
    let mut random = Random(5);
    for round in 0..5 {
        for _ in 0..300 {
            let doc = random.next() as usize % vectors.len();
            vectors[doc] = random.clustered(24);
            index.insert(DocNo(doc as u32), &vectors[doc]).unwrap();
            index.work(2);
        }
        while index.work(64) > 0 {}
        assert!(recall(&index, &vectors, Filter::All) > 0.97, "round {round}");
    }
    assert!(index.bytes() < 2 * bytes, "{} after {bytes}", index.bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A graph with very few links: it may miss results, but those returned are live, admitted, with their own cosine
    /// and in order, and as many as requested.
    #[test]
    fn graph_results_are_live_admitted_and_ordered(
        steps in steps(6, 60, 400),
        query in proptest::collection::vec(-4.0_f32..4.0, 6),
        only in proptest::collection::btree_set(0_u32..60, 30..60),
        limit in 1_usize..6,
    ) {
        let options = VectorOptions { exact_below: 4, links: 2, build_breadth: 8, search_breadth: 8, dimensions: 6 };
        let (mut index, mut model) = (VectorIndex::with(options), Model::default());
        let only: RoaringBitmap = only.into_iter().collect();
        for (at, step) in steps.iter().enumerate() {
            apply(&mut index, &mut model, step);
            if at % 16 > 0 {
                continue;
            }
            for filter in [Filter::All, Filter::Only(&only)] {
                let found = index.search(&query, filter, limit);
                prop_assert_eq!(found.len(), limit.min(model.nearest(&query, filter).len()));
                prop_assert!(found.windows(2).all(|pair| (pair[1].1, pair[0].0) <= (pair[0].1, pair[1].0)
                    || pair[1].1 < pair[0].1));
                for (doc, score) in found {
                    prop_assert!(filter.admits(doc) && (score - model.cosine(doc.0, &query)).abs() < 1e-4);
                }
            }
        }
        while index.work(50) > 0 {}
        prop_assert_eq!(index.len(), model.0.len());
    }

    #[test]
    fn the_same_steps_give_the_same_bytes(steps in steps(4, 60, 200)) {
        let build = || {
            let (mut index, mut model) = (VectorIndex::with(VectorOptions { exact_below: 9, ..small(4) }), Model::default());
            steps.iter().for_each(|step| apply(&mut index, &mut model, step));
            encoded(&index)
        };
        prop_assert_eq!(build(), build());
    }
}

/// The search begins among rejected nodes and may end there: then all admitted vectors are scanned.
#[test]
fn a_filter_that_admits_only_distant_vectors_loses_no_results() {
    let vectors = draw(1000, 12, 1);
    let index = filled(VectorOptions { links: 4, search_breadth: 8, ..small(12) }, &vectors);
    let model = Model((0..).zip(vectors).collect());
    let mut hits = 0;
    for query in draw(20, 12, 9) {
        let all = model.nearest(&query, Filter::All);
        let far: RoaringBitmap = all[700..].iter().map(|(doc, _)| *doc).collect();
        let found = index.search(&query, Filter::Only(&far), 5);
        assert!(found.len() == 5 && found.iter().all(|(doc, _)| far.contains(doc.0)));
        hits += found.iter().filter(|(found, _)| all[700..705].iter().any(|(doc, _)| *doc == found.0)).count();
    }
    assert!(hits > 90, "{hits} of 100");
}

#[test]
fn inserting_the_same_vector_changes_nothing() {
    let vectors = draw(200, 8, 1);
    let mut index = filled(small(8), &vectors);
    let bytes = encoded(&index);
    for (doc, vector) in (0..).zip(&vectors) {
        index.insert(DocNo(doc), vector).unwrap();
    }
    assert_eq!(encoded(&index), bytes);
}

#[test]
fn work_is_limited_to_the_budget() {
    let mut index = VectorIndex::with(small(8));
    for (doc, vector) in (0..).zip(draw(150, 8, 1)) {
        index.insert(DocNo(doc), &vector).unwrap();
    }
    assert_eq!(index.work(0), 150);
    assert_eq!(index.work(1), 149);
    assert_eq!(index.work(100), 49);
    assert_eq!((index.work(100), index.waiting()), (0, 0));
}

#[test]
fn reused_numbers_keep_no_data_of_the_previous_vector() {
    let (ones, others) = (draw(400, 16, 1), draw(400, 16, 2));
    let mut index = filled(small(16), &ones);
    for doc in 0..400 {
        index.remove(DocNo(doc));
        index.insert(DocNo(doc), &others[399 - doc as usize]).unwrap();
        index.work(3);
    }
    for doc in 0..400 {
        let found = index.search(&others[399 - doc as usize], Filter::All, 400);
        let own = found.iter().find(|(found, _)| found.0 == doc).unwrap();
        assert!(own.1 > 0.9999, "{own:?}");
    }
}

#[test]
fn small_indexes_drop_the_graph_and_are_scanned() {
    let vectors = draw(300, 16, 1);
    let mut index = filled(small(16), &vectors);
    (10..300).for_each(|doc| index.remove(DocNo(doc)));
    assert_eq!((index.len(), index.work(10)), (10, 0));
    let found = index.search(&vectors[4], Filter::All, 20);
    assert_eq!((found.len(), found[0].0), (10, DocNo(4)));
    // The graph is built again.
    for (doc, vector) in (10..).zip(draw(300, 16, 2)) {
        index.insert(DocNo(doc), &vector).unwrap();
    }
    while index.work(64) > 0 {}
    assert_eq!(index.search(&vectors[4], Filter::All, 1)[0].0, DocNo(4));
}

/// Short texts that are stored repeatedly have equal vectors: none of them may be lost.
#[test]
fn equal_vectors_hide_neither_others_nor_each_other() {
    let mut vectors = draw(1500, 16, 1);
    let kinds = draw(4, 16, 77);
    for (doc, vector) in vectors.iter_mut().enumerate().filter(|(doc, _)| doc % 5 > 0) {
        vector.clone_from(&kinds[doc % 5 - 1]);
    }
    let index = filled(small(16), &vectors);
    for kind in &kinds {
        let found = index.search(kind, Filter::All, 20);
        assert!(found.len() == 20 && found.iter().all(|(_, score)| *score > 0.9999), "{found:?}");
    }
    let others = (0..1500).step_by(50);
    let lost = others.filter(|doc| index.search(&vectors[*doc as usize], Filter::All, 1)[0].0 != DocNo(*doc));
    assert_eq!(lost.collect::<Vec<u32>>(), [0_u32; 0]);
}
