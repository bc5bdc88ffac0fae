//! What several engines of the family check.

use muster_engine::prelude::*;

/// Largest amount of money.
pub(crate) const LARGEST: f64 = 1e30;

/// Checks amounts: as many as allowed, and each within ±1e30.
///
/// # Errors
/// `TooLarge`, `Invalid`.
pub(crate) fn check_amounts(values: &[f64], field: &str, most: usize) -> Result<(), Failure> {
    if values.len() > most {
        return Err(Failure::too_large(format!("{field}: at most {most} amounts, {} were given", values.len())));
    }
    match values.iter().position(|x| x.is_nan() || x.abs() > LARGEST) {
        Some(at) => Err(Failure::invalid(&[field, &at.to_string()], format!("must be within ±{LARGEST:e}"))),
        None => Ok(()),
    }
}

/// Returns the number if it is one.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}
