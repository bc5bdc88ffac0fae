use super::thread::neighbours;
use super::{CANDIDATES, MOST, Mode, Query, QueryContext};
use crate::best_first::best_first;
use crate::collection::{Admitted, Collection};
use crate::{DocNo, Resolved, Statistics};

/// A collection that is searched, and what of it may be found.
pub(super) struct Part<'a> {
    pub collection: &'a Collection,
    pub admitted: Admitted,
    pub resolved: Resolved<'a>,
}

/// A collection's place among those that are searched, and an entry's in it.
pub(super) type Place = (usize, DocNo);

/// The entries that are worth to be scored by both sides, those of a collection together, with BM25 where it is known:
/// the best by words, the best by vector, and the neighbours of these, since a vector counts with its neighbours'. Their
/// number does not depend on the page that is asked for, so that pages are parts of one list.
pub(super) fn candidates(
    parts: &[Part<'_>],
    statistics: &Statistics,
    query: &Query,
    context: &QueryContext<'_>,
    mode: Mode,
) -> Vec<(Place, Option<f32>)> {
    let most = if mode == Mode::Text { MOST } else { query.limit.clamp(CANDIDATES, MOST) };
    let mut all = Vec::new();
    if mode != Mode::Semantic {
        let found = |part: &Part<'_>| {
            let text = part.collection.text();
            text.best_of(&part.resolved, statistics, part.admitted.filter(), most)
        };
        all.extend(best(parts, most, found).into_iter().map(|(place, score)| (place, Some(score))));
    }
    if let Some(vector) = context.vector.filter(|_| mode != Mode::Text) {
        let found = |part: &Part<'_>| part.collection.vector_index().search(vector, part.admitted.filter(), most);
        for (place, _) in best(parts, most, found) {
            let Some(part) = parts.get(place.0) else { continue };
            let near = neighbours(part.collection, place.1).map(|(doc, _)| doc);
            for doc in near.filter(|doc| part.admitted.filter().admits(*doc)).chain([place.1]) {
                all.push(((place.0, doc), None));
            }
        }
    }
    if mode == Mode::Text {
        // One side names nothing twice.
        all.sort_by_key(|(place, _)| place.0);
        return all;
    }
    // Of one that both name, the first has its score.
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.is_none().cmp(&b.1.is_none())));
    all.dedup_by_key(|(place, _)| *place);
    all
}

/// The best over all parts, of equal ones those that stand first; in no order.
fn best(parts: &[Part<'_>], most: usize, found: impl Fn(&Part<'_>) -> Vec<(DocNo, f32)>) -> Vec<(Place, f32)> {
    let mut all: Vec<(Place, f32)> = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        all.extend(found(part).into_iter().map(|(doc, score)| ((nth, doc), score)));
    }
    if most < all.len() {
        all.select_nth_unstable_by(most, best_first);
        all.truncate(most);
    }
    all
}
