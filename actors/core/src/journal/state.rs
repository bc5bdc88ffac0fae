//! The order of decisions, and the batches that they go in.

use std::collections::{BTreeMap, VecDeque};

use muster_store::{Batch, Op, StoreError};

/// Batches that are on their way at a time.
const MAX_FLIGHTS: usize = 2;
/// Most writes in one batch, one decision's own apart.
const MAX_OPS: usize = 2_048;
/// Most bytes in one batch, one decision's own apart.
const MAX_BYTES: usize = 4 << 20;

/// Writes that stand together, and what follows them.
#[derive(Debug)]
struct Decision<T> {
    ops: Vec<Op>,
    bytes: usize,
    then: T,
}

/// A batch on its way.
#[derive(Debug)]
struct Flight<T> {
    last: u64,
    bytes: usize,
    then: Vec<T>,
    landed: Option<Result<(), StoreError>>,
}

/// A batch that has landed, in its turn.
#[derive(Debug)]
pub struct Landed<T> {
    /// The last decision in it.
    pub last: u64,
    /// What follows each of its decisions.
    pub then: Vec<T>,
    pub outcome: Result<(), StoreError>,
}

/// The order of decisions.
#[derive(Debug)]
pub struct Journal<T> {
    waiting: VecDeque<Decision<T>>,
    flights: BTreeMap<u64, Flight<T>>,
    flight: u64,
    /// Decisions so far, and those of them that are durable.
    decided: u64,
    durable: u64,
    /// Of what is decided and not durable.
    bytes: usize,
    /// The store had no room for it: it is sent again before any other departs.
    pub(super) held_back: Option<(u64, Batch)>,
    /// What is in memory is no longer what is stored: nothing departs any more.
    pub(super) broken: bool,
}

impl<T> Default for Journal<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            flights: BTreeMap::new(),
            flight: 0,
            decided: 0,
            durable: 0,
            bytes: 0,
            held_back: None,
            broken: false,
        }
    }
}

fn bytes(ops: &[Op]) -> usize {
    let of = |op: &Op| match op {
        Op::Put { key, rec, .. } => key.len() + rec.bytes.len(),
        Op::Delete { key, .. } => key.len(),
    };
    ops.iter().map(of).sum()
}

impl<T> Journal<T> {
    /// The number of the decision that is pushed next.
    pub fn next(&self) -> u64 {
        self.decided + 1
    }

    /// Takes a decision; answers its number.
    pub fn push(&mut self, ops: Vec<Op>, then: T) -> u64 {
        self.decided += 1;
        let bytes = bytes(&ops);
        self.bytes += bytes;
        self.waiting.push_back(Decision { ops, bytes, then });
        self.decided
    }

    /// What is in memory cannot be stored: the actor starts again from what is.
    pub fn fail(&mut self) {
        self.broken = true;
    }

    /// Whether the decision of that number is durable.
    pub fn holds(&self, number: u64) -> bool {
        number <= self.durable
    }

    /// Decisions that are not durable yet.
    pub fn undurable(&self) -> u64 {
        self.decided - self.durable
    }

    /// Bytes of what is decided and not durable.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The next batch to be written, if one may go: its number and its writes.
    pub fn depart(&mut self) -> Option<(u64, Batch)> {
        let under_way = self.flights.values().filter(|flight| flight.landed.is_none()).count();
        if self.broken || self.held_back.is_some() || under_way >= MAX_FLIGHTS || self.waiting.is_empty() {
            return None;
        }
        let before = self.flights.last_key_value().map_or(self.durable, |(_, flight)| flight.last);
        let (mut batch, mut flight) = (Batch::default(), Flight { last: before, bytes: 0, then: vec![], landed: None });
        while let Some(next) = self.waiting.front() {
            let fits = batch.ops.len() + next.ops.len() <= MAX_OPS && flight.bytes + next.bytes <= MAX_BYTES;
            if !fits && flight.last > before {
                break;
            }
            let Some(Decision { ops, bytes, then }) = self.waiting.pop_front() else { break };
            flight.last += 1;
            flight.bytes += bytes;
            flight.then.push(then);
            batch.ops.extend(ops);
        }
        self.flight += 1;
        self.flights.insert(self.flight, flight);
        Some((self.flight, batch))
    }

    /// What follows the decisions of a batch that has not landed.
    pub fn aboard(&self, number: u64) -> &[T] {
        self.flights.get(&number).map_or(&[], |flight| &flight.then)
    }

    /// A batch has landed, or failed; gives those whose turn has come.
    pub fn arrive(&mut self, number: u64, outcome: Result<(), StoreError>) -> Vec<Landed<T>> {
        if let Some(flight) = self.flights.get_mut(&number) {
            flight.landed = Some(outcome);
        }
        let mut turn = Vec::new();
        while let Some(first) = self.flights.first_entry() {
            if first.get().landed.is_none() {
                break;
            }
            let Flight { last, bytes, then, landed } = first.remove();
            (self.durable, self.bytes) = (last, self.bytes.saturating_sub(bytes));
            let outcome = landed.unwrap_or(Ok(()));
            self.broken |= outcome.is_err();
            turn.push(Landed { last, then, outcome });
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use muster_store::{Rec, Tree};

    fn ops(count: usize) -> Vec<Op> {
        vec![Op::Delete { tree: Tree::Tasks, key: vec![7] }; count]
    }

    #[test]
    fn decisions_share_batches_and_are_durable_in_their_order() {
        let mut journal = Journal::default();
        assert_eq!((journal.next(), journal.push(ops(1), 'a')), (1, 1));
        let (first, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops, ops(1));
        assert_eq!(['b', 'c', 'd', 'e'].map(|then| journal.push(ops(1), then)), [2, 3, 4, 5]);
        let (second, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops, ops(4), "what waited goes together");
        assert_eq!(journal.aboard(second), ['b', 'c', 'd', 'e']);
        journal.push(ops(1), 'f');
        assert!(journal.depart().is_none(), "two are on their way");
        assert!(journal.arrive(second, Ok(())).is_empty(), "not before the first");
        assert!(!journal.holds(1));
        let landed = journal.arrive(first, Ok(())).into_iter().map(|landed| (landed.last, landed.then));
        assert_eq!(landed.collect::<Vec<_>>(), [(1, vec!['a']), (5, vec!['b', 'c', 'd', 'e'])]);
        assert!(journal.holds(5) && !journal.holds(6));
        assert_eq!((journal.undurable(), journal.bytes()), (1, 1));
    }

    #[test]
    fn a_batch_is_bounded_and_an_empty_decision_keeps_its_place() {
        let mut journal = Journal::default();
        for ops in [ops(1_500), ops(1_500), ops(0)] {
            journal.push(ops, ());
        }
        let (first, batch) = journal.depart().unwrap();
        assert_eq!(batch.ops.len(), 1_500);
        let (second, _) = journal.depart().unwrap();
        journal.arrive(first, Ok(()));
        assert!(journal.holds(1) && !journal.holds(2) && !journal.holds(3));
        journal.arrive(second, Ok(()));
        assert!(journal.holds(3));
        assert_eq!((journal.undurable(), journal.bytes()), (0, 0));
    }

    #[test]
    fn nothing_departs_after_a_batch_that_was_not_stored() {
        let mut journal = Journal::default();
        journal.push(ops(1), ());
        let (first, _) = journal.depart().unwrap();
        journal.push(ops(1), ());
        let landed = journal.arrive(first, Err(StoreError::Busy));
        assert_eq!(landed[0].outcome, Err(StoreError::Busy));
        assert!(journal.depart().is_none());
    }

    #[derive(Debug, Clone, Copy)]
    enum Act {
        Push {
            ops: usize,
            bytes: usize,
        },
        Depart,
        /// The oldest that is under way, or the one after it.
        Arrive(usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        let push = (prop::sample::select(vec![0, 1, 2, 700, 1_500, 3_000]), prop::sample::select(vec![0, 1, 900]));
        prop_oneof![
            2 => push.prop_map(|(ops, bytes)| Act::Push { ops, bytes }),
            // As many bytes as two batches hold, in a few writes.
            1 => (1..5_usize).prop_map(|ops| Act::Push { ops, bytes: MAX_BYTES / 2 }),
            2 => Just(Act::Depart),
            2 => (0..MAX_FLIGHTS).prop_map(Act::Arrive),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_decision_lands_once_and_in_its_order(acts in prop::collection::vec(act(), 1..60)) {
            let (mut journal, mut sizes) = (Journal::default(), Vec::new());
            let (mut under_way, mut departed, mut landed) = (Vec::new(), 0, Vec::new());
            let rest = [Act::Depart, Act::Arrive(0)].repeat(2 + acts.len());
            for act in acts.into_iter().chain(rest) {
                match act {
                    Act::Push { ops, bytes } => {
                        let number = sizes.len() as u64 + 1;
                        let rec = Rec { schema: 1, bytes: vec![0; bytes] };
                        let op = Op::Put { tree: Tree::Tasks, key: number.to_be_bytes().to_vec(), rec };
                        prop_assert_eq!(journal.push(vec![op; ops], number), number);
                        sizes.push((ops, ops * (8 + bytes)));
                    }
                    Act::Depart => if let Some((number, batch)) = journal.depart() {
                        let aboard = sizes[departed..].iter().take(journal.aboard(number).len());
                        let expected = (departed + 1..).zip(aboard.clone()).flat_map(|(n, (ops, _))| vec![n as u64; *ops]);
                        let keys = batch.ops.iter().map(|op| match op {
                            Op::Put { key, .. } | Op::Delete { key, .. } => key.clone(),
                        });
                        prop_assert!(keys.eq(expected.map(|n| n.to_be_bytes().to_vec())));
                        let bytes: usize = aboard.clone().map(|(_, bytes)| bytes).sum();
                        let bounded = batch.ops.len() <= MAX_OPS && bytes <= MAX_BYTES;
                        prop_assert!(bounded || aboard.len() == 1);
                        departed += aboard.len();
                        under_way.push(number);
                        prop_assert!(under_way.len() <= MAX_FLIGHTS);
                    },
                    Act::Arrive(_) if under_way.is_empty() => {}
                    Act::Arrive(which) => {
                        let number = under_way.remove(which % under_way.len());
                        for batch in journal.arrive(number, Ok(())) {
                            landed.extend(batch.then);
                            prop_assert_eq!(batch.last, landed.len() as u64);
                        }
                    }
                }
                prop_assert!(landed.iter().copied().eq(1..=landed.len() as u64));
                prop_assert_eq!(journal.undurable(), (sizes.len() - landed.len()) as u64);
                prop_assert_eq!(journal.bytes(), sizes[landed.len()..].iter().map(|(_, bytes)| bytes).sum::<usize>());
            }
            prop_assert_eq!(landed.len(), sizes.len());
        }
    }
}
