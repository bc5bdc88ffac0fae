//! Engines of places, shapes, grids and terrain: q1 to q20.

mod bounds;
mod planar;
mod shape;

pub mod buffer_zone;
pub mod coordinate_convert;
pub mod crs_transform;
pub mod flow_accumulation;
pub mod geo_format_convert;
pub mod geodesic_direct;
pub mod geodesic_inverse;
pub mod geofence;
pub mod geojson_validate;
pub mod geometry_simplify;
pub mod grid_code;
pub mod hex_aggregate;
pub mod hotspot_analysis;
pub mod nearest_features;
pub mod polygon_measure;
pub mod polygon_overlay;
pub mod spatial_cluster;
pub mod spatial_interpolate;
pub mod terrain_analysis;

muster_engine::family!("geo";
    1 geodesic_inverse, 2 geodesic_direct, 3 polygon_measure, 4 polygon_overlay, 5 buffer_zone, 6 geofence,
    7 coordinate_convert, 8 grid_code, 9 hex_aggregate, 10 crs_transform, 11 geojson_validate, 12 geo_format_convert,
    13 geometry_simplify, 14 spatial_cluster, 15 nearest_features, 16 hotspot_analysis, 17 spatial_interpolate,
    18 terrain_analysis, 19 flow_accumulation,
);
