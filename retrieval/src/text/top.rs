use std::cmp::Ordering;

use crate::DocNo;

/// The best of many scores.
pub(super) struct Top {
    limit: usize,
    /// The best so far and some more: cut back to the limit when they are twice as many, which costs less than to keep
    /// the best in order.
    kept: Vec<Scored>,
    /// The score of the last of the best at the last cut; 0 before.
    least: f32,
}

#[derive(Clone, Copy)]
struct Scored {
    score: f32,
    doc: u32,
}

impl Ord for Scored {
    /// Greater is worse: a lower score, of equal ones the higher number.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.doc.cmp(&other.doc))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scored {}

impl Top {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, kept: Vec::new(), least: 0.0 }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    #[inline]
    pub(super) fn offer(&mut self, doc: u32, score: f32) {
        if score >= self.least {
            self.kept.push(Scored { score, doc });
            if self.kept.len() >= self.limit.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let Some(last) = self.limit.checked_sub(1).filter(|last| *last < self.kept.len()) else { return };
        let (_, worst, _) = self.kept.select_nth_unstable(last);
        self.least = worst.score;
        self.kept.truncate(self.limit);
    }

    /// What a score must reach to be among the best; 0 while there is room.
    pub(super) fn least(mut self) -> f32 {
        self.cut();
        self.least
    }

    /// In no order.
    pub(super) fn into_best(mut self) -> Vec<(DocNo, f32)> {
        self.cut();
        self.kept.into_iter().map(|scored| (DocNo(scored.doc), scored.score)).collect()
    }
}
