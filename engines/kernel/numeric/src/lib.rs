//! Numerical kernel of the engines: special functions and distributions, seeded samplers, root finding and
//! minimisation, ordinary differential equations, least squares, summaries, L-moments, exact rank tests, spectra.
//!
//! Pure arithmetic: no clock, no randomness but by seed, no code path that the processor chooses. The same input gives
//! the same bytes.

#![warn(missing_docs)]

pub mod dist;
pub mod lmoments;
pub mod ode;
pub mod optim;
pub mod ranks;
pub mod regress;
pub mod root;
pub mod sample;
pub mod special;
pub mod spectrum;
pub mod summary;
pub mod table;

pub use nalgebra;
