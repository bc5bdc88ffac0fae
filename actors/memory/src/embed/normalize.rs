//! Validation and normalisation of vectors. Pure.

use std::sync::Arc;

/// Returns the mean of an entry's passage vectors, normalised to length 1.
///
/// # Errors
/// A vector has the wrong length or a non-finite number, or they cancel out.
pub(super) fn mean(vectors: &[Vec<f32>], dimensions: usize) -> Result<Arc<[f32]>, String> {
    let mut sum = vec![0.0_f32; dimensions];
    for vector in vectors {
        if vector.len() != dimensions {
            return Err(format!("the model returned a vector of length {} instead of {dimensions}", vector.len()));
        }
        sum.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part);
    }
    let norm = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
    if !norm.is_finite() || norm <= f32::EPSILON {
        return Err("the model returned a vector without a direction".to_owned());
    }
    Ok(sum.into_iter().map(|part| part / norm).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_normalised_to_length_one() {
        // (3, 0) + (0, 4) points to (0.6, 0.8).
        assert_eq!(*mean(&[vec![3.0, 0.0], vec![0.0, 4.0]], 2).unwrap(), [0.6, 0.8]);
    }

    #[test]
    fn invalid_vectors_are_rejected() {
        assert!(mean(&[vec![1.0]], 2).is_err(), "too short");
        assert!(mean(&[vec![1.0, 0.0], vec![1.0, 0.0, 0.0]], 2).is_err(), "too long");
        assert!(mean(&[vec![f32::NAN, 1.0]], 2).is_err(), "no number");
        assert!(mean(&[vec![f32::INFINITY, 1.0]], 2).is_err(), "no number");
        assert!(mean(&[vec![1.0, 0.0], vec![-1.0, 0.0]], 2).is_err(), "no direction");
        assert!(mean(&[], 2).is_err(), "nothing");
    }
}
