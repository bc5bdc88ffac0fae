use proptest::prelude::*;

use super::model::{Model, Random, apply, steps};
use super::{draw, encoded, filled, small};
use crate::vector::{DecodeError, VectorIndex, VectorOptions};
use crate::{DocNo, Filter};

fn decoded(mut bytes: &[u8]) -> Result<VectorIndex, DecodeError> {
    VectorIndex::decode(&mut bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_decoded_index_equals_the_original_and_can_be_changed(steps in steps(4, 60, 250), later in steps(4, 60, 60)) {
        let options = VectorOptions { exact_below: 9, ..small(4) };
        let (mut index, mut model) = (VectorIndex::with(options), Model::default());
        steps.iter().for_each(|step| apply(&mut index, &mut model, step));
        let bytes = encoded(&index);
        let mut again = decoded(&bytes).unwrap();
        prop_assert_eq!(encoded(&again), bytes);
        later.iter().for_each(|step| {
            apply(&mut index, &mut model.clone(), step);
            apply(&mut again, &mut model, step);
        });
        for query in draw(5, 4, 1) {
            prop_assert_eq!(again.len(), model.0.len());
            for (doc, score) in again.search(&query, Filter::All, 5) {
                prop_assert!((score - model.cosine(doc.0, &query)).abs() < 1e-4);
            }
            prop_assert_eq!(index.search(&query, Filter::All, 5).len(), again.search(&query, Filter::All, 5).len());
        }
    }

    #[test]
    fn clones_do_not_see_later_changes(steps in steps(4, 60, 150), later in steps(4, 60, 150)) {
        let options = VectorOptions { exact_below: 9, ..small(4) };
        let (mut index, mut model) = (VectorIndex::with(options), Model::default());
        steps.iter().for_each(|step| apply(&mut index, &mut model, step));
        let bytes = encoded(&index);
        let clone = index.clone();
        later.iter().for_each(|step| apply(&mut index, &mut model, step));
        prop_assert_eq!(encoded(&clone), bytes);
    }

    #[test]
    fn data_that_is_not_an_index_is_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(decoded(&bytes).is_err());
        let begun = [b"mstrvec1".as_slice(), &bytes].concat();
        prop_assert!(decoded(&begun).is_err());
    }

    /// A forged index with a valid checksum gives an error or a working index, never a panic.
    #[test]
    fn a_forged_index_is_rejected_or_harmless(seed in any::<u64>(), changes in 1_usize..6) {
        let mut random = Random(seed);
        let mut index = filled(VectorOptions { exact_below: 9, ..small(4) }, &draw(60, 4, 1));
        (0..14).for_each(|doc| index.remove(DocNo(doc)));
        let mut bytes = encoded(&index);
        let sealed = bytes.len() - 4;
        for _ in 0..changes {
            bytes[random.next() as usize % sealed] = random.next() as u8;
        }
        prop_assert!(decoded(&bytes).is_err() || bytes == encoded(&index));
        let sum = crc32c::crc32c(&bytes[..sealed]);
        bytes[sealed..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(mut forged) = decoded(&bytes) {
            let query = vec![1.0; forged.dimensions()];
            prop_assert!(forged.search(&query, Filter::All, 10).len() <= 10);
            for doc in 0..60 {
                forged.insert(DocNo(doc), &query).unwrap();
                forged.work(5);
            }
            prop_assert_eq!(forged.search(&query, Filter::All, 10).len(), 10);
        }
    }
}

#[test]
fn truncated_data_is_rejected_at_every_byte() {
    let bytes = encoded(&filled(VectorOptions { exact_below: 9, ..small(4) }, &draw(30, 4, 1)));
    assert!((0..bytes.len()).all(|end| decoded(&bytes[..end]).is_err()));
    assert!(decoded(&bytes).is_ok());
}

/// A length of four billion rows without data.
#[test]
fn a_false_length_allocates_no_memory() {
    let mut bytes = b"mstrvec1".to_vec();
    for number in [16_384_u64, 10, 16, 128, 96, u64::from(u32::MAX)] {
        bytes.extend(number.to_le_bytes());
    }
    assert!(matches!(decoded(&bytes), Err(DecodeError::Io(_))));
}
