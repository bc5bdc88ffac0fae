//! What waits to be durable, and what is done once it is.
//!
//! The actor decides at once and goes on; nobody is answered, no step begins and nothing is told before the writes that
//! say so are durable. Writes go to the store in the order of the decisions, many decisions in one batch, and a few
//! batches at a time: the actor's turn never waits for the disk.

use std::collections::{BTreeMap, VecDeque};

use muster_store::{Batch, Op, StoreError};

use super::jobs::{Begin, Job};
use crate::Error;
use crate::feed::Event;

/// Batches that are on their way at a time: one is written while the next is gathered.
const MAX_FLIGHTS: usize = 2;
/// Most writes in one batch.
const MAX_OPS: usize = 2_048;
/// Most bytes in one batch, one decision's own apart.
const MAX_BYTES: usize = 4 << 20;

/// What is done once a decision is durable.
pub(super) enum Then {
    /// A step is dropped.
    Abort(Job),
    Tell(Vec<Event>),
    /// A step begins.
    Begin(Box<Begin>),
    /// Somebody is answered: also that it could not be stored.
    Reply(Reply),
    /// A task has ended: it need not be kept in memory.
    Forget(std::sync::Arc<str>),
    /// An answer is in the store and need not be kept beside it.
    Answered((String, String)),
}

pub(super) type Reply = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// Writes that stand together, and what follows them.
#[derive(Default)]
struct Decision {
    ops: Vec<Op>,
    bytes: usize,
    then: Vec<Then>,
}

/// A batch on its way.
#[derive(Default)]
struct Flight {
    last: u64,
    then: Vec<Then>,
    landed: Option<Result<(), StoreError>>,
}

/// A batch that has landed, in its turn.
pub(super) struct Landed {
    pub(super) then: Vec<Then>,
    pub(super) outcome: Result<(), StoreError>,
}

/// The order of decisions.
#[derive(Default)]
pub(super) struct Journal {
    waiting: VecDeque<Decision>,
    flights: BTreeMap<u64, Flight>,
    flight: u64,
    /// Decisions so far, and those of them that are durable.
    decided: u64,
    durable: u64,
}

fn bytes(ops: &[Op]) -> usize {
    let of = |op: &Op| match op {
        Op::Put { key, rec, .. } => key.len() + rec.bytes.len(),
        Op::Delete { key, .. } => key.len(),
    };
    ops.iter().map(of).sum()
}

impl Journal {
    /// Takes a decision; answers its number.
    pub(super) fn push(&mut self, ops: Vec<Op>, then: Vec<Then>) -> u64 {
        self.decided += 1;
        self.waiting.push_back(Decision { bytes: bytes(&ops), ops, then });
        self.decided
    }

    /// Whether the decision of that number is durable.
    pub(super) fn holds(&self, number: u64) -> bool {
        number <= self.durable
    }

    /// Decisions that are not durable yet.
    pub(super) fn undecided(&self) -> u64 {
        self.decided - self.durable
    }

    /// The next batch to be written, if one may go: its number and its writes.
    pub(super) fn depart(&mut self) -> Option<(u64, Batch)> {
        let under_way = self.flights.values().filter(|flight| flight.landed.is_none()).count();
        if under_way >= MAX_FLIGHTS || self.waiting.is_empty() {
            return None;
        }
        let before = self.flights.last_key_value().map_or(self.durable, |(_, flight)| flight.last);
        let (mut batch, mut flight, mut size) = (Batch::default(), Flight::default(), 0);
        flight.last = before;
        while let Some(next) = self.waiting.front() {
            let fits = batch.ops.len() + next.ops.len() <= MAX_OPS && size + next.bytes <= MAX_BYTES;
            if !fits && flight.last > before {
                break;
            }
            let Some(Decision { ops, bytes, then }) = self.waiting.pop_front() else { break };
            size += bytes;
            batch.ops.extend(ops);
            flight.then.extend(then);
            flight.last += 1;
        }
        self.flight += 1;
        self.flights.insert(self.flight, flight);
        Some((self.flight, batch))
    }

    /// A batch has landed, or failed; gives those whose turn has come.
    pub(super) fn arrive(&mut self, number: u64, outcome: Result<(), StoreError>) -> Vec<Landed> {
        if let Some(flight) = self.flights.get_mut(&number) {
            flight.landed = Some(outcome);
        }
        let mut turn = Vec::new();
        while let Some(first) = self.flights.first_entry() {
            if first.get().landed.is_none() {
                break;
            }
            let Flight { last, then, landed } = first.remove();
            self.durable = last;
            turn.push(Landed { then, outcome: landed.unwrap_or(Ok(())) });
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_store::Tree;

    fn op(n: u8) -> Vec<Op> {
        vec![Op::Delete { tree: Tree::Tasks, key: vec![n] }]
    }

    #[test]
    fn decisions_share_batches_and_are_durable_in_their_order() {
        let mut journal = Journal::default();
        assert_eq!(journal.push(op(1), vec![]), 1);
        let (first, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops.len(), 1);
        let numbers: Vec<u64> = (2..=5).map(|n| journal.push(op(n), vec![])).collect();
        assert_eq!(numbers, [2, 3, 4, 5]);
        let (second, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops, (2..=5).flat_map(op).collect::<Vec<_>>(), "what waited goes together");
        journal.push(op(6), vec![]);
        assert!(journal.depart().is_none(), "two are on their way");
        assert!(journal.arrive(second, Ok(())).is_empty(), "not before the first");
        assert!(!journal.holds(1));
        assert_eq!(journal.arrive(first, Ok(())).len(), 2);
        assert!(journal.holds(5) && !journal.holds(6));
        assert_eq!(journal.undecided(), 1);
    }

    #[test]
    fn a_batch_is_bounded_and_an_empty_decision_keeps_its_place() {
        let mut journal = Journal::default();
        let many: Vec<Op> = (0..1_500).map(|n| Op::Delete { tree: Tree::Tasks, key: vec![n as u8] }).collect();
        journal.push(many.clone(), vec![]);
        journal.push(many, vec![]);
        journal.push(vec![], vec![]);
        let (first, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops.len(), 1_500);
        let (second, _) = journal.depart().unwrap();
        journal.arrive(first, Ok(()));
        assert!(journal.holds(1) && !journal.holds(2) && !journal.holds(3));
        journal.arrive(second, Err(StoreError::Busy));
        assert!(journal.holds(3));
    }
}
