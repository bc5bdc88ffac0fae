use serde::{Deserialize, Serialize};

use crate::DocNo;
use crate::analysis::{Analyzed, Language, Languages};

use super::block::{Item, write_places};
use super::chunks::Chunks;
use super::dictionary::Dictionary;
use super::documents::Documents;
use super::forward::{Forward, write_terms};
use super::postings::Postings;
use super::{Bm25, Neighbours};

/// Ranking options of an index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TextOptions {
    /// Parameters of BM25.
    pub bm25: Bm25,
    /// Weights of thread neighbours.
    pub neighbours: Neighbours,
    /// Additional weight of two adjacent query words; 0 disables pairs.
    pub pairs: f32,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { bm25: Bm25::default(), neighbours: Neighbours::default(), pairs: 0.4 }
    }
}

/// Inverted index with BM25 scores. Clones are cheap and share unchanged data.
#[derive(Debug, Clone)]
pub struct TextIndex {
    pub(super) options: TextOptions,
    pub(super) dictionary: Dictionary,
    pub(super) terms: Chunks<Term, 7>,
    /// Numbers of terms without entries.
    pub(super) free: Vec<u32>,
    pub(super) forward: Forward,
    pub(super) documents: Documents,
}

#[derive(Debug, Clone)]
pub(super) struct Term {
    /// Hash for the dictionary.
    pub hash: u64,
    pub postings: Postings,
}

impl Default for TextIndex {
    fn default() -> Self {
        Self::new(TextOptions::default())
    }
}

impl TextIndex {
    /// Creates an empty index.
    #[must_use]
    pub fn new(options: TextOptions) -> Self {
        Self {
            options,
            dictionary: Dictionary::default(),
            terms: Chunks::default(),
            free: Vec::new(),
            forward: Forward::default(),
            documents: Documents::new(options.neighbours.weights()),
        }
    }

    /// Returns its ranking options.
    #[must_use]
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// Changes the ranking parameters; stored data does not depend on them.
    pub fn set_bm25(&mut self, bm25: Bm25) {
        self.options.bm25 = bm25;
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of distinct terms.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.dictionary.len()
    }

    /// Returns whether it has an entry with this number.
    #[must_use]
    pub fn contains(&self, doc: DocNo) -> bool {
        self.documents.get(doc.0).is_some()
    }

    /// Returns the analysis language of an entry.
    #[must_use]
    pub fn language(&self, doc: DocNo) -> Option<Language> {
        self.documents.get(doc.0)?.language
    }

    /// Returns the languages of all entries, in which a query must be stemmed.
    #[must_use]
    pub fn languages(&self) -> Languages {
        self.documents.languages().collect()
    }

    /// Inserts or replaces an entry, which keeps its position in its thread. Numbers should be dense and below 2^30:
    /// memory depends on the highest.
    pub fn insert(&mut self, doc: DocNo, terms: &Analyzed) {
        self.clear(doc);
        let mut list = Vec::new();
        let mut places = Vec::new();
        for (term, positions) in terms.terms() {
            places.clear();
            let count = write_places(positions, &mut places);
            let number = self.number(term);
            if let Some(term) = self.terms.get_mut(number as usize) {
                term.postings.insert(Item { doc: doc.0, count, places: &places });
                list.push((number, count));
            }
        }
        list.sort_unstable();
        places.clear();
        write_terms(list.into_iter(), &mut places);
        self.forward.set(doc.0, &places);
        self.documents.set(doc.0, terms.length(), terms.language());
    }

    /// Removes an entry and links its neighbours in the thread.
    pub fn remove(&mut self, doc: DocNo) {
        self.clear(doc);
        self.documents.remove(doc.0);
    }

    /// Links an entry between two others of its thread, `None` at its ends; their former links on these sides are
    /// dropped. Does nothing for an unknown entry; unknown neighbours are ignored.
    pub fn link(&mut self, doc: DocNo, previous: Option<DocNo>, next: Option<DocNo>) {
        self.documents.link(doc.0, previous.map(|doc| doc.0), next.map(|doc| doc.0));
    }

    /// Returns the previous and next entry in its thread.
    #[must_use]
    pub fn neighbours(&self, doc: DocNo) -> (Option<DocNo>, Option<DocNo>) {
        let document = self.documents.get(doc.0);
        let side = |other: Option<u32>| other.map(DocNo);
        document.map_or((None, None), |document| (side(document.previous()), side(document.next())))
    }

    /// Returns the heap size in bytes. Traverses all chunks, so it must not be called for every request.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let postings: usize = self.terms.iter().map(|term| term.postings.bytes()).sum();
        let tables = self.dictionary.bytes() + self.terms.bytes() + self.forward.bytes() + self.documents.bytes();
        postings + tables + self.free.capacity() * size_of::<u32>()
    }

    /// Removes an entry's words.
    fn clear(&mut self, doc: DocNo) {
        if !self.contains(doc) {
            return;
        }
        let numbers: Vec<u32> = self.forward.get(doc.0).map(|(number, _)| number).collect();
        for number in numbers {
            let Some(term) = self.terms.get_mut(number as usize) else { continue };
            term.postings.remove(doc.0);
            if term.postings.is_empty() {
                self.dictionary.remove(term.hash, number);
                self.free.push(number);
            }
        }
        self.forward.set(doc.0, &[]);
    }

    /// Returns the number of a term, adding it if necessary.
    fn number(&mut self, term: &str) -> u32 {
        let hash = self.dictionary.hash(term);
        if let Some(number) = self.dictionary.get(hash, term) {
            return number;
        }
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(freed) = self.terms.get_mut(number as usize) {
                    freed.hash = hash;
                }
                number
            }
            None => {
                self.terms.push(Term { hash, postings: Postings::None });
                u32::try_from(self.terms.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.dictionary.insert(hash, term, number);
        number
    }

    pub(super) fn postings(&self, number: u32) -> &Postings {
        self.terms.get(number as usize).map_or(&Postings::None, |term| &term.postings)
    }
}
