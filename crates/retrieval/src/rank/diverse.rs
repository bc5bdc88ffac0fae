use crate::collection::Collection;
use crate::{DocNo, Hit};

/// A hit that has not been placed yet.
struct Remaining {
    /// Index in the order of relevance.
    index: usize,
    vector: Option<Vec<f32>>,
    /// Highest cosine with a placed hit.
    likeness: f32,
}

/// Reorders the first `count` hits by maximal marginal relevance, `lambda * score - (1 - lambda) * likeness` (Carbonell,
/// Goldstein 1998, "The use of MMR, diversity-based reranking for reordering documents and producing summaries"), and
/// sets their `likeness`; later hits are unchanged. Entries without a vector have likeness 0.
pub(super) fn diversify(hits: &mut Vec<(Hit, DocNo)>, collections: &[&Collection], lambda: f32, count: usize) {
    let lambda = if lambda.is_finite() { lambda.clamp(0.0, 1.0) } else { 1.0 };
    let head: Vec<(Hit, DocNo)> = hits.drain(..count.min(hits.len())).collect();
    let mut remaining: Vec<Remaining> = head
        .iter()
        .enumerate()
        .map(|(index, (hit, doc))| {
            let vector = collections.get(hit.collection).and_then(|all| all.vector_index().get(*doc));
            Remaining { index, vector, likeness: 0.0 }
        })
        .collect();
    let mut order = Vec::with_capacity(head.len());
    while !remaining.is_empty() {
        let gain = |one: &Remaining| {
            let score = head.get(one.index).map_or(0.0, |(hit, _)| hit.score);
            lambda * score - (1.0 - lambda) * one.likeness
        };
        // Among equal gains the first is taken, in the order of relevance.
        let best = (1..remaining.len()).fold(0, |best, nth| match (remaining.get(best), remaining.get(nth)) {
            (Some(a), Some(b)) if gain(b) > gain(a) => nth,
            _ => best,
        });
        let chosen = remaining.remove(best);
        for other in &mut remaining {
            if let (Some(a), Some(b)) = (&chosen.vector, &other.vector) {
                let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                other.likeness = other.likeness.max(cosine);
            }
        }
        order.push((chosen.index, chosen.likeness));
    }
    let mut head: Vec<Option<(Hit, DocNo)>> = head.into_iter().map(Some).collect();
    let chosen = order.into_iter().filter_map(|(index, likeness)| {
        let (mut hit, doc) = head.get_mut(index)?.take()?;
        hit.explain.likeness = Some(likeness);
        Some((hit, doc))
    });
    hits.splice(0..0, chosen.collect::<Vec<_>>());
}
