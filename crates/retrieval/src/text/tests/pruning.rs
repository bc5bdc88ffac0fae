//! Pruning is exact: compared bit by bit with the scores of all entries.

use roaring::RoaringBitmap;

use super::{Random, find_in, put};
use crate::{DocNo, Filter, StopWords, TextIndex, TextOptions, TextQuery};

const ENTRIES: u32 = 6_000;

fn corpus(random: &mut Random) -> TextIndex {
    let mut index = TextIndex::new(TextOptions::default());
    for doc in 0..ENTRIES {
        let words = 1 + random.below(30);
        put(&mut index, doc, &random.text(words, 3_000));
    }
    index
}

fn check(index: &TextIndex, random: &mut Random) {
    let some: RoaringBitmap = (0..ENTRIES).filter(|_| random.below(2) == 0).collect();
    let few: RoaringBitmap = (0..40).map(|_| random.below(ENTRIES)).collect();
    for (words, limit) in [(1, 10), (2, 3), (4, 10), (8, 1), (12, 100), (5, 10_000)] {
        let text = random.text(words, 3_000);
        let query = TextQuery::new(&text, index.languages(), StopWords::Dropped);
        let resolved = index.resolve(&query);
        let all: Vec<DocNo> = (0..ENTRIES).map(DocNo).collect();
        let scores = index.score(&resolved, resolved.statistics(), &all);
        for filter in [Filter::All, Filter::Only(&some), Filter::Only(&few)] {
            let mut expected: Vec<(u32, f32)> = (0..).zip(scores.iter().copied()).collect();
            expected.retain(|(doc, score)| *score > 0.0 && filter.admits(DocNo(*doc)));
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            expected.truncate(limit);
            assert_eq!(find_in(index, &text, filter, limit), expected, "{text}");
        }
    }
}

#[test]
fn pruned_searches_return_the_best_of_all_scores() {
    let mut random = Random(3);
    let mut index = corpus(&mut random);
    for _ in 0..6 {
        check(&index, &mut random);
    }
    // Threads of eight.
    for doc in 1..ENTRIES {
        if doc % 8 != 0 {
            index.link(DocNo(doc), Some(DocNo(doc - 1)), None);
        }
    }
    for _ in 0..6 {
        check(&index, &mut random);
    }
}
