//! q210: Merkle trees of append-only logs (RFC 9162, section 2.1).

use muster_engine::prelude::*;
use sha2_11::{Digest as _, Sha256};

use crate::hex;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    leaves: Vec<Bytes>,
    /// Leaves that are texts, in place of `leaves`.
    lines: Vec<String>,
    index: Option<usize>,
    old_size: Option<usize>,
    proof: Vec<String>,
    root: Option<String>,
    old_root: Option<String>,
}

/// What is done. `verify` recomputes: with `index` it verifies that the proof leads from that leaf to the root, with
/// `old_size` that the log of that size is a prefix, with neither that the leaves have the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Root,
    Inclusion,
    Consistency,
    Verify,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    root: String,
    size: usize,
    proof: Option<Vec<String>>,
    valid: Option<bool>,
}

type Hash = [u8; 32];

const MAX_LEAVES: usize = 100_000;
const MAX_PROOF: usize = 64;

pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    if input.leaves.len().max(input.lines.len()) > MAX_LEAVES || input.proof.len() > MAX_PROOF {
        return Err(Failure::too_large(format!("at most {MAX_LEAVES} leaves and {MAX_PROOF} hashes of a proof")));
    }
    if !input.leaves.is_empty() && !input.lines.is_empty() {
        return Err(Failure::invalid(&["lines"], "are in place of leaves: give one of them"));
    }
    let of_lines = input.lines.iter().map(|line| leaf_hash(line.as_bytes()));
    let hashes: Vec<Hash> = input.leaves.iter().map(|leaf| leaf_hash(&leaf.0)).chain(of_lines).collect();
    let (root, size) = (tree(&hashes), hashes.len());
    let (proof, valid) = match input.operation {
        Operation::Root => (None, None),
        Operation::Inclusion => (Some(inclusion(&hashes, index(&input, size)?)), None),
        Operation::Consistency => (Some(consistency(&hashes, old_size(&input, size)?, true)), None),
        Operation::Verify => (None, Some(verify(&input, &hashes, root)?)),
    };
    let proof = proof.map(|proof| proof.iter().map(|hash| hex::encode(hash)).collect());
    Ok(Output { root: hex::encode(&root), size, proof, valid })
}

fn index(input: &Input, size: usize) -> Result<usize, Failure> {
    let index = input.index.ok_or_else(|| Failure::invalid(&["index"], "is needed"))?;
    if index < size { Ok(index) } else { Err(Failure::invalid(&["index"], format!("must be below the {size} leaves"))) }
}

fn old_size(input: &Input, size: usize) -> Result<usize, Failure> {
    let old = input.old_size.ok_or_else(|| Failure::invalid(&["old_size"], "is needed"))?;
    if (1..=size).contains(&old) {
        Ok(old)
    } else {
        Err(Failure::invalid(&["old_size"], format!("must be from 1 to the {size} leaves")))
    }
}

fn verify(input: &Input, hashes: &[Hash], root: Hash) -> Result<bool, Failure> {
    let read = |name: &str, text: &str| {
        let hash = hex::decode(text.trim()).and_then(|bytes| Hash::try_from(bytes).ok());
        hash.ok_or_else(|| Failure::invalid(&[name], "must be 64 hexadecimal digits"))
    };
    let expected = input.root.as_deref().map(|text| read("root", text)).transpose()?;
    let proof: Result<Vec<Hash>, Failure> = input.proof.iter().map(|text| read("proof", text)).collect();
    let proof = proof?;
    let size = hashes.len();
    if let Some(old) = input.old_root.as_deref() {
        let old = read("old_root", old)?;
        let expected = expected.unwrap_or(root);
        return Ok(is_consistent(old_size(input, size)?, size, &proof, old, expected));
    }
    let expected = expected.ok_or_else(|| Failure::invalid(&["root"], "is needed to verify"))?;
    match input.index {
        Some(_) => {
            let index = index(input, size)?;
            let leaf = hashes.get(index).copied().unwrap_or_default();
            Ok(is_included(leaf, index, size, &proof, expected))
        }
        None => Ok(hex::equal(&expected, &root)),
    }
}

fn leaf_hash(leaf: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(leaf).finalize().into()
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// Leaves of the left subtree: the largest power of two below the size.
fn split(size: usize) -> usize {
    size.next_power_of_two() / 2
}

fn tree(hashes: &[Hash]) -> Hash {
    match hashes {
        [] => Sha256::digest([]).into(),
        [one] => *one,
        more => {
            let (left, right) = more.split_at(split(more.len()));
            node_hash(&tree(left), &tree(right))
        }
    }
}

/// Proof of a leaf, from the leaf to the root.
fn inclusion(hashes: &[Hash], index: usize) -> Vec<Hash> {
    if hashes.len() <= 1 {
        return Vec::new();
    }
    let (left, right) = hashes.split_at(split(hashes.len()));
    let (mut proof, other) = if index < left.len() {
        (inclusion(left, index), tree(right))
    } else {
        (inclusion(right, index - left.len()), tree(left))
    };
    proof.push(other);
    proof
}

/// Proof that the first `old` leaves are those of an earlier tree; `whole` while that tree is a subtree of its own.
fn consistency(hashes: &[Hash], old: usize, whole: bool) -> Vec<Hash> {
    if old == hashes.len() {
        return if whole { Vec::new() } else { vec![tree(hashes)] };
    }
    let (left, right) = hashes.split_at(split(hashes.len()));
    let (mut proof, other) = if old <= left.len() {
        (consistency(left, old, whole), tree(right))
    } else {
        (consistency(right, old - left.len(), false), tree(left))
    };
    proof.push(other);
    proof
}

/// RFC 9162, section 2.1.3.2.
fn is_included(leaf: Hash, index: usize, size: usize, proof: &[Hash], root: Hash) -> bool {
    let (mut at, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node_hash(sibling, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hex::equal(&hash, &root)
}

/// RFC 9162, section 2.1.4.2.
fn is_consistent(old: usize, size: usize, proof: &[Hash], old_root: Hash, root: Hash) -> bool {
    if old == size {
        return proof.is_empty() && hex::equal(&old_root, &root);
    }
    let mut hashes = proof.iter();
    let first = if old.is_power_of_two() { Some(&old_root) } else { hashes.next() };
    let Some(first) = first else { return false };
    let (mut at, mut last) = (old - 1, size - 1);
    while at & 1 == 1 {
        at >>= 1;
        last >>= 1;
    }
    let (mut before, mut after) = (*first, *first);
    for hash in hashes {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            before = node_hash(hash, &before);
            after = node_hash(hash, &after);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            after = node_hash(&after, hash);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hex::equal(&before, &old_root) && hex::equal(&after, &root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(count: usize) -> Vec<Hash> {
        (0..count).map(|at| leaf_hash(&at.to_be_bytes())).collect()
    }

    #[test]
    fn each_proof_verifies_and_each_changed_proof_does_not() {
        for size in 1..20 {
            let all = hashes(size);
            let root = tree(&all);
            for index in 0..size {
                let proof = inclusion(&all, index);
                assert!(is_included(all[index], index, size, &proof, root), "{index} of {size}");
                assert!(!is_included(leaf_hash(b"other"), index, size, &proof, root));
                for at in 0..proof.len() {
                    let mut changed = proof.clone();
                    changed[at][0] ^= 1;
                    assert!(!is_included(all[index], index, size, &changed, root));
                }
            }
            for old in 1..=size {
                let (proof, old_root) = (consistency(&all, old, true), tree(&all[..old]));
                assert!(is_consistent(old, size, &proof, old_root, root), "{old} of {size}");
                assert!(!is_consistent(old, size, &proof, leaf_hash(b"other"), root));
                for at in 0..proof.len() {
                    let mut changed = proof.clone();
                    changed[at][31] ^= 128;
                    assert!(!is_consistent(old, size, &changed, old_root, root));
                }
            }
        }
    }
}
