use proptest::prelude::*;

use super::draw;
use crate::vector::dots::Dots;
use crate::vector::quantized::{Quantized, slack};
use crate::vector::ranked::Ranked;
use crate::vector::rows::Rows;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_behave_as_a_vector_with_independent_clones(
        writes in proptest::collection::vec((0_usize..9000, any::<u32>()), 1..40),
        cloned_at in 0_usize..40,
    ) {
        let (mut rows, mut plain) = (Rows::<u32>::new(1), Vec::new());
        let mut clone = None;
        for (at, (row, value)) in writes.into_iter().enumerate() {
            if at == cloned_at {
                clone = Some((rows.clone(), plain.clone()));
            }
            if row >= plain.len() {
                rows.grow(row + 1);
                plain.resize(row + 1, 0);
            }
            rows.set(row, &[value]);
            plain[row] = value;
        }
        for (rows, plain) in clone.into_iter().chain([(rows, plain)]) {
            prop_assert_eq!(rows.len(), plain.len());
            prop_assert!(rows.row(plain.len()).is_empty());
            let all: Vec<u32> = rows.blocks().flat_map(|(_, rows)| rows).copied().collect();
            prop_assert_eq!(all, plain);
        }
    }

    #[test]
    fn higher_scores_then_lower_numbers_rank_first(a in -1.0_f32..1.0, b in -1.0_f32..1.0, n: u32, m: u32) {
        let (one, other) = (Ranked::new(a, n), Ranked::new(b, m));
        prop_assert_eq!((one.score(), one.number()), (a, n));
        prop_assert_eq!(one.cmp(&other), a.total_cmp(&b).then(m.cmp(&n)));
    }

    #[test]
    fn simd_products_equal_scalar_products(
        (query, rows) in (1_usize..200).prop_flat_map(|width| (
            proptest::collection::vec(-32_512_i16..=32_512, width),
            proptest::collection::vec(any::<i8>(), width * 7),
        )),
    ) {
        let width = query.len();
        let sum = |row: &[i8]| query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
        let expected: Vec<i32> = rows.chunks(width).map(sum).collect();
        let mut out = Vec::new();
        Dots::new().block(&query, &rows, &mut out);
        prop_assert_eq!(&out, &expected);
        let mut table = Rows::new(width);
        table.grow(7);
        rows.chunks(width).enumerate().for_each(|(at, row)| table.set(at, row));
        Dots::new().gather(&query, &table, &[6, 0, 3], &mut out);
        prop_assert_eq!(out, [expected[6], expected[0], expected[3]]);
    }
}

/// The worst case: equal numbers in all dimensions, with the maximum number of dimensions.
#[test]
fn products_of_halves_fit_32_bits() {
    for dimensions in [1, 2, 384, 16_384] {
        let vector = Quantized::new(&vec![1.0; dimensions], dimensions).unwrap();
        let (high, low) = vector.halves();
        for half in [&high, &low] {
            let exact: i64 = vector.codes.iter().zip(half).map(|(a, b)| (i64::from(*a) * i64::from(*b)).abs()).sum();
            assert!(exact < i64::from(i32::MAX), "{exact} at {dimensions}");
        }
    }
}

#[test]
fn halves_join_and_slack_bounds_the_low_half() {
    for vector in draw(50, 40, 1) {
        let vector = Quantized::new(&vector, 40).unwrap();
        let (high, low) = vector.halves();
        assert_eq!(Quantized::join(&high, &low, vector.step).codes, vector.codes);
        for query in draw(10, 40, 2) {
            let query = Quantized::new(&query, 40).unwrap();
            let product =
                |row: &[i8]| query.codes.iter().zip(row).map(|(a, b)| i64::from(*a) * i64::from(*b)).sum::<i64>();
            let left_out = product(&low) as f32 * query.step * vector.step;
            assert!(left_out.abs() <= query.norm() * slack(&low, vector.step));
        }
    }
}
