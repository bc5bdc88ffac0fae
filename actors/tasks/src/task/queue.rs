//! The queue: earliest virtual deadline first, with a limit of running tasks per owner. Pure.
//!
//! A task's virtual deadline is the time at which it was first queued plus the slack of its priority. A task of low
//! priority is therefore overtaken only by tasks of high priority that arrive within 120 s after it, and starvation is
//! impossible. An owner at its limit is skipped until one of its tasks leaves its slot.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::record::Priority;
use muster_core::Millis;

/// Returns by how much a task of this priority may be served later than one of high priority that arrived at the same
/// time.
pub(super) const fn slack(priority: Priority) -> Duration {
    Duration::from_secs(match priority {
        Priority::High => 0,
        Priority::Normal => 30,
        Priority::Low => 120,
    })
}

/// Position of a task: by virtual deadline, then by arrival.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    deadline: Millis,
    number: u64,
    id: Arc<str>,
    /// Time of arrival, for display.
    since: Millis,
}

#[derive(Debug, Default)]
struct OwnerQueue {
    waiting: BTreeSet<QueuePosition>,
    running: usize,
}

/// The queue and its slots. Each operation takes time logarithmic in the number of waiting tasks.
#[derive(Debug)]
pub(super) struct Queue {
    slots: usize,
    per_owner: usize,
    taken: usize,
    number: u64,
    waiting: usize,
    lines: HashMap<Arc<str>, OwnerQueue>,
    /// The first task of each owner below its limit.
    heads: BTreeSet<(QueuePosition, Arc<str>)>,
    positions: HashMap<Arc<str>, (Arc<str>, QueuePosition)>,
}

impl Queue {
    pub(super) fn new(slots: usize, per_owner: usize) -> Self {
        Self {
            slots: slots.max(1),
            per_owner: per_owner.max(1),
            taken: 0,
            number: 0,
            waiting: 0,
            lines: HashMap::new(),
            heads: BTreeSet::new(),
            positions: HashMap::new(),
        }
    }

    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the number of waiting tasks of an owner.
    pub(super) fn waiting_of(&self, owner: &str) -> usize {
        self.lines.get(owner).map_or(0, |line| line.waiting.len())
    }

    /// Returns the arrival time of the task that is served next.
    pub(super) fn oldest(&self) -> Option<Millis> {
        self.heads.first().map(|(position, _)| position.since)
    }

    /// Adds a task. One that is queued already keeps its position.
    pub(super) fn push(&mut self, id: &Arc<str>, owner: &Arc<str>, priority: Priority, first_queued_at: Millis) {
        if self.positions.contains_key(id) {
            return;
        }
        self.number += 1;
        let deadline = first_queued_at.plus(slack(priority));
        let position = QueuePosition { deadline, number: self.number, id: Arc::clone(id), since: first_queued_at };
        self.change(owner, |line| {
            line.waiting.insert(position.clone());
        });
        self.positions.insert(Arc::clone(id), (Arc::clone(owner), position));
        self.waiting += 1;
    }

    /// Removes a task; returns whether it was queued.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let Some((owner, position)) = self.positions.remove(id) else { return false };
        self.change(&owner, |line| {
            line.waiting.remove(&position);
        });
        self.waiting -= 1;
        true
    }

    /// Assigns a slot to the next task, if one is free.
    pub(super) fn pop(&mut self) -> Option<Arc<str>> {
        if self.taken >= self.slots {
            return None;
        }
        let (position, owner) = self.heads.first().cloned()?;
        self.remove(&position.id);
        self.occupy(&owner);
        Some(position.id)
    }

    /// Takes a slot for a task that was not queued because it ran before a restart.
    pub(super) fn occupy(&mut self, owner: &Arc<str>) {
        self.taken += 1;
        self.change(owner, |line| line.running += 1);
    }

    /// Releases a slot.
    pub(super) fn release(&mut self, owner: &Arc<str>) {
        self.taken = self.taken.saturating_sub(1);
        self.change(owner, |line| line.running = line.running.saturating_sub(1));
    }

    /// Returns the expected wait of another task of an owner for a given mean run time: the longer of the waits for the
    /// owner's limit and for the slots of all.
    pub(super) fn expected_wait(&self, owner: &str, mean_run: Duration) -> Duration {
        let turns = |ahead: usize, wide: usize| u32::try_from(ahead.div_ceil(wide)).unwrap_or(u32::MAX);
        let (running, waiting) = self.lines.get(owner).map_or((0, 0), |line| (line.running, line.waiting.len()));
        let over = |load: usize, wide: usize| if load < wide { 0 } else { load + 1 - wide };
        let own = turns(over(running + waiting, self.per_owner), self.per_owner);
        let all = turns(over(self.taken + self.waiting, self.slots), self.slots);
        mean_run.saturating_mul(own.max(all))
    }

    /// Changes an owner's state, and updates its head.
    fn change(&mut self, owner: &Arc<str>, change: impl FnOnce(&mut OwnerQueue)) {
        let bound = self.per_owner;
        let head = |line: &OwnerQueue| line.waiting.first().filter(|_| line.running < bound).cloned();
        let line = self.lines.entry(Arc::clone(owner)).or_default();
        let before = head(line);
        change(line);
        let after = head(line);
        let gone = line.running == 0 && line.waiting.is_empty();
        if before != after {
            if let Some(position) = before {
                self.heads.remove(&(position, Arc::clone(owner)));
            }
            if let Some(position) = after {
                self.heads.insert((position, Arc::clone(owner)));
            }
        }
        if gone {
            self.lines.remove(owner);
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
    fn priorities_are_slacks_of_0_30_and_120_seconds() {
        let mut queue = Queue::new(1, 1);
        let at = |seconds: u64| Millis(seconds * 1_000);
        let owners = ["low", "normal", "high", "late", "later"].map(arc);
        queue.push(&owners[0], &owners[0], Priority::Low, at(0));
        queue.push(&owners[1], &owners[1], Priority::Normal, at(60));
        queue.push(&owners[2], &owners[2], Priority::High, at(95));
        queue.push(&owners[3], &owners[3], Priority::High, at(119));
        queue.push(&owners[4], &owners[4], Priority::High, at(121));
        let mut order = Vec::new();
        while let Some(id) = queue.pop() {
            queue.release(&id);
            order.push(id.to_string());
        }
        assert_eq!(order, ["normal", "high", "late", "low", "later"]);
    }

    #[test]
    fn the_expected_wait_is_for_the_owners_limit_or_the_slots() {
        let mut queue = Queue::new(4, 2);
        let (owner, other) = (arc("a"), arc("b"));
        let run = Duration::from_secs(10);
        assert_eq!(queue.expected_wait("a", run), Duration::ZERO);
        (0..2).for_each(|_| queue.occupy(&owner));
        assert_eq!(queue.expected_wait("a", run), run, "its two run: one of them ends first");
        assert_eq!(queue.expected_wait("b", run), Duration::ZERO);
        queue.push(&arc("t"), &owner, Priority::Normal, Millis(0));
        queue.push(&arc("u"), &owner, Priority::Normal, Millis(0));
        assert_eq!(queue.expected_wait("a", run), run * 2);
        (0..2).for_each(|_| queue.occupy(&other));
        assert_eq!(queue.expected_wait("c", run), run, "all four slots are taken");
    }

    /// Operations of the queue, compared with a linear search.
    #[derive(Debug, Clone)]
    enum Operation {
        Push { owner: usize, priority: Priority },
        Pop,
        Release,
        Remove(prop::sample::Index),
    }

    fn operations() -> impl Strategy<Value = Operation> {
        let priority = prop_oneof![Just(Priority::Low), Just(Priority::Normal), Just(Priority::High)];
        prop_oneof![
            4 => (0..5_usize, priority).prop_map(|(owner, priority)| Operation::Push { owner, priority }),
            3 => Just(Operation::Pop),
            2 => Just(Operation::Release),
            1 => any::<prop::sample::Index>().prop_map(Operation::Remove),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        /// The queue serves what a search over all tasks finds: the earliest deadline of an owner below its limit. No
        /// limit is exceeded, and no task is served before one that arrived earlier by more than the slack and may run.
        #[test]
        fn the_queue_serves_what_a_linear_search_finds(operations in prop::collection::vec(operations(), 1..200), slots in 1..6_usize, per in 1..4_usize) {
            let mut queue = Queue::new(slots, per);
            let mut list: Vec<(Millis, u64, usize)> = Vec::new();
            let mut running: Vec<usize> = Vec::new();
            for (number, operation) in operations.into_iter().enumerate() {
                let number = number as u64;
                match operation {
                    Operation::Push { owner, priority } => {
                        let at = Millis(number * 7_000);
                        queue.push(&arc(number.to_string()), &arc(owner.to_string()), priority, at);
                        list.push((at.plus(slack(priority)), number, owner));
                    }
                    Operation::Pop => {
                        let of = |owner: usize| running.iter().filter(|each| **each == owner).count();
                        let free = running.len() < slots;
                        let best = list.iter().filter(|(_, _, owner)| free && of(*owner) < per).min().copied();
                        let found = queue.pop();
                        prop_assert_eq!(found.as_deref().map(str::to_owned), best.map(|(_, id, _)| id.to_string()));
                        if let Some(best) = best {
                            list.retain(|each| *each != best);
                            running.push(best.2);
                        }
                    }
                    Operation::Release => {
                        if let Some(owner) = running.pop() {
                            queue.release(&arc(owner.to_string()));
                        }
                    }
                    Operation::Remove(which) => {
                        if !list.is_empty() {
                            let (_, id, _) = list.remove(which.index(list.len()));
                            prop_assert!(queue.remove(&id.to_string()));
                        }
                    }
                }
                prop_assert_eq!(queue.waiting(), list.len());
                prop_assert!(running.len() <= slots);
            }
        }

        /// For any number of tasks of high priority, one of low priority is overtaken only by those that arrive within
        /// its slack.
        #[test]
        fn nothing_starves(every_ms in 100_u64..5_000) {
            let mut queue = Queue::new(1, 1);
            let low = arc("low");
            queue.push(&low, &low, Priority::Low, Millis(0));
            let (mut served, mut at) = (0_u64, 0);
            loop {
                at += every_ms;
                let id = arc(format!("h{at}"));
                queue.push(&id, &id, Priority::High, Millis(at));
                let next = queue.pop().unwrap();
                queue.release(&next);
                if next == low {
                    break;
                }
                served += 1;
            }
            prop_assert!(served <= 120_000 / every_ms, "{} went before it", served);
        }
    }
}
