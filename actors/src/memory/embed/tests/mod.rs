//! Vectors in the background, with models that are slow, broken or absent.

pub(in crate::memory) mod model;
mod queries;
mod rounds;
