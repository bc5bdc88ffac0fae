use crate::analysis::{Language, analyze};
use crate::text::{StopWords, TextIndex, TextQuery};
use crate::{DocNo, Filter};

fn index(texts: &[&str]) -> TextIndex {
    let mut index = TextIndex::default();
    for (doc, text) in (0..).zip(texts) {
        index.insert(DocNo(doc), &analyze(&[text], Language::English));
    }
    index
}

fn find(index: &TextIndex, text: &str) -> Vec<u32> {
    let query = TextQuery::new(text, index.languages(), StopWords::Dropped);
    let resolved = index.resolve(&query);
    let found = index.search(&resolved, resolved.statistics(), Filter::All, 10);
    found.into_iter().map(|(doc, _)| doc.0).collect()
}

#[test]
fn an_entry_is_found_by_a_stem_of_its_words_and_the_best_comes_first() {
    let index = index(&["the pumps were flooded", "a pump", "sandbags for the river", ""]);
    assert_eq!(find(&index, "flooding pump"), [0, 1]);
    assert_eq!(find(&index, "nothing of this"), [0_u32; 0]);
}
