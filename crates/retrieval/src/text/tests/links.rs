use proptest::prelude::*;

use super::{find, index_of, put};
use crate::{DocNo, StopWords, TextIndex, TextOptions, TextQuery};

fn thread(index: &mut TextIndex, docs: &[u32]) {
    for pair in docs.windows(2) {
        index.link(DocNo(pair[1]), Some(DocNo(pair[0])), None);
    }
}

fn tf(index: &TextIndex, doc: u32, word: &str) -> f32 {
    let query = TextQuery::new(word, index.languages(), StopWords::Kept);
    let resolved = index.resolve(&query);
    index.explain(&resolved, resolved.statistics(), DocNo(doc)).first().map_or(0.0, |part| part.tf)
}

#[test]
fn two_neighbours_on_each_side_count_three_tenths() {
    let mut index = index_of(TextOptions::default(), &["a", "b", "flood", "c", "d", "e"]);
    thread(&mut index, &[0, 1, 2, 3, 4, 5]);
    // 0.3 is kept as 77/256.
    let near = 77.0 / 256.0;
    assert_eq!([0, 1, 2, 3, 4, 5].map(|doc| tf(&index, doc, "flood")), [near, near, 1.0, near, near, 0.0]);
    assert_eq!(find(&index, "flood").first(), Some(&2));
    assert_eq!(find(&index, "flood").len(), 5);
}

#[test]
fn removing_an_entry_links_its_neighbours() {
    let mut index = index_of(TextOptions::default(), &["a", "b", "c"]);
    thread(&mut index, &[0, 1, 2]);
    index.remove(DocNo(1));
    assert_eq!(index.neighbours(DocNo(0)), (None, Some(DocNo(2))));
    assert_eq!(index.neighbours(DocNo(2)), (Some(DocNo(0)), None));
    put(&mut index, 1, "b");
    index.link(DocNo(1), Some(DocNo(0)), Some(DocNo(2)));
    assert_eq!(index.neighbours(DocNo(1)), (Some(DocNo(0)), Some(DocNo(2))));
    assert_eq!(index.neighbours(DocNo(0)), (None, Some(DocNo(1))));
}

#[test]
fn replaced_entries_keep_their_position_and_linking_to_none_removes_it() {
    let mut index = index_of(TextOptions::default(), &["a", "b", "c"]);
    thread(&mut index, &[0, 1, 2]);
    put(&mut index, 1, "flood");
    assert_eq!(find(&index, "flood"), [1, 0, 2]);
    index.link(DocNo(1), None, None);
    assert_eq!(find(&index, "flood"), [1]);
    assert_eq!(index.neighbours(DocNo(0)), (None, Some(DocNo(2))));
}

#[test]
fn links_to_itself_or_to_unknown_entries_are_ignored() {
    let mut index = index_of(TextOptions::default(), &["a", "b"]);
    index.link(DocNo(0), Some(DocNo(0)), Some(DocNo(9)));
    index.link(DocNo(9), Some(DocNo(0)), None);
    assert_eq!(index.neighbours(DocNo(0)), (None, None));
    index.link(DocNo(0), Some(DocNo(1)), Some(DocNo(1)));
    assert_eq!(index.neighbours(DocNo(0)), (Some(DocNo(1)), None));
}

/// Rebuilds the index, to compare counts and lengths.
fn rebuild(index: &TextIndex) -> TextIndex {
    let mut bytes = Vec::new();
    index.encode(&mut bytes).unwrap();
    TextIndex::decode(&mut &bytes[..]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Including links that cut a thread in two, or close it to a cycle.
    #[test]
    fn any_links_keep_both_directions_and_lengths_consistent(
        steps in proptest::collection::vec((0..9_u32, proptest::option::of(0..9_u32), proptest::option::of(0..9_u32), 0..9_u32), 1..40),
    ) {
        let texts = ["a", "b b", "c c c", "d", "e e", "f", "g g g g", "h"];
        let mut index = index_of(TextOptions::default(), &texts);
        for (doc, previous, next, kind) in steps {
            match kind {
                0 => index.remove(DocNo(doc)),
                1 => put(&mut index, doc, "flood tide gate"),
                _ => index.link(DocNo(doc), previous.map(DocNo), next.map(DocNo)),
            }
        }
        let rebuilt = rebuild(&index);
        let query = TextQuery::new("a b flood", index.languages(), StopWords::Kept);
        let statistics = [&index, &rebuilt].map(|index| index.resolve(&query).statistics().clone());
        prop_assert_eq!(&statistics[0], &statistics[1]);
        for doc in (0..9).map(DocNo) {
            let (previous, next) = index.neighbours(doc);
            prop_assert!(previous.is_none_or(|other| index.neighbours(other).1 == Some(doc)));
            prop_assert!(next.is_none_or(|other| index.neighbours(other).0 == Some(doc)));
            let parts = |index: &TextIndex| {
                let resolved = index.resolve(&query);
                index.explain(&resolved, resolved.statistics(), doc)
            };
            prop_assert_eq!(parts(&index), parts(&rebuilt));
        }
    }
}
