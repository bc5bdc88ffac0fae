//! Which waiting call is served next: fair between principals. Pure.
//!
//! The next call is that of the principal with the fewest running calls; among these, of the one whose last call was
//! started, or who began to wait, the longest ago. A principal's own calls are served in the order of their arrival. At
//! most `per_principal` calls of one principal run at a time, so that a principal alone leaves slots free.
//!
//! Bound: while a principal has a waiting call and none running, each other principal that was active when this began
//! has at most one call started, and one that became active later has none. Its first call is therefore started after
//! at most `n - 1` others, where `n` is the number of active principals, and its `k`-th after at most `k * (n - 1)`,
//! counted over the times in which none of its calls runs.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The calls of one principal. It exists while there are any.
#[derive(Debug, Default)]
struct PrincipalCalls {
    waiting: BTreeSet<u64>,
    running: usize,
    /// When its last call was started or, before the first, when it began to wait.
    rank: u64,
}

/// Place of a principal in the order of service.
type Place = (usize, u64, Arc<str>);

/// The waiting calls and the slots. Each operation takes time logarithmic in the number of principals and calls.
#[derive(Debug)]
pub(crate) struct FairQueue {
    slots: usize,
    per_principal: usize,
    running: usize,
    /// Number of the last event that has a place in an order: an arrival or a start.
    events: u64,
    principals: HashMap<Arc<str>, PrincipalCalls>,
    /// The principals with a waiting call that are below their limit.
    next: BTreeSet<Place>,
    /// The principal of each waiting call.
    waiting: HashMap<u64, Arc<str>>,
}

impl FairQueue {
    pub(crate) fn new(slots: usize, per_principal: usize) -> Self {
        Self {
            slots: slots.max(1),
            per_principal: per_principal.max(1),
            running: 0,
            events: 0,
            principals: HashMap::new(),
            next: BTreeSet::new(),
            waiting: HashMap::new(),
        }
    }

    /// Returns the number of waiting calls of a principal.
    pub(crate) fn waiting_of(&self, principal: &str) -> usize {
        self.principals.get(principal).map_or(0, |calls| calls.waiting.len())
    }

    /// Adds a call; returns its number.
    pub(crate) fn push(&mut self, principal: &Arc<str>) -> u64 {
        let number = self.event();
        self.change(principal, |calls| {
            if calls.running == 0 && calls.waiting.is_empty() {
                calls.rank = number;
            }
            calls.waiting.insert(number);
        });
        self.waiting.insert(number, Arc::clone(principal));
        number
    }

    /// Removes a waiting call; returns whether it was waiting.
    pub(crate) fn remove(&mut self, number: u64) -> bool {
        let Some(principal) = self.waiting.remove(&number) else { return false };
        self.change(&principal, |calls| {
            calls.waiting.remove(&number);
        });
        true
    }

    /// Assigns a slot to the next call, if both exist; returns its number.
    pub(crate) fn start_next(&mut self) -> Option<u64> {
        if self.running >= self.slots {
            return None;
        }
        let (_, _, principal) = self.next.first()?.clone();
        let number = *self.principals.get(&principal)?.waiting.first()?;
        let rank = self.event();
        self.change(&principal, |calls| {
            calls.waiting.remove(&number);
            calls.running += 1;
            calls.rank = rank;
        });
        self.waiting.remove(&number);
        self.running += 1;
        Some(number)
    }

    /// Releases the slot of a call that was started.
    pub(crate) fn finish(&mut self, principal: &Arc<str>) {
        self.running = self.running.saturating_sub(1);
        self.change(principal, |calls| calls.running = calls.running.saturating_sub(1));
    }

    fn event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    /// Changes a principal's calls, and updates its place.
    fn change(&mut self, principal: &Arc<str>, change: impl FnOnce(&mut PrincipalCalls)) {
        let limit = self.per_principal;
        let place = |calls: &PrincipalCalls| -> Option<Place> {
            let eligible = calls.running < limit && !calls.waiting.is_empty();
            eligible.then(|| (calls.running, calls.rank, Arc::clone(principal)))
        };
        let calls = self.principals.entry(Arc::clone(principal)).or_default();
        let before = place(calls);
        change(calls);
        let after = place(calls);
        let gone = calls.running == 0 && calls.waiting.is_empty();
        if let Some(place) = before {
            self.next.remove(&place);
        }
        self.next.extend(after);
        if gone {
            self.principals.remove(principal);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn arc(text: impl AsRef<str>) -> Arc<str> {
        Arc::from(text.as_ref())
    }

    #[test]
    fn another_principal_does_not_wait_for_the_calls_of_one_with_many() {
        let mut queue = FairQueue::new(2, 1);
        let (many, other) = (arc("many"), arc("other"));
        let calls: Vec<u64> = (0..24).map(|_| queue.push(&many)).collect();
        assert_eq!(queue.start_next(), Some(calls[0]));
        assert_eq!(queue.start_next(), None, "one principal leaves a slot free");
        let trivial = queue.push(&other);
        assert_eq!(queue.start_next(), Some(trivial));
        assert_eq!(queue.waiting_of("many"), 23);
        queue.finish(&other);
        queue.finish(&many);
        assert_eq!(queue.start_next(), Some(calls[1]));
        assert!(queue.remove(calls[2]) && !queue.remove(calls[2]) && !queue.remove(calls[1]));
    }

    #[test]
    fn a_principal_without_running_calls_precedes_those_with_some() {
        let mut queue = FairQueue::new(4, 3);
        let (many, other) = (arc("many"), arc("other"));
        for _ in 0..8 {
            queue.push(&many);
        }
        (0..3).for_each(|_| assert!(queue.start_next().is_some()));
        let first = queue.push(&other);
        let second = queue.push(&other);
        assert_eq!(queue.start_next(), Some(first));
        queue.finish(&many);
        assert_eq!(queue.start_next(), Some(second), "one running call is fewer than two");
    }

    #[derive(Debug, Clone)]
    enum Operation {
        Push(usize),
        Start,
        Finish(prop::sample::Index),
        Remove(prop::sample::Index),
    }

    fn operations() -> impl Strategy<Value = Operation> {
        prop_oneof![
            4 => (0..6_usize).prop_map(Operation::Push),
            4 => Just(Operation::Start),
            3 => any::<prop::sample::Index>().prop_map(Operation::Finish),
            1 => any::<prop::sample::Index>().prop_map(Operation::Remove),
        ]
    }

    /// One principal as a list, for comparison: its waiting calls in order, its running ones, and how many starts of
    /// others it still has to accept.
    #[derive(Debug, Default, Clone)]
    struct Model {
        waiting: Vec<u64>,
        running: usize,
        credit: Option<usize>,
    }

    impl Model {
        fn is_active(&self) -> bool {
            self.running > 0 || !self.waiting.is_empty()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// No limit is exceeded, no slot is left free that a waiting call could have, each principal's calls are
        /// started in order, and nobody starves: the bound of the module's documentation holds.
        #[test]
        fn nobody_starves(operations in prop::collection::vec(operations(), 1..400), slots in 1..5_usize, limit in 1..5_usize) {
            let mut queue = FairQueue::new(slots, limit);
            let names: Vec<Arc<str>> = (0..6).map(|nth| arc(nth.to_string())).collect();
            let mut models = vec![Model::default(); names.len()];
            for operation in operations {
                let active: Vec<bool> = models.iter().map(Model::is_active).collect();
                match operation {
                    Operation::Push(nth) => models[nth].waiting.push(queue.push(&names[nth])),
                    Operation::Start => {
                        let running: usize = models.iter().map(|model| model.running).sum();
                        let eligible = models.iter().any(|model| !model.waiting.is_empty() && model.running < limit);
                        let started = queue.start_next();
                        prop_assert_eq!(started.is_some(), running < slots && eligible);
                        if let Some(number) = started {
                            let nth = models.iter().position(|model| model.waiting.first() == Some(&number));
                            let nth = nth.expect("the first waiting call of a principal");
                            models[nth].waiting.remove(0);
                            models[nth].running += 1;
                            prop_assert!(models[nth].running <= limit);
                            for (_, other) in models.iter_mut().enumerate().filter(|(other, _)| *other != nth) {
                                if let Some(credit) = &mut other.credit {
                                    prop_assert!(*credit > 0, "{:?} is overtaken too often", other);
                                    *credit -= 1;
                                }
                            }
                        }
                    }
                    Operation::Finish(which) => {
                        let running: Vec<usize> = (0..names.len()).filter(|nth| models[*nth].running > 0).collect();
                        if !running.is_empty() {
                            let nth = running[which.index(running.len())];
                            queue.finish(&names[nth]);
                            models[nth].running -= 1;
                        }
                    }
                    Operation::Remove(which) => {
                        let waiting: Vec<u64> = models.iter().flat_map(|model| model.waiting.clone()).collect();
                        if !waiting.is_empty() {
                            let number = waiting[which.index(waiting.len())];
                            prop_assert!(queue.remove(number));
                            models.iter_mut().for_each(|model| model.waiting.retain(|each| *each != number));
                        }
                    }
                }
                for (nth, model) in models.iter_mut().enumerate() {
                    let waits = model.running == 0 && !model.waiting.is_empty();
                    let others = active.iter().enumerate().filter(|(other, active)| *other != nth && **active).count();
                    model.credit = waits.then(|| model.credit.unwrap_or(others));
                    prop_assert_eq!(queue.waiting_of(&names[nth]), model.waiting.len());
                }
            }
            let active = models.iter().filter(|model| model.is_active()).count();
            prop_assert_eq!(queue.principals.len(), active, "a principal without calls is forgotten");
        }
    }
}
