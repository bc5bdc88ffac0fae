//! Engines of the family geo. Geospatial & mapping: q1 to q20.

#![warn(missing_docs)]

muster_engine::family!("geo";);
