use std::collections::BTreeSet;

use super::thread::neighbours;
use super::{CANDIDATES, MOST_CANDIDATES, Mode, Query};
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

/// The entries that are worth to be scored by both sides, in order of their places: the best by words, the best by
/// vector, and the neighbours of these, since a vector counts with its neighbours'.
pub(super) fn candidates(parts: &[Part<'_>], statistics: &Statistics, query: &Query<'_>, mode: Mode) -> Vec<Place> {
    let wanted = query.offset.saturating_add(query.limit);
    let most = if wanted <= CANDIDATES { CANDIDATES } else { MOST_CANDIDATES };
    let mut all = BTreeSet::new();
    if mode != Mode::Semantic {
        let found =
            |part: &Part<'_>| part.collection.text().search(&part.resolved, statistics, part.admitted.filter(), most);
        all.extend(best(parts, most, found));
    }
    if let Some(vector) = query.vector.filter(|_| mode != Mode::Text) {
        let found = |part: &Part<'_>| part.collection.vector_index().search(vector, part.admitted.filter(), most);
        for place in best(parts, most, found) {
            all.insert(place);
            let Some(part) = parts.get(place.0) else { continue };
            let near = neighbours(part.collection, place.1).map(|(doc, _)| doc);
            all.extend(near.filter(|doc| part.admitted.filter().admits(*doc)).map(|doc| (place.0, doc)));
        }
    }
    all.into_iter().collect()
}

/// The best over all parts, equal ones by their places.
fn best(parts: &[Part<'_>], most: usize, found: impl Fn(&Part<'_>) -> Vec<(DocNo, f32)>) -> Vec<Place> {
    let mut all: Vec<(Place, f32)> = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        all.extend(found(part).into_iter().map(|(doc, score)| ((nth, doc), score)));
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(most);
    all.into_iter().map(|(place, _)| place).collect()
}
