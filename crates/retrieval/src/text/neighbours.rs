use serde::{Deserialize, Serialize};

/// Maximum distance of entries that may contribute.
pub(super) const REACH: usize = 3;
/// One occurrence in the unit of weighted counts: integer sums do not depend on their order.
pub(super) const WHOLE: u32 = 256;

/// Weight of an occurrence in a neighbour of the same thread, relative to 1 in the entry itself. Stored in 256ths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Neighbours {
    /// Weights of the previous entry, the one before that, and so on.
    pub before: [f32; REACH],
    /// Weights of the next entry, the one after that, and so on.
    pub after: [f32; REACH],
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { before: [0.3, 0.3, 0.0], after: [0.3, 0.3, 0.0] }
    }
}

impl Neighbours {
    /// Neighbours do not count.
    pub const NONE: Self = Self { before: [0.0; REACH], after: [0.0; REACH] };

    pub(super) fn weights(&self) -> Weights {
        Weights { before: self.before.map(whole), after: self.after.map(whole) }
    }
}

fn whole(weight: f32) -> u32 {
    (weight.clamp(0.0, 16.0) * 256.0).round() as u32
}

/// Weights in 256ths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weights {
    pub before: [u32; REACH],
    pub after: [u32; REACH],
}

impl Weights {
    /// Distance of the farthest neighbour that counts.
    pub(super) fn reach(&self) -> usize {
        let counts = |weights: &[u32; REACH]| weights.iter().rposition(|weight| *weight > 0).map_or(0, |last| last + 1);
        counts(&self.before).max(counts(&self.after))
    }

    /// Sum over the entry and its neighbours.
    pub(super) fn sum(&self) -> u32 {
        WHOLE + self.before.iter().chain(&self.after).sum::<u32>()
    }
}
