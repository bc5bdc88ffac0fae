use crate::DocNo;
use crate::best_first::best_first;

/// The best of many scores.
pub(super) struct Top {
    limit: usize,
    /// The best so far and some more: cut back to the limit when they are twice as many, which costs less than to keep
    /// the best in order.
    kept: Vec<(DocNo, f32)>,
    /// The score of the last of the best at the last cut; 0 before.
    least: f32,
}

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
            self.kept.push((DocNo(doc), score));
            if self.kept.len() >= self.limit.saturating_mul(2) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        let Some(last) = self.limit.checked_sub(1).filter(|last| *last < self.kept.len()) else { return };
        let (_, worst, _) = self.kept.select_nth_unstable_by(last, best_first);
        self.least = worst.1;
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
        self.kept
    }
}
