mod basic;
mod codec;
mod links;
mod model;
mod postings;
mod pruning;
mod published;

use crate::analysis::{Language, analyze};
use crate::{DocNo, Filter, StopWords, TextIndex, TextOptions, TextQuery};

fn put(index: &mut TextIndex, doc: u32, text: &str) {
    index.insert(DocNo(doc), &analyze(&[text], Language::English));
}

fn index_of(options: TextOptions, texts: &[&str]) -> TextIndex {
    let mut index = TextIndex::new(options);
    for (doc, text) in (0..).zip(texts) {
        put(&mut index, doc, text);
    }
    index
}

fn find_in(index: &TextIndex, text: &str, filter: Filter<'_>, limit: usize) -> Vec<(u32, f32)> {
    let query = TextQuery::new(text, index.languages(), StopWords::Dropped);
    let resolved = index.resolve(&query);
    let found = index.search(&resolved, resolved.statistics(), filter, limit);
    found.into_iter().map(|(doc, score)| (doc.0, score)).collect()
}

fn find(index: &TextIndex, text: &str) -> Vec<u32> {
    find_in(index, text, Filter::All, 100).into_iter().map(|(doc, _)| doc).collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(limit)) as u32
    }

    /// A word of a vocabulary in which the nth is as frequent as 1/n (roughly).
    fn word(&mut self, vocabulary: u32) -> String {
        let span = f64::from(vocabulary).ln();
        let rank = (f64::from(self.below(1 << 30)) / f64::from(1 << 30) * span).exp() as u32;
        format!("w{rank}x")
    }

    fn text(&mut self, words: u32, vocabulary: u32) -> String {
        (0..words).map(|_| self.word(vocabulary)).collect::<Vec<_>>().join(" ")
    }
}
