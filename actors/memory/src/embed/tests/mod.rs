//! Vectors in the background, with models that are slow, broken or absent.

pub(crate) mod model;
mod queries;
mod rounds;
