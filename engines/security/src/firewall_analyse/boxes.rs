//! Sets of packets as boxes of five dimensions: version, source, destination, protocol, port.

/// An interval, both ends inclusive.
pub(super) type Interval = (u128, u128);

/// A box. Source and destination are of one version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub v6: bool,
    pub sides: [Interval; 4],
}

impl Region {
    pub(super) fn overlap(&self, other: &Self) -> bool {
        self.v6 == other.v6 && self.sides.iter().zip(&other.sides).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
    }

    pub(super) fn contains(&self, other: &Self) -> bool {
        self.v6 == other.v6 && self.sides.iter().zip(&other.sides).all(|(a, b)| a.0 <= b.0 && b.1 <= a.1)
    }
}

/// Whether one of the regions contains a region, or several do together.
pub(super) fn covers(regions: &[Region], wanted: &Region) -> bool {
    if regions.iter().any(|region| region.contains(wanted)) {
        return true;
    }
    let meeting: Vec<&Region> = regions.iter().filter(|region| region.overlap(wanted)).collect();
    if meeting.len() < 2 {
        return false;
    }
    let mut left = vec![*wanted];
    for region in meeting {
        left = left.iter().flat_map(|piece| subtract(piece, region)).collect();
        if left.len() > 1_000 {
            return false;
        }
    }
    left.is_empty()
}

/// What is left of a box without another: at most two pieces a dimension.
pub(super) fn subtract(from: &Region, other: &Region) -> Vec<Region> {
    if !from.overlap(other) {
        return vec![*from];
    }
    let (mut pieces, mut rest) = (Vec::new(), *from);
    for (at, (low, high)) in other.sides.into_iter().enumerate() {
        let Some((from_low, from_high)) = rest.sides.get(at).copied() else { continue };
        let mut piece = |interval: Interval| {
            let mut piece = rest;
            if let Some(side) = piece.sides.get_mut(at) {
                *side = interval;
            }
            pieces.push(piece);
        };
        if from_low < low {
            piece((from_low, low - 1));
        }
        if from_high > high {
            piece((high + 1, from_high));
        }
        if let Some(side) = rest.sides.get_mut(at) {
            *side = (from_low.max(low), from_high.min(high));
        }
    }
    pieces
}
