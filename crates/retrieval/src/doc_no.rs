use serde::{Deserialize, Serialize};

/// Number of a document within one collection, dense from 0: what postings, vectors and bitmaps are kept by. A number
/// that was freed may be given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocNo(pub u32);

impl DocNo {
    /// Its place in an array by documents.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
