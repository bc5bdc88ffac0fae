//! State of the routes for media: the pictures that were drawn.

#![warn(missing_docs)]

pub mod pictures;
