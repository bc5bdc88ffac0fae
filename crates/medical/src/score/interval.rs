//! Points as intervals, and conditions that may be unknown.

/// Least and greatest value, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub min: f64,
    pub max: f64,
}

impl Interval {
    /// The interval of one value.
    #[must_use]
    pub const fn exactly(value: f64) -> Self {
        Self { min: value, max: value }
    }

    /// The interval between two values, in either order.
    #[must_use]
    pub const fn between(a: f64, b: f64) -> Self {
        Self { min: a.min(b), max: a.max(b) }
    }

    /// The least interval that holds both.
    #[must_use]
    pub const fn hull(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The sum of any two values, one of each.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { min: self.min + other.min, max: self.max + other.max }
    }

    /// The greater of any two values, one of each.
    #[must_use]
    pub const fn greater(self, other: Self) -> Self {
        Self { min: self.min.max(other.min), max: self.max.max(other.max) }
    }

    /// The values moved into the bounds.
    #[must_use]
    pub const fn clamp(self, low: f64, high: f64) -> Self {
        Self { min: self.min.clamp(low, high), max: self.max.clamp(low, high) }
    }
}

/// Points where a condition holds, else none.
pub(super) fn points(condition: Option<bool>, points: f64) -> Interval {
    match condition {
        Some(true) => Interval::exactly(points),
        Some(false) => Interval::exactly(0.0),
        None => Interval::between(0.0, points),
    }
}

/// Points of the first step whose upper bound (included) is not exceeded.
pub(super) fn up_to(value: Option<f64>, steps: &[(f64, f64)], above: f64) -> Interval {
    stepped(value, steps, above, |value, bound| value <= bound)
}

/// Points of the first step whose upper bound (excluded) is above the value.
pub(super) fn under(value: Option<f64>, steps: &[(f64, f64)], above: f64) -> Interval {
    stepped(value, steps, above, |value, bound| value < bound)
}

fn stepped(value: Option<f64>, steps: &[(f64, f64)], above: f64, within: fn(f64, f64) -> bool) -> Interval {
    match value {
        Some(value) => {
            let step = steps.iter().find(|(bound, _)| within(value, *bound));
            Interval::exactly(step.map_or(above, |(_, points)| *points))
        }
        None => {
            steps.iter().map(|(_, points)| Interval::exactly(*points)).fold(Interval::exactly(above), Interval::hull)
        }
    }
}

/// The value itself as points, or all that it may be.
pub(super) fn itself(value: Option<f64>, low: f64, high: f64) -> Interval {
    value.map_or(Interval { min: low, max: high }, Interval::exactly)
}

/// Whether any condition holds: unknown where none does and one is unknown.
pub(super) fn any(conditions: &[Option<bool>]) -> Option<bool> {
    if conditions.contains(&Some(true)) {
        return Some(true);
    }
    if conditions.contains(&None) { None } else { Some(false) }
}

/// Whether all conditions hold: unknown where none fails and one is unknown.
pub(super) fn all(conditions: &[Option<bool>]) -> Option<bool> {
    if conditions.contains(&Some(false)) {
        return Some(false);
    }
    if conditions.contains(&None) { None } else { Some(true) }
}

pub(super) fn at_least(value: Option<f64>, bound: f64) -> Option<bool> {
    value.map(|value| value >= bound)
}

pub(super) fn over(value: Option<f64>, bound: f64) -> Option<bool> {
    value.map(|value| value > bound)
}

pub(super) fn at_most(value: Option<f64>, bound: f64) -> Option<bool> {
    value.map(|value| value <= bound)
}

pub(super) fn below(value: Option<f64>, bound: f64) -> Option<bool> {
    value.map(|value| value < bound)
}

pub(super) fn not(condition: Option<bool>) -> Option<bool> {
    condition.map(|condition| !condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_condition_gives_all_points_it_may_give() {
        assert_eq!(points(None, -2.0), Interval { min: -2.0, max: 0.0 });
        assert_eq!(points(None, 3.0), Interval { min: 0.0, max: 3.0 });
    }

    #[test]
    fn an_unknown_value_gives_the_hull_of_its_steps() {
        let steps = [(8.0, 3.0), (11.0, 1.0), (20.0, 0.0)];
        assert_eq!(up_to(None, &steps, 2.0), Interval { min: 0.0, max: 3.0 });
        assert_eq!(up_to(Some(8.0), &steps, 2.0), Interval::exactly(3.0));
        assert_eq!(under(Some(8.0), &steps, 2.0), Interval::exactly(1.0));
    }

    #[test]
    fn an_unknown_condition_decides_nothing_that_another_decides() {
        assert_eq!(any(&[None, Some(true)]), Some(true));
        assert_eq!(any(&[None, Some(false)]), None);
        assert_eq!(all(&[None, Some(false)]), Some(false));
        assert_eq!(all(&[None, Some(true)]), None);
    }
}
