use std::sync::Arc;

use roaring::RoaringBitmap;

use super::document::{Document, Entry};
use super::names::{Held, Names};
use super::order::Order;
use crate::chunks::Chunks;
use crate::{Bm25, DocNo, Language, TextIndex, TextOptions, VectorIndex, VectorOptions, analyze, detect};

/// Options of a collection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollectionOptions {
    /// Options of the text index.
    pub text: TextOptions,
    /// Options of the vector index.
    pub vectors: VectorOptions,
    /// Language of values whose language cannot be detected.
    pub language: Language,
}

impl CollectionOptions {
    /// Returns the defaults for vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { text: TextOptions::default(), vectors: VectorOptions::new(dimensions), language: Language::default() }
    }
}

/// Entries that are searched together. Clones share unchanged data.
#[derive(Debug, Clone)]
pub struct Collection {
    /// Language of values whose language cannot be detected.
    pub(super) language: Language,
    /// By number; `None` for free numbers.
    pub(super) entries: Entries,
    pub(super) free: Vec<u32>,
    pub(super) by_id: Order,
    pub(super) by_key: Order,
    /// Entries that expire, by expiry time.
    pub(super) by_expiry: Order,
    pub(super) tags: Names<RoaringBitmap>,
    /// Entries of each thread, by id.
    pub(super) threads: Names<Order>,
    pub(super) live: RoaringBitmap,
    /// Entries without a vector.
    pub(super) pending: RoaringBitmap,
    pub(super) text: TextIndex,
    pub(super) vectors: VectorIndex,
}

pub(super) type Entries = Chunks<Option<Arc<Entry>>, 6>;

impl Held for RoaringBitmap {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }

    fn bytes(&self) -> usize {
        self.serialized_size()
    }
}

impl Held for Order {
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }
}

impl Collection {
    /// Creates an empty collection.
    #[must_use]
    pub fn new(options: CollectionOptions) -> Self {
        Self::of(options.language, TextIndex::new(options.text), VectorIndex::with(options.vectors))
    }

    pub(super) fn of(language: Language, text: TextIndex, vectors: VectorIndex) -> Self {
        Self {
            language,
            entries: Chunks::default(),
            free: Vec::new(),
            by_id: Order::default(),
            by_key: Order::default(),
            by_expiry: Order::default(),
            tags: Names::default(),
            threads: Names::default(),
            live: RoaringBitmap::new(),
            pending: RoaringBitmap::new(),
            text,
            vectors,
        }
    }

    /// Changes the ranking parameters, which override those of a decoded file.
    pub fn set_bm25(&mut self, bm25: Bm25) {
        self.text.set_bm25(bm25);
    }

    /// Inserts or replaces an entry. Its vector is kept while key, tags, value and language are unchanged.
    pub fn put(&mut self, document: &Document<'_>) {
        let language = document.language.unwrap_or_else(|| detect(document.value, self.language));
        let digest = document.digest(language);
        let old = self.find(document.id).and_then(|doc| Some((doc, self.entry(doc)?.clone())));
        let doc = match &old {
            Some((doc, old)) => {
                self.detach(doc.0, old);
                *doc
            }
            None => self.vacant(),
        };
        if old.as_ref().is_none_or(|(_, old)| old.digest != digest) {
            let mut texts = vec![document.key];
            texts.extend(document.tags.iter().map(String::as_str));
            texts.push(document.value);
            self.text.insert(doc, &analyze(&texts, language));
            self.vectors.remove(doc);
            self.pending.insert(doc.0);
        }
        let thread = document.thread.map(|name| self.threads.number(name));
        let entry = Entry {
            id: document.id,
            version: document.version,
            key: document.key.into(),
            tags: self.tag_numbers(document.tags),
            thread,
            stored_at: document.stored_at,
            expires_at: document.expires_at,
            importance: if document.importance.is_finite() {
                document.importance.clamp(0.0, 1.0)
            } else {
                Document::IMPORTANCE
            },
            digest,
        };
        self.attach(doc.0, entry);
        let before = old.as_ref().and_then(|(_, old)| old.thread);
        if old.is_none() {
            self.insert_id(doc.0, document.id);
        }
        if thread != before {
            self.leave(doc.0, document.id, before);
            self.join(doc, document.id, thread);
        }
    }

    /// Sets the vector of a version. Returns false if that version is not present, or the vector is invalid for this
    /// collection.
    pub fn put_vector(&mut self, id: u128, version: u32, vector: &[f32]) -> bool {
        let Some(doc) = self.find(id) else { return false };
        let is_present = self.entry(doc).is_some_and(|entry| entry.version == version);
        let inserted = is_present && self.vectors.insert(doc, vector).is_ok();
        if inserted {
            self.pending.remove(doc.0);
        }
        inserted
    }

    /// Removes an entry completely. Returns false if there is none.
    pub fn remove(&mut self, id: u128) -> bool {
        let Some(doc) = self.find(id) else { return false };
        let Some(entry) = self.entry(doc).cloned() else { return false };
        self.leave(doc.0, id, entry.thread);
        self.detach(doc.0, &entry);
        let Self { by_id, entries, .. } = self;
        by_id.remove(doc.0, |other| at(entries, other).is_some_and(|other| other.id < id));
        self.text.remove(doc);
        self.vectors.remove(doc);
        self.pending.remove(doc.0);
        self.live.remove(doc.0);
        if let Some(slot) = self.entries.get_mut(doc.index()) {
            *slot = None;
        }
        self.free.push(doc.0);
        true
    }

    /// Returns ids of entries without a vector.
    #[must_use]
    pub fn without_vector(&self, limit: usize) -> Vec<u128> {
        self.pending.iter().filter_map(|doc| Some(self.entry(DocNo(doc))?.id)).take(limit).collect()
    }

    /// Returns the indexed version of an entry.
    #[must_use]
    pub fn version(&self, id: u128) -> Option<u32> {
        Some(self.entry(self.find(id)?)?.version)
    }

    /// Returns the number of entries, including expired ones that have not been removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns the number of unexpired entries.
    #[must_use]
    pub fn live(&self, now: i64) -> usize {
        self.len() - self.expired(now).len()
    }

    /// Returns the number of entries with a vector.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors.len()
    }

    /// Returns the length of its vectors.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// Returns the approximate heap size in bytes. Traverses all data.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let entries = self.entries.iter().flatten();
        let own: usize = entries.map(|entry| size_of::<Entry>() + 16 + entry.key.len() + entry.tags.len() * 4).sum();
        let orders = self.by_id.bytes() + self.by_key.bytes() + self.by_expiry.bytes();
        let sets = self.live.serialized_size() + self.pending.serialized_size();
        let names = self.tags.bytes() + self.threads.bytes();
        own + self.entries.bytes() + orders + sets + names + self.text.bytes() + self.vectors.bytes()
    }

    /// Inserts at most `budget` vectors into the graph; returns how many remain.
    pub fn work(&mut self, budget: usize) -> usize {
        self.vectors.work(budget)
    }

    pub(crate) fn text(&self) -> &TextIndex {
        &self.text
    }

    pub(crate) fn vector_index(&self) -> &VectorIndex {
        &self.vectors
    }

    pub(crate) fn entry(&self, doc: DocNo) -> Option<&Entry> {
        at(&self.entries, doc.0)
    }

    pub(super) fn find(&self, id: u128) -> Option<DocNo> {
        let found = self.by_id.from(|other| self.id(other) < id).next()?;
        (self.id(found) == id).then_some(DocNo(found))
    }

    /// Returns expired entries in the order of expiry.
    pub(super) fn expired(&self, now: i64) -> Vec<u32> {
        self.by_expiry.between(|_| false, |doc| at(&self.entries, doc).is_some_and(|entry| entry.is_expired(now)))
    }

    fn id(&self, doc: u32) -> u128 {
        at(&self.entries, doc).map_or(u128::MAX, |entry| entry.id)
    }

    fn vacant(&mut self) -> DocNo {
        DocNo(self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
        }))
    }

    fn tag_numbers(&mut self, tags: &[String]) -> Box<[u32]> {
        let mut numbers: Vec<u32> = tags.iter().map(|tag| self.tags.number(tag)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_boxed_slice()
    }

    /// Indexes an entry by key, tags and expiry.
    pub(super) fn attach(&mut self, doc: u32, entry: Entry) {
        let entry = Arc::new(entry);
        if let Some(slot) = self.entries.get_mut(doc as usize) {
            *slot = Some(Arc::clone(&entry));
        }
        let Self { entries, by_key, by_expiry, .. } = self;
        by_key.insert(doc, |other| before_key(entries, other, &entry.key, doc));
        if let Some(at) = entry.expires_at {
            by_expiry.insert(doc, |other| before_expiry(entries, other, at, doc));
        }
        for tag in &entry.tags {
            self.tags.change(*tag, |docs| {
                docs.insert(doc);
            });
        }
        self.live.insert(doc);
    }

    /// Reverses [`attach`](Self::attach). The number and the position by id stay.
    fn detach(&mut self, doc: u32, entry: &Entry) {
        let Self { entries, by_key, by_expiry, .. } = self;
        by_key.remove(doc, |other| before_key(entries, other, &entry.key, doc));
        if let Some(at) = entry.expires_at {
            by_expiry.remove(doc, |other| before_expiry(entries, other, at, doc));
        }
        for tag in &entry.tags {
            self.tags.change(*tag, |docs| {
                docs.remove(doc);
            });
        }
    }

    fn insert_id(&mut self, doc: u32, id: u128) {
        let Self { by_id, entries, .. } = self;
        by_id.insert(doc, |other| at(entries, other).is_some_and(|other| other.id < id));
    }

    fn leave(&mut self, doc: u32, id: u128, thread: Option<u32>) {
        let Some(thread) = thread else { return };
        let Self { threads, entries, .. } = self;
        threads.change(thread, |all| {
            all.remove(doc, |other| at(entries, other).is_some_and(|other| other.id < id));
        });
        self.text.link(DocNo(doc), None, None);
    }

    /// Inserts an entry into a thread.
    fn join(&mut self, doc: DocNo, id: u128, thread: Option<u32>) {
        let Some(thread) = thread else { return };
        let Self { threads, entries, .. } = self;
        let mut near = (None, None);
        threads.change(thread, |all| {
            let before = |other| at(entries, other).is_some_and(|other| other.id < id);
            near = (all.last_before(before).map(DocNo), all.from(before).next().map(DocNo));
            all.insert(doc.0, before);
        });
        self.text.link(doc, near.0, near.1);
    }
}

pub(super) fn at(entries: &Entries, doc: u32) -> Option<&Entry> {
    entries.get(doc as usize)?.as_deref()
}

pub(super) fn before_key(entries: &Entries, other: u32, key: &str, doc: u32) -> bool {
    at(entries, other).is_some_and(|entry| (&*entry.key, other) < (key, doc))
}

fn before_expiry(entries: &Entries, other: u32, when: i64, doc: u32) -> bool {
    at(entries, other).and_then(|entry| entry.expires_at).is_some_and(|at| (at, other) < (when, doc))
}
