//! Models in this process, each on a thread of its own.

mod model;
#[cfg(test)]
mod tests;

pub use model::{ModelError, ModelOptions, ModelState, ModelStats, ModelThread, Stop};
