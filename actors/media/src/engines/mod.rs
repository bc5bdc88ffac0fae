//! Models in this process, each on a thread of its own, and programs outside of it.

mod actor;
mod call;
mod program;
mod service;
mod slots;
mod tesseract;
#[cfg(test)]
mod tests;
mod thread;

pub use call::Stop;
pub use program::{OfflineProgram, RunError, RunLimits};
pub use service::{ModelError, ModelOptions, ModelState, ModelStats, ModelThread};
pub use slots::ModelSlots;
pub use tesseract::{Tesseract, TesseractError, TesseractLine, TesseractPage};
