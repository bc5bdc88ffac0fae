//! Positions in space, for questions of what is near. A straight line between two positions is never longer than the
//! geodesic, nor shorter than the chord of a circle with the ellipsoid's smallest radius of curvature (Schur).

use std::cell::Cell;

use muster_kernel_earth as earth;
use rstar::RTree;
use rstar::primitives::GeomWithData;

/// Smallest radius of curvature, that of a meridian at the equator: a (1 - e²).
const LEAST_RADIUS_M: f64 = 6_335_439.0;

type Entry = GeomWithData<[f64; 3], usize>;

/// An index of positions.
pub(crate) struct Near<'a> {
    positions: &'a [earth::LatLon],
    tree: RTree<Entry>,
    /// Geodesics that were computed.
    geodesics: Cell<usize>,
}

impl<'a> Near<'a> {
    pub(crate) fn new(positions: &'a [earth::LatLon]) -> Self {
        let entries = positions.iter().enumerate().map(|(index, at)| Entry::new(at.in_space(), index));
        Self { positions, tree: RTree::bulk_load(entries.collect()), geodesics: Cell::new(0) }
    }

    /// Returns the positions within a geodesic distance, in their order.
    pub(crate) fn within(&self, at: earth::LatLon, radius: f64) -> Vec<usize> {
        let from = at.in_space();
        // Positions at the distance itself are not lost to rounding.
        let reach = radius * (1.0 + 1e-12) + 1e-6;
        let near = self.tree.locate_within_distance(from, reach * reach);
        let mut found: Vec<usize> = near
            .filter(|entry| {
                let chord = distance(from, *entry.geom());
                let arc = 2.0 * LEAST_RADIUS_M * (chord / (2.0 * LEAST_RADIUS_M)).min(1.0).asin();
                // Above this the bound says nothing.
                arc <= radius && chord < LEAST_RADIUS_M || self.exact(at, entry.data) <= radius
            })
            .map(|entry| entry.data)
            .collect();
        found.sort_unstable();
        found
    }

    /// Returns up to `count` nearest positions with their ways, nearest first, within a distance.
    pub(crate) fn nearest(&self, at: earth::LatLon, count: usize, most: f64) -> Vec<(usize, earth::Leg)> {
        let mut found: Vec<(usize, earth::Leg)> = Vec::with_capacity(count + 1);
        let from = at.in_space();
        for entry in self.tree.nearest_neighbor_iter(from) {
            let chord = distance(from, *entry.geom());
            let full = found.len() == count;
            if chord > most + 1e-6 || full && found.last().is_none_or(|(_, last)| chord > last.distance + 1e-6) {
                break;
            }
            let Some(to) = self.positions.get(entry.data) else { continue };
            let leg = earth::inverse(at, *to);
            self.geodesics.set(self.geodesics.get().saturating_add(1));
            if leg.distance <= most {
                let key = |(index, leg): &(usize, earth::Leg)| (leg.distance, *index);
                let place = found.partition_point(|other| key(other) <= (leg.distance, entry.data));
                found.insert(place, (entry.data, leg));
                found.truncate(count);
            }
        }
        found
    }

    /// Returns how many geodesics [`Self::nearest`] has computed: as many as there are positions where all are equally near.
    pub(crate) fn geodesics(&self) -> usize {
        self.geodesics.get()
    }

    fn exact(&self, at: earth::LatLon, index: usize) -> f64 {
        self.positions.get(index).map_or(f64::INFINITY, |to| earth::inverse(at, *to).distance)
    }
}

fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
    (one[0] - other[0]).hypot(one[1] - other[1]).hypot(one[2] - other[2])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_near_is_what_exact_distances_say(
            places in prop::collection::vec((-90.0..=90.0, -180.0..=180.0), 1..60),
            (lat, lon) in (-90.0..=90.0, -180.0..=180.0), radius in 0.0..2e7, count in 1_usize..10,
        ) {
            let positions: Vec<_> = places.iter().map(|(lat, lon)| earth::LatLon::new(*lat, *lon)).collect();
            let at = earth::LatLon::new(lat, lon);
            let near = Near::new(&positions);
            let mut exact: Vec<(f64, usize)> =
                positions.iter().enumerate().map(|(index, to)| (earth::inverse(at, *to).distance, index)).collect();
            let within: Vec<usize> = exact.iter().filter(|(away, _)| *away <= radius).map(|(_, index)| *index).collect();
            prop_assert_eq!(near.within(at, radius), within);
            exact.sort_by(|one, other| one.partial_cmp(other).unwrap());
            let found: Vec<usize> = near.nearest(at, count, f64::INFINITY).into_iter().map(|(index, _)| index).collect();
            prop_assert_eq!(found, exact.into_iter().take(count).map(|(_, index)| index).collect::<Vec<_>>());
        }
    }
}
