use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::model::{Model, apply, steps};
use super::{draw, filled};
use crate::vector::{InvalidVector, VectorIndex, VectorOptions};
use crate::{DocNo, Filter};

#[test]
fn results_are_ordered_by_cosine() {
    let vectors = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]].map(Vec::from);
    let found = filled(VectorOptions::new(2), &vectors).search(&[2.0, 0.0], Filter::All, 3);
    assert_eq!(found.iter().map(|(doc, _)| doc.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!((found[1].1 - 0.6).abs() < 1e-4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn scan_returns_the_results_of_a_naive_search(
        steps in steps(6, 40, 120),
        query in proptest::collection::vec(-4.0_f32..4.0, 6),
        only in proptest::collection::btree_set(0_u32..45, 0..45),
        limit in 1_usize..30,
    ) {
        let (mut index, mut model) = (VectorIndex::new(6), Model::default());
        steps.iter().for_each(|step| apply(&mut index, &mut model, step));
        let only: RoaringBitmap = only.into_iter().collect();
        prop_assert_eq!(index.len(), model.0.len());
        for filter in [Filter::All, Filter::Only(&only)] {
            let found = index.search(&query, filter, limit);
            let naive = model.nearest(&query, filter);
            prop_assert_eq!(found.len(), limit.min(naive.len()));
            for ((doc, score), (_, expected)) in found.iter().zip(&naive) {
                prop_assert!((score - expected).abs() < 1e-4, "{score} instead of {expected}");
                prop_assert!((score - model.cosine(doc.0, &query)).abs() < 1e-4 && filter.admits(*doc));
            }
        }
    }
}

/// All so similar that the high halves cannot distinguish them: the bounds must leave the order to the cosines.
#[test]
fn candidates_within_the_error_bound_are_ordered_by_their_exact_cosines() {
    let base = draw(1, 48, 7).remove(0);
    let mut vectors = draw(400, 48, 8);
    vectors.iter_mut().for_each(|vector| vector.iter_mut().zip(&base).for_each(|(x, base)| *x = base + *x * 0.003));
    let index = filled(VectorOptions::new(48), &vectors);
    let docs: Vec<DocNo> = (0..400).map(DocNo).collect();
    let mut all: Vec<(DocNo, f32)> =
        docs.iter().zip(index.score(&base, &docs)).map(|(doc, score)| (*doc, score.unwrap())).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for limit in [1, 10, 399, 400, 1000] {
        assert_eq!(index.search(&base, Filter::All, limit), all[..limit.min(400)]);
    }
}

#[test]
fn cosines_are_exact_within_1e_5() {
    let vectors = draw(200, 384, 3);
    let index = filled(VectorOptions::new(384), &vectors);
    let docs: Vec<DocNo> = (0..200).map(DocNo).collect();
    for query in draw(20, 384, 4) {
        for (vector, score) in vectors.iter().zip(index.score(&query, &docs)) {
            assert!((super::model::cosine(vector, &query) - score.unwrap()).abs() < 1e-5);
        }
    }
    let expected = super::model::cosine(&vectors[3], &vectors[9]);
    assert!((index.similarity(DocNo(3), DocNo(9)).unwrap() - expected).abs() < 1e-5);
    assert_eq!(index.similarity(DocNo(3), DocNo(9)), index.similarity(DocNo(9), DocNo(3)));
    assert_eq!(index.similarity(DocNo(3), DocNo(200)), None);
}

#[test]
fn invalid_vectors_are_rejected_and_keep_the_previous_one() {
    let mut index = VectorIndex::new(2);
    index.insert(DocNo(0), &[1.0, 0.0]).unwrap();
    assert_eq!(index.insert(DocNo(0), &[1.0]), Err(InvalidVector::Length { expected: 2, actual: 1 }));
    for bad in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0], [1.0, f32::NEG_INFINITY]] {
        assert_eq!(index.insert(DocNo(0), &bad), Err(InvalidVector::NoDirection));
        assert_eq!(index.search(&bad, Filter::All, 3), []);
        assert_eq!(index.score(&bad, &[DocNo(0)]), [None]);
    }
    assert_eq!(index.search(&[1.0, 0.0, 0.0], Filter::All, 3), []);
    assert_eq!(index.score(&[1.0, 0.0], &[DocNo(0), DocNo(1)]), [Some(1.0), None]);
}

#[test]
fn only_the_direction_of_a_vector_counts() {
    let mut index = VectorIndex::new(3);
    for (doc, scale) in [1e-30_f32, 1.0, 1e30].into_iter().enumerate() {
        index.insert(DocNo(doc as u32), &[3.0 * scale, -4.0 * scale, 0.0]).unwrap();
    }
    let found = index.search(&[0.3, -0.4, 0.0], Filter::All, 3);
    assert_eq!(found.iter().map(|(doc, _)| doc.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(found.iter().all(|(_, score)| (score - 1.0).abs() < 1e-6), "{found:?}");
}

#[test]
fn empty_indexes_filters_and_limits_return_nothing() {
    let mut index = VectorIndex::new(2);
    assert_eq!(index.search(&[1.0, 0.0], Filter::All, 3), []);
    index.insert(DocNo(5), &[1.0, 0.0]).unwrap();
    assert!(index.contains(DocNo(5)) && !index.contains(DocNo(0)));
    assert_eq!(index.search(&[1.0, 0.0], Filter::All, 0), []);
    assert_eq!(index.search(&[1.0, 0.0], Filter::Only(&RoaringBitmap::from([1, 2, 3])), 3), []);
    index.remove(DocNo(5));
    index.remove(DocNo(6));
    assert!(index.is_empty());
    assert_eq!(index.search(&[1.0, 0.0], Filter::All, 3), []);
}
