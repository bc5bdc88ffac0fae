use crate::DocNo;
use crate::best_first::best_first;

/// Selects the best scores.
pub(super) struct Top {
    limit: usize,
    /// The best so far plus more: truncated to the limit at twice its size, which is cheaper than keeping them ordered.
    kept: Vec<(DocNo, f32)>,
    /// Lowest of the best scores at the last truncation; 0 before.
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

    /// Lowest score that is among the best; 0 while the limit is not reached.
    pub(super) fn least(mut self) -> f32 {
        self.cut();
        self.least
    }

    /// The best, unordered.
    pub(super) fn into_best(mut self) -> Vec<(DocNo, f32)> {
        self.cut();
        self.kept
    }
}
