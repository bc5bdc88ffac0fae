//! State of vision, images and translation: the threads of models, and the pictures that were drawn.

#![warn(missing_docs)]

pub mod engines;
pub mod pictures;
