use std::sync::Arc;

/// Numbers in a caller-defined, consistent order: sorted leaves, shared between clones until written. Stores no keys.
#[derive(Debug, Clone, Default)]
pub(super) struct Order {
    /// Never empty.
    leaves: Vec<Arc<Vec<u32>>>,
    len: usize,
}

/// Maximum numbers per leaf.
const LEAF: usize = 256;

impl Order {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Builds it from sorted numbers.
    pub(super) fn from_sorted(numbers: &[u32]) -> Self {
        let leaves = numbers.chunks(LEAF / 2).map(|leaf| Arc::new(leaf.to_vec())).collect();
        Self { leaves, len: numbers.len() }
    }

    /// Inserts a number after all that are `before` it.
    pub(super) fn insert(&mut self, number: u32, before: impl Fn(u32) -> bool) {
        let (nth, at) = self.place(&before);
        // A number between two leaves is appended to the first, so that append-only orders fill their leaves.
        let (nth, at) = match nth.checked_sub(1) {
            Some(last) if at == 0 => (last, self.leaves.get(last).map_or(0, |leaf| leaf.len())),
            _ => (nth, at),
        };
        self.len += 1;
        let Some(leaf) = self.leaves.get_mut(nth) else {
            self.leaves.push(Arc::new(vec![number]));
            return;
        };
        let leaf = Arc::make_mut(leaf);
        leaf.insert(at.min(leaf.len()), number);
        if leaf.len() > LEAF {
            let cut = if at + 1 == leaf.len() { LEAF } else { LEAF / 2 };
            let rest = leaf.split_off(cut);
            self.leaves.insert(nth + 1, Arc::new(rest));
        }
    }

    /// Removes a number: the first that is not `before` itself.
    pub(super) fn remove(&mut self, number: u32, before: impl Fn(u32) -> bool) -> bool {
        let (nth, at) = self.place(&before);
        let Some(leaf) = self.leaves.get_mut(nth).filter(|leaf| leaf.get(at) == Some(&number)) else { return false };
        let leaf = Arc::make_mut(leaf);
        leaf.remove(at);
        if leaf.is_empty() {
            self.leaves.remove(nth);
        }
        self.len -= 1;
        true
    }

    /// Iterates from the first number that is not before the target.
    pub(super) fn from(&self, before: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let (nth, at) = self.place(&before);
        self.leaves.iter().skip(nth).flat_map(|leaf| leaf.iter()).skip(at).copied()
    }

    /// Iterates over the numbers from one target up to another.
    pub(super) fn between(&self, from: impl Fn(u32) -> bool, to: impl Fn(u32) -> bool) -> Vec<u32> {
        let ((first, start), (last, end)) = (self.place(from), self.place(to));
        let mut all = Vec::new();
        for (nth, leaf) in self.leaves.iter().enumerate().take(last.saturating_add(1)).skip(first) {
            let start = if nth == first { start } else { 0 };
            let end = if nth == last { end } else { leaf.len() };
            all.extend_from_slice(leaf.get(start..end).unwrap_or_default());
        }
        all
    }

    /// Returns the last number before the target.
    pub(super) fn last_before(&self, before: impl Fn(u32) -> bool) -> Option<u32> {
        let (nth, at) = self.place(&before);
        let (nth, at) = if at > 0 { (nth, at) } else { (nth.checked_sub(1)?, usize::MAX) };
        let leaf = self.leaves.get(nth)?;
        leaf.get(at.min(leaf.len()).checked_sub(1)?).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.leaves.iter().flat_map(|leaf| leaf.iter()).copied()
    }

    /// Heap size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let numbers: usize = self.leaves.iter().map(|leaf| leaf.capacity() * size_of::<u32>()).sum();
        numbers + self.leaves.len() * (16 + size_of::<Vec<u32>>()) + self.leaves.capacity() * size_of::<usize>()
    }

    /// Returns the leaf and index of the first number that is not before the target.
    fn place(&self, before: impl Fn(u32) -> bool) -> (usize, usize) {
        let nth = self.leaves.partition_point(|leaf| leaf.last().is_some_and(|last| before(*last)));
        let at = self.leaves.get(nth).map_or(0, |leaf| leaf.partition_point(|number| before(*number)));
        (nth, at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn behaves_as_a_sorted_set(steps in prop::collection::vec((any::<bool>(), 0_u32..900), 0..1_500), target in 0_u32..900) {
            let (mut order, mut set) = (Order::default(), std::collections::BTreeSet::new());
            for (puts, number) in steps {
                if puts {
                    if set.insert(number) {
                        order.insert(number, |other| other < number);
                    }
                } else {
                    prop_assert_eq!(order.remove(number, |other| other < number), set.remove(&number));
                }
            }
            let all: Vec<u32> = set.iter().copied().collect();
            prop_assert_eq!(order.iter().collect::<Vec<_>>(), all.clone());
            prop_assert_eq!(order.len(), all.len());
            prop_assert!(order.from(|other| other < target).eq(set.range(target..).copied()));
            let (from, to) = (target / 2, target);
            prop_assert!(order.between(|other| other < from, |other| other < to).iter().eq(set.range(from..to)));
            prop_assert_eq!(order.last_before(|other| other < target), set.range(..target).next_back().copied());
            prop_assert!(Order::from_sorted(&all).iter().eq(all));
        }
    }

    #[test]
    fn clones_do_not_change() {
        let mut order = Order::from_sorted(&(0..1_000).collect::<Vec<_>>());
        let before = order.clone();
        order.remove(500, |other| other < 500);
        order.insert(2_000, |other| other < 2_000);
        assert!(before.iter().eq(0..1_000));
        assert_eq!(order.len(), 1_000);
    }
}
