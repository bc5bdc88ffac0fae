//! Selects the pairs to compare.

use std::collections::{BTreeMap, BTreeSet};

use super::{Record, compare};
use muster_engine::Failure;

/// Maximum number of pairs per call.
const MAX_PAIRS: usize = 1_000_000;

/// All pairs, or those that agree in one of the fields `on`; within one table each pair once.
pub(super) fn pairs(
    left: &[&Record],
    right: Option<&[&Record]>,
    on: &[String],
) -> Result<Vec<(usize, usize)>, Failure> {
    let too_many = || {
        let how =
            if on.is_empty() { "give block_on a field on which true pairs agree" } else { "block on finer fields" };
        Failure::too_large(format!("more than {MAX_PAIRS} pairs would be compared: {how}"))
    };
    if on.is_empty() {
        let (count, others) = (left.len(), right.map_or(left.len(), <[_]>::len));
        let all = if right.is_some() { count.saturating_mul(others) } else { count.saturating_mul(count) / 2 };
        if all > MAX_PAIRS {
            return Err(too_many());
        }
        let of =
            |one: usize| (if right.is_some() { 0 } else { one.saturating_add(1) }..others).map(move |two| (one, two));
        return Ok((0..count).flat_map(of).collect());
    }
    let mut pairs = BTreeSet::new();
    for name in on {
        let (blocks, others) = (blocks(left, name), right.map(|right| blocks(right, name)));
        for (key, block) in &blocks {
            let beside = match &others {
                Some(others) => others.get(key).map(Vec::as_slice).unwrap_or_default(),
                None => block,
            };
            for &one in block {
                pairs.extend(beside.iter().filter(|&&two| right.is_some() || one < two).map(|&two| (one, two)));
                if pairs.len() > MAX_PAIRS {
                    return Err(too_many());
                }
            }
        }
    }
    Ok(pairs.into_iter().collect())
}

/// Records by value; records without one are in no block.
fn blocks(records: &[&Record], name: &str) -> BTreeMap<String, Vec<usize>> {
    let mut blocks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        if let Some(key) = compare::plain(record.get(name)) {
            blocks.entry(key).or_default().push(index);
        }
    }
    blocks
}
