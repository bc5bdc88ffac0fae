//! Proofs of inclusion and consistency, and their verification (RFC 9162, sections 2.1.3.2 and 2.1.4.2, which give the
//! algorithms for the trees of RFC 6962).

use crate::Hash;

/// Maximum length of a path of inclusion: the height of a tree of 64-bit size.
pub const MAX_PATH: usize = 64;

/// A proof does not show what it is said to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The index is not within the tree, or the sizes are not in order.
    #[error("the proof is of an index or size that the tree does not have")]
    Range,
    /// The path has more or fewer hashes than a path at this place.
    #[error("the path has a wrong number of hashes")]
    Length,
    /// The path leads to another root.
    #[error("the path leads to another root")]
    Root,
}

/// Verifies that the leaf with this hash is number `index` of the tree with `size` leaves and this root.
///
/// # Errors
/// [`ProofError`]: the proof is not valid.
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash], root: &Hash) -> Result<(), ProofError> {
    if root_of_inclusion(leaf, index, size, path)? == *root { Ok(()) } else { Err(ProofError::Root) }
}

/// Computes the root to which a path of inclusion leads.
///
/// # Errors
/// [`ProofError::Range`] or [`ProofError::Length`].
pub fn root_of_inclusion(leaf: &Hash, index: u64, size: u64, path: &[Hash]) -> Result<Hash, ProofError> {
    if index >= size {
        return Err(ProofError::Range);
    }
    if path.len() > MAX_PATH {
        return Err(ProofError::Length);
    }
    // The place of the node on the way to the root, and that of the last node at its height.
    let (mut at, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in path {
        if last == 0 {
            return Err(ProofError::Length);
        }
        if at & 1 == 1 || at == last {
            hash = Hash::of_node(sibling, &hash);
            // A last node without a sibling is its own parent.
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = Hash::of_node(&hash, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    if last == 0 { Ok(hash) } else { Err(ProofError::Length) }
}

/// Verifies that the tree with `to` leaves begins with the tree with `from` leaves.
///
/// RFC 6962 defines no proof from an empty tree. Here, as in C2SP tlog-witness, it is the empty path.
///
/// # Errors
/// [`ProofError`]: the proof is not valid.
pub fn verify_consistency(
    from: u64,
    from_root: &Hash,
    to: u64,
    to_root: &Hash,
    path: &[Hash],
) -> Result<(), ProofError> {
    if from > to {
        return Err(ProofError::Range);
    }
    if path.len() > MAX_PATH + 1 {
        return Err(ProofError::Length);
    }
    if from == to || from == 0 {
        if !path.is_empty() {
            return Err(ProofError::Length);
        }
        let equal = if from == to { from_root == to_root } else { *from_root == Hash::of_empty_tree() };
        return if equal { Ok(()) } else { Err(ProofError::Root) };
    }
    // The path begins with a node of both trees. It is left out where it is the whole earlier tree.
    let (start, path) =
        if from.is_power_of_two() { (from_root, path) } else { path.split_first().ok_or(ProofError::Length)? };
    let height = (from - 1).trailing_ones();
    let (mut at, mut last) = ((from - 1).checked_shr(height).unwrap_or(0), (to - 1).checked_shr(height).unwrap_or(0));
    let (mut earlier, mut later) = (*start, *start);
    for node in path {
        if last == 0 {
            return Err(ProofError::Length);
        }
        if at & 1 == 1 || at == last {
            earlier = Hash::of_node(node, &earlier);
            later = Hash::of_node(node, &later);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            later = Hash::of_node(&later, node);
        }
        at >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(ProofError::Length);
    }
    if earlier == *from_root && later == *to_root { Ok(()) } else { Err(ProofError::Root) }
}
