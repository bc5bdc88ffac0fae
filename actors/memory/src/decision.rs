//! Decisions about entries: writes, and their effects once durable.

use std::collections::BTreeMap;

use muster_store::{Op, Rec, Record, StoreError, Tree};

use super::keys;
use super::port::{Applied, ApplyOutcome};
use super::record::{Owner, Place, Space, Usage};
use muster_core::Error;

/// Sends the response, given whether the changes are indexed or why they were not stored.
pub(super) type Reply = Box<dyn FnOnce(Result<ApplyOutcome, Error>) + Send>;

/// Effect of a decision once it is durable.
pub(super) enum Effect {
    /// Responds once the indexes have the changes, and also if storing failed.
    Reply(Reply),
    /// Responds once the indexes have the changes, however long it takes.
    PatientReply(Reply),
    /// The place's last decision is durable; its overlay entry can be dropped.
    Settled(Place),

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
    /// Usage after this decision.
    pub(super) usages: Vec<(Space, Usage)>,
    pub(super) applied: Vec<Applied>,
    pub(super) effects: Vec<Effect>,
}

/// Writes made once for all decisions of a batch: the last change's number, and the final usage of each space.
///
/// # Errors
/// They cannot be encoded.
pub(super) fn totals(decisions: &[Decision]) -> Result<Vec<Op>, StoreError> {
    let mut ops = Vec::new();
    let seq = decisions.iter().map(|decision| decision.seq).max().unwrap_or_default();
    if seq > 0 {
        let rec = Rec { schema: 1, bytes: seq.to_be_bytes().to_vec() };
        ops.push(Op::Put { tree: Tree::MemoryIds, key: keys::SEQ.to_vec(), rec });
    }
    let usages = decisions.iter().flat_map(|decision| &decision.usages).map(|(space, usage)| (space, *usage));
    for (space, usage) in usages.collect::<BTreeMap<_, _>>() {
        ops.push(write(space, usage)?);
    }
    Ok(ops)
}

fn write(space: &Space, usage: Usage) -> Result<Op, StoreError> {
    let (tree, key) = (Tree::MemoryIds, keys::usage(space));
    Ok(if usage == Usage::default() { Op::Delete { tree, key } } else { Op::Put { tree, key, rec: usage.encode()? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_last_change_is_written_once_per_batch() {
        let decision = |seq| Decision { seq, ..Decision::default() };
        let ops = totals(&[decision(4), decision(5), decision(0)]).unwrap();
        let rec = Rec { schema: 1, bytes: 5_u64.to_be_bytes().to_vec() };
        assert_eq!(ops, [Op::Put { tree: Tree::MemoryIds, key: keys::SEQ.to_vec(), rec }]);
        assert_eq!(totals(&[decision(0)]).unwrap(), [], "nothing was changed");
    }

    #[test]
    fn the_last_usage_of_a_batch_is_written_and_empty_usage_deleted() {
        let (one, two) = (Space::new(Owner::new("a"), "x"), Space::new(Owner::new("a"), "y"));
        let usage = |entries| Usage { entries, ..Usage::default() };
        let decision = |usages: [u64; 2]| {
            let [of_one, of_two] = usages.map(usage);
            Decision { usages: vec![(one.clone(), of_one), (two.clone(), of_two)], ..Decision::default() }
        };
        let ops = totals(&[decision([1, 1]), decision([2, 0])]).unwrap();
        let (tree, rec) = (Tree::MemoryIds, usage(2).encode().unwrap());
        assert_eq!(ops, [Op::Put { tree, key: keys::usage(&one), rec }, Op::Delete { tree, key: keys::usage(&two) }]);
    }
}
