use super::thread::neighbours;
use super::{CANDIDATES, MAX_CANDIDATES, Mode, Query, QueryContext};
use crate::best_first::best_first;
use crate::collection::{Admitted, Collection};
use crate::{DocNo, Resolved, Statistics};

/// A collection of a search, with the entries that the query's conditions admit.
pub(super) struct SearchedCollection<'a> {
    pub collection: &'a Collection,
    pub admitted: Admitted,
    pub resolved: Resolved<'a>,
}

/// Identifies a candidate: index of its collection, and number of its entry.
pub(super) type CandidateKey = (usize, DocNo);

/// Selects the entries to be scored by both sides, grouped by collection, with their BM25 if it is known: the best by
/// words, the best by vector, and the thread neighbours of the latter, since an entry's cosine includes its neighbours.
/// The number of candidates does not depend on the requested page, so that pages are parts of one list.
pub(super) fn candidates(
    parts: &[SearchedCollection<'_>],
    statistics: &Statistics,
    query: &Query,
    context: &QueryContext<'_>,
    mode: Mode,
) -> Vec<(CandidateKey, Option<f32>)> {
    let limit = if mode == Mode::Text { MAX_CANDIDATES } else { query.limit.clamp(CANDIDATES, MAX_CANDIDATES) };
    let mut all = Vec::new();
    if mode != Mode::Semantic {
        let by_words = |part: &SearchedCollection<'_>| {
            let text = part.collection.text();
            text.best_of(&part.resolved, statistics, part.admitted.filter(), limit)
        };
        all.extend(best(parts, limit, by_words).into_iter().map(|(key, score)| (key, Some(score))));
    }
    if let Some(vector) = context.vector.filter(|_| mode != Mode::Text) {
        let by_vector = |part: &SearchedCollection<'_>| {
            part.collection.vector_index().search(vector, part.admitted.filter(), limit)
        };
        for (key, _) in best(parts, limit, by_vector) {
            let Some(part) = parts.get(key.0) else { continue };
            let near = neighbours(part.collection, key.1).map(|(doc, _)| doc);
            for doc in near.filter(|doc| part.admitted.filter().admits(*doc)).chain([key.1]) {
                all.push(((key.0, doc), None));
            }
        }
    }
    if mode == Mode::Text {
        // The text search returns each entry once.
        all.sort_by_key(|(key, _)| key.0);
        return all;
    }
    // Of two equal keys, the one with a BM25 score comes first and is kept.
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
    all.dedup_by_key(|(key, _)| *key);
    all
}

/// Returns the best results over all collections, unordered. Among equal scores, those of the lower key are kept.
fn best(
    parts: &[SearchedCollection<'_>],
    limit: usize,
    search: impl Fn(&SearchedCollection<'_>) -> Vec<(DocNo, f32)>,
) -> Vec<(CandidateKey, f32)> {
    let mut all: Vec<(CandidateKey, f32)> = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        all.extend(search(part).into_iter().map(|(doc, score)| ((nth, doc), score)));
    }
    if limit < all.len() {
        all.select_nth_unstable_by(limit, best_first);
        all.truncate(limit);
    }
    all
}
