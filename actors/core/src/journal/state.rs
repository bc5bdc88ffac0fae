//! The order of decisions, and the batches in which they are written.

use std::collections::{BTreeMap, VecDeque};

use muster_store::{Batch, Expect, Op, StoreError, Tree};

use crate::Error;

/// Batches in flight at a time.
pub(super) const MAX_IN_FLIGHT: usize = 2;
/// Most writes in one batch, unless a single decision has more.
pub(super) const MAX_OPS: usize = 2_048;
/// Most bytes in one batch, unless a single decision has more.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// Undurable bytes above which no new request is admitted.
pub(super) const MAX_UNDURABLE_BYTES: usize = 64 << 20;
/// Undurable decisions above which no new request is admitted.
pub(super) const MAX_UNDURABLE: u64 = 20_000;

/// A precondition of a decision: what must be stored at a key.
pub type Precondition = (Tree, Vec<u8>, Expect);

/// Writes that are stored together, and their effects.
#[derive(Debug)]
struct Decision<E> {
    expect: Vec<Precondition>,
    ops: Vec<Op>,
    bytes: usize,
    effects: E,
}

/// A batch that was handed to the store.
#[derive(Debug)]
struct InFlight<E> {
    last: u64,
    bytes: usize,
    effects: Vec<E>,
    /// Whether it has preconditions: one that does not hold is no failure.
    conditional: bool,
    outcome: Option<Result<(), StoreError>>,
}

/// Decisions that are durable now.
#[derive(Debug)]
pub struct Committed<E> {
    /// Number of the last one.
    pub last: u64,
    /// Effects of each, in order.
    pub effects: Vec<E>,
}

/// How a batch ended, in the order of the decisions.
#[derive(Debug)]
pub(super) enum Completed<E> {
    Committed(Committed<E>),
    /// A precondition of a conditional decision did not hold: nothing of it was written.
    Conflict(E),
}

/// The decisions of an actor that are not durable yet, in order. `E` is the type of their effects.
#[derive(Debug)]
pub struct Journal<E> {
    waiting: VecDeque<Decision<E>>,
    in_flight: BTreeMap<u64, InFlight<E>>,
    batch: u64,
    /// Number of decisions so far, and of those that are durable.
    decided: u64,
    durable: u64,
    /// Undurable bytes.
    bytes: usize,
    /// A batch that the full store did not accept: it is handed over again before any other.
    held_back: Option<(u64, Batch)>,
    /// Why the state in memory is no longer the stored one: nothing is handed over any more.
    failure: Option<StoreError>,
    /// Effects of decisions that will never be acknowledged.
    failed: Option<Vec<E>>,
    /// Whether they were returned: the actor is stopping.
    stopped: bool,
}

impl<E> Default for Journal<E> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: BTreeMap::new(),
            batch: 0,
            decided: 0,
            durable: 0,
            bytes: 0,
            held_back: None,
            failure: None,
            failed: None,
            stopped: false,
        }
    }
}

fn bytes(ops: &[Op]) -> usize {
    let of = |op: &Op| match op {
        Op::Put { key, rec, .. } => key.len() + rec.bytes.len(),
        Op::Delete { key, .. } => key.len(),
        Op::Append { rec, .. } => rec.bytes.len(),
    };
    ops.iter().map(of).sum()
}

impl<E> Journal<E> {
    /// Returns the number of the decision that is pushed next.
    pub fn next_number(&self) -> u64 {
        self.decided + 1
    }

    /// Adds a decision; returns its number.
    pub fn push(&mut self, ops: Vec<Op>, effects: E) -> u64 {
        self.push_if(Vec::new(), ops, effects)
    }

    /// Adds a decision that is written only if its preconditions hold; returns its number. It has a batch of its own. If
    /// they do not hold, nothing is written and [`Journalled::on_conflict`](super::Journalled::on_conflict) receives the
    /// effects: the actor's state in memory must therefore not depend on it before it is durable.
    pub fn push_if(&mut self, expect: Vec<Precondition>, ops: Vec<Op>, effects: E) -> u64 {
        self.decided += 1;
        let bytes = bytes(&ops);
        self.bytes += bytes;
        self.waiting.push_back(Decision { expect, ops, bytes, effects });
        self.decided
    }

    /// Fails the journal because a decision cannot be written. Batches in flight are still acknowledged; then the actor
    /// stops.
    pub fn fail(&mut self, error: StoreError) {
        self.failure.get_or_insert(error);
    }

    /// Returns whether the decision with this number is durable.
    pub fn is_durable(&self, number: u64) -> bool {
        number <= self.durable
    }

    /// Returns the number of decisions that are not durable yet.
    pub fn undurable(&self) -> u64 {
        self.decided - self.durable
    }

    /// Returns the bytes of the decisions that are not durable yet.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks that one more decision may wait for the store.
    ///
    /// # Errors
    /// `Unavailable` if the largest amount waits, or if the actor is about to be restarted.
    pub fn admit(&self) -> Result<(), Error> {
        if self.failure.is_some() || self.bytes > MAX_UNDURABLE_BYTES || self.undurable() > MAX_UNDURABLE {
            return Err(StoreError::Busy.into());
        }
        Ok(())
    }

    /// Returns the number and the writes of the next batch, if one may be handed over.
    pub fn next_batch(&mut self) -> Option<(u64, Batch)> {
        let in_flight = self.in_flight.values().filter(|batch| batch.outcome.is_none()).count();
        let stopped = self.stopped || self.failure.is_some() || self.held_back.is_some();
        if stopped || in_flight >= MAX_IN_FLIGHT || self.waiting.is_empty() {
            return None;
        }
        let before = self.in_flight.last_key_value().map_or(self.durable, |(_, batch)| batch.last);
        let mut batch = Batch::default();
        let mut next = InFlight { last: before, bytes: 0, effects: vec![], conditional: false, outcome: None };
        while let Some(first) = self.waiting.front() {
            let fits = batch.ops.len() + first.ops.len() <= MAX_OPS && next.bytes + first.bytes <= MAX_BYTES;
            let apart = next.conditional || !first.expect.is_empty();
            if (apart || !fits) && next.last > before {
                break;
            }
            let Some(Decision { expect, ops, bytes, effects }) = self.waiting.pop_front() else { break };
            next.conditional = !expect.is_empty();
            next.last += 1;
            next.bytes += bytes;
            next.effects.push(effects);
            batch.expect.extend(expect);
            batch.ops.extend(ops);
        }
        self.batch += 1;
        self.in_flight.insert(self.batch, next);
        Some((self.batch, batch))
    }

    /// Returns the effects of the decisions in a batch that is in flight.
    pub fn effects_of(&self, batch: u64) -> &[E] {
        self.in_flight.get(&batch).map_or(&[], |batch| &batch.effects)
    }

    /// Records how the commit of a batch ended. Returns the batches that are completed by it, in the order of the
    /// decisions: none before all batches in front of it have ended.
    pub(super) fn complete(&mut self, number: u64, outcome: Result<(), StoreError>) -> Vec<Completed<E>> {
        if let Some(batch) = self.in_flight.get_mut(&number) {
            if let Err(error) = &outcome
                && !(batch.conditional && *error == StoreError::Conflict)
            {
                self.failure.get_or_insert_with(|| error.clone());
            }
            batch.outcome = Some(outcome);
        }
        let mut completed = Vec::new();
        while let Some(first) = self.in_flight.first_entry()
            && let Some(outcome) = &first.get().outcome
        {
            let conflict = first.get().conditional && *outcome == Err(StoreError::Conflict);
            if outcome.is_err() && !conflict {
                self.abandon();
                break;
            }
            let InFlight { last, bytes, effects, .. } = first.remove();
            (self.durable, self.bytes) = (last, self.bytes.saturating_sub(bytes));
            if conflict {
                completed.extend(effects.into_iter().map(Completed::Conflict));
            } else {
                completed.push(Completed::Committed(Committed { last, effects }));
            }
        }
        completed
    }

    /// Rejects a batch that cannot be written, and with it every later decision: the actor stops.
    pub fn reject(&mut self, number: u64, error: StoreError) {
        // Earlier batches are still in flight, so this completes none.
        let _ = self.complete(number, Err(error));
    }

    /// Returns the effects of all decisions that will not be acknowledged, and the reason: once, as soon as no batch is in
    /// flight.
    pub(super) fn take_failed(&mut self) -> Option<(Vec<E>, StoreError)> {
        let error = self.failure.clone()?;
        if self.stopped {
            return None;
        }
        if self.failed.is_none() {
            if !self.in_flight.is_empty() {
                return None;
            }
            self.abandon();
        }
        self.stopped = true;
        Some((self.failed.take()?, error))
    }

    fn abandon(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight).into_values().flat_map(|batch| batch.effects);
        let waiting = std::mem::take(&mut self.waiting).into_iter().map(|decision| decision.effects);
        self.failed.get_or_insert_default().extend(in_flight.chain(waiting));
        self.held_back = None;
    }

    pub(super) fn hold_back(&mut self, number: u64, batch: Batch) {
        self.held_back = Some((number, batch));
    }

    pub(super) fn take_held_back(&mut self) -> Option<(u64, Batch)> {
        self.held_back.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use muster_store::{Rec, Tree};

    /// Returns the committed batches.
    fn committed<E>(completed: Vec<Completed<E>>) -> Vec<Committed<E>> {
        let each = |completed| match completed {
            Completed::Committed(committed) => committed,
            Completed::Conflict(_) => panic!("no decision has a precondition"),
        };
        completed.into_iter().map(each).collect()
    }

    fn ops(count: usize) -> Vec<Op> {
        vec![Op::Delete { tree: Tree::Tasks, key: vec![7] }; count]
    }

    #[test]
    fn decisions_share_batches_and_are_durable_in_their_order() {
        let mut journal = Journal::default();
        assert_eq!((journal.next_number(), journal.push(ops(1), 'a')), (1, 1));
        let (first, batch) = journal.next_batch().unwrap();
        assert_eq!(batch.ops, ops(1));
        assert_eq!(['b', 'c', 'd', 'e'].map(|effect| journal.push(ops(1), effect)), [2, 3, 4, 5]);
        let (second, batch) = journal.next_batch().unwrap();
        assert_eq!(batch.ops, ops(4), "waiting decisions share a batch");
        assert_eq!(journal.effects_of(second), ['b', 'c', 'd', 'e']);
        journal.push(ops(1), 'f');
        assert!(journal.next_batch().is_none(), "two batches are in flight");
        assert!(journal.complete(second, Ok(())).is_empty(), "not before the first");
        assert!(!journal.is_durable(1));
        let done = committed(journal.complete(first, Ok(()))).into_iter().map(|done| (done.last, done.effects));
        assert_eq!(done.collect::<Vec<_>>(), [(1, vec!['a']), (5, vec!['b', 'c', 'd', 'e'])]);
        assert!(journal.is_durable(5) && !journal.is_durable(6));
        assert_eq!((journal.undurable(), journal.bytes()), (1, 1));
    }

    #[test]
    fn a_batch_is_bounded_and_an_empty_decision_keeps_its_place() {
        let mut journal = Journal::default();
        for ops in [ops(1_500), ops(1_500), ops(0)] {
            journal.push(ops, ());
        }
        let (first, batch) = journal.next_batch().unwrap();
        assert_eq!(batch.ops.len(), 1_500);
        let (second, _) = journal.next_batch().unwrap();
        journal.complete(first, Ok(()));
        assert!(journal.is_durable(1) && !journal.is_durable(2) && !journal.is_durable(3));
        journal.complete(second, Ok(()));
        assert!(journal.is_durable(3));
        assert_eq!((journal.undurable(), journal.bytes()), (0, 0));
    }

    #[test]
    fn a_batch_that_fails_fails_the_one_behind_it() {
        let mut journal = Journal::default();
        journal.push(ops(1), 'a');
        let (first, _) = journal.next_batch().unwrap();
        journal.push(ops(1), 'b');
        let (second, _) = journal.next_batch().unwrap();
        assert!(journal.complete(second, Ok(())).is_empty());
        assert!(journal.complete(first, Err(StoreError::Io("disk".into()))).is_empty());
        assert_eq!(journal.take_failed().unwrap().0, ['a', 'b'], "the second depends on what was not stored");
    }

    #[test]
    fn decisions_before_a_fault_are_acknowledged_and_later_ones_are_not() {
        let mut journal = Journal::default();
        journal.push(ops(1), 'a');
        let (first, _) = journal.next_batch().unwrap();
        journal.push(ops(1), 'b');
        journal.fail(StoreError::BadRequest("too large".into()));
        assert!(journal.take_failed().is_none(), "one is in flight");
        assert_eq!(committed(journal.complete(first, Ok(())))[0].effects, ['a']);
        assert_eq!(journal.take_failed().unwrap().0, ['b']);
    }

    #[test]
    fn a_precondition_that_does_not_hold_concerns_its_decision_alone() {
        let mut journal = Journal::default();
        let expect = vec![(Tree::Tasks, vec![7], Expect::Absent)];
        journal.push(ops(1), 'a');
        journal.push_if(expect, ops(1), 'b');
        journal.push(ops(1), 'c');
        let batches = [journal.next_batch().unwrap(), journal.next_batch().unwrap()];
        assert_eq!(batches.each_ref().map(|(_, batch)| (batch.expect.len(), batch.ops.len())), [(0, 1), (1, 1)]);
        assert_eq!(committed(journal.complete(batches[0].0, Ok(()))).len(), 1);
        let error = journal.complete(batches[1].0, Err(StoreError::Conflict));
        assert!(matches!(error[..], [Completed::Conflict('b')]), "{error:?}");
        let (third, _) = journal.next_batch().unwrap();
        assert_eq!(committed(journal.complete(third, Ok(())))[0].effects, ['c']);
    }

    #[test]
    fn nothing_is_admitted_while_the_largest_amount_waits() {
        let mut journal = Journal::default();
        for _ in 0..=MAX_UNDURABLE {
            assert_eq!(journal.admit(), Ok(()));
            journal.push(Vec::new(), ());
        }
        let error = journal.admit().unwrap_err();
        assert_eq!(
            (error.kind, error.retry_after),
            (crate::Kind::Unavailable, Some(std::time::Duration::from_secs(1)))
        );
        let mut journal = Journal::default();
        let rec = Rec { schema: 1, bytes: vec![0; MAX_UNDURABLE_BYTES] };
        journal.push(vec![Op::Put { tree: Tree::Tasks, key: vec![7], rec }], ());
        assert_eq!(journal.admit(), Err(error));
    }

    #[test]
    fn nothing_is_handed_over_after_a_batch_that_was_not_stored() {
        let mut journal = Journal::default();
        journal.push(ops(1), ());
        let (first, _) = journal.next_batch().unwrap();
        journal.push(ops(1), ());
        assert!(journal.admit().is_ok());
        assert!(journal.complete(first, Err(StoreError::Busy)).is_empty());
        assert!(journal.next_batch().is_none());
        let (effects, error) = journal.take_failed().unwrap();
        assert_eq!((effects.len(), error), (2, StoreError::Busy), "also those outside of that batch");
        assert!(journal.take_failed().is_none(), "once");
        assert_eq!(journal.admit().unwrap_err().kind, crate::Kind::Unavailable);
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push {
            ops: usize,
            bytes: usize,
        },
        Send,
        /// The oldest batch in flight, or the one after it.
        Complete(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let push = (prop::sample::select(vec![0, 1, 2, 700, 1_500, 3_000]), prop::sample::select(vec![0, 1, 900]));
        prop_oneof![
            2 => push.prop_map(|(ops, bytes)| Step::Push { ops, bytes }),
            // As many bytes as two batches hold, in a few writes.
            1 => (1..5_usize).prop_map(|ops| Step::Push { ops, bytes: MAX_BYTES / 2 }),
            2 => Just(Step::Send),
            2 => (0..MAX_IN_FLIGHT).prop_map(Step::Complete),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_decision_is_committed_once_and_in_its_order(steps in prop::collection::vec(step(), 1..60)) {
            let (mut journal, mut sizes) = (Journal::default(), Vec::new());
            let (mut in_flight, mut sent, mut done) = (Vec::new(), 0, Vec::new());
            let rest = [Step::Send, Step::Complete(0)].repeat(2 + steps.len());
            for step in steps.into_iter().chain(rest) {
                match step {
                    Step::Push { ops, bytes } => {
                        let number = sizes.len() as u64 + 1;
                        let rec = Rec { schema: 1, bytes: vec![0; bytes] };
                        let op = Op::Put { tree: Tree::Tasks, key: number.to_be_bytes().to_vec(), rec };
                        prop_assert_eq!(journal.push(vec![op; ops], number), number);
                        sizes.push((ops, ops * (8 + bytes)));
                    }
                    Step::Send => if let Some((number, batch)) = journal.next_batch() {
                        let together = sizes[sent..].iter().take(journal.effects_of(number).len());
                        let expected = (sent + 1..).zip(together.clone()).flat_map(|(n, (ops, _))| vec![n as u64; *ops]);
                        let keys = batch.ops.iter().map(|op| match op {
                            Op::Put { key, .. } | Op::Delete { key, .. } => key.clone(),
                            Op::Append { .. } => panic!("this test appends nothing"),
                        });
                        prop_assert!(keys.eq(expected.map(|n| n.to_be_bytes().to_vec())));
                        let bytes: usize = together.clone().map(|(_, bytes)| bytes).sum();
                        let bounded = batch.ops.len() <= MAX_OPS && bytes <= MAX_BYTES;
                        prop_assert!(bounded || together.len() == 1);
                        sent += together.len();
                        in_flight.push(number);
                        prop_assert!(in_flight.len() <= MAX_IN_FLIGHT);
                    },
                    Step::Complete(_) if in_flight.is_empty() => {}
                    Step::Complete(which) => {
                        let number = in_flight.remove(which % in_flight.len());
                        for batch in committed(journal.complete(number, Ok(()))) {
                            done.extend(batch.effects);
                            prop_assert_eq!(batch.last, done.len() as u64);
                        }
                    }
                }
                prop_assert!(done.iter().copied().eq(1..=done.len() as u64));
                prop_assert_eq!(journal.undurable(), (sizes.len() - done.len()) as u64);
                prop_assert_eq!(journal.bytes(), sizes[done.len()..].iter().map(|(_, bytes)| bytes).sum::<usize>());
            }
            prop_assert_eq!(done.len(), sizes.len());
        }
    }
}
