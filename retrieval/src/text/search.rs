//! The best entries for a query: part by part, the rarest first, until nothing new can be among the best (MaxScore:
//! Turtle, Flood 1995). Exact: what is left out could not have been in the answer.

use roaring::RoaringBitmap;

use crate::{DocNo, Filter};

use super::neighbours::WHOLE;
use super::plan::{Part, Plan, Source, words};
use super::resolved::merge;
use super::top::Top;
use super::{Resolved, Statistics, TextIndex};

/// Postings that can be gone through in the time in which one entry's terms are looked at.
const LOOK: usize = 24;
/// Scores are sums of floats: a bound this near is not trusted.
const SLACK: f32 = 0.9999;

impl TextIndex {
    /// The best `limit` entries in which a word of the query occurs, or in whose neighbours, best first; equal ones by
    /// number.
    #[must_use]
    pub fn search(
        &self,
        query: &Resolved<'_>,
        statistics: &Statistics,
        filter: Filter<'_>,
        limit: usize,
    ) -> Vec<(DocNo, f32)> {
        let plan = self.plan(query, statistics);
        if limit == 0 || plan.parts.is_empty() || filter.is_empty(self.len()) {
            return Vec::new();
        }
        let mut top = Top::new(limit);
        let postings: usize = plan.parts.iter().map(|part| part.postings).sum();
        match filter {
            Filter::Only(docs) if self.cost_of_looking(filter.len(self.len())) < postings => {
                let mut rest = self.looker(&plan, 0);
                for doc in docs {
                    let score = rest.add(doc, 0.0);
                    if score > 0.0 {
                        top.offer(doc, score);
                    }
                }
            }
            _ => self.scan(&plan, &Admitted::new(filter, self.documents.slots()), &mut top),
        }
        top.into_sorted()
    }

    /// The scores of given entries, to the bit as [`TextIndex::search`] gives them; 0 where no word occurs.
    #[must_use]
    pub fn score(&self, query: &Resolved<'_>, statistics: &Statistics, docs: &[DocNo]) -> Vec<f32> {
        let plan = self.plan(query, statistics);
        let mut looker = self.looker(&plan, 0);
        docs.iter().map(|doc| looker.add(doc.0, 0.0)).collect()
    }

    /// In postings.
    fn cost_of_looking(&self, docs: usize) -> usize {
        let bag = if self.documents.are_linked() { 1 + 2 * self.documents.weights().reach() } else { 1 };
        docs.saturating_mul(LOOK * bag)
    }

    fn scan(&self, plan: &Plan<'_>, admitted: &Admitted, top: &mut Top) {
        let mut found = Found::new(self.documents.slots());
        let mut rest: f32 = plan.parts.iter().map(|part| part.bound).sum();
        let mut left: usize = plan.parts.iter().map(|part| part.postings).sum();
        let mut done = 0.0;
        for (nth, part) in plan.parts.iter().enumerate() {
            // Before, the least of the best cannot be above what is to come.
            if done > rest && found.docs.len() > top.limit() {
                let least = found.least(top.limit()) * SLACK;
                found.is_closed = least > rest;
                if found.is_closed {
                    let hopeful = found.docs.iter().filter(|doc| found.score(**doc) + rest >= least);
                    if self.cost_of_looking(hopeful.clone().count()) < left {
                        let mut looker = self.looker(plan, nth);
                        hopeful.for_each(|doc| top.offer(*doc, looker.add(*doc, found.score(*doc))));
                        return;
                    }
                }
            }
            self.scan_part(plan, part, admitted, &mut found);
            done += part.bound;
            rest -= part.bound;
            left -= part.postings;
        }
        found.docs.iter().for_each(|doc| top.offer(*doc, found.score(*doc)));
    }

    fn scan_part(&self, plan: &Plan<'_>, part: &Part<'_>, admitted: &Admitted, found: &mut Found) {
        let linked = self.documents.are_linked();
        if linked && found.bags.is_empty() {
            found.bags.resize(self.documents.slots(), 0);
        }
        self.each_count(part.source, |doc, count| {
            if linked && self.documents.get(doc).is_some_and(|document| document.is_linked()) {
                self.spread(doc, count, admitted, found);
            } else if admitted.has(doc) {
                let saturation =
                    plan.norm.saturation(words(count.saturating_mul(WHOLE)), words(self.documents.bag(doc)));
                found.add(doc, part.weight * saturation);
            }
        });
        for doc in std::mem::take(&mut found.spread) {
            if let Some(bag) = found.bags.get_mut(doc as usize) {
                let saturation = plan.norm.saturation(words(std::mem::take(bag)), words(self.documents.bag(doc)));
                found.add(doc, part.weight * saturation);
            }
        }
    }

    /// Adds an entry's occurrences to its own bag and to its neighbours'.
    fn spread(&self, doc: u32, count: u32, admitted: &Admitted, found: &mut Found) {
        let weights = self.documents.weights();
        // Whoever comes after has this one before it.
        let after = self.documents.after(doc).zip(weights.before);
        let before = self.documents.before(doc).zip(weights.after);
        for (other, weight) in after.chain(before).chain(std::iter::once((doc, WHOLE))) {
            let bag = count.saturating_mul(weight);
            if bag > 0 && admitted.has(other) {
                found.put(other, bag);
            }
        }
    }

    fn each_count(&self, source: Source<'_>, mut each: impl FnMut(u32, u32)) {
        match source {
            Source::Pair(found) => found.iter().for_each(|(doc, count)| each(*doc, *count)),
            Source::Terms([only]) => self.postings(*only).for_each(|item| each(item.doc, item.count)),
            Source::Terms(several) => {
                let mut all = Vec::new();
                for term in several {
                    self.postings(*term).for_each(|item| all.push((item.doc, item.count)));
                }
                merge(&mut all);
                all.iter().for_each(|(doc, count)| each(*doc, *count));
            }
        }
    }

    /// Looks parts up in entries, from the `from`th on.
    pub(super) fn looker<'a>(&'a self, plan: &'a Plan<'a>, from: usize) -> Looker<'a> {
        let parts = plan.parts.get(from..).unwrap_or_default();
        let mut wanted = Vec::new();
        for (slot, part) in parts.iter().enumerate() {
            if let Source::Terms(terms) = part.source {
                wanted.extend(terms.iter().map(|term| (*term, slot)));
            }
        }
        wanted.sort_unstable();
        let (own, bags) = (vec![0; parts.len()], vec![0; parts.len()]);
        Looker { index: self, norm: plan.norm, parts, wanted, own, bags }
    }
}

/// Which entries a search may find.
enum Admitted {
    All,
    Bits(Vec<u64>),
}

impl Admitted {
    fn new(filter: Filter<'_>, slots: usize) -> Self {
        match filter {
            Filter::All => Self::All,
            Filter::Only(docs) => Self::Bits(bits(docs, slots)),
        }
    }

    fn has(&self, doc: u32) -> bool {
        match self {
            Self::All => true,
            Self::Bits(bits) => bits.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 == 1),
        }
    }
}

/// Quicker to ask than the bitmap.
fn bits(docs: &RoaringBitmap, slots: usize) -> Vec<u64> {
    let mut bits = vec![0_u64; slots.div_ceil(64)];
    for doc in docs {
        if let Some(word) = bits.get_mut(doc as usize / 64) {
            *word |= 1 << (doc % 64);
        }
    }
    bits
}

/// Scores so far.
struct Found {
    /// By entry; 0 where nothing was found.
    scores: Vec<f32>,
    /// Entries with a score.
    docs: Vec<u32>,
    /// Whether entries without a score are too late.
    is_closed: bool,
    /// Bags for the part in hand, by entry, and the entries that have one.
    bags: Vec<u32>,
    spread: Vec<u32>,
}

impl Found {
    fn new(slots: usize) -> Self {
        Self { scores: vec![0.0; slots], docs: Vec::new(), is_closed: false, bags: Vec::new(), spread: Vec::new() }
    }

    fn score(&self, doc: u32) -> f32 {
        self.scores.get(doc as usize).copied().unwrap_or_default()
    }

    fn add(&mut self, doc: u32, score: f32) {
        let Some(sum) = self.scores.get_mut(doc as usize) else { return };
        if *sum == 0.0 {
            if self.is_closed {
                return;
            }
            self.docs.push(doc);
        }
        *sum += score;
    }

    fn put(&mut self, doc: u32, bag: u32) {
        if self.is_closed && self.score(doc) == 0.0 {
            return;
        }
        let Some(sum) = self.bags.get_mut(doc as usize) else { return };
        if *sum == 0 {
            self.spread.push(doc);
        }
        *sum = sum.saturating_add(bag);
    }

    /// The score of the last of the best.
    fn least(&self, limit: usize) -> f32 {
        let mut top = Top::new(limit);
        self.docs.iter().for_each(|doc| top.offer(*doc, self.score(*doc)));
        top.least()
    }
}

/// Adds up what is left of a plan for one entry after the other.
pub(super) struct Looker<'a> {
    index: &'a TextIndex,
    norm: super::bm25::Norm,
    parts: &'a [Part<'a>],
    /// Terms with the place of their part.
    wanted: Vec<(u32, usize)>,
    own: Vec<u32>,
    bags: Vec<u32>,
}

impl Looker<'_> {
    /// A score with what the parts add to it.
    pub(super) fn add(&mut self, doc: u32, score: f32) -> f32 {
        if self.index.documents.get(doc).is_none() {
            return score;
        }
        self.count(doc);
        let length = words(self.index.documents.bag(doc));
        let found = self.parts.iter().zip(&self.bags).filter(|(_, bag)| **bag > 0);
        found.fold(score, |score, (part, bag)| score + part.weight * self.norm.saturation(words(*bag), length))
    }

    /// The bag of each part in an entry, in 256ths.
    pub(super) fn bags(&mut self, doc: u32) -> &[u32] {
        self.count(doc);
        &self.bags
    }

    fn count(&mut self, doc: u32) {
        self.bags.fill(0);
        let documents = &self.index.documents;
        let weights = documents.weights();
        self.put(doc, WHOLE);
        for (other, weight) in documents.before(doc).zip(weights.before) {
            self.put(other, weight);
        }
        for (other, weight) in documents.after(doc).zip(weights.after) {
            self.put(other, weight);
        }
    }

    fn put(&mut self, doc: u32, weight: u32) {
        if weight == 0 {
            return;
        }
        self.own.fill(0);
        let mut wanted = self.wanted.iter().peekable();
        for (term, count) in self.index.forward.get(doc) {
            while wanted.next_if(|(number, _)| *number < term).is_some() {}
            while let Some((_, slot)) = wanted.next_if(|(number, _)| *number == term) {
                if let Some(own) = self.own.get_mut(*slot) {
                    *own = count.max(*own);
                }
            }
            if wanted.peek().is_none() {
                break;
            }
        }
        for (part, (own, bag)) in self.parts.iter().zip(self.own.iter_mut().zip(&mut self.bags)) {
            if let Source::Pair(found) = part.source
                && let Ok(at) = found.binary_search_by_key(&doc, |(doc, _)| *doc)
            {
                *own = found.get(at).map_or(0, |(_, count)| *count);
            }
            *bag = bag.saturating_add(own.saturating_mul(weight));
        }
    }
}
