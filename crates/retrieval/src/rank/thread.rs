use crate::DocNo;
use crate::collection::Collection;

/// Iterates over the entries before one in its thread, nearest first.
pub(super) fn before(collection: &Collection, doc: DocNo) -> impl Iterator<Item = DocNo> {
    let step = |doc: &DocNo| collection.text().neighbours(*doc).0;
    std::iter::successors(step(&doc), step)
}

/// Iterates over the entries after one in its thread, nearest first.
pub(super) fn after(collection: &Collection, doc: DocNo) -> impl Iterator<Item = DocNo> {
    let step = |doc: &DocNo| collection.text().neighbours(*doc).1;
    std::iter::successors(step(&doc), step)
}

/// Iterates over the neighbours that contribute to an entry's scores, with their weights; the entry itself has weight 1.
pub(super) fn neighbours(collection: &Collection, doc: DocNo) -> impl Iterator<Item = (DocNo, f32)> {
    let weights = collection.text().options().neighbours;
    let (before, after) = (before(collection, doc).zip(weights.before), after(collection, doc).zip(weights.after));
    before.chain(after).filter(|(_, weight)| *weight > 0.0)
}
