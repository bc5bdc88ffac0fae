//! Preparation of texts for the model, and validation of its results.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;

use super::{EmbedFault, Embedder};
use crate::record::EntryRecord;
use muster_retrieval::passages;

/// Maximum number of passages of an entry that contribute to its vector: the first ones.
const MAX_PER_ENTRY: usize = 16;
/// Maximum number of passages of a query that contribute to its vector.
const MAX_PER_QUERY: usize = 4;
/// Time limit of a model call; a slower model is considered broken.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn of_entry(record: &EntryRecord) -> Vec<String> {
    first(passages(record.key(), &record.tags, &record.value), MAX_PER_ENTRY)
}

pub(super) fn of_query(text: &str) -> Vec<String> {
    first(passages("", &[], text), MAX_PER_QUERY)
}

fn first(mut texts: Vec<String>, max: usize) -> Vec<String> {
    texts.truncate(max);
    texts
}

/// Splits a text that is too long, between words if possible.
pub(super) fn halves(text: &str) -> [String; 2] {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (before, _) = text.split_at(middle);
    let cut = before.rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(middle);
    let (first, second) = text.split_at(cut);
    [first.trim_end().to_owned(), second.trim_start().to_owned()]
}

/// Returns one vector per text, or a fault, also if the model panics or never responds.
pub(super) async fn compute(embedder: &Arc<dyn Embedder>, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedFault> {
    let count = texts.len();
    let embedder = Arc::clone(embedder);
    // Called inside, so that a panic before its first await is caught too.
    let computed = AssertUnwindSafe(async move { embedder.embed(texts).await }).catch_unwind();
    let failed = |why: &str| Err(EmbedFault::Failed { why: why.to_owned() });
    match tokio::time::timeout(TIMEOUT, computed).await {
        Err(_) => failed("the model did not respond within a minute"),
        Ok(Err(_)) => failed("the model panicked"),
        Ok(Ok(Ok(vectors))) if vectors.len() != count => {
            failed("the model returned another number of vectors than texts")
        }
        Ok(Ok(computed)) => computed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_contain_every_word_and_cut_none() {
        assert_eq!(halves("one two three four"), ["one two", "three four"].map(str::to_owned));
        assert_eq!(halves("unbroken"), ["unbr", "oken"].map(str::to_owned));
        assert_eq!(halves("äöü"), ["ä", "öü"].map(str::to_owned), "cut between characters");
        assert_eq!(halves(" x"), ["", "x"].map(str::to_owned));
    }
}
