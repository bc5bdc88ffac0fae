//! Lengths and threads of entries.

use crate::analysis::Language;

use super::chunks::Chunks;
use super::neighbours::{REACH, WHOLE, Weights};

/// Entries per chunk, as a power of two.
const PIECE: u32 = 10;
/// No neighbour.
const NONE: u32 = u32::MAX;
/// Entries affected by a change: all within reach of the entry and of its former neighbours.
type Around = [Option<u32>; 2 * REACH + 1];

/// Properties of an entry besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Document {
    /// Length in words.
    pub length: u32,
    previous: u32,
    next: u32,
    /// `None` if there is no such entry.
    pub language: Option<Language>,
}

impl Document {
    pub(super) const ABSENT: Self = Self { length: 0, previous: NONE, next: NONE, language: None };

    pub(super) fn new(language: Language, length: u32, previous: Option<u32>, next: Option<u32>) -> Self {
        let (previous, next) = (previous.unwrap_or(NONE), next.unwrap_or(NONE));
        Self { length, previous, next, language: Some(language) }
    }

    pub(super) fn previous(&self) -> Option<u32> {
        (self.previous != NONE).then_some(self.previous)
    }

    pub(super) fn next(&self) -> Option<u32> {
        (self.next != NONE).then_some(self.next)
    }

    pub(super) fn is_linked(&self) -> bool {
        self.previous != NONE || self.next != NONE
    }
}

/// All entries by number; each thread is a doubly linked list.
#[derive(Debug, Clone)]
pub(super) struct Documents {
    weights: Weights,
    all: Chunks<Document, PIECE>,
    /// Weighted length of an entry with its neighbours, in 256ths of a word.
    bags: Chunks<u32, PIECE>,
    count: usize,
    linked: usize,
    total: u64,
    by_language: [u32; Language::ALL.len()],
}

impl Documents {
    pub(super) fn new(weights: Weights) -> Self {
        let (all, bags) = (Chunks::default(), Chunks::default());
        Self { weights, all, bags, count: 0, linked: 0, total: 0, by_language: [0; Language::ALL.len()] }
    }

    pub(super) fn weights(&self) -> &Weights {
        &self.weights
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Highest number plus one.
    pub(super) fn slots(&self) -> usize {
        self.all.len()
    }

    /// Sum of weighted lengths, in 256ths.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns whether any entry has a neighbour that counts.
    pub(super) fn are_linked(&self) -> bool {
        self.linked > 0 && self.weights.reach() > 0
    }

    pub(super) fn languages(&self) -> impl Iterator<Item = Language> {
        let held = Language::ALL.into_iter().zip(self.by_language);
        held.filter(|(_, count)| *count > 0).map(|(language, _)| language)
    }

    pub(super) fn get(&self, doc: u32) -> Option<&Document> {
        self.all.get(doc as usize).filter(|document| document.language.is_some())
    }

    /// Accessor for many lookups that are mostly close to each other.
    pub(super) fn bags(&self) -> Bags<'_> {
        Bags { all: &self.bags, held: usize::MAX, piece: &[] }
    }

    pub(super) fn bag(&self, doc: u32) -> u32 {
        self.bags.get(doc as usize).copied().unwrap_or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Document> {
        self.all.iter()
    }

    /// Appends a decoded entry; [`Documents::finish`] must follow.
    pub(super) fn push(&mut self, document: Document) {
        self.count += usize::from(document.language.is_some());
        self.linked += usize::from(document.is_linked());
        self.tally(None, document.language);
        self.all.push(document);
        self.bags.push(0);
    }

    /// Checks that links are mutual; then computes all weighted lengths.
    pub(super) fn finish(&mut self) -> bool {
        let links_back = |doc: u32, other: Option<u32>, back: fn(&Document) -> Option<u32>| {
            other.is_none_or(|other| other != doc && self.get(other).and_then(back) == Some(doc))
        };
        let sound = (0..).zip(self.all.iter()).all(|(doc, document)| {
            links_back(doc, document.previous(), Document::next) && links_back(doc, document.next(), Document::previous)
        });
        if sound {
            let slots = u32::try_from(self.slots()).unwrap_or(u32::MAX);
            (0..slots).for_each(|doc| self.weigh(&[Some(doc)]));
        }
        sound
    }

    /// Adds or updates an entry, which keeps its position in its thread.
    pub(super) fn set(&mut self, doc: u32, length: u32, language: Language) {
        while self.all.len() <= doc as usize {
            self.all.push(Document::ABSENT);
            self.bags.push(0);
        }
        let Some(document) = self.all.get_mut(doc as usize) else { return };
        let before = document.language.replace(language);
        document.length = length;
        self.count += usize::from(before.is_none());
        self.tally(before, Some(language));
        self.weigh(&self.around(doc));
    }

    pub(super) fn remove(&mut self, doc: u32) {
        let Some(document) = self.get(doc) else { return };
        let language = document.language;
        self.unlink(doc);
        self.update(doc, |document| *document = Document::ABSENT);
        self.count -= 1;
        self.tally(language, None);
        self.weigh(&[Some(doc)]);
    }

    fn tally(&mut self, before: Option<Language>, after: Option<Language>) {
        for (language, count) in Language::ALL.into_iter().zip(&mut self.by_language) {
            *count -= u32::from(before == Some(language));
            *count += u32::from(after == Some(language));
        }
    }

    /// Links an entry between two others.
    pub(super) fn link(&mut self, doc: u32, previous: Option<u32>, next: Option<u32>) {
        let Some(document) = self.get(doc).copied() else { return };
        let known = |other: &u32| *other != doc && self.get(*other).is_some();
        let (previous, next) = (previous.filter(known), next.filter(known));
        let next = next.filter(|next| Some(*next) != previous);
        if document.previous() == previous && document.next() == next {
            return;
        }
        self.unlink(doc);
        // Entries beyond the cut lose neighbours too.
        let apart = [previous.and_then(|one| self.get(one)?.next()), next.and_then(|one| self.get(one)?.previous())];
        let cut = apart.map(|other| other.map_or([None; 2 * REACH + 1], |other| self.around(other)));
        for (left, right) in [(previous, Some(doc)), (Some(doc), next)] {
            self.join(left, right);
        }
        self.weigh(&self.around(doc));
        cut.iter().for_each(|around| self.weigh(around));
    }

    /// Removes an entry from its thread and links its neighbours.
    fn unlink(&mut self, doc: u32) {
        let Some(document) = self.get(doc) else { return };
        let (previous, next) = (document.previous(), document.next());
        if previous.is_none() && next.is_none() {
            return;
        }
        let around = self.around(doc);
        self.update(doc, |document| (document.previous, document.next) = (NONE, NONE));
        match (previous, next) {
            // A cycle of two: the other one is alone now.
            (Some(only), Some(other)) if only == other => {
                self.update(only, |document| (document.previous, document.next) = (NONE, NONE));
            }
            (Some(previous), Some(next)) => {
                self.update(previous, |document| document.next = next);
                self.update(next, |document| document.previous = previous);
            }
            (Some(previous), None) => self.update(previous, |document| document.next = NONE),
            (None, Some(next)) => self.update(next, |document| document.previous = NONE),
            (None, None) => {}
        }
        self.weigh(&around);
    }

    /// Makes two entries neighbours; each drops its former one on that side.
    fn join(&mut self, left: Option<u32>, right: Option<u32>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        if let Some(old) = self.get(left).and_then(Document::next) {
            self.update(old, |document| document.previous = NONE);
        }
        if let Some(old) = self.get(right).and_then(Document::previous) {
            self.update(old, |document| document.next = NONE);
        }
        self.update(left, |document| document.next = right);
        self.update(right, |document| document.previous = left);
    }

    fn update(&mut self, doc: u32, change: impl FnOnce(&mut Document)) {
        let Some(document) = self.all.get_mut(doc as usize) else { return };
        let before = usize::from(document.is_linked());
        change(document);
        self.linked = self.linked + usize::from(document.is_linked()) - before;
    }

    /// Preceding entries, nearest first.
    pub(super) fn before(&self, doc: u32) -> impl Iterator<Item = u32> {
        self.walk(doc, Document::previous)
    }

    pub(super) fn after(&self, doc: u32) -> impl Iterator<Item = u32> {
        self.walk(doc, Document::next)
    }

    fn walk(&self, doc: u32, step: fn(&Document) -> Option<u32>) -> impl Iterator<Item = u32> {
        let next = move |doc: &u32| self.all.get(*doc as usize).and_then(step);
        std::iter::successors(next(&doc), next).take(self.weights.reach())
    }

    /// An entry and those to which it contributes.
    fn around(&self, doc: u32) -> Around {
        let mut around = [None; 2 * REACH + 1];
        let all = std::iter::once(doc).chain(self.before(doc)).chain(self.after(doc));
        around.iter_mut().zip(all).for_each(|(slot, doc)| *slot = Some(doc));
        around
    }

    /// Recomputes weighted lengths.
    fn weigh(&mut self, docs: &[Option<u32>]) {
        for doc in docs.iter().flatten().copied() {
            let bag = self.count_bag(doc, |other| self.get(other).map_or(0, |document| document.length));
            if let Some(held) = self.bags.get_mut(doc as usize) {
                self.total = self.total - u64::from(*held) + u64::from(bag);
                *held = bag;
            }
        }
    }

    /// Weighted sum over an entry and its neighbours, in 256ths.
    pub(super) fn count_bag(&self, doc: u32, count: impl Fn(u32) -> u32) -> u32 {
        let own = count(doc).saturating_mul(WHOLE);
        let before = self.before(doc).zip(self.weights.before);
        let after = self.after(doc).zip(self.weights.after);
        before.chain(after).fold(own, |sum, (other, weight)| sum.saturating_add(count(other).saturating_mul(weight)))
    }

    pub(super) fn bytes(&self) -> usize {
        self.all.bytes() + self.bags.bytes()
    }
}

/// Caches the last accessed chunk.
pub(super) struct Bags<'a> {
    all: &'a Chunks<u32, PIECE>,
    held: usize,
    piece: &'a [u32],
}

impl Bags<'_> {
    #[inline]
    pub(super) fn get(&mut self, doc: u32) -> u32 {
        let at = doc as usize;
        if at >> PIECE != self.held {
            self.held = at >> PIECE;
            self.piece = self.all.chunk(self.held);
        }
        self.piece.get(at & ((1 << PIECE) - 1)).copied().unwrap_or_default()
    }
}
