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
fn two_before_and_two_after_count_three_tenths_each() {
    let mut index = index_of(TextOptions::default(), &["a", "b", "flood", "c", "d", "e"]);
    thread(&mut index, &[0, 1, 2, 3, 4, 5]);
    // 0.3 is kept as 77/256.
    let near = 77.0 / 256.0;
    assert_eq!([0, 1, 2, 3, 4, 5].map(|doc| tf(&index, doc, "flood")), [near, near, 1.0, near, near, 0.0]);
    assert_eq!(find(&index, "flood").first(), Some(&2));
    assert_eq!(find(&index, "flood").len(), 5);
}

#[test]
fn an_entry_that_goes_leaves_its_neighbours_side_by_side() {
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
fn a_replaced_entry_keeps_its_place_and_a_link_to_none_takes_it_out() {
    let mut index = index_of(TextOptions::default(), &["a", "b", "c"]);
    thread(&mut index, &[0, 1, 2]);
    put(&mut index, 1, "flood");
    assert_eq!(find(&index, "flood"), [1, 0, 2]);
    index.link(DocNo(1), None, None);
    assert_eq!(find(&index, "flood"), [1]);
    assert_eq!(index.neighbours(DocNo(0)), (None, Some(DocNo(2))));
}

#[test]
fn a_link_to_itself_or_to_none_that_is_there_is_no_link() {
    let mut index = index_of(TextOptions::default(), &["a", "b"]);
    index.link(DocNo(0), Some(DocNo(0)), Some(DocNo(9)));
    index.link(DocNo(9), Some(DocNo(0)), None);
    assert_eq!(index.neighbours(DocNo(0)), (None, None));
    index.link(DocNo(0), Some(DocNo(1)), Some(DocNo(1)));
    assert_eq!(index.neighbours(DocNo(0)), (Some(DocNo(1)), None));
}
