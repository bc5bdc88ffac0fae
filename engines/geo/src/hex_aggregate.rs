//! q9: hexagon aggregation.

use std::collections::BTreeMap;

use h3o::{CellIndex, LatLng, Resolution};
use muster_engine::prelude::*;
use serde_json::json;

use crate::bounds::{at_most, position};
use crate::planar::{of_geo, to_geo};
use crate::shape::{Geometry, Position};

const MAX_POINTS: usize = 50_000;
const MAX_CELLS: usize = 20_000;

/// A point with what is summed; 1 if it has no value.
#[derive(Input)]
pub struct Point {
    lat: f64,
    lon: f64,
    value: Option<f64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    points: Vec<Point>,
    resolution: u8,
    smooth_rings: u32,
}

/// A cell with points.
#[derive(Output)]
pub struct Cell {
    h3: String,
    count: usize,
    sum: f64,
    mean: f64,
    smoothed: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    cells: Vec<Cell>,
    featurecollection: Value,
}

/// Bins points into cells, in the order of their indexes. Smoothing is the mean of the sums over a disk of cells, where
/// cells without a point count as 0.
///
/// # Errors
/// A position out of range, too many points or cells.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    at_most(input.points.len(), MAX_POINTS, "points")?;
    let resolution = Resolution::try_from(input.resolution).map_err(Failure::internal)?;
    let mut bins: BTreeMap<CellIndex, (usize, f64)> = BTreeMap::new();
    for (index, point) in input.points.iter().enumerate() {
        let at = position(&["points", &index.to_string()], point.lat, point.lon)?;
        let cell = LatLng::new(at.lat, at.lon).map_err(Failure::internal)?.to_cell(resolution);
        let (count, sum) = bins.entry(cell).or_default();
        *count += 1;
        *sum += point.value.unwrap_or(1.0);
    }
    at_most(bins.len(), MAX_CELLS, "cells")?;
    let mut cells = Vec::with_capacity(bins.len());
    let mut features = Vec::with_capacity(bins.len());
    for (cell, (count, sum)) in &bins {
        let disk: Vec<CellIndex> = cell.grid_disk(input.smooth_rings);
        let total: f64 = disk.iter().filter_map(|near| bins.get(near)).map(|(_, sum)| sum).sum();
        let (mean, smoothed) = (sum / *count as f64, total / disk.len() as f64);
        let h3 = cell.to_string();
        features.push(json!({
            "type": "Feature",
            "geometry": hexagon(*cell).to_json(),
            "properties": { "h3": h3, "count": count, "sum": sum, "mean": mean, "smoothed": smoothed },
        }));
        cells.push(Cell { h3, count: *count, sum: *sum, mean, smoothed });
    }
    Ok(Output { cells, featurecollection: json!({ "type": "FeatureCollection", "features": features }) })
}

/// Border of a cell, cut at the antimeridian.
fn hexagon(cell: CellIndex) -> Geometry {
    let mut ring: Vec<Position> = cell.boundary().iter().map(|vertex| [vertex.lng(), vertex.lat()]).collect();
    ring.extend(ring.first().copied());
    let centre = LatLng::from(cell).lng();
    Geometry::of_polygons(of_geo(to_geo(&[vec![ring]], centre)))
}
