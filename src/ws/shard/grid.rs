//! Selects filtered subscribers that a location may concern, by cells of ten degrees. Pure.

use std::collections::HashMap;

use crate::ws::protocol::{Box4, spans};

const DEGREES: f64 = 10.0;

type Cell = (i16, i16);

/// Members with a box, by the cells that it touches.
#[derive(Debug, Default)]
pub(super) struct Grid {
    cells: HashMap<Cell, Vec<usize>>,
    members: usize,
}

impl Grid {
    pub(super) fn len(&self) -> usize {
        self.members
    }

    pub(super) fn add(&mut self, member: usize, place: &Box4) {
        self.members += 1;
        for cell in cells(place) {
            self.cells.entry(cell).or_default().push(member);
        }
    }

    pub(super) fn remove(&mut self, member: usize, place: &Box4) {
        self.members = self.members.saturating_sub(1);
        for cell in cells(place) {
            if let Some(members) = self.cells.get_mut(&cell) {
                members.retain(|known| *known != member);
                if members.is_empty() {
                    self.cells.remove(&cell);
                }
            }
        }
    }

    /// Returns every member whose box may intersect this one, each once.
    pub(super) fn near(&self, place: &Box4) -> Vec<usize> {
        let mut found: Vec<usize> =
            cells(place).filter_map(|cell| self.cells.get(&cell)).flat_map(|members| members.iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[allow(clippy::cast_possible_truncation, reason = "degrees over ten fit")]
fn index(degrees: f64) -> i16 {
    (degrees.clamp(-180.0, 180.0) / DEGREES).floor() as i16
}

/// Returns the cells that a box touches. The cell of 180° east is that of 180° west.
fn cells(place: &Box4) -> impl Iterator<Item = Cell> + use<> {
    let [_, south, _, north] = *place;
    let (south, north) = (index(south), index(north));
    spans(place).flat_map(move |(west, east)| {
        let columns = index(west)..=index(east);
        columns.flat_map(move |column| {
            let column = if column >= 18 { -18 } else { column };
            (south..=north).map(move |row| (column, row))
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ws::protocol::Filter;

    fn any_box() -> impl Strategy<Value = Box4> {
        (-1800_i32..=1800, -900_i32..=900, 0_i32..400, 0_i32..200).prop_map(|(west, south, wide, high)| {
            let east = f64::from(west) / 10.0 + f64::from(wide) / 10.0;
            let east = if east > 180.0 { east - 360.0 } else { east };
            [
                f64::from(west) / 10.0,
                f64::from(south) / 10.0,
                east,
                (f64::from(south) / 10.0 + f64::from(high) / 10.0).min(90.0),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_matching_member_is_found(boxes in prop::collection::vec(any_box(), 1..40), place in any_box()) {
            let mut grid = Grid::default();
            for (member, one) in boxes.iter().enumerate() {
                grid.add(member, one);
            }
            let near = grid.near(&place);
            let traits = muster_core::event::EventAttributes { bbox: Some(place), ..Default::default() };
            for (member, one) in boxes.iter().enumerate() {
                let filter = Filter { bbox: Some(*one), ..Filter::default() };
                prop_assert!(near.contains(&member) || !filter.passes("x", &traits), "{:?} {:?}", one, place);
            }
            for (member, one) in boxes.iter().enumerate() {
                grid.remove(member, one);
            }
            prop_assert!(grid.cells.is_empty() && grid.len() == 0);
        }
    }
}
