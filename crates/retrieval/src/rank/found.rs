use super::{Explain, Mode};
use crate::Language;

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// From the query's offset on, at most its limit.
    pub hits: Vec<Hit>,
    /// Entries that were ranked: what all pages together have. By text, all that match up to 1,000; else the best 100 of
    /// either side (or as many as a page has), with their neighbours.
    pub total: usize,
    /// By what they were ranked: by text where there was no vector, by vector where there was no word.
    pub mode: Mode,
    /// What the asker should know, such as words that were not looked for.
    pub warnings: Vec<String>,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which of the collections it is in.
    pub collection: usize,
    pub id: u128,
    /// That was ranked.
    pub version: u32,
    /// By which its words are known.
    pub language: Language,
    /// 0 to 1: the share it has of what an entry would score in which every word of the query stands without end and
    /// whose vector is the query's. Comparable within an answer; between answers as far as their statistics are.
    pub score: f32,
    /// BM25, as a share of the same; none where words did not count.
    pub text: Option<f32>,
    /// Cosine of the query and the entry with its neighbours; none where vectors did not count or it has none yet.
    pub semantic: Option<f32>,
    pub explain: Explain,
    /// The entries before and after it in its thread, of those that may be found.
    pub prev: Option<u128>,
    pub next: Option<u128>,
}
