//! The shape of the tree: which complete subtrees cover a range of leaves.

/// A complete subtree: the leaves from `index << height` to `(index + 1) << height`, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subtree {
    pub(crate) height: u32,
    pub(crate) index: u64,
}

/// A range of leaves, `end` exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(crate) const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Divides a range of at least two leaves where RFC 6962, section 2.1, does: at the largest power of two that is
    /// smaller than its length.
    pub(crate) const fn halves(self) -> (Self, Self) {
        let middle = self.start + (1 << (self.len() - 1).ilog2());
        (Self { start: self.start, end: middle }, Self { start: middle, end: self.end })
    }

    /// The complete subtrees that cover the range, from left to right. At most two for each height.
    pub(crate) fn subtrees(self) -> impl Iterator<Item = Subtree> {
        let mut start = self.start;
        std::iter::from_fn(move || {
            if start >= self.end {
                return None;
            }
            let height = (self.end - start).ilog2().min(start.trailing_zeros());
            let subtree = Subtree { height, index: start >> height };
            start += 1 << height;
            Some(subtree)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_divided_as_the_rfc_says() {
        // RFC 6962, section 2.1.3: the tree of seven leaves is divided at 4, its right half at 2.
        assert_eq!(Range { start: 0, end: 7 }.halves(), (Range { start: 0, end: 4 }, Range { start: 4, end: 7 }));
        assert_eq!(Range { start: 4, end: 7 }.halves(), (Range { start: 4, end: 6 }, Range { start: 6, end: 7 }));
        assert_eq!(Range { start: 0, end: 8 }.halves().0, Range { start: 0, end: 4 });
        assert_eq!(Range { start: 0, end: u64::MAX }.halves().0, Range { start: 0, end: 1 << 63 });
    }

    #[test]
    fn the_subtrees_of_a_range_follow_one_another_without_gaps() {
        for start in 0..70 {
            for end in start..70 {
                let mut at = start;
                for subtree in (Range { start, end }).subtrees() {
                    assert_eq!(subtree.index << subtree.height, at);
                    at += 1 << subtree.height;
                }
                assert_eq!(at, end);
            }
        }
    }
}
