use serde::{Deserialize, Serialize};

/// Number of a document within one collection, dense from 0: the key of postings, vectors and bitmaps. A freed number
/// may be reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocNo(pub u32);

impl DocNo {
    /// Returns the index into arrays by document.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
