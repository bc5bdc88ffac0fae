//! Decisions about entries: writes, and their effects once durable.

use std::collections::BTreeMap;

use muster_store::{Op, Rec, Record, StoreError, Tree};

use super::place;
use super::port::{Applied, Taken};
use super::record::{Owner, Place, Space, Tally};
use muster_core::Error;

pub(super) type Reply = Box<dyn FnOnce(Result<Taken, Error>) + Send>;

/// Effect of a decision once it is durable.
pub(super) enum Effect {
    /// Responds once the indexes have the changes, and also if storing failed.
    Reply(Reply),
    /// Responds once the indexes have the changes, however long it takes.
    PatientReply(Reply),
    /// The place's last decision is durable; its overlay entry can be dropped.
    Settled(Place),
    /// The response is durable; its pending copy can be dropped.
    Answered((String, String)),
    /// Continues the sweep.
    SweepSlice,
    /// Continues the deletion of an owner.
    Forget(Owner),
}

/// Writes of one atomic batch, and their effects.
#[derive(Default)]
pub(super) struct Decision {
    /// Empty once pushed: the journal then has them.
    pub(super) ops: Vec<Op>,
    /// Number of the last change so far; `None` if it writes nothing.
    pub(super) seq: u64,
    /// Tallies after this decision.
    pub(super) tallies: Vec<(Space, Tally)>,
    pub(super) applied: Vec<Applied>,
    pub(super) effects: Vec<Effect>,
}

/// Writes made once for all decisions of a batch: the last change's number, and the final tallies.
///
/// # Errors
/// They cannot be encoded.
pub(super) fn totals(aboard: &[Decision]) -> Result<Vec<Op>, StoreError> {
    let mut ops = Vec::new();
    let seq = aboard.iter().map(|decision| decision.seq).max().unwrap_or_default();
    if seq > 0 {
        let rec = Rec { schema: 1, bytes: seq.to_be_bytes().to_vec() };
        ops.push(Op::Put { tree: Tree::MemoryIds, key: place::SEQ.to_vec(), rec });
    }
    let tallies = aboard.iter().flat_map(|decision| &decision.tallies).map(|(space, tally)| (space, *tally));
    for (space, tally) in tallies.collect::<BTreeMap<_, _>>() {
        ops.push(write(space, tally)?);
    }
    Ok(ops)
}

fn write(space: &Space, tally: Tally) -> Result<Op, StoreError> {
    let (tree, key) = (Tree::MemoryIds, place::tally(space));
    Ok(if tally == Tally::default() { Op::Delete { tree, key } } else { Op::Put { tree, key, rec: tally.encode()? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_last_change_is_written_once() {
        let decision = |seq| Decision { seq, ..Decision::default() };
        let ops = totals(&[decision(4), decision(5), decision(0)]).unwrap();
        let rec = Rec { schema: 1, bytes: 5_u64.to_be_bytes().to_vec() };
        assert_eq!(ops, [Op::Put { tree: Tree::MemoryIds, key: place::SEQ.to_vec(), rec }]);
        assert_eq!(totals(&[decision(0)]).unwrap(), [], "nothing was changed");
    }

    #[test]
    fn the_last_figures_of_a_batch_are_written_and_empty_ones_deleted() {
        let (one, two) = (Space::new(Owner::new("a"), "x"), Space::new(Owner::new("a"), "y"));
        let tally = |entries| Tally { entries, ..Tally::default() };
        let decision = |tallies: [u64; 2]| {
            let [of_one, of_two] = tallies.map(tally);
            Decision { tallies: vec![(one.clone(), of_one), (two.clone(), of_two)], ..Decision::default() }
        };
        let ops = totals(&[decision([1, 1]), decision([2, 0])]).unwrap();
        let (tree, rec) = (Tree::MemoryIds, tally(2).encode().unwrap());
        assert_eq!(ops, [Op::Put { tree, key: place::tally(&one), rec }, Op::Delete { tree, key: place::tally(&two) }]);
    }
}
