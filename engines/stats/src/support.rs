//! What several engines of the family check or compute.

use muster_engine::prelude::*;

/// Largest magnitude of a value: its fourth power is still a number.
const LARGEST: f64 = 1e75;

/// Checks a series: its length, and that sums of its powers stay numbers.
///
/// # Errors
/// `Invalid`, `TooLarge` or `NoAnswer` with the name of the field.
pub(crate) fn check_series(values: &[f64], field: &str, least: usize, most: usize) -> Result<(), Failure> {
    if values.len() > most {
        return Err(Failure::too_large(format!("{field}: at most {most} values, {} were given", values.len())));
    }
    if let Some(at) = values.iter().position(|x| !x.is_finite() || x.abs() > LARGEST) {
        return Err(Failure::invalid(&[field, &at.to_string()], format!("numbers must be within ±{LARGEST:e}")));
    }
    if values.len() < least {
        return Err(Failure::no_answer(
            NoAnswer::TooFew,
            format!("{field}: at least {least} values are needed, {} were given", values.len()),
        ));
    }
    Ok(())
}

/// Checks that two lists have the same length.
pub(crate) fn check_same(field: &str, len: usize, other: &str, other_len: usize) -> Result<(), Failure> {
    if len == other_len {
        return Ok(());
    }
    Err(Failure::invalid(&[field], format!("{field} has {len} values, {other} has {other_len}: they must be as many")))
}

/// Returns the number if it is one.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Reports that the arithmetic left the numbers.
pub(crate) fn number(x: f64, what: &str) -> Result<f64, Failure> {
    finite(x).ok_or_else(|| {
        Failure::no_answer(
            NoAnswer::OutsideValidity,
            format!("{what} is not a number of double precision for this input"),
        )
    })
}

/// Adjusts p-values by Holm's step-down method.
pub(crate) fn holm(p: &[f64]) -> Vec<f64> {
    let n = p.len();
    let mut highest = 0.0_f64;
    let mut out = vec![0.0; n];
    for (place, at) in order(p).into_iter().enumerate() {
        highest = highest.max(value_at(p, at) * (n - place) as f64).min(1.0);
        if let Some(to) = out.get_mut(at) {
            *to = highest;
        }
    }
    out
}

/// Adjusts p-values by the method of Benjamini and Hochberg.
pub(crate) fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let n = p.len();
    let mut lowest = 1.0_f64;
    let mut out = vec![0.0; n];
    for (place, at) in order(p).into_iter().enumerate().rev() {
        lowest = lowest.min(value_at(p, at) * n as f64 / (place + 1) as f64);
        if let Some(to) = out.get_mut(at) {
            *to = lowest;
        }
    }
    out
}

/// Returns the indices of the values in rising order; equal ones keep theirs.
pub(crate) fn order(values: &[f64]) -> Vec<usize> {
    let mut out: Vec<usize> = (0..values.len()).collect();
    out.sort_by(|a, b| value_at(values, *a).total_cmp(&value_at(values, *b)));
    out
}

/// Returns the value at an index; not a number beyond the end.
pub(crate) fn value_at(values: &[f64], at: usize) -> f64 {
    values.get(at).copied().unwrap_or(f64::NAN)
}
