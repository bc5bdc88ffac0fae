//! A small table, whole and damaged in every way.

use proptest::prelude::*;

use super::super::{LanguageTable, TableError, detect};

/// A table of two languages whose automaton knows one feature each: the byte `a` speaks for English, `b` for German.
fn small() -> Vec<u8> {
    let mut out = b"MLID1\n".to_vec();
    for count in [2_u32, 3, 1, 2] {
        out.extend(count.to_le_bytes());
    }
    out.extend(b"en\0de\0");
    out.extend([0_f32, 0.0].map(f32::to_le_bytes).concat());
    out.extend([0_u16, 0, 0].map(u16::to_le_bytes).concat());
    out.extend([-1_i32, 0, 1].map(i32::to_le_bytes).concat());
    let next = |byte: u8| match byte {
        b'a' => 1_u32,
        b'b' => 2,
        _ => 0,
    };
    out.extend((0..=255).flat_map(|byte| next(byte).to_le_bytes()));
    // Binary16: 2.0 and 0.0, 0.0 and 2.0.
    out.extend([0x4000_u16, 0, 0, 0x4000].map(u16::to_le_bytes).concat());
    out
}

#[test]
fn features_count_logarithmically() {
    let table = LanguageTable::open(small()).unwrap();
    let ranked = table.rank("aab ", &[]).unwrap();
    // By hand: scores 2 ln 3 and 2 ln 2, divided by the square root of 4 bytes; softmax of ln 3 and ln 2 is 3/5, 2/5.
    assert_eq!(ranked[0].language.code, "en");
    assert!((ranked[0].confidence - 0.6).abs() < 1e-12);
    assert_eq!(table.rank("AAB ", &[]).unwrap(), ranked, "upper case is folded");
}

#[test]
fn what_is_no_table_is_refused() {
    let refused = |bytes: Vec<u8>| LanguageTable::open(bytes).unwrap_err();
    let small = small();
    assert_eq!(refused(Vec::new()), TableError::Damaged("it has no header".to_owned()));
    for length in 0..small.len() {
        assert!(matches!(refused(small[..length].to_vec()), TableError::Damaged(_)), "{length} bytes");
    }
    assert!(refused([small.clone(), vec![0]].concat()).to_string().contains("instead of"));
    let mut unknown = small.clone();
    unknown[22] = b'q';
    assert!(refused(unknown).to_string().contains("names the language"));
    let mut outside = small;
    outside[36] = 1;
    assert!(refused(outside).to_string().contains("leads out of it"));
}

proptest! {
    #[test]
    fn a_damaged_table_never_panics(changes in prop::collection::vec((0_usize..1100, any::<u8>()), 1..8), text in ".{0,40}") {
        let mut bytes = small();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(table) = LanguageTable::open(bytes) {
            for guess in detect(&table, &text, &[]).map(|found| found.ranking).unwrap_or_default() {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&guess.confidence));
            }
        }
    }
}
