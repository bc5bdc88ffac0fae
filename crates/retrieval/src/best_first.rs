use std::cmp::Ordering;

/// The order of what was found: the higher score first, of equal ones the lower number.
#[inline]
pub(crate) fn best_first<T: Ord>(a: &(T, f32), b: &(T, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0))
}
