//! The shortest tour of few stops, and a bound of any routes.

use super::fleet::{Fleet, Routes};

/// Held and Karp's recursion over sets of stops (1962).
pub(super) fn shortest(fleet: &Fleet) -> Vec<usize> {
    let count = fleet.stops.len();
    if count == 0 {
        return Vec::new();
    }
    let sets = 1_usize << count;
    // Least minutes from the depot through a set to its last stop, and the stop before.
    let mut best = vec![f64::INFINITY; sets * count];
    let mut before = vec![usize::MAX; sets * count];
    for last in 0..count {
        if let Some(value) = best.get_mut((1 << last) * count + last) {
            *value = fleet.between(0, last + 1);
        }
    }
    for set in 1..sets {
        for last in (0..count).filter(|last| set & 1 << last != 0) {
            let here = best.get(set * count + last).copied().unwrap_or(f64::INFINITY);
            for next in (0..count).filter(|next| set & 1 << next == 0) {
                let value = here + fleet.between(last + 1, next + 1);
                let at = (set | 1 << next) * count + next;
                if let (Some(old), Some(from)) = (best.get_mut(at), before.get_mut(at))
                    && value < *old
                {
                    (*old, *from) = (value, last);
                }
            }
        }
    }
    let all = sets - 1;
    let closed =
        |last: &usize| best.get(all * count + last).copied().unwrap_or(f64::INFINITY) + fleet.between(last + 1, 0);
    let mut last = (0..count).min_by(|a, b| closed(a).total_cmp(&closed(b))).unwrap_or(0);
    let (mut set, mut tour) = (all, Vec::new());
    for _ in 0..count {
        tour.push(last + 1);
        let from = before.get(set * count + last).copied().unwrap_or(usize::MAX);
        set &= !(1 << last);
        last = from;
    }
    tour.reverse();
    tour
}

/// Kilometres that no routes through the served stops are below: a shortest spanning tree of them and the depot, and the
/// shortest way between the depot and one of them, which closes a round. Directions count as the shorter one.
pub(super) fn bound(fleet: &Fleet, routes: &Routes) -> f64 {
    let served: Vec<usize> = routes.of.iter().flatten().copied().collect();
    let between = |a: usize, b: usize| fleet.between(a, b).min(fleet.between(b, a));
    let mut away: Vec<(usize, f64)> = served.iter().map(|stop| (*stop, between(0, *stop))).collect();
    let closing = away.iter().map(|(_, minutes)| *minutes).fold(f64::INFINITY, f64::min);
    if away.is_empty() {
        return 0.0;
    }
    let mut sum = 0.0;
    while let Some(at) = (0..away.len()).min_by(|a, b| {
        let minutes = |at: &usize| away.get(*at).map_or(f64::INFINITY, |(_, minutes)| *minutes);
        minutes(a).total_cmp(&minutes(b))
    }) {
        let (stop, minutes) = away.swap_remove(at);
        sum += minutes;
        for (other, minutes) in &mut away {
            *minutes = minutes.min(between(stop, *other));
        }
    }
    (sum + closing) * fleet.per_minute
}
