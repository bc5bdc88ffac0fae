use roaring::RoaringBitmap;

use super::{find, find_in, index_of, put};
use crate::analysis::{Language, Languages, analyze};
use crate::{DocNo, Filter, StopWords, TextIndex, TextOptions, TextQuery};

#[test]
fn entries_match_by_stem_best_first() {
    let index = index_of(TextOptions::default(), &["the pumps were flooded", "a pump", "sandbags for the river", ""]);
    assert_eq!(find(&index, "flooding pump"), [0, 1]);
    assert_eq!(find(&index, "nothing of this"), [0_u32; 0]);
    assert_eq!(find(&index, ""), [0_u32; 0]);
}

#[test]
fn stop_words_are_searched_only_without_other_words() {
    let index = index_of(TextOptions::default(), &["to be or not to be", "the river", "be a river"]);
    assert_eq!(find(&index, "to be or not to be").first(), Some(&0));
    assert_eq!(find(&index, "the river is to be"), [1, 2]);
    assert_eq!(find(&index, "Don't the river"), [1, 2]);
}

#[test]
fn entries_with_adjacent_query_words_rank_first() {
    let index = index_of(TextOptions::default(), &["layer of the boundary", "the boundary layer", "layer boundary"]);
    assert_eq!(find(&index, "boundary layer").first(), Some(&1));
    let none = index_of(TextOptions { pairs: 0.0, ..TextOptions::default() }, &["layer boundary", "boundary layer"]);
    assert_eq!(find(&none, "boundary layer"), [0, 1]);
}

#[test]
fn equal_scores_are_ordered_by_number_and_limited() {
    let index = index_of(TextOptions::default(), &["flood", "flood", "flood"]);
    assert_eq!(find(&index, "flood"), [0, 1, 2]);
    assert_eq!(find_in(&index, "flood", Filter::All, 2).len(), 2);
    assert_eq!(find_in(&index, "flood", Filter::All, 0), []);
    let only: RoaringBitmap = [1, 2, 77].into_iter().collect();
    let found: Vec<u32> = find_in(&index, "flood", Filter::Only(&only), 9).into_iter().map(|(doc, _)| doc).collect();
    assert_eq!(found, [1, 2]);
    assert_eq!(find_in(&index, "flood", Filter::Only(&RoaringBitmap::new()), 9), []);
}

#[test]
fn replaced_entries_match_new_words_only_and_removed_ones_nothing() {
    let mut index = index_of(TextOptions::default(), &["flood", "fire"]);
    put(&mut index, 0, "storm");
    assert_eq!(find(&index, "flood"), [0_u32; 0]);
    assert_eq!(find(&index, "storm"), [0]);
    index.remove(DocNo(0));
    index.remove(DocNo(9));
    assert_eq!((index.len(), index.terms(), find(&index, "storm")), (1, 1, vec![]));
    put(&mut index, 0, "fire");
    assert_eq!((index.terms(), find(&index, "fire")), (1, vec![0, 1]));
}

#[test]
fn clones_do_not_change() {
    let mut index = index_of(TextOptions::default(), &["flood", "flood fire"]);
    let before = index.clone();
    put(&mut index, 0, "storm");
    put(&mut index, 2, "flood tide");
    index.remove(DocNo(1));
    index.link(DocNo(2), Some(DocNo(0)), None);
    assert_eq!(find(&before, "flood"), [0, 1]);
    assert_eq!((before.len(), before.neighbours(DocNo(0))), (2, (None, None)));
    assert_eq!(find(&index, "flood"), [2, 0]);
}

#[test]
fn queries_match_entries_of_every_language_and_count_a_word_once() {
    let mut index = TextIndex::default();
    index.insert(DocNo(0), &analyze(&["Das Hochwasser hat die Häuser beschädigt"], Language::German));
    index.insert(DocNo(1), &analyze(&["the houses were flooded"], Language::English));
    index.insert(DocNo(2), &analyze(&["大雨で家が浸水した"], Language::Other));
    assert_eq!(find(&index, "Haus beschädigen"), [0]);
    assert_eq!(find(&index, "flooding house"), [1]);
    assert_eq!(find(&index, "浸水"), [2]);
    assert_eq!(find(&index, "家"), [2]);
    let query = TextQuery::new("beschädigt", index.languages(), StopWords::Dropped);
    let resolved = index.resolve(&query);
    assert_eq!(index.explain(&resolved, resolved.statistics(), DocNo(0)).len(), 1);
}

#[test]
fn queries_are_cut_after_512_words_and_report_it() {
    let text: String = (0..600).map(|n| format!("w{n}q ")).collect();
    let query = TextQuery::new(&text, Languages::default(), StopWords::Dropped);
    assert!(query.is_cut());
    assert_eq!(query.words().len(), 512);
    assert!(!TextQuery::new(&"flood ".repeat(9_000), Languages::default(), StopWords::Dropped).is_cut());
}

#[test]
fn merged_statistics_give_the_scores_of_one_index() {
    let texts = ["flood gate", "gate", "flood flood water", "tide", "flood gate tide"];
    let whole = index_of(TextOptions::default(), &texts);
    let (left, right) = (index_of(TextOptions::default(), &texts[..2]), index_of(TextOptions::default(), &texts[2..]));
    let query = TextQuery::new("flood gate", whole.languages(), StopWords::Dropped);
    let (one, two, all) = (left.resolve(&query), right.resolve(&query), whole.resolve(&query));
    let mut merged = one.statistics().clone();
    merged.merge(two.statistics());
    assert_eq!(&merged, all.statistics());
    let every: Vec<DocNo> = (0..5).map(DocNo).collect();
    let mut scores = left.score(&one, &merged, &every[..2]);
    scores.extend(right.score(&two, &merged, &every[..3]));
    assert_eq!(scores, whole.score(&all, all.statistics(), &every));
}
