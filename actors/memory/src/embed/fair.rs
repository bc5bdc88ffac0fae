//! Round-robin between owners. Pure.

use std::collections::{BTreeMap, VecDeque};

/// Takes one element of each queue, then a second of each, up to `limit`.
pub(crate) fn interleave<T>(lines: Vec<Vec<T>>, limit: usize) -> Vec<T> {
    let mut lines: VecDeque<_> = lines.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    while out.len() < limit {
        let Some(mut line) = lines.pop_front() else { break };
        if let Some(next) = line.next() {
            out.push(next);
            lines.push_back(line);
        }
    }
    out
}

/// Groups elements by owner, beginning after the owner that was last served.
pub(crate) fn lines<K: Ord + Clone, T>(
    items: impl IntoIterator<Item = T>,
    whose: impl Fn(&T) -> K,
    last: Option<&K>,
) -> Vec<Vec<T>> {
    let mut by: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for item in items {
        by.entry(whose(&item)).or_default().push(item);
    }
    let behind = last.map_or_else(BTreeMap::new, |last| {
        let mut behind = by.split_off(last);
        if let Some(same) = behind.remove(last) {
            by.insert(last.clone(), same);
        }
        behind
    });
    behind.into_values().chain(by.into_values()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_goes_before_the_second_of_any() {
        let lines = vec![vec!["a1", "a2", "a3"], vec!["b1"], vec![], vec!["c1", "c2"]];
        assert_eq!(interleave(lines.clone(), 10), ["a1", "b1", "c1", "a2", "c2", "a3"]);
        assert_eq!(interleave(lines, 2), ["a1", "b1"]);
    }

    #[test]
    fn the_turn_goes_on_behind_the_last() {
        let whose = |item: &&str| item.chars().next().unwrap();
        let items = ["b1", "a1", "c1", "b2"];
        assert_eq!(lines(items, whose, None), [vec!["a1"], vec!["b1", "b2"], vec!["c1"]]);
        assert_eq!(lines(items, whose, Some(&'a')), [vec!["b1", "b2"], vec!["c1"], vec!["a1"]]);
        assert_eq!(lines(items, whose, Some(&'z')), [vec!["a1"], vec!["b1", "b2"], vec!["c1"]]);
    }
}
