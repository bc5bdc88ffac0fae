//! Identifiers of cells: H3 and geohash.

use std::collections::BTreeSet;

use h3o::{CellIndex, LatLng, Resolution};

use crate::{GeometryError, Point, Shape};

/// Returns the H3 cell of a point, as 15 hexadecimal digits. The resolution ranges from 0 (4,250 km across) to 15 (1
/// m); larger values are treated as 15.
///
/// # Errors
///
/// As for [`Point::check`].
pub fn h3_cell(point: &Point, resolution: u8) -> Result<String, GeometryError> {
    point.check()?;
    let cell = cell(point, level(resolution));
    Ok(cell.map(|cell| cell.to_string()).unwrap_or_default())
}

/// H3 cells that cover a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells {
    /// Resolution of the cells: the requested one, or a coarser one if that needed too many cells.
    pub resolution: u8,
    /// Identifiers of the cells, sorted.
    pub cells: Vec<String>,
}

impl Cells {
    /// Returns the cells that a shape's edge passes through or whose centre is inside the shape, at the finest
    /// resolution up to `resolution` that needs at most `max` cells. A cell of which the edge cuts off a corner
    /// narrower than half a cell's side may be missing. At resolution 0 there are at most 122 cells, whatever `max` is.
    pub fn covering(shape: &Shape, resolution: u8, max: usize) -> Self {
        let mut level = level(resolution);
        loop {
            let coarser = level.pred();
            let max = if coarser.is_some() { max } else { usize::MAX };
            if let Some(cells) = cover(shape, level, max) {
                let cells = cells.iter().map(ToString::to_string).collect();
                return Self { resolution: u8::from(level), cells };
            }
            level = coarser.unwrap_or(Resolution::Zero);
        }
    }
}

/// Returns all required cells; `None` if there are more than `max`.
fn cover(shape: &Shape, level: Resolution, max: usize) -> Option<BTreeSet<CellIndex>> {
    let mut cells = BTreeSet::new();
    // A cell is at least 1.5 of its edges wide, and the sizes of cells differ by a factor of up to two.
    for point in shape.outline(level.edge_length_m() / 2.0) {
        cells.extend(cell(&point, level));
        if cells.len() > max {
            return None;
        }
    }
    let mut open: Vec<CellIndex> = cells.iter().copied().collect();
    while let Some(next) = open.pop() {
        for beside in next.grid_disk_safe(1) {
            if !cells.contains(&beside) && shape.contains(&centre(beside)) {
                cells.insert(beside);
                open.push(beside);
                if cells.len() > max {
                    return None;
                }
            }
        }
    }
    Some(cells)
}

fn level(resolution: u8) -> Resolution {
    Resolution::try_from(resolution).unwrap_or(Resolution::Fifteen)
}

fn cell(point: &Point, level: Resolution) -> Option<CellIndex> {
    LatLng::new(point.lat, point.lon).ok().map(|at| at.to_cell(level))
}

fn centre(cell: CellIndex) -> Point {
    let at = LatLng::from(cell);
    Point::new(crate::polygon::normalize_lon(at.lng()), at.lat().clamp(-90.0, 90.0))
}

/// Returns the geohash of a point (G. Niemeyer, geohash.org) with 1 to 12 characters; other lengths are clamped.
///
/// # Errors
///
/// As for [`Point::check`].
pub fn geohash(point: &Point, length: usize) -> Result<String, GeometryError> {
    const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";
    point.check()?;
    let (mut lon, mut lat) = ((-180.0, 180.0), (-90.0, 90.0));
    let mut halve = |at: usize| {
        let (range, value) = if at.is_multiple_of(2) { (&mut lon, point.lon) } else { (&mut lat, point.lat) };
        let middle: f64 = f64::midpoint(range.0, range.1);
        let upper = value >= middle;
        *(if upper { &mut range.0 } else { &mut range.1 }) = middle;
        usize::from(upper)
    };
    let letter = |n: usize| (n * 5..n * 5 + 5).fold(0, |bits, at| bits << 1 | halve(at));
    let letters = (0..length.clamp(1, 12)).map(letter);
    Ok(letters.filter_map(|bits| ALPHABET.get(bits)).map(|&letter| char::from(letter)).collect())
}
