//! Geometry of an incident and the fields derived from it.

use muster_geo::{Cells, Geometry};

use super::checks::Checks;
use super::record::Incident;

/// H3 resolution of the cells, about 2.4 km across.
const RESOLUTION: u8 = 7;
/// Largest number of cells; a larger incident gets coarser ones.
const MAX_CELLS: usize = 64;

/// Sets or clears the geometry, its bounding box and its cells.
pub(super) fn set(incident: &mut Incident, geometry: Option<Geometry>, checks: &mut Checks) {
    match geometry.as_ref().map(Geometry::shape).transpose() {
        Err(wrong) => checks.fail("geometry", wrong.to_string()),
        Ok(shape) => {
            incident.bbox = shape.as_ref().map(|shape| shape.bbox());
            incident.h3 = shape.map(|shape| Cells::covering(&shape, RESOLUTION, MAX_CELLS).cells).unwrap_or_default();
            incident.geometry = geometry;
        }
    }
}
