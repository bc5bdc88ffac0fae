//! The state of vision, images and translation.

#![warn(missing_docs)]

pub mod engines;
