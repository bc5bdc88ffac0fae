//! Converts a scan into the range of keys that it covers, identically for every store.

use std::ops::Bound;

use crate::bounds::MAX_PAGE_BYTES;
use crate::{Order, Page, Rec, Scan};

/// Bounds of a range of keys.
pub(crate) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Returns the range of keys that a scan covers; `None` if it is empty (a start beyond the prefix).
pub(crate) fn key_range(scan: &Scan) -> Option<KeyRange> {
    let mut low = scan.prefix.clone();
    let mut high = successor(&scan.prefix).map_or(Bound::Unbounded, Bound::Excluded);
    if let Some(from) = &scan.from {
        let beyond = matches!(&high, Bound::Excluded(end) if from >= end);
        match scan.order {
            Order::Ascending if beyond => return None,
            Order::Ascending => low = low.max(from.clone()),
            Order::Descending if *from < low => return None,
            Order::Descending if beyond => {}
            Order::Descending => high = Bound::Included(from.clone()),
        }
    }
    Some((Bound::Included(low), high))
}

/// Returns the first key after every key with this prefix; `None` if there is no such key.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Collects a page up to its limit of records and bytes.
#[derive(Debug)]
pub(crate) struct Paging {
    page: Page,
    limit: usize,
    bytes: usize,
}

impl Paging {
    pub(crate) fn new(limit: usize) -> Self {
        Self { page: Page::default(), limit, bytes: 0 }
    }

    /// Returns whether one more record fits. If not, `key` becomes the start of the next page.
    pub(crate) fn accepts(&mut self, key: &[u8]) -> bool {
        let accepts = self.page.items.len() < self.limit && self.bytes < MAX_PAGE_BYTES;
        if !accepts {
            self.page.next = Some(key.to_vec());
        }
        accepts
    }

    pub(crate) fn push(&mut self, key: Vec<u8>, rec: Rec) {
        self.bytes += key.len() + rec.bytes.len();
        self.page.items.push((key, rec));
    }

    pub(crate) fn done(self) -> Page {
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(prefix: &[u8], from: Option<&[u8]>, order: Order) -> Option<KeyRange> {
        key_range(&Scan { prefix: prefix.to_vec(), from: from.map(<[u8]>::to_vec), limit: 1, order })
    }

    #[test]
    fn the_range_never_leaves_the_prefix() {
        use Bound::{Excluded, Included, Unbounded};
        let all = |low: &[u8], high| Some((Included(low.to_vec()), high));
        assert_eq!(range(b"", None, Order::Ascending), all(b"", Unbounded));
        assert_eq!(range(b"a\xff", None, Order::Ascending), all(b"a\xff", Excluded(b"b".to_vec())));
        assert_eq!(range(b"\xff", None, Order::Descending), all(b"\xff", Unbounded));
        assert_eq!(range(b"b", Some(b"a"), Order::Ascending), all(b"b", Excluded(b"c".to_vec())));
        assert_eq!(range(b"b", Some(b"c"), Order::Ascending), None);
        assert_eq!(range(b"b", Some(b"a"), Order::Descending), None);
        assert_eq!(range(b"b", Some(b"c"), Order::Descending), all(b"b", Excluded(b"c".to_vec())));
        assert_eq!(range(b"b", Some(b"bx"), Order::Descending), all(b"b", Included(b"bx".to_vec())));
    }
}
