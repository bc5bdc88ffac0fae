use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::DocNo;

/// The best of many scores.
pub(super) struct Top {
    limit: usize,
    /// The worst of the best is on top.
    heap: BinaryHeap<Scored>,
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
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn offer(&mut self, doc: u32, score: f32) {
        let scored = Scored { score, doc };
        if self.heap.len() < self.limit {
            self.heap.push(scored);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored < *worst
        {
            *worst = scored;
        }
    }

    /// What a score must reach to be among the best; 0 while there is room.
    pub(super) fn least(&self) -> f32 {
        let worst = self.heap.peek().filter(|_| self.heap.len() >= self.limit);
        worst.map_or(0.0, |worst| worst.score)
    }

    /// Best first.
    pub(super) fn into_sorted(self) -> Vec<(DocNo, f32)> {
        self.heap.into_sorted_vec().into_iter().map(|scored| (DocNo(scored.doc), scored.score)).collect()
    }
}
