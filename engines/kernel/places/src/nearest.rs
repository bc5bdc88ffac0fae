//! Nearest places, by an implicit k-d tree: the node of a range of places is its middle one, and ranges are divided by the
//! axes of the unit vector in turn.

use muster_kernel_earth::{LatLon, inverse};

use crate::table::{Place, Table, place};

/// Squares of chords that differ by less are compared no further: the table's maker and this program round differently.
const ROUNDING: f64 = 1e-12;
/// By how much a geodesic on the ellipsoid and an arc on the sphere differ at most, as a share: twice the flattening.
const ELLIPSOID: f64 = 2.0 / 298.0;

/// A place and its distance from a position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    /// The place.
    pub place: Place,
    /// Length of the geodesic, in metres.
    pub distance_m: f64,
}

/// Returns the nearest places, nearest first; equally near ones by number. `country` limits them to one country.
pub fn nearest(from: LatLon, count: usize, country: Option<&str>) -> Vec<Near> {
    let Some(table) = Table::get() else { return Vec::new() };
    let mut search =
        Search { table, target: from.unit_vector(), country, count, radius: f64::INFINITY, found: Vec::new() };
    search.visit(0, table.count(), 0);
    let Some(last) = search.found.last().map(|(square, _)| *square) else { return Vec::new() };
    // All that may be nearer on the ellipsoid than the farthest of these.
    let mut search =
        Search { radius: last * (1.0 + ELLIPSOID).powi(2) + ROUNDING, count: usize::MAX, found: Vec::new(), ..search };
    search.visit(0, table.count(), 0);
    let near = |id: usize| {
        let place = place(u32::try_from(id).ok()?)?;
        Some(Near { place, distance_m: inverse(from, place.at).distance })
    };
    let mut found: Vec<Near> = search.found.iter().filter_map(|(_, id)| near(*id)).collect();
    found.sort_by(|a, b| a.distance_m.total_cmp(&b.distance_m).then(a.place.id.cmp(&b.place.id)));
    found.truncate(count);
    found
}

struct Search<'a> {
    table: &'a Table,
    target: [f64; 3],
    country: Option<&'a str>,
    /// How many are kept.
    count: usize,
    /// Square of the chord beyond which nothing is kept.
    radius: f64,
    /// Squares of chords and places. With a count, sorted by them.
    found: Vec<(f64, usize)>,
}

impl Search<'_> {
    /// Looks at the places from `low` to before `high`, which are divided by `axis`. The depth is that of the tree: 18.
    fn visit(&mut self, low: usize, high: usize, axis: usize) {
        if low >= high {
            return;
        }
        let middle = low + (high - low) / 2;
        let Some(at) = self.table.position(middle) else { return };
        let point = at.unit_vector();
        let square: f64 = point.iter().zip(self.target).map(|(a, b)| (a - b).powi(2)).sum();
        if self.country.is_none_or(|country| self.table.country(middle) == Some(country)) {
            self.keep(square, middle);
        }
        let (Some(here), Some(there)) = (point.get(axis), self.target.get(axis)) else { return };
        let gap = there - here;
        let (near, far) =
            if gap < 0.0 { ((low, middle), (middle + 1, high)) } else { ((middle + 1, high), (low, middle)) };
        let next = (axis + 1) % 3;
        self.visit(near.0, near.1, next);
        if gap * gap <= self.worst() + ROUNDING {
            self.visit(far.0, far.1, next);
        }
    }

    fn worst(&self) -> f64 {
        if self.found.len() < self.count { self.radius } else { self.found.last().map_or(self.radius, |last| last.0) }
    }

    fn keep(&mut self, square: f64, id: usize) {
        if square > self.worst() || self.count == 0 {
            return;
        }
        if self.count == usize::MAX {
            self.found.push((square, id));
            return;
        }
        let at = self.found.partition_point(|(other, _)| *other <= square);
        self.found.insert(at, (square, id));
        self.found.truncate(self.count);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By looking at each place.
    fn slowly(from: LatLon, count: usize) -> Vec<f64> {
        let target = from.unit_vector();
        let chord =
            |place: &Place| -> f64 { place.at.unit_vector().iter().zip(target).map(|(a, b)| (a - b).powi(2)).sum() };
        let mut all: Vec<Place> = (0..crate::count()).filter_map(|id| place(id as u32)).collect();
        all.sort_by(|a, b| chord(a).total_cmp(&chord(b)));
        let mut near: Vec<f64> = all.iter().take(count + 200).map(|place| inverse(from, place.at).distance).collect();
        near.sort_by(f64::total_cmp);
        near.truncate(count);
        near
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        #[test]
        fn the_tree_finds_what_a_look_at_each_place_finds(lat in -90.0..=90.0_f64, lon in -180.0..=180.0_f64, count in 1..12_usize) {
            let from = LatLon::new(lat, lon);
            let found: Vec<f64> = nearest(from, count, None).iter().map(|near| near.distance_m).collect();
            prop_assert_eq!(found, slowly(from, count));
        }
    }

    #[test]
    fn places_across_the_antimeridian_and_at_the_poles_are_found() {
        for (lat, lon) in [(-16.5, 180.0), (-16.5, -180.0), (90.0, 0.0), (-90.0, 77.0)] {
            let from = LatLon::new(lat, lon);
            let found: Vec<f64> = nearest(from, 3, None).iter().map(|near| near.distance_m).collect();
            assert_eq!(found, slowly(from, 3));
        }
        assert!(nearest(LatLon::new(48.8, 2.3), 5, Some("DE")).iter().all(|near| near.place.country == "DE"));
        assert_eq!(nearest(LatLon::new(0.0, 0.0), 5, Some("XX")), Vec::new());
    }
}
