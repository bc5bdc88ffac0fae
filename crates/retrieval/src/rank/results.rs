use super::{Explain, Mode};
use crate::Language;

/// Results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResults {
    /// Hits of the requested page, best first: those from the query's offset on, at most its limit.
    pub hits: Vec<Hit>,
    /// Number of ranked entries, which is the number of hits on all pages together. By text, these are all matches up
    /// to 1,000; otherwise the best 100 by words and by vector (or as many as a page has), with their thread
    /// neighbours.
    pub total: usize,
    /// The ranking that was used: `Text` if there was no vector, `Semantic` if the query had no words.
    pub mode: Mode,
    /// Messages for the caller, such as that words of the query were ignored.
    pub warnings: Vec<String>,
}

/// An entry that matches a query, with its scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Index of its collection among those searched.
    pub collection: usize,
    /// Id of the entry.
    pub id: u128,
    /// Version that was ranked.
    pub version: u32,
    /// Language by which its text was analysed.
    pub language: Language,
    /// Final score, 0 to 1: the share of the score of a perfect entry, one whose vector equals the query's and in which
    /// every query word occurs without limit. Comparable within one search; between searches as far as their statistics
    /// are.
    pub score: f32,
    /// BM25 as a share of its maximum, 0 to 1; `None` if words did not count.
    pub text: Option<f32>,
    /// Cosine of the query with the entry and its thread neighbours; `None` if vectors did not count, or if the entry has
    /// no vector yet.
    pub semantic: Option<f32>,
    /// The parts of the score.
    pub explain: Explain,
    /// Id of the previous unexpired entry of its thread.
    pub prev: Option<u128>,
    /// Id of the next unexpired entry of its thread.
    pub next: Option<u128>,
}
