//! The index against a straightforward BM25 over word lists.

use std::collections::BTreeMap;

use proptest::prelude::*;
use roaring::RoaringBitmap;

use crate::analysis::{Language, analyze};
use crate::{DocNo, Filter, StopWords, TextIndex, TextOptions, TextQuery};

const WORDS: [&str; 6] = ["flood", "gate", "tide", "pump", "river", "dike"];
const DOCS: u32 = 12;

#[derive(Debug, Clone)]
enum Step {
    Put {
        doc: u32,
        words: Vec<usize>,
    },
    Remove {
        doc: u32,
    },
    /// After the last of a thread, or with `at` between two of it.
    Thread {
        doc: u32,
        thread: usize,
        at: usize,
    },
    Unthread {
        doc: u32,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let words = proptest::collection::vec(0..WORDS.len(), 0..9);
    prop_oneof![
        4 => (0..DOCS, words).prop_map(|(doc, words)| Step::Put { doc, words }),
        1 => (0..DOCS).prop_map(|doc| Step::Remove { doc }),
        3 => (0..DOCS, 0..2_usize, 0..8_usize).prop_map(|(doc, thread, at)| Step::Thread { doc, thread, at }),
        1 => (0..DOCS).prop_map(|doc| Step::Unthread { doc }),
    ]
}

#[derive(Debug, Clone, Default)]
struct Model {
    entries: BTreeMap<u32, Vec<usize>>,
    threads: [Vec<u32>; 2],
}

impl Model {
    fn unthread(&mut self, doc: u32) {
        self.threads.iter_mut().for_each(|thread| thread.retain(|other| *other != doc));
    }

    /// Entries with their weights for one entry.
    fn bag(&self, doc: u32) -> Vec<(u32, f64)> {
        let mut bag = vec![(doc, 1.0)];
        for thread in &self.threads {
            if let Some(at) = thread.iter().position(|other| *other == doc) {
                let near = thread.iter().enumerate().filter(|(other, _)| (1..=2).contains(&other.abs_diff(at)));
                bag.extend(near.map(|(_, other)| (*other, 77.0 / 256.0)));
            }
        }
        bag
    }

    /// Number of occurrences of consecutive words in an entry.
    fn count(&self, doc: u32, row: &[usize]) -> f64 {
        let words = self.entries.get(&doc).map_or(&[][..], Vec::as_slice);
        words.windows(row.len()).filter(|window| window == &row).count() as f64
    }

    fn over_bag(&self, doc: u32, of: impl Fn(u32) -> f64) -> f64 {
        self.bag(doc).into_iter().map(|(other, weight)| weight * of(other)).sum()
    }

    fn score(&self, doc: u32, query: &[usize]) -> f64 {
        let length = |doc| self.over_bag(doc, |other| self.entries[&other].len() as f64);
        let mean = self.entries.keys().map(|doc| length(*doc)).sum::<f64>() / self.entries.len() as f64;
        let k = 1.2 * (0.25 + 0.75 * (length(doc) + 50.0) / (mean + 50.0));
        let part = |row: &[usize]| {
            let df = self.entries.keys().filter(|doc| self.count(**doc, row) > 0.0).count() as f64;
            let idf = (1.0 + (self.entries.len() as f64 - df + 0.5) / (df + 0.5)).ln();
            let tf = self.over_bag(doc, |other| self.count(other, row));
            idf * tf / (tf + k)
        };
        let words: f64 = query.iter().map(|word| part(&[*word])).sum();
        let pairs: f64 = query.windows(2).map(part).sum();
        words + 0.4 * pairs
    }
}

fn apply(index: &mut TextIndex, model: &mut Model, step: &Step) {
    match step {
        Step::Put { doc, words } => {
            let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
            index.insert(DocNo(*doc), &analyze(&[&text], Language::English));
            model.entries.insert(*doc, words.clone());
        }
        Step::Remove { doc } => {
            index.remove(DocNo(*doc));
            model.entries.remove(doc);
            model.unthread(*doc);
        }
        Step::Thread { doc, thread, at } => {
            if !model.entries.contains_key(doc) {
                return;
            }
            model.unthread(*doc);
            let thread = &mut model.threads[*thread];
            let at = (*at).min(thread.len());
            let previous = at.checked_sub(1).map(|before| DocNo(thread[before]));
            index.link(DocNo(*doc), previous, thread.get(at).map(|next| DocNo(*next)));
            thread.insert(at, *doc);
        }
        Step::Unthread { doc } => {
            model.unthread(*doc);
            index.link(DocNo(*doc), None, None);
        }
    }
}

fn check(index: &TextIndex, model: &Model, query: &[usize], filter: Filter<'_>, limit: usize) {
    let text = query.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
    let query_terms = TextQuery::new(&text, index.languages(), StopWords::Dropped);
    let resolved = index.resolve(&query_terms);
    let statistics = resolved.statistics();
    let mut expected: Vec<(u32, f64)> = model.entries.keys().map(|doc| (*doc, model.score(*doc, query))).collect();
    expected.retain(|(doc, score)| *score > 0.0 && filter.admits(DocNo(*doc)));
    expected.sort_by(|a, b| b.1.total_cmp(&a.1));
    let found = index.search(&resolved, statistics, filter, limit);
    assert_eq!(found.len(), expected.len().min(limit));
    for ((doc, score), (_, best)) in found.iter().zip(&expected) {
        assert!((f64::from(*score) - best).abs() < 1e-4, "{score} where {best} is the best left");
        assert!((f64::from(*score) - model.score(doc.0, query)).abs() < 1e-4);
        assert!(filter.admits(*doc));
        let parts = index.explain(&resolved, statistics, *doc);
        assert_eq!(parts.iter().fold(0.0, |sum, part| sum + part.contribution), *score);
    }
    let docs: Vec<DocNo> = found.iter().map(|(doc, _)| *doc).collect();
    let scores: Vec<f32> = found.iter().map(|(_, score)| *score).collect();
    assert_eq!(index.score(&resolved, statistics, &docs), scores);
    assert_eq!(index.score(&resolved, statistics, &[DocNo(DOCS + 1)]), [0.0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn scores_match_the_formula(
        steps in proptest::collection::vec(step(), 1..60),
        query in proptest::collection::vec(0..WORDS.len(), 1..5),
        only in any::<u16>(),
        limit in 1..14_usize,
        cloned in 0..60_usize,
    ) {
        let (mut index, mut model) = (TextIndex::new(TextOptions::default()), Model::default());
        let mut kept = None;
        for (nth, step) in steps.iter().enumerate() {
            if nth == cloned {
                kept = Some((index.clone(), model.clone()));
            }
            apply(&mut index, &mut model, step);
        }
        let mut bytes = Vec::new();
        index.encode(&mut bytes).unwrap();
        let read = TextIndex::decode(&mut &bytes[..]).unwrap();
        let bitmap: RoaringBitmap = (0..16).filter(|bit| only >> bit & 1 == 1).collect();
        for (index, model) in [(&index, &model), (&read, &model)].into_iter().chain(kept.as_ref().map(|(i, m)| (i, m))) {
            prop_assert_eq!(index.len(), model.entries.len());
            check(index, model, &query, Filter::All, limit);
            check(index, model, &query, Filter::Only(&bitmap), limit);
        }
    }
}
