use crate::DocNo;
use crate::collection::Collection;

/// The entries before one in its thread, the nearest first.
pub(super) fn before(collection: &Collection, doc: DocNo) -> impl Iterator<Item = DocNo> {
    let step = |doc: &DocNo| collection.text().neighbours(*doc).0;
    std::iter::successors(step(&doc), step)
}

pub(super) fn after(collection: &Collection, doc: DocNo) -> impl Iterator<Item = DocNo> {
    let step = |doc: &DocNo| collection.text().neighbours(*doc).1;
    std::iter::successors(step(&doc), step)
}

/// Those that count for an entry, with what they count where it counts 1.
pub(super) fn neighbours(collection: &Collection, doc: DocNo) -> impl Iterator<Item = (DocNo, f32)> {
    let weights = collection.text().options().neighbours;
    let (before, after) = (before(collection, doc).zip(weights.before), after(collection, doc).zip(weights.after));
    before.chain(after).filter(|(_, weight)| *weight > 0.0)
}
