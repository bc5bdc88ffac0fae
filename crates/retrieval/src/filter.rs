use roaring::RoaringBitmap;

use crate::DocNo;

/// Documents that a search may return.
#[derive(Debug, Clone, Copy)]
pub enum Filter<'a> {
    /// All documents.
    All,
    /// Only the documents with these numbers.
    Only(&'a RoaringBitmap),
}

impl Filter<'_> {
    /// Returns whether a document is admitted.
    #[must_use]
    pub fn admits(&self, doc: DocNo) -> bool {
        match self {
            Self::All => true,
            Self::Only(docs) => docs.contains(doc.0),
        }
    }

    /// Returns the maximum number of admitted documents out of `total`.
    #[must_use]
    pub fn len(&self, total: usize) -> usize {
        match self {
            Self::All => total,
            Self::Only(docs) => usize::try_from(docs.len()).unwrap_or(usize::MAX).min(total),
        }
    }

    /// Returns whether it admits none of `total` documents.
    #[must_use]
    pub fn is_empty(&self, total: usize) -> bool {
        self.len(total) == 0
    }
}
