//! Clinical decision support by rules: text to concepts, red flags, triage,
//! ranking of protocols, scores as intervals, referral rules for cancer.
//!
//! Pure: no actor, HTTP, clock, file or random number. The same bytes in give
//! the same bytes out.

pub mod base;
pub mod data;
pub mod languages;
pub mod phrases;
pub mod rank;
pub mod rule;
pub mod text;
pub mod triage;
