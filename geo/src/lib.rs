//! Shapes on the globe: GeoJSON geometries, what lies near or within them, spatial indexes. Pure; knows nobody.
