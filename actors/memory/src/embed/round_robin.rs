//! Round-robin between owners. Pure.

use std::collections::{BTreeMap, VecDeque};

/// ApplyBehaviour one element of each queue, then a second of each, up to `limit`.
pub(crate) fn interleave<T>(queues: Vec<Vec<T>>, limit: usize) -> Vec<T> {
    let mut queues: VecDeque<_> = queues.into_iter().map(Vec::into_iter).collect();
    let mut out = Vec::new();
    while out.len() < limit {
        let Some(mut queue) = queues.pop_front() else { break };
        if let Some(next) = queue.next() {
            out.push(next);
            queues.push_back(queue);
        }
    }
    out
}

/// Groups elements by owner, beginning after the owner that was last served.
pub(crate) fn group_by_owner<K: Ord + Clone, T>(
    items: impl IntoIterator<Item = T>,
    owner_of: impl Fn(&T) -> K,
    last: Option<&K>,
) -> Vec<Vec<T>> {
    let mut by: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for item in items {
        by.entry(owner_of(&item)).or_default().push(item);
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
    fn one_of_each_queue_comes_before_the_second_of_any() {
        let queues = vec![vec!["a1", "a2", "a3"], vec!["b1"], vec![], vec!["c1", "c2"]];
        assert_eq!(interleave(queues.clone(), 10), ["a1", "b1", "c1", "a2", "c2", "a3"]);
        assert_eq!(interleave(queues, 2), ["a1", "b1"]);
    }

    #[test]
    fn groups_begin_after_the_owner_last_served() {
        let owner_of = |item: &&str| item.chars().next().unwrap();
        let items = ["b1", "a1", "c1", "b2"];
        assert_eq!(group_by_owner(items, owner_of, None), [vec!["a1"], vec!["b1", "b2"], vec!["c1"]]);
        assert_eq!(group_by_owner(items, owner_of, Some(&'a')), [vec!["b1", "b2"], vec!["c1"], vec!["a1"]]);
        assert_eq!(group_by_owner(items, owner_of, Some(&'z')), [vec!["a1"], vec!["b1", "b2"], vec!["c1"]]);
    }
}
