//! What waits to be durable, in the order in which it was decided.
//!
//! The actor decides at once and goes on; nobody is answered and no index told before the writes that say so are durable.
//! Many decisions share a batch, and two batches are on their way: one is written while the next is gathered.

use std::collections::{BTreeMap, VecDeque};

use muster_store::{Batch, Op, Rec, Record, StoreError, Tree};

use super::place;
use super::port::{Applied, Taken};
use super::record::{Owner, Place, Space, Tally};
use crate::Error;

/// Batches that are on their way at a time.
const MAX_FLIGHTS: usize = 2;
/// Most writes in one batch, figures apart.
const MAX_OPS: usize = 2_048;
/// Most bytes in one batch, one decision's own apart.
const MAX_BYTES: usize = 4 << 20;

pub(super) type Reply = Box<dyn FnOnce(Result<Taken, Error>) + Send>;

/// What is done once a decision is durable.
pub(super) enum Then {
    /// Somebody is answered, once the indexes have it: also that it could not be stored.
    Reply(Reply),
    /// The same, of somebody who must know that the indexes have it, however long that takes.
    PatientReply(Reply),
    /// What was decided of a place is in the store and need not be kept beside it.
    Settled(Place),
    /// An answer is in the store and need not be kept beside it.
    Answered((String, String)),
    /// The next part of what is swept.
    Swept,
    /// The next part of an owner's traces.
    Forget(Owner),
}

/// Writes that stand together, and what follows them.
#[derive(Default)]
pub(super) struct Decision {
    pub(super) ops: Vec<Op>,
    /// Of the last change so far.
    pub(super) seq: u64,
    /// Figures as they are after it.
    pub(super) tallies: Vec<(Space, Tally)>,
    pub(super) applied: Vec<Applied>,
    pub(super) then: Vec<Then>,
}

impl Decision {
    fn bytes(&self) -> usize {
        let of = |op: &Op| match op {
            Op::Put { key, rec, .. } => key.len() + rec.bytes.len(),
            Op::Delete { key, .. } => key.len(),
        };
        self.ops.iter().map(of).sum()
    }
}

/// A batch on its way.
#[derive(Default)]
struct Flight {
    last: u64,
    bytes: usize,
    applied: Vec<Applied>,
    then: Vec<Then>,
    landed: Option<Result<(), StoreError>>,
}

/// A batch that has landed, in its turn.
pub(super) struct Landed {
    /// The last decision in it.
    pub(super) last: u64,
    pub(super) applied: Vec<Applied>,
    pub(super) then: Vec<Then>,
    pub(super) outcome: Result<(), StoreError>,
}

/// The order of decisions.
#[derive(Default)]
pub(super) struct Journal {
    waiting: VecDeque<(Decision, usize)>,
    flights: BTreeMap<u64, Flight>,
    flight: u64,
    /// Decisions so far, and those of them that are durable.
    decided: u64,
    durable: u64,
    /// Of what is decided and not durable.
    bytes: usize,
}

impl Journal {
    /// The number of the decision that is pushed next.
    pub(super) fn next(&self) -> u64 {
        self.decided + 1
    }

    pub(super) fn push(&mut self, decision: Decision) {
        self.decided += 1;
        let bytes = decision.bytes();
        self.bytes += bytes;
        self.waiting.push_back((decision, bytes));
    }

    /// Bytes of what is decided and not durable.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether everything decided is durable.
    pub(super) fn at_rest(&self) -> bool {
        self.decided == self.durable
    }

    /// The next batch to be written, if one may go.
    ///
    /// # Errors
    /// It cannot be encoded.
    pub(super) fn depart(&mut self) -> Result<Option<(u64, Batch)>, StoreError> {
        let under_way = self.flights.values().filter(|flight| flight.landed.is_none()).count();
        if under_way >= MAX_FLIGHTS || self.waiting.is_empty() {
            return Ok(None);
        }
        let before = self.flights.last_key_value().map_or(self.durable, |(_, flight)| flight.last);
        let (mut batch, mut flight) = (Batch::default(), Flight { last: before, ..Flight::default() });
        let (mut seq, mut tallies) = (0, BTreeMap::new());
        while let Some((next, bytes)) = self.waiting.front() {
            let fits = batch.ops.len() + next.ops.len() <= MAX_OPS && flight.bytes + bytes <= MAX_BYTES;
            if !fits && flight.last > before {
                break;
            }
            let Some((decision, bytes)) = self.waiting.pop_front() else { break };
            flight.bytes += bytes;
            flight.last += 1;
            flight.applied.extend(decision.applied);
            flight.then.extend(decision.then);
            if !decision.ops.is_empty() {
                seq = seq.max(decision.seq);
            }
            tallies.extend(decision.tallies);
            batch.ops.extend(decision.ops);
        }
        if seq > 0 {
            let rec = Rec { schema: 1, bytes: seq.to_be_bytes().to_vec() };
            batch.ops.push(Op::Put { tree: Tree::MemoryIds, key: place::SEQ.to_vec(), rec });
        }
        for (space, tally) in tallies {
            batch.ops.push(write(&space, tally)?);
        }
        self.flight += 1;
        self.flights.insert(self.flight, flight);
        Ok(Some((self.flight, batch)))
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
            let Flight { last, bytes, applied, then, landed } = first.remove();
            (self.durable, self.bytes) = (last, self.bytes.saturating_sub(bytes));
            turn.push(Landed { last, applied, then, outcome: landed.unwrap_or(Ok(())) });
        }
        turn
    }
}

fn write(space: &Space, tally: Tally) -> Result<Op, StoreError> {
    let (tree, key) = (Tree::MemoryIds, place::tally(space));
    Ok(if tally == Tally::default() { Op::Delete { tree, key } } else { Op::Put { tree, key, rec: tally.encode()? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(seq: u64, ops: usize) -> Decision {
        let op = |n: usize| Op::Delete { tree: Tree::Memory, key: vec![n as u8, 1] };
        Decision { ops: (0..ops).map(op).collect(), seq, ..Decision::default() }
    }

    #[test]
    fn decisions_share_batches_and_are_durable_in_their_order() {
        let mut journal = Journal::default();
        journal.push(decision(1, 1));
        let (first, batch) = journal.depart().unwrap().unwrap();
        assert_eq!(batch.ops.len(), 2, "the write, and the number of the last change");
        (2..=5).for_each(|seq| journal.push(decision(seq, 1)));
        let (second, batch) = journal.depart().unwrap().unwrap();
        assert_eq!(batch.ops.len(), 5, "what waited goes together");
        let Some(Op::Put { key, rec, .. }) = batch.ops.last() else { panic!("no number of the last change") };
        assert_eq!((key.as_slice(), rec.bytes.as_slice()), (place::SEQ, 5_u64.to_be_bytes().as_slice()));
        journal.push(decision(6, 1));
        assert!(journal.depart().unwrap().is_none(), "two are on their way");
        assert!(journal.arrive(second, Ok(())).is_empty(), "not before the first");
        let landed: Vec<u64> = journal.arrive(first, Ok(())).iter().map(|landed| landed.last).collect();
        assert_eq!(landed, [1, 5]);
        assert!(!journal.at_rest() && journal.bytes() == 2);
    }

    #[test]
    fn a_batch_is_bounded_and_an_empty_decision_keeps_its_place() {
        let mut journal = Journal::default();
        for ops in [1_500, 1_500, 0] {
            journal.push(decision(1, ops));
        }
        let (first, batch) = journal.depart().unwrap().unwrap();
        assert_eq!(batch.ops.len(), 1_501);
        let (second, _) = journal.depart().unwrap().unwrap();
        assert_eq!(journal.arrive(first, Ok(())).len(), 1);
        assert!(!journal.at_rest());
        journal.arrive(second, Err(StoreError::Busy));
        assert!(journal.at_rest() && journal.bytes() == 0);
    }

    #[test]
    fn the_last_figures_of_a_batch_are_written_and_empty_ones_deleted() {
        let mut journal = Journal::default();
        let (one, two) = (Space::new(Owner::new("a"), "x"), Space::new(Owner::new("a"), "y"));
        let tally = |entries| Tally { entries, ..Tally::default() };
        journal.push(Decision { tallies: vec![(one.clone(), tally(1)), (two.clone(), tally(1))], ..decision(1, 1) });
        journal.push(Decision { tallies: vec![(one.clone(), tally(2)), (two.clone(), tally(0))], ..decision(2, 1) });
        let (_, batch) = journal.depart().unwrap().unwrap();
        let rec = tally(2).encode().unwrap();
        assert!(batch.ops.contains(&Op::Put { tree: Tree::MemoryIds, key: place::tally(&one), rec }));
        assert!(batch.ops.contains(&Op::Delete { tree: Tree::MemoryIds, key: place::tally(&two) }));
        assert_eq!(batch.ops.len(), 5);
    }
}
