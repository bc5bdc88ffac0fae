//! Top-k search: part by part, the rarest first, until no new entry can be among the best (MaxScore: Turtle, Flood 1995,
//! "Query evaluation: strategies and optimizations"). Exact: skipped entries cannot be in the result.

use crate::best_first::best_first;
use crate::{DocNo, Filter};

use super::accumulators::{Accumulators, Admitted};
use super::documents::Document;
use super::neighbours::WHOLE;
use super::plan::{Part, Plan, Source, words};
use super::resolved::merge;
use super::top::Top;
use super::{Resolved, Statistics, TextIndex};

/// Scores are float sums: bounds closer than this are not trusted.
const SLACK: f32 = 0.9999;

impl TextIndex {
    /// Returns the best `limit` entries that contain a query word themselves or in their neighbours, best first, ties
    /// by number.
    #[must_use]
    pub fn search(
        &self,
        query: &Resolved<'_>,
        statistics: &Statistics,
        filter: Filter<'_>,
        limit: usize,
    ) -> Vec<(DocNo, f32)> {
        let mut best = self.best_of(query, statistics, filter, limit);
        best.sort_unstable_by(best_first);
        best
    }

    /// Returns the same entries as [`TextIndex::search`], unordered.
    pub(crate) fn best_of(
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
            Filter::Only(docs) if plan.cost_of_scoring(filter.len(self.len())) < postings => {
                let mut scorer = self.entry_scorer(&plan, 0);
                for doc in docs {
                    let score = scorer.add(doc, 0.0);
                    if score > 0.0 {
                        top.offer(doc, score);
                    }
                }
            }
            _ => self.scan(&plan, &Admitted::new(filter, self.documents.slots()), &mut top),
        }
        top.into_best()
    }

    /// Returns the scores of these entries, bit-identical to [`TextIndex::search`]; 0 if no word occurs.
    #[must_use]
    pub fn score(&self, query: &Resolved<'_>, statistics: &Statistics, docs: &[DocNo]) -> Vec<f32> {
        let plan = self.plan(query, statistics);
        let mut scorer = self.entry_scorer(&plan, 0);
        docs.iter().map(|doc| scorer.add(doc.0, 0.0)).collect()
    }

    fn scan(&self, plan: &Plan<'_>, admitted: &Admitted, top: &mut Top) {
        let mut found = Accumulators::new(self.documents.slots());
        let mut rest: f32 = plan.parts.iter().map(|part| part.bound).sum();
        let mut left: usize = plan.parts.iter().map(|part| part.postings).sum();
        let mut done = 0.0;
        for (nth, part) in plan.parts.iter().enumerate() {
            // Until then, the lowest of the best scores cannot exceed the sum of the remaining bounds.
            if done > rest && found.docs.len() > top.limit() {
                let least = found.least(top.limit()) * SLACK;
                found.is_closed = least > rest;
                if found.is_closed {
                    let possible = found.docs.iter().filter(|doc| found.score(**doc) + rest >= least);
                    if plan.cost_of_scoring(possible.clone().count()) < left {
                        let mut scorer = self.entry_scorer(plan, nth);
                        possible.for_each(|doc| top.offer(*doc, scorer.add(*doc, found.score(*doc))));
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

    fn scan_part(&self, plan: &Plan<'_>, part: &Part<'_>, admitted: &Admitted, found: &mut Accumulators) {
        let mut bags = self.documents.bags();
        let mut worth = |doc: u32, bag: u32| part.weight * plan.norm.saturation(words(bag), words(bags.get(doc)));
        if !self.documents.are_linked() {
            self.each_count(part.source, |doc, count| {
                if admitted.has(doc) {
                    found.add(doc, || worth(doc, count.saturating_mul(WHOLE)));
                }
            });
            return;
        }
        found.bags.resize(self.documents.slots(), 0);
        self.each_count(part.source, |doc, count| {
            if self.documents.get(doc).is_some_and(Document::is_linked) {
                self.spread(doc, count, admitted, found);
            } else if admitted.has(doc) {
                found.add(doc, || worth(doc, count.saturating_mul(WHOLE)));
            }
        });
        for doc in std::mem::take(&mut found.spread) {
            let bag = found.bags.get_mut(doc as usize).map(std::mem::take).unwrap_or_default();
            found.add(doc, || worth(doc, bag));
        }
    }

    /// Adds an entry's occurrences to its own weighted count and its neighbours'.
    fn spread(&self, doc: u32, count: u32, admitted: &Admitted, found: &mut Accumulators) {
        let weights = self.documents.weights();
        // Following entries have this one before them.
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
            Source::Terms([only]) => self.postings(*only).each_count(each),
            Source::Terms(several) => {
                let mut all = Vec::new();
                for term in several {
                    self.postings(*term).each_count(|doc, count| all.push((doc, count)));
                }
                merge(&mut all);
                all.iter().for_each(|(doc, count)| each(*doc, *count));
            }
        }
    }
}
