use std::cmp::Ordering;

/// Compares results: higher scores first, then lower numbers.
#[inline]
pub(crate) fn best_first<T: Ord>(a: &(T, f32), b: &(T, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
}
