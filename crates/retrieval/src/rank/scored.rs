use super::candidates::{CandidateKey, SearchedCollection, candidates};
use super::fuse::{Fusion, Scale, decay};
use super::thread_cosines::{Cosine, ThreadCosines};
use super::{ALPHA, IMPORTANCE, Mode, Query, QueryContext};
use crate::collection::Document;
use crate::{DocNo, Statistics};

/// A candidate with both scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub key: CandidateKey,
    pub id: u128,
    /// BM25; 0 if no word occurs.
    pub text: f32,
    /// `None` if it has no vector, or vectors do not count.
    pub cosine: Option<Cosine>,
    /// Share of a perfect entry's score, not clamped.
    pub share: f32,
    pub decay: f32,
}

impl Scored {
    /// Returns the final score, 0 to 1.
    pub(super) fn score(&self) -> f32 {
        self.share.clamp(0.0, 1.0) * self.decay
    }
}

/// Selects the candidates and scores them by words, vectors or both, as the mode requires.
pub(super) fn score(
    parts: &[SearchedCollection<'_>],
    statistics: &Statistics,
    query: &Query,
    context: &QueryContext<'_>,
    mode: Mode,
) -> Vec<Scored> {
    let all = candidates(parts, statistics, query, context, mode);
    let mut scored = Vec::with_capacity(all.len());
    for of_collection in all.chunk_by(|a, b| a.0.0 == b.0.0) {
        let Some(part) = of_collection.first().and_then(|(key, _)| parts.get(key.0)) else { continue };
        let vector = context.vector.filter(|_| mode != Mode::Text);
        let mut cosines = vector.map(|vector| ThreadCosines::new(part.collection, vector));
        for (key, text) in with_text(of_collection, part, statistics, mode) {
            let cosine = cosines.as_mut().and_then(|cosines| cosines.cosine(key.1));
            if text > 0.0 || cosine.is_some() {
                scored.push(Scored { key, id: 0, text, cosine, share: 0.0, decay: 1.0 });
            }
        }
    }
    scored
}

/// Completes the BM25 scores of one collection's candidates; 0 if words do not count.
fn with_text(
    all: &[(CandidateKey, Option<f32>)],
    part: &SearchedCollection<'_>,
    statistics: &Statistics,
    mode: Mode,
) -> impl Iterator<Item = (CandidateKey, f32)> {
    let is_open = move |known: &Option<f32>| mode != Mode::Semantic && known.is_none();
    let open: Vec<DocNo> = all.iter().filter(|(_, known)| is_open(known)).map(|(key, _)| key.1).collect();
    let mut scores = part.collection.text().score(&part.resolved, statistics, &open).into_iter();
    all.iter().map(move |(key, known)| {
        let score = if is_open(known) { scores.next() } else { *known };
        (*key, score.unwrap_or_default())
    })
}

/// Returns the weights of both sides, from the distribution of the candidates' scores.
pub(super) fn fuse(scored: &[Scored], context: &QueryContext<'_>, mode: Mode, best_text: f32) -> Fusion {
    let alpha = match mode {
        Mode::Text => 0.0,
        Mode::Semantic => 1.0,
        Mode::Hybrid => context.alpha.filter(|alpha| alpha.is_finite()).map_or(ALPHA, |alpha| alpha.clamp(0.0, 1.0)),
    };
    let text = Scale::of(scored.iter().map(|one| one.text), best_text);
    let semantic = Scale::of(scored.iter().filter_map(|one| Some(one.cosine?.whole)), 1.0);
    Fusion { alpha, text, semantic, best_text }
}

/// Computes the final scores, removes candidates below the minimum score, and sorts the best `count` to the front; the
/// rest is unordered.
pub(super) fn rank(
    scored: &mut Vec<Scored>,
    parts: &[SearchedCollection<'_>],
    fusion: &Fusion,
    (query, context): (&Query, &QueryContext<'_>),
    count: usize,
) {
    let half_life = query.half_life.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    for one in scored.iter_mut() {
        let part = parts.get(one.key.0);
        let Some(entry) = part.and_then(|part| part.collection.entry(one.key.1)) else { continue };
        one.id = entry.id;
        // An entry without a vector gets the mean cosine: it neither gains nor loses.
        let cosine = one.cosine.map_or(fusion.semantic.mean, |cosine| cosine.whole);
        one.share = fusion.share(one.text, cosine, gain(entry.importance));
        one.decay = decay(context.now.saturating_sub(entry.stored_at), half_life, entry.importance);
    }
    if let Some(min_score) = query.min_score {
        scored.retain(|one| one.score() >= min_score);
    }
    // Scores clamped to 0 or 1 are equal, but their shares still differ.
    let order = |a: &Scored, b: &Scored| {
        let by_score = b.score().total_cmp(&a.score()).then_with(|| b.share.total_cmp(&a.share));
        by_score.then_with(|| (a.key.0, a.id).cmp(&(b.key.0, b.id)))
    };
    if count < scored.len() {
        scored.select_nth_unstable_by(count, order);
    }
    let count = count.min(scored.len());
    if let Some(best) = scored.get_mut(..count) {
        best.sort_unstable_by(order);
    }
}

/// Returns the gain of an importance, in standard deviations.
pub(super) fn gain(importance: f32) -> f32 {
    IMPORTANCE * (importance - Document::IMPORTANCE) / 0.5
}
