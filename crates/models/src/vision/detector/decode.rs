//! Decodes NanoDet's output: distances from a place to the four edges as distributions (Li et al. 2020, "Generalized
//! focal loss"), then non-maximum suppression by class.

/// Bins of a distribution: distances of 0 to 10 strides.
pub(super) const BINS: usize = 11;
/// Overlap (intersection over union) from which on the lower of two boxes of a class is dropped.
const MAX_OVERLAP: f32 = 0.6;
/// Candidates that enter the suppression, whose time grows with their square.
const MAX_CANDIDATES: usize = 1000;

/// A box in the square that the model sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) class: usize,
    pub(super) score: f32,
    /// Left, top, right, bottom.
    pub(super) edges: [f32; 4],
}

/// Returns the boxes of one grid of places: the best class of each place, where its score suffices.
pub(super) fn candidates(
    scores: &[f32],
    distances: &[f32],
    stride: usize,
    side: usize,
    min_score: f32,
) -> Vec<Candidate> {
    let columns = (side / stride).max(1);
    let classes = scores.len() / (distances.len() / (4 * BINS)).max(1);
    let places = scores.chunks_exact(classes.max(1)).zip(distances.chunks_exact(4 * BINS));
    let found = places.enumerate().filter_map(|(place, (scores, distances))| {
        let best = scores.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        let (class, score) = best.filter(|(_, score)| *score >= min_score)?;
        let center = [place % columns, place / columns].map(|at| (at as f32 + 0.5) * stride as f32);
        Some(Candidate { class, score, edges: edges(center, distances, stride as f32, side as f32) })
    });
    found.collect()
}

fn edges([x, y]: [f32; 2], distances: &[f32], stride: f32, side: f32) -> [f32; 4] {
    let mut reach = distances.chunks_exact(BINS).map(|bins| expectation(bins) * stride);
    let mut next = || reach.next().unwrap_or_default();
    let (left, top, right, bottom) = (next(), next(), next(), next());
    [x - left, y - top, x + right, y + bottom].map(|edge| edge.clamp(0.0, side))
}

/// Mean bin of a distribution given by logits.
fn expectation(logits: &[f32]) -> f32 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (mut sum, mut weighted) = (0.0, 0.0);
    for (bin, logit) in logits.iter().enumerate() {
        let weight = (logit - most).exp();
        sum += weight;
        weighted += weight * bin as f32;
    }
    weighted / sum
}

/// Drops boxes that overlap a better one of their class; returns the best ones in order of their score.
pub(super) fn suppress(mut found: Vec<Candidate>, max_results: usize) -> Vec<Candidate> {
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.truncate(MAX_CANDIDATES);
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in found {
        if kept.len() >= max_results {
            break;
        }
        let is_covered =
            |better: &Candidate| better.class == candidate.class && overlap(better, &candidate) > MAX_OVERLAP;
        if !kept.iter().any(is_covered) {
            kept.push(candidate);
        }
    }
    kept
}

/// Intersection over union.
fn overlap(a: &Candidate, b: &Candidate) -> f32 {
    let area = |[left, top, right, bottom]: [f32; 4]| (right - left).max(0.0) * (bottom - top).max(0.0);
    let [al, at, ar, ab] = a.edges;
    let [bl, bt, br, bb] = b.edges;
    let both = area([al.max(bl), at.max(bt), ar.min(br), ab.min(bb)]);
    let all = area(a.edges) + area(b.edges) - both;
    if all > 0.0 { both / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Logits of a distribution that is certain of one bin.
    fn certain(bin: usize) -> [f32; BINS] {
        let mut logits = [0.0; BINS];
        logits[bin] = 100.0;
        logits
    }

    #[test]
    fn the_expectation_of_a_distribution_is_its_mean_bin() {
        assert_eq!(expectation(&[0.0; BINS]), 5.0);
        assert_eq!(expectation(&certain(7)), 7.0);
        // Two bins, of which the second is three times as likely: 2 * 1/4 + 4 * 3/4.
        let mut logits = [-1e9; BINS];
        (logits[2], logits[4]) = (0.0, 3.0_f32.ln());
        assert!((expectation(&logits) - 3.5).abs() < 1e-6);
    }

    #[test]
    fn a_box_reaches_from_the_middle_of_its_place_by_its_distances() {
        // The second place of the second row of a grid of 2 x 2: middle at (24, 24).
        let mut scores = [0.0; 4 * 3];
        scores[3 * 3 + 1] = 0.7;
        let distances = [certain(0), certain(0), certain(0), certain(0)].concat().repeat(3);
        let distances = [distances, [certain(1), certain(2), certain(0), certain(3)].concat()].concat();
        let found = candidates(&scores, &distances, 16, 32, 0.4);
        // Left 24 - 16, top 24 - 32 cut at 0, right 24, bottom 24 + 48 cut at 32.
        assert_eq!(found, [Candidate { class: 1, score: 0.7, edges: [8.0, 0.0, 24.0, 32.0] }]);
    }

    #[test]
    fn suppression_is_by_class_and_keeps_the_best() {
        let of = |class, score, left| Candidate { class, score, edges: [left, 0.0, left + 10.0, 10.0] };
        // 1 of 10 pixels aside: 90 / 110 = 0.82; 3 of 10: 70 / 130 = 0.54.
        let found = vec![of(0, 0.5, 1.0), of(0, 0.9, 0.0), of(1, 0.6, 0.0), of(0, 0.7, 3.0)];
        assert_eq!(suppress(found.clone(), 50), [of(0, 0.9, 0.0), of(0, 0.7, 3.0), of(1, 0.6, 0.0)]);
        assert_eq!(suppress(found, 1), [of(0, 0.9, 0.0)]);
    }
}
