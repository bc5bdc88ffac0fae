//! Helpers shared by several tests.

use muster_store::{Rec, Scan, Store, Tree};

/// A small random generator (Marsaglia, 2003, xorshift64), seeded so that a failure can be reproduced.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

pub(crate) fn rec(bytes: impl Into<Vec<u8>>) -> Rec {
    Rec { schema: 1, bytes: bytes.into() }
}

/// Returns every record of a tree except the store's own metadata, read in pages of 7.
pub(crate) fn all(store: &dyn Store, tree: Tree) -> Vec<(Vec<u8>, Rec)> {
    let (mut from, mut found) = (None, Vec::new());
    loop {
        let page = store.scan(tree, &Scan { from, limit: 7, ..Scan::default() }).unwrap();
        found.extend(page.items.into_iter().filter(|(key, _)| !key.starts_with(b"store/")));
        match page.next {
            Some(next) => from = Some(next),
            None => return found,
        }
    }
}
