//! Finds pairs of equal token runs by winnowed fingerprints (Schleimer, Wilkerson and Aiken 2003).

use std::collections::{HashMap, VecDeque};

use super::Tokens;

/// Up to this many places of one fingerprint are compared pairwise; beyond it each only with the next.
const MAX_BUCKET: usize = 64;
/// Maximum number of candidate pairs.
const MAX_CANDIDATES: usize = 1_000_000;
/// Maximum number of tokens compared in total.
const MAX_COMPARED: usize = 100_000_000;

/// Odd, so that no token is lost modulo 2^64 (Karp and Rabin 1987 use a prime; wrapping arithmetic is cheaper).
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A place: index of the file, and of a token in it.
pub(super) type At = (usize, usize);

/// Two places with the same `tokens` tokens, the earlier first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub first: At,
    pub second: At,
    pub tokens: usize,
}

#[derive(Default)]
pub(super) struct ClonePairs {
    pub pairs: Vec<Pair>,
    /// Whether a limit was reached.
    pub is_cut: bool,
}

/// Returns every pair of at least `least` tokens that cannot be extended at either end.
pub(super) fn pairs(files: &[Tokens], least: usize) -> ClonePairs {
    let window = least / 2;
    // With windows of w runs of k tokens, any equal runs of w + k - 1 tokens share a fingerprint.
    let length = least - window + 1;
    let mut prints: Vec<(u64, At)> = Vec::new();
    for (file, tokens) in files.iter().enumerate() {
        winnow(&hashes(&tokens.ids, length), window, |hash, at| prints.push((hash, (file, at))));
    }
    prints.sort_unstable();
    let mut found = ClonePairs::default();
    let mut candidates: Vec<(At, At)> = Vec::new();
    for bucket in prints.chunk_by(|a, b| a.0 == b.0) {
        found.is_cut |= bucket.len() > MAX_BUCKET;
        for (index, &(_, first)) in bucket.iter().enumerate() {
            let after = bucket.get(index + 1..).unwrap_or_default();
            // A nearer place in the same file would overlap.
            let near = after.partition_point(|&(_, second)| second.0 == first.0 && second.1 - first.1 < least);
            let most = if bucket.len() > MAX_BUCKET { 1 } else { bucket.len() };
            candidates.extend(after.iter().skip(near).take(most).map(|&(_, second)| (first, second)));
        }
        if candidates.len() > MAX_CANDIDATES {
            found.is_cut = true;
            break;
        }
    }
    candidates.sort_unstable();
    extend_all(files, &candidates, least, &mut found);
    found
}

fn extend_all(files: &[Tokens], candidates: &[(At, At)], least: usize, found: &mut ClonePairs) {
    // How far each pair of files was compared at each offset: earlier tokens belong to an earlier pair.
    let mut compared: HashMap<(usize, usize, usize, usize), usize> = HashMap::new();
    let mut work = 0;
    for &(first, second) in candidates {
        let (shift, back) = (second.1.saturating_sub(first.1), first.1.saturating_sub(second.1));
        let until = compared.entry((first.0, second.0, shift, back)).or_default();
        if first.1 < *until {
            continue;
        }
        let Some(pair) = extend(files, first, second) else { continue };
        *until = pair.first.1 + pair.tokens;
        work += pair.tokens + 1;
        if work > MAX_COMPARED {
            found.is_cut = true;
            return;
        }
        if pair.tokens >= least {
            push(pair, shift, &mut found.pairs);
        }
    }
}

/// Within one file two places may not overlap: periodic code is repeated as non-overlapping blocks.
fn push(pair: Pair, step: usize, pairs: &mut Vec<Pair>) {
    if pair.first.0 != pair.second.0 || pair.tokens <= step {
        pairs.push(pair);
        return;
    }
    let at = |block: usize| (pair.first.0, pair.first.1 + block * step);
    pairs.extend((0..pair.tokens / step).map(|block| Pair { first: at(block), second: at(block + 1), tokens: step }));
}

fn extend(files: &[Tokens], first: At, second: At) -> Option<Pair> {
    let (a, b) = (&files.get(first.0)?.ids, &files.get(second.0)?.ids);
    let (a_before, a_after) = a.split_at_checked(first.1)?;
    let (b_before, b_after) = b.split_at_checked(second.1)?;
    let back = a_before.iter().rev().zip(b_before.iter().rev()).take_while(|(a, b)| a == b).count();
    let ahead = a_after.iter().zip(b_after).take_while(|(a, b)| a == b).count();
    Some(Pair { first: (first.0, first.1 - back), second: (second.0, second.1 - back), tokens: back + ahead })
}

/// Rolling hashes of all runs of `length` tokens.
fn hashes(ids: &[u32], length: usize) -> Vec<u64> {
    let top = (1..length).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    let mut hashes = Vec::with_capacity(ids.len());
    let leaving = std::iter::repeat_n(None, length).chain(ids.iter().map(Some));
    for (index, (&id, gone)) in ids.iter().zip(leaving).enumerate() {
        if let Some(&gone) = gone {
            hash = hash.wrapping_sub(mix(gone).wrapping_mul(top));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(mix(id));
        if index + 1 >= length {
            hashes.push(hash);
        }
    }
    hashes
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014): it spreads similar inputs.
pub(super) fn mix(id: u32) -> u64 {
    let hash = u64::from(id).wrapping_add(BASE);
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Selects the minimum hash of each window, the rightmost of equal ones; each once.
fn winnow(hashes: &[u64], window: usize, mut keep: impl FnMut(u64, usize)) {
    // Candidates for the minimum of a window, in increasing order.
    let mut least: VecDeque<(u64, usize)> = VecDeque::new();
    let mut last = None;
    for (at, &hash) in hashes.iter().enumerate() {
        while least.back().is_some_and(|&(other, _)| other >= hash) {
            least.pop_back();
        }
        least.push_back((hash, at));
        while least.front().is_some_and(|&(_, oldest)| oldest + window <= at) {
            least.pop_front();
        }
        // A source shorter than a window still has one.
        if at + 1 >= window.min(hashes.len())
            && let Some(&(hash, at)) = least.front()
            && last != Some(at)
        {
            keep(hash, at);
            last = Some(at);
        }
    }
}
