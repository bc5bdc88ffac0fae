use super::candidates::{Part, Place, candidates};
use super::context::{Context, Cosine};
use super::fuse::{Fusion, Scale, decay};
use super::{ALPHA, IMPORTANCE, Mode, Query, QueryContext};
use crate::collection::Document;
use crate::{DocNo, Statistics};

/// A candidate with both scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scored {
    pub place: Place,
    pub id: u128,
    pub text: f32,
    pub cosine: Option<Cosine>,
    /// The share of a perfect entry, before it is put within bounds.
    pub share: f32,
    pub decay: f32,
}

impl Scored {
    pub(super) fn score(&self) -> f32 {
        self.share.clamp(0.0, 1.0) * self.decay
    }
}

/// All candidates, each by the sides that count.
pub(super) fn score(
    parts: &[Part<'_>],
    statistics: &Statistics,
    query: &Query,
    context: &QueryContext<'_>,
    mode: Mode,
) -> Vec<Scored> {
    let all = candidates(parts, statistics, query, context, mode);
    let mut scored = Vec::with_capacity(all.len());
    for of_one in all.chunk_by(|a, b| a.0.0 == b.0.0) {
        let Some(part) = of_one.first().and_then(|(place, _)| parts.get(place.0)) else { continue };
        let vector = context.vector.filter(|_| mode != Mode::Text);
        let mut neighbours = vector.map(|vector| Context::new(part.collection, vector));
        for (place, text) in with_text(of_one, part, statistics, mode) {
            let cosine = neighbours.as_mut().and_then(|neighbours| neighbours.cosine(place.1));
            if text > 0.0 || cosine.is_some() {
                scored.push(Scored { place, id: 0, text, cosine, share: 0.0, decay: 1.0 });
            }
        }
    }
    scored
}

/// BM25 of candidates of one part, as far as words count.
fn with_text(
    all: &[(Place, Option<f32>)],
    part: &Part<'_>,
    statistics: &Statistics,
    mode: Mode,
) -> impl Iterator<Item = (Place, f32)> {
    let is_open = move |known: &Option<f32>| mode != Mode::Semantic && known.is_none();
    let open: Vec<DocNo> = all.iter().filter(|(_, known)| is_open(known)).map(|(place, _)| place.1).collect();
    let mut scores = part.collection.text().score(&part.resolved, statistics, &open).into_iter();
    all.iter().map(move |(place, known)| {
        let score = if is_open(known) { scores.next() } else { *known };
        (*place, score.unwrap_or_default())
    })
}

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

/// Puts the best into the order of their scores, as many as are shown, and leaves out what is below the least that is
/// wanted. Those behind stand in no order.
pub(super) fn rank(
    scored: &mut Vec<Scored>,
    parts: &[Part<'_>],
    fusion: &Fusion,
    (query, context): (&Query, &QueryContext<'_>),
    shown: usize,
) {
    let half_life = query.half_life.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    for one in scored.iter_mut() {
        let part = parts.get(one.place.0);
        let Some(entry) = part.and_then(|part| part.collection.entry(one.place.1)) else { continue };
        one.id = entry.id;
        // What has no vector yet is taken for the mean: it neither gains nor loses.
        let cosine = one.cosine.map_or(fusion.semantic.mean, |cosine| cosine.whole);
        one.share = fusion.share(one.text, cosine, gain(entry.importance));
        one.decay = decay(context.now.saturating_sub(entry.stored_at), half_life, entry.importance);
    }
    if let Some(least) = query.min_score {
        scored.retain(|one| one.score() >= least);
    }
    // Beyond both bounds shares still tell the better.
    let order = |a: &Scored, b: &Scored| {
        let by_score = b.score().total_cmp(&a.score()).then_with(|| b.share.total_cmp(&a.share));
        by_score.then_with(|| (a.place.0, a.id).cmp(&(b.place.0, b.id)))
    };
    if shown < scored.len() {
        scored.select_nth_unstable_by(shown, order);
    }
    let shown = shown.min(scored.len());
    if let Some(best) = scored.get_mut(..shown) {
        best.sort_unstable_by(order);
    }
}

/// What an importance adds, in deviations.
pub(super) fn gain(importance: f32) -> f32 {
    IMPORTANCE * (importance - Document::IMPORTANCE) / 0.5
}
