//! Engines of places, shapes, grids and terrain: q1 to q20.

#![warn(missing_docs)]

mod bounds;
mod codes;
mod formats;
mod grid;
mod near;
mod planar;
mod shape;
mod variogram;

mod buffer_zone;
mod coordinate_convert;
mod crs_transform;
mod flow_accumulation;
mod geo_format_convert;
mod geodesic_direct;
mod geodesic_inverse;
mod geofence;
mod geojson_validate;
mod geometry_simplify;
mod grid_code;
mod hex_aggregate;
mod hotspot_analysis;
mod nearest_features;
mod polygon_measure;
mod polygon_overlay;
mod reverse_geocode;
mod spatial_cluster;
mod spatial_interpolate;
mod terrain_analysis;

muster_engine::family!("geo";
    1 geodesic_inverse, 2 geodesic_direct, 3 polygon_measure, 4 polygon_overlay, 5 buffer_zone, 6 geofence,
    7 coordinate_convert, 8 grid_code, 9 hex_aggregate, 10 crs_transform, 11 geojson_validate, 12 geo_format_convert,
    13 geometry_simplify, 14 spatial_cluster, 15 nearest_features, 16 hotspot_analysis, 17 spatial_interpolate,
    18 terrain_analysis, 19 flow_accumulation, 20 reverse_geocode,
);
