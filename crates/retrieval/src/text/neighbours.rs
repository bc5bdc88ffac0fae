use serde::{Deserialize, Serialize};

/// How many entries before and after may count.
pub(super) const REACH: usize = 3;
/// A whole occurrence, in the unit that bags are counted in: sums of integers do not depend on their order.
pub(super) const WHOLE: u32 = 256;

/// How much an occurrence in a neighbour of the same thread counts; one in the entry itself counts 1. Kept to a 256th.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// In the entry before, the one before that, and so on.
    pub before: [f32; REACH],
    pub after: [f32; REACH],
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { before: [0.3, 0.3, 0.0], after: [0.3, 0.3, 0.0] }
    }
}

impl Neighbours {
    /// Every entry for itself.
    pub const NONE: Self = Self { before: [0.0; REACH], after: [0.0; REACH] };

    pub(super) fn weights(&self) -> Weights {
        Weights { before: self.before.map(whole), after: self.after.map(whole) }
    }
}

fn whole(weight: f32) -> u32 {
    (weight.clamp(0.0, 16.0) * 256.0).round() as u32
}

/// The same in 256ths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weights {
    pub before: [u32; REACH],
    pub after: [u32; REACH],
}

impl Weights {
    /// How far the last that counts is away.
    pub(super) fn reach(&self) -> usize {
        let counts = |weights: &[u32; REACH]| weights.iter().rposition(|weight| *weight > 0).map_or(0, |last| last + 1);
        counts(&self.before).max(counts(&self.after))
    }

    /// Of one occurrence in the entry and each of its neighbours.
    pub(super) fn sum(&self) -> u32 {
        WHOLE + self.before.iter().chain(&self.after).sum::<u32>()
    }
}
