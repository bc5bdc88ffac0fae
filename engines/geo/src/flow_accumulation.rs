//! q19: drainage and upstream area.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use muster_engine::prelude::*;

use crate::grid::{Grid, cell_size};

const MAX_CELLS: usize = 200_000;

/// Neighbours in the order in which ties are broken: ESRI code, rows down, columns right.
const NEIGHBOURS: [(u8, isize, isize); 8] =
    [(1, 0, 1), (2, 1, 1), (4, 1, 0), (8, 1, -1), (16, 0, -1), (32, -1, -1), (64, -1, 0), (128, -1, 1)];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    dem_m: Vec<Vec<f64>>,
    cell_size_m: f64,
    outlet: Option<Vec<i64>>,
    stream_threshold: u32,
}

/// Output of the engine. The watershed is absent without an outlet.
#[derive(Output)]
pub struct Output {
    direction: Vec<Vec<u8>>,
    accumulation: Vec<Vec<u32>>,
    streams: Vec<Vec<u8>>,
    watershed_cells: Option<u32>,
    watershed_area_m2: Option<f64>,
}

/// Routes water to the steepest neighbour of the filled grid. A cell of direction 0 drains out of the grid; accumulation
/// counts the cell itself.
///
/// # Errors
/// What is no grid, a cell size of 0, an outlet that is no cell.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let dem = Grid::of("dem", input.dem_m, MAX_CELLS)?;
    let size = cell_size(input.cell_size_m)?;
    let outlet = input.outlet.map(|cell| outlet(&cell, &dem)).transpose()?;
    cx.progress(0, 3, "filling");
    let filled = fill(&dem);
    cx.progress(1, 3, "directions");
    let directions: Vec<u8> = (0..dem.cells.len()).map(|cell| steepest(&dem, &filled, cell)).collect();
    cx.progress(2, 3, "accumulation");
    let accumulation = accumulate(&dem, &filled, &directions);
    let upstream = outlet.and_then(|cell| accumulation.get(cell)).copied();
    let streams: Vec<u8> = accumulation.iter().map(|count| u8::from(*count >= input.stream_threshold)).collect();
    Ok(Output {
        direction: dem.rows_of(&directions),
        accumulation: dem.rows_of(&accumulation),
        streams: dem.rows_of(&streams),
        watershed_cells: upstream,
        watershed_area_m2: upstream.map(|cells| f64::from(cells) * size * size),
    })
}

fn outlet(cell: &[i64], dem: &Grid) -> Result<usize, Failure> {
    let number = |value: i64, count: usize| usize::try_from(value).ok().filter(|value| *value < count);
    match *cell {
        [row, column] => number(row, dem.rows)
            .zip(number(column, dem.columns))
            .map(|(row, column)| row * dem.columns + column)
            .ok_or_else(|| Failure::invalid(&["outlet"], "is outside of the grid: it is row and column, from 0")),
        _ => Err(Failure::invalid(&["outlet"], "must be row and column, from 0")),
    }
}

/// Returns the neighbours of a cell, with their codes.
fn neighbours(dem: &Grid, cell: usize) -> impl Iterator<Item = (u8, usize, f64)> {
    let (row, column, rows, columns) = (cell / dem.columns, cell % dem.columns, dem.rows, dem.columns);
    NEIGHBOURS.into_iter().filter_map(move |(code, down, right)| {
        let row = row.checked_add_signed(down).filter(|row| *row < rows)?;
        let column = column.checked_add_signed(right).filter(|column| *column < columns)?;
        let length = if down != 0 && right != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
        Some((code, row * columns + column, length))
    })
}

fn value(values: &[f64], cell: usize) -> f64 {
    values.get(cell).copied().unwrap_or(f64::INFINITY)
}

/// Priority-Flood with the smallest possible slopes (Barnes, Lehman and Mulla 2014, algorithm 3): every cell but those at
/// the border has a lower neighbour.
fn fill(dem: &Grid) -> Vec<f64> {
    let mut filled = dem.cells.clone();
    let mut closed = vec![false; filled.len()];
    let mut order = 0_usize;
    let mut queue: BinaryHeap<Reverse<(Elevation, usize, usize)>> = BinaryHeap::new();
    for cell in 0..filled.len() {
        let (row, column) = (cell / dem.columns, cell % dem.columns);
        if row == 0 || column == 0 || row + 1 == dem.rows || column + 1 == dem.columns {
            queue.push(Reverse((Elevation(value(&filled, cell)), order, cell)));
            order += 1;
            if let Some(closed) = closed.get_mut(cell) {
                *closed = true;
            }
        }
    }
    while let Some(Reverse((Elevation(elevation), _, cell))) = queue.pop() {
        for (_, next, _) in neighbours(dem, cell) {
            let (Some(closed), Some(level)) = (closed.get_mut(next), filled.get_mut(next)) else { continue };
            if *closed {
                continue;
            }
            *closed = true;
            *level = level.max(elevation.next_up());
            queue.push(Reverse((Elevation(*level), order, next)));
            order += 1;
        }
    }
    filled
}

/// Code of the neighbour to which the filled surface falls most steeply; 0 if there is none lower.
fn steepest(dem: &Grid, filled: &[f64], cell: usize) -> u8 {
    let own = value(filled, cell);
    let mut best = (0.0, 0);
    for (code, next, length) in neighbours(dem, cell) {
        let fall = (own - value(filled, next)) / length;
        if fall > best.0 {
            best = (fall, code);
        }
    }
    best.1
}

/// Counts the cells that drain through each cell, from the highest to the lowest.
fn accumulate(dem: &Grid, filled: &[f64], directions: &[u8]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..filled.len()).collect();
    order.sort_by(|one, other| value(filled, *other).total_cmp(&value(filled, *one)));
    let mut counts = vec![1_u32; filled.len()];
    for cell in order {
        let (Some(direction), Some(count)) = (directions.get(cell), counts.get(cell).copied()) else { continue };
        let target = neighbours(dem, cell).find(|(code, ..)| code == direction);
        if let Some(below) = target.and_then(|(_, next, _)| counts.get_mut(next)) {
            *below += count;
        }
    }
    counts
}

/// An elevation with a total order.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Elevation(f64);

impl Eq for Elevation {}

impl PartialOrd for Elevation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Elevation {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
