//! Typed, paged reading: iterators and pages over the records of a tree.

use std::marker::PhantomData;
use std::vec;

use crate::{MAX_PAGE, Order, Rec, Record, Scan, Store, StoreError, Tree};

/// Where a reading starts, its direction, and how many records are read from the store at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// First key, inclusive, in the direction of the reading; `None` starts at the end of the prefix's range that comes
    /// first.
    pub from: Option<Vec<u8>>,
    /// Records read at a time, 1 to [`MAX_PAGE`].
    pub size: usize,
    /// Direction of the reading.
    pub order: Order,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self::of(MAX_PAGE)
    }
}

impl PageRequest {
    /// Ascending pages of `size` records from the beginning.
    #[must_use]
    pub const fn of(size: usize) -> Self {
        Self { from: None, size, order: Order::Ascending }
    }

    /// Starts at this key, such as the `next` of the page before.
    #[must_use]
    pub fn starting_at(self, from: Option<Vec<u8>>) -> Self {
        Self { from, ..self }
    }

    /// Reads from the last key to the first.
    #[must_use]
    pub fn descending(self) -> Self {
        Self { order: Order::Descending, ..self }
    }

    fn scan(self, prefix: Vec<u8>) -> Scan {
        Scan { prefix, from: self.from, limit: self.size, order: self.order }
    }
}

/// One page of decoded records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPage<R> {
    /// Keys and records, in order.
    pub items: Vec<(Vec<u8>, R)>,
    /// Key at which the next page starts; `None` at the end.
    pub next: Option<Vec<u8>>,
}

/// Keys and undecoded records under a prefix, in order. Reads page by page; an error of the store is the last item.
#[derive(Debug)]
pub struct Entries<'a> {
    store: &'a dyn Store,
    tree: Tree,
    /// The scan of the next page; `None` once there is none.
    scan: Option<Scan>,
    page: vec::IntoIter<(Vec<u8>, Rec)>,
}

impl Entries<'_> {
    /// Returns the key at which a later read continues after the entries returned so far; `None` at the end.
    #[must_use]
    pub fn resume_at(&self) -> Option<Vec<u8>> {
        let read = self.page.as_slice().first().map(|(key, _)| key.clone());
        read.or_else(|| self.scan.as_ref()?.from.clone())
    }
}

impl std::fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<(Vec<u8>, Rec), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.page.next() {
                return Some(Ok(entry));
            }
            let mut scan = self.scan.take()?;
            match self.store.scan(self.tree, &scan) {
                Ok(page) => {
                    self.page = page.items.into_iter();
                    self.scan = page.next.map(|next| {
                        scan.from = Some(next);
                        scan
                    });
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Keys and records of one type under a prefix, in order. A record that cannot be decoded is an error in its place; the
/// records behind it follow. An error of the store is the last item.
#[derive(Debug)]
pub struct Records<'a, R> {
    entries: Entries<'a>,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> Iterator for Records<'_, R> {
    type Item = Result<(Vec<u8>, R), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.entries.next()?.and_then(|(key, rec)| Ok((key, R::decode(&rec)?))))
    }
}

impl<'a, R: Record + 'a> Records<'a, R> {
    /// Returns the key at which a later read continues after the entries returned so far; `None` at the end.
    #[must_use]
    pub fn resume_at(&self) -> Option<Vec<u8>> {
        self.entries.resume_at()
    }

    /// The records without their keys.
    pub fn values(self) -> impl Iterator<Item = Result<R, StoreError>> + use<'a, R> {
        self.map(|found| found.map(|(_, record)| record))
    }
}

impl dyn Store {
    /// Reads and decodes the record at a key.
    ///
    /// # Errors
    /// The store cannot read it, or it cannot be decoded.
    pub fn record<R: Record>(&self, key: &[u8]) -> Result<Option<R>, StoreError> {
        self.get(R::TREE, key)?.map(|rec| R::decode(&rec)).transpose()
    }

    /// Iterates over the records of type `R` whose keys start with `prefix`.
    pub fn records<R: Record>(&self, prefix: impl Into<Vec<u8>>, page: PageRequest) -> Records<'_, R> {
        Records { entries: self.entries(R::TREE, prefix, page), record: PhantomData }
    }

    /// Reads and decodes one page of the records of type `R` whose keys start with `prefix`.
    ///
    /// # Errors
    /// The store cannot read them, or one of them cannot be decoded.
    pub fn record_page<R: Record>(
        &self,
        prefix: impl Into<Vec<u8>>,
        page: PageRequest,
    ) -> Result<RecordPage<R>, StoreError> {
        let page = self.scan(R::TREE, &page.scan(prefix.into()))?;
        let decode = |(key, rec): (Vec<u8>, Rec)| Ok((key, R::decode(&rec)?));
        Ok(RecordPage {
            items: page.items.into_iter().map(decode).collect::<Result<_, StoreError>>()?,
            next: page.next,
        })
    }

    /// Iterates over the keys and undecoded records of a tree whose keys start with `prefix`: for trees that hold records
    /// of several types, and for readers of keys alone.
    pub fn entries(&self, tree: Tree, prefix: impl Into<Vec<u8>>, page: PageRequest) -> Entries<'_> {
        Entries { store: self, tree, scan: Some(page.scan(prefix.into())), page: Vec::new().into_iter() }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Batch, MemStore};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Number(u64);

    impl Record for Number {
        const TREE: Tree = Tree::Limits;
        const SCHEMA: u16 = 1;
    }

    async fn store(numbers: u64) -> MemStore {
        let store = MemStore::default();
        for number in 0..numbers {
            let key = format!("n/{number:03}");
            store.commit(Batch::put(Tree::Limits, key, Number(number).encode().unwrap())).await.unwrap();
        }
        store.commit(Batch::put(Tree::Limits, "other", Number(999).encode().unwrap())).await.unwrap();
        store
    }

    #[tokio::test]
    async fn records_of_a_prefix_are_read_over_pages_in_both_directions() {
        let store: &dyn Store = &store(7).await;
        for size in [1, 3, 7, 100] {
            let read: Vec<_> =
                store.records::<Number>("n/", PageRequest::of(size)).values().map(Result::unwrap).collect();
            assert!(read.into_iter().eq((0..7).map(Number)));
            let from = Some(b"n/004".to_vec());
            let back = store.records::<Number>("n/", PageRequest::of(size).descending().starting_at(from));
            assert!(back.map(|found| found.unwrap().1).eq((0..5).rev().map(Number)));
        }
        assert_eq!(store.records::<Number>("none/", PageRequest::default()).count(), 0);
        assert_eq!(store.entries(Tree::Limits, [], PageRequest::of(2)).count(), 8);
        assert_eq!(store.record::<Number>(b"n/003"), Ok(Some(Number(3))));
        assert_eq!(store.record::<Number>(b"n/"), Ok(None));
    }

    #[tokio::test]
    async fn a_page_contains_the_start_of_the_next_one() {
        let store: &dyn Store = &store(3).await;
        let first = store.record_page::<Number>("n/", PageRequest::of(2)).unwrap();
        assert_eq!(first.items.len(), 2);
        let rest = store.record_page::<Number>("n/", PageRequest::of(2).starting_at(first.next)).unwrap();
        assert_eq!(rest, RecordPage { items: vec![(b"n/002".to_vec(), Number(2))], next: None });
        for size in [1, 2, 3, 9] {
            let mut read = store.records::<Number>("n/", PageRequest::of(size));
            for next in ["n/001", "n/002"] {
                read.next().unwrap().unwrap();
                assert_eq!(read.resume_at(), Some(next.into()));
            }
            assert_eq!(read.by_ref().count(), 1);
            assert_eq!(read.resume_at(), None);
        }
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_decoded_is_an_error_in_its_place_and_the_rest_follows() {
        let store = store(2).await;
        let newer = Rec { schema: 2, bytes: vec![] };
        store.commit(Batch::put(Tree::Limits, "n/000a", newer)).await.unwrap();
        let store: &dyn Store = &store;
        let read: Vec<_> = store.records::<Number>("n/", PageRequest::of(1)).values().collect();
        assert_eq!(read, [Ok(Number(0)), Err(StoreError::NewerSchema { found: 2, known: 1 }), Ok(Number(1))]);
        assert!(store.record_page::<Number>("n/", PageRequest::default()).is_err());
    }

    #[test]
    fn an_error_of_the_store_ends_the_iteration() {
        let store: &dyn Store = &MemStore::default();
        let read: Vec<_> = store.records::<Number>("n/", PageRequest::of(0)).collect();
        assert!(matches!(read[..], [Err(StoreError::BadRequest(_))]), "{read:?}");
    }
}
