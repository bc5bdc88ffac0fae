//! Clinical decision support by rules: text to concepts, red flags, triage,
//! ranking of protocols, scores as intervals, referral rules for cancer.
//!
//! Pure: no actor, HTTP, clock, file or random number. The same bytes in give
//! the same bytes out.

pub mod answer;
pub mod assess;
pub mod base;
pub mod cancer;
pub mod data;
pub mod gate;
pub mod image;
pub mod input;
pub mod languages;
pub mod phrases;
pub mod rank;
pub mod rule;
pub mod score;
pub mod score_inputs;
pub mod self_test;
pub mod text;
pub mod triage;

pub use base::shared;
