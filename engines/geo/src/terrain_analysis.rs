//! q18: slope, aspect and hillshade.

use muster_engine::prelude::*;

use crate::grid::{Grid, cell_size};

const MAX_CELLS: usize = 200_000;
const STEEP_DEG: f64 = 30.0;
/// Aspect of a level cell.
const LEVEL: f64 = -1.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    dem_m: Vec<Vec<f64>>,
    cell_size_m: f64,
    sun_azimuth_deg: f64,
    sun_altitude_deg: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    slope_deg: Vec<Vec<f64>>,
    aspect_deg: Vec<Vec<f64>>,
    hillshade: Vec<Vec<f64>>,
    share_steep: f64,
}

/// Computes slope, aspect (the direction downhill, -1 where level) and hillshade by Horn's differences. Beyond the border
/// the grid goes on in a straight line.
///
/// # Errors
/// What is no grid, a cell size of 0.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let dem = Grid::of("dem", input.dem_m, MAX_CELLS)?;
    let size = cell_size(input.cell_size_m)?;
    let count = dem.cells.len();
    let (mut slopes, mut aspects, mut shades) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    let (sin_sun, cos_sun) = input.sun_altitude_deg.to_radians().sin_cos();
    for row in 0..dem.rows {
        for column in 0..dem.columns {
            let (east, south) = gradient(&dem, row, column, size);
            let steepness = east.hypot(south);
            let slope = steepness.atan();
            // Downhill is against the gradient.
            let aspect = (-east).atan2(south).to_degrees().rem_euclid(360.0);
            let facing = (input.sun_azimuth_deg - aspect).to_radians().cos();
            let shade = sin_sun * slope.cos() + cos_sun * slope.sin() * facing;
            slopes.push(slope.to_degrees());
            aspects.push(if steepness > 0.0 { aspect } else { LEVEL });
            shades.push(255.0 * shade.max(0.0));
        }
    }
    if slopes.iter().any(|slope| !slope.is_finite()) {
        return Err(Failure::invalid(&["dem"], "has elevations that are too large to subtract"));
    }
    let steep = slopes.iter().filter(|slope| **slope > STEEP_DEG).count();
    Ok(Output {
        slope_deg: dem.rows_of(&slopes),
        aspect_deg: dem.rows_of(&aspects),
        hillshade: dem.rows_of(&shades),
        share_steep: steep as f64 / count as f64,
    })
}

/// Rise to the east and to the south (Horn 1981).
fn gradient(dem: &Grid, row: usize, column: usize, size: f64) -> (f64, f64) {
    let near = |down: i8, right: i8| extended(dem, row, column, down, right);
    let east = near(-1, 1) + 2.0 * near(0, 1) + near(1, 1) - near(-1, -1) - 2.0 * near(0, -1) - near(1, -1);
    let south = near(1, -1) + 2.0 * near(1, 0) + near(1, 1) - near(-1, -1) - 2.0 * near(-1, 0) - near(-1, 1);
    (east / (8.0 * size), south / (8.0 * size))
}

/// Elevation of a neighbour; beyond the border twice the border's less that within it.
fn extended(dem: &Grid, row: usize, column: usize, down: i8, right: i8) -> f64 {
    let moved = |from: usize, by: i8, count: usize| from.checked_add_signed(isize::from(by)).filter(|to| *to < count);
    match (moved(row, down, dem.rows), moved(column, right, dem.columns)) {
        (Some(row), Some(column)) => dem.at(row, column),
        (None, Some(_)) => 2.0 * extended(dem, row, column, 0, right) - extended(dem, row, column, -down, right),
        (Some(_) | None, None) => 2.0 * extended(dem, row, column, down, 0) - extended(dem, row, column, down, -right),
    }
}
