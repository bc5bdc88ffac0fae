//! Tesseract: reads text of scripts that the embedded model does not know, where it is installed.

mod languages;
mod page;
mod service;
#[cfg(test)]
mod tests;

pub use page::{TesseractLine, TesseractPage};
pub use service::{Tesseract, TesseractError};
