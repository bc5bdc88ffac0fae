use super::candidates::SearchedCollection;
use super::fuse::Fusion;
use super::scored::{Scored, gain};
use super::thread::{after, before};
use super::{Explain, Hit, QueryContext, SemanticPart, TextPart};
use crate::collection::Collection;
use crate::{DocNo, Statistics};

/// Maximum number of expired neighbours skipped while looking for an unexpired one.
const MAX_SKIPPED: usize = 64;

/// Builds the hit of a ranked candidate, with the parts of its score; `None` if the entry no longer exists.
pub(super) fn build_hit(
    one: &Scored,
    part: &SearchedCollection<'_>,
    fusion: &Fusion,
    statistics: &Statistics,
    context: &QueryContext<'_>,
) -> Option<Hit> {
    let (nth, doc) = one.key;
    let entry = part.collection.entry(doc)?;
    let text = (fusion.alpha < 1.0).then(|| TextPart {
        bm25: one.text,
        best: fusion.best_text,
        mean: fusion.text.mean,
        deviation: fusion.text.deviation,
        weight: fusion.text_weight(),
        terms: part.collection.text().explain(&part.resolved, statistics, doc),
    });
    let cosine = one.cosine.map_or(fusion.semantic.mean, |cosine| cosine.whole);
    let semantic = (fusion.alpha > 0.0).then(|| SemanticPart {
        own: one.cosine.map(|cosine| cosine.own),
        cosine,
        neighbours: one.cosine.map_or(0, |cosine| cosine.neighbours),
        mean: fusion.semantic.mean,
        deviation: fusion.semantic.deviation,
        weight: fusion.semantic_weight(),
    });
    let share = if fusion.best_text > 0.0 { (one.text / fusion.best_text).clamp(0.0, 1.0) } else { 0.0 };
    let explain = Explain {
        alpha: fusion.alpha,
        fused: fusion.fused(one.text, cosine),
        importance: gain(entry.importance),
        best: fusion.best(),
        decay: one.decay,
        likeness: None,
        score: one.score(),
        text,
        semantic,
    };
    let (prev, next) = thread_neighbours(part.collection, doc, context);
    Some(Hit {
        collection: nth,
        id: entry.id,
        version: entry.version,
        language: part.collection.text().language(doc).unwrap_or_default(),
        score: one.score(),
        text: explain.text.as_ref().map(|_| share),
        semantic: one.cosine.map(|cosine| cosine.whole),
        explain,
        prev,
        next,
    })
}

/// Returns the nearest unexpired entries before and after one in its thread. The query's other conditions do not apply.
fn thread_neighbours(collection: &Collection, doc: DocNo, context: &QueryContext<'_>) -> (Option<u128>, Option<u128>) {
    let nearest = |all: &mut dyn Iterator<Item = DocNo>| {
        let found = all.take(MAX_SKIPPED).find(|doc| collection.is_admitted(*doc, context))?;
        Some(collection.entry(found)?.id)
    };
    (nearest(&mut before(collection, doc)), nearest(&mut after(collection, doc)))
}
