//! Places on the globe: geodesics, projections, shapes, clusters: what engines of several families compute with.

#![warn(missing_docs)]
