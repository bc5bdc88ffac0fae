use proptest::prelude::*;

use super::{Random, find_in, put};
use crate::text::DecodeError;
use crate::{DocNo, Filter, TextIndex, TextOptions};

fn sample(entries: u32) -> TextIndex {
    let mut random = Random(11);
    let mut index = TextIndex::new(TextOptions::default());
    for doc in 0..entries {
        let words = 1 + random.below(20);
        put(&mut index, doc, &random.text(words, 400));
    }
    for doc in (1..entries).filter(|doc| doc % 5 != 0) {
        index.link(DocNo(doc), Some(DocNo(doc - 1)), None);
    }
    for doc in (0..entries).step_by(7) {
        index.remove(DocNo(doc));
    }
    index
}

fn encoded(index: &TextIndex) -> Vec<u8> {
    let mut bytes = Vec::new();
    index.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn decoded_indexes_give_the_same_results_and_can_be_changed() {
    let mut index = sample(2_000);
    let bytes = encoded(&index);
    let mut input = &[bytes.as_slice(), b"what follows"].concat()[..];
    let mut read = TextIndex::decode(&mut input).unwrap();
    assert_eq!(input, b"what follows");
    assert_eq!((read.len(), read.terms(), read.options()), (index.len(), index.terms(), index.options()));
    assert_eq!(encoded(&read), bytes);
    for index in [&mut index, &mut read] {
        put(index, 0, "w1x w2x flood");
        index.remove(DocNo(5));
        index.link(DocNo(0), Some(DocNo(8)), None);
    }
    for text in ["w1x", "w3x w20x w1x", "flood w2x", "w9x w10x"] {
        assert_eq!(find_in(&index, text, Filter::All, 50), find_in(&read, text, Filter::All, 50));
    }
}

#[test]
fn empty_indexes_can_be_encoded() {
    assert_eq!(TextIndex::decode(&mut &encoded(&TextIndex::default())[..]).unwrap().len(), 0);
}

#[test]
fn other_versions_are_named_in_the_error() {
    let mut bytes = encoded(&TextIndex::default());
    // The frame's length, the mark's length and the mark are before it.
    bytes[4 + 1 + 11] = 2;
    assert!(matches!(TextIndex::decode(&mut &bytes[..]), Err(DecodeError::Version(2))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(TextIndex::decode(&mut &bytes[..]).is_err());
    }

    /// Damage is detected or does not affect searches; never a panic.
    #[test]
    fn damage_is_detected_or_harmless(at in any::<prop::sample::Index>(), bit in 0_u8..8, cut in any::<prop::sample::Index>()) {
        let bytes = encoded(&sample(40));
        let mut damaged = bytes.clone();
        damaged[at.index(bytes.len())] ^= 1 << bit;
        if let Ok(mut index) = TextIndex::decode(&mut &damaged[..]) {
            find_in(&index, "w1x w2x w3x", Filter::All, 10);
            for doc in 0..50 {
                put(&mut index, doc, "w1x w5x flood");
                index.remove(DocNo(doc / 2));
            }
        }
        prop_assert!(TextIndex::decode(&mut &bytes[..cut.index(bytes.len())]).is_err());
    }
}
