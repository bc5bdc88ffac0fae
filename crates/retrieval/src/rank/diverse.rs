use crate::collection::Collection;
use crate::{DocNo, Hit};

/// A hit and its vector.
struct Waiting {
    place: usize,
    vector: Option<Vec<f32>>,
    /// The highest cosine with one that was chosen.
    likeness: f32,
}

/// Of the hits, so many are put in an order in which each is relevant and unlike those above it: maximal marginal
/// relevance (Carbonell, Goldstein 1998), `lambda * score - (1 - lambda) * likeness`. Entries without a vector are like
/// none. Gives the likeness of those that were put anew; the hits after them stay as they are.
pub(super) fn diversify(hits: &mut Vec<(Hit, DocNo)>, collections: &[&Collection], lambda: f32, most: usize) {
    let lambda = if lambda.is_finite() { lambda.clamp(0.0, 1.0) } else { 1.0 };
    let head: Vec<(Hit, DocNo)> = hits.drain(..most.min(hits.len())).collect();
    let mut waiting: Vec<Waiting> = head
        .iter()
        .enumerate()
        .map(|(place, (hit, doc))| {
            let vector = collections.get(hit.collection).and_then(|all| all.vector_index().get(*doc));
            Waiting { place, vector, likeness: 0.0 }
        })
        .collect();
    let mut order = Vec::with_capacity(head.len());
    while !waiting.is_empty() {
        let gain = |one: &Waiting| {
            let score = head.get(one.place).map_or(0.0, |(hit, _)| hit.score);
            lambda * score - (1.0 - lambda) * one.likeness
        };
        // The first of equals: the order they came in.
        let best = (1..waiting.len()).fold(0, |best, nth| match (waiting.get(best), waiting.get(nth)) {
            (Some(a), Some(b)) if gain(b) > gain(a) => nth,
            _ => best,
        });
        let chosen = waiting.remove(best);
        for other in &mut waiting {
            if let (Some(a), Some(b)) = (&chosen.vector, &other.vector) {
                let cosine: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                other.likeness = other.likeness.max(cosine);
            }
        }
        order.push((chosen.place, chosen.likeness));
    }
    let mut head: Vec<Option<(Hit, DocNo)>> = head.into_iter().map(Some).collect();
    let chosen = order.into_iter().filter_map(|(place, likeness)| {
        let (mut hit, doc) = head.get_mut(place)?.take()?;
        hit.explain.likeness = Some(likeness);
        Some((hit, doc))
    });
    hits.splice(0..0, chosen.collect::<Vec<_>>());
}
