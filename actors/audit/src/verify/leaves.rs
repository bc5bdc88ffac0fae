//! The complete subtrees over consecutive leaves.

use muster_tlog::Hash;
use serde_json::Value;

type Subtree = (u32, u64, Hash);

/// Subtrees, each its height, its first leaf and its hash.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves(Vec<Subtree>);

impl Leaves {
    /// Adds the next subtree and joins those that are two halves.
    pub(super) fn push(&mut self, mut height: u32, mut start: u64, mut hash: Hash) {
        while let Some((_, left_start, left)) = self.0.pop_if(|(last, left_start, _)| {
            *last == height && height < 63 && left_start.is_multiple_of(2_u64 << height)
        }) {
            hash = Hash::of_node(&left, &hash);
            start = left_start;
            height += 1;
        }
        self.0.push((height, start, hash));
    }

    /// The root, if these are all leaves up to `end`.
    pub(super) fn root(&self, end: u64) -> Option<Hash> {
        let mut expected = 0_u64;
        for (height, start, _) in &self.0 {
            if *start != expected {
                return None;
            }
            expected = expected.checked_add(1_u64.checked_shl(*height)?)?;
        }
        if expected != end {
            return None;
        }
        let mut root = None;
        for (.., left) in self.0.iter().rev() {
            root = Some(root.map_or(*left, |right| Hash::of_node(left, &right)));
        }
        Some(root.unwrap_or_else(Hash::of_empty_tree))
    }

    pub(super) fn subtrees(&self) -> impl Iterator<Item = Subtree> + '_ {
        self.0.iter().copied()
    }
}

/// Reads the hashes of the subtrees that cover a range beside a part of a log.
pub(super) fn beside(hashes: Option<&Value>, start: u64, end: u64) -> Option<Vec<Subtree>> {
    const NONE: &[Value] = &[];
    let hashes = match hashes {
        None => NONE,
        Some(hashes) => hashes.as_array()?,
    };
    let shapes: Vec<(u32, u64)> = shapes(start, end).collect();
    if hashes.len() != shapes.len() {
        return None;
    }
    let subtree =
        |(hash, (height, start)): (&Value, (u32, u64))| Some((height, start, Hash::from_base64(hash.as_str()?)?));
    hashes.iter().zip(shapes).map(subtree).collect()
}

/// Height and first leaf of the complete subtrees that cover a range.
fn shapes(mut start: u64, end: u64) -> impl Iterator<Item = (u32, u64)> {
    std::iter::from_fn(move || {
        let length = end.checked_sub(start).filter(|length| *length > 0)?;
        let height = length.ilog2().min(start.trailing_zeros());
        let shape = (height, start);
        start += 1 << height;
        Some(shape)
    })
}
