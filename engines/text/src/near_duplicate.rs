//! q172: near-duplicate messages.

use std::collections::{BTreeMap, HashMap, HashSet};

use muster_kernel_words::tokens::{fold, words};

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, bounded};

/// Hash functions of a signature.
const PERMUTATIONS: usize = 128;
/// Documents of a call.
const MAX_DOCUMENTS: usize = 20_000;
/// Pairs that are compared exactly, and listed.
const MAX_CANDIDATES: usize = 2_000_000;
const MAX_PAIRS: usize = 20_000;
/// Numbers of rows of a band that divide the signature.
const ROWS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Chance with which a pair at the threshold may be overlooked.
const MISSED: f64 = 1e-3;

#[derive(Input)]
pub struct Input {
    documents: Vec<Document>,
    threshold: f64,
    shingle: usize,
}

#[derive(Input)]
struct Document {
    id: String,
    text: String,
    time: Option<Timestamp>,
}

#[derive(Output)]
pub struct Output {
    groups: Vec<Group>,
    unique: usize,
    pairs: Vec<Pair>,
}

#[derive(Output)]
struct Group {
    representative: String,
    members: Vec<String>,
    similarity: f64,
}

#[derive(Output)]
struct Pair {
    a: String,
    b: String,
    jaccard: f64,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { documents, threshold, shingle } = input;
    bounded(documents.iter().map(|document| document.text.as_str()), MAX_BYTES)?;
    if documents.len() > MAX_DOCUMENTS {
        let message = format!("{} documents, {MAX_DOCUMENTS} are allowed: compare them in parts", documents.len());
        return Err(Failure::too_large(message));
    }
    Failure::unless_distinct("documents", "document", documents.iter().map(|document| document.id.as_str()))?;
    let sets: Vec<Vec<u64>> = documents.iter().map(|document| shingles(&document.text, shingle)).collect();
    let Alike { classes, pairs: alike } = alike(&sets, threshold)?;
    let mut union = Union((0..documents.len()).collect());
    let first = |class: usize| classes.get(class).and_then(|class| class.first()).copied().unwrap_or_default();
    for class in &classes {
        class.iter().skip(1).zip(class).for_each(|(b, a)| union.join(*a, *b));
    }
    for (a, b, _) in &alike {
        union.join(first(*a), first(*b));
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..documents.len() {
        members.entry(union.root(at)).or_default().push(at);
    }
    // Copies are alike with 1; each pair of classes stands for all pairs of their documents.
    let mut sums: HashMap<usize, (f64, f64)> = HashMap::new();
    let mut add = |document: usize, pairs: f64, jaccard: f64| {
        let sum = sums.entry(union.root(document)).or_default();
        *sum = (sum.0 + pairs * jaccard, sum.1 + pairs);
    };
    let size = |class: usize| classes.get(class).map_or(0.0, |class| class.len() as f64);
    for class in 0..classes.len() {
        add(first(class), size(class) * (size(class) - 1.0) / 2.0, 1.0);
    }
    for (a, b, jaccard) in &alike {
        add(first(*a), size(*a) * size(*b), *jaccard);
    }
    let unique = members.len();
    let id = |at: usize| documents.get(at).map_or(String::new(), |document| document.id.clone());
    let time = |at: usize| documents.get(at).and_then(|document| document.time);
    let group = |(root, group): (usize, Vec<usize>)| {
        // The earliest; one without a time comes after all that have one, and at last the order of the input counts.
        let first = group.iter().copied().min_by_key(|at| (time(*at).is_none(), time(*at), *at)).unwrap_or(root);
        let (sum, count) = sums.get(&root).copied().unwrap_or((1.0, 1.0));
        Group {
            representative: id(first),
            members: group.into_iter().map(id).collect(),
            similarity: (sum / count).clamp(0.0, 1.0),
        }
    };
    let groups = members.into_iter().filter(|(_, group)| group.len() > 1).map(group).collect();
    let mut pairs = listed(&classes, &alike);
    if pairs.len() > MAX_PAIRS {
        context.warn(format!("shortened: {MAX_PAIRS} pairs are listed, there are more; groups are complete"));
        pairs.truncate(MAX_PAIRS);
    }
    pairs.sort_by_key(|(a, b, _)| (*a, *b));
    let pairs = pairs.into_iter().map(|(a, b, jaccard)| Pair { a: id(a), b: id(b), jaccard }).collect();
    Ok(Output { groups, unique, pairs })
}

/// Hashes of the runs of `n` words, folded, sorted; of a text with fewer words that of all of them. A text without
/// words has none and is like no other.
fn shingles(text: &str, n: usize) -> Vec<u64> {
    let words: Vec<u64> = words(text).map(|(_, word)| hash(fold(word).as_bytes())).collect();
    let one = |words: &[u64]| words.iter().fold(0x9e37_79b9, |sum, word| mix(sum ^ *word));
    let mut found: Vec<u64> = match words.len() {
        0 => Vec::new(),
        short if short < n => vec![one(&words)],
        _ => words.windows(n.max(1)).map(one).collect(),
    };
    found.sort_unstable();
    found.dedup();
    found
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Finaliser of SplitMix64, a permutation of 64-bit numbers.
fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Classes of documents with equal sets, and pairs of classes (numbers in `classes`) with their Jaccard index.
struct Alike {
    classes: Vec<Vec<usize>>,
    pairs: Vec<(usize, usize, f64)>,
}

/// Finds all pairs whose Jaccard index is at least the threshold. Candidates share a band of their signatures. Equal sets
/// are one candidate: a message that is repeated 20,000 times is not 200 million pairs.
fn alike(sets: &[Vec<u64>], threshold: f64) -> Result<Alike, Failure> {
    let mut equal: HashMap<&[u64], Vec<usize>> = HashMap::new();
    for (at, set) in sets.iter().enumerate().filter(|(_, set)| !set.is_empty()) {
        equal.entry(set).or_default().push(at);
    }
    let mut distinct: Vec<(&[u64], Vec<usize>)> = equal.into_iter().collect();
    distinct.sort_by_key(|(_, members)| members.first().copied());
    let signatures: Vec<Vec<u32>> = distinct.iter().map(|(set, _)| signature(set)).collect();
    let mut candidates: HashSet<(usize, usize)> = HashSet::new();
    let mut compared = 0_usize;
    for band in signature_bands(threshold) {
        let mut buckets: HashMap<&[u32], Vec<usize>> = HashMap::new();
        for (at, signature) in signatures.iter().enumerate() {
            buckets.entry(signature.get(band.clone()).unwrap_or_default()).or_default().push(at);
        }
        compared =
            buckets.values().fold(compared, |sum, bucket| sum.saturating_add(bucket.len() * (bucket.len() - 1) / 2));
        if compared > MAX_CANDIDATES {
            let message = format!("more than {MAX_CANDIDATES} pairs are candidates: raise threshold or shingle");
            return Err(Failure::too_large(message));
        }
        for bucket in buckets.values() {
            for (at, a) in bucket.iter().enumerate() {
                candidates.extend(bucket.iter().skip(at + 1).map(|b| (*a, *b)));
            }
        }
    }
    let measured = |(a, b): (usize, usize)| {
        let sets = distinct.get(a).zip(distinct.get(b));
        (a, b, sets.map_or(0.0, |((a, _), (b, _))| jaccard(a, b)))
    };
    let mut pairs: Vec<_> =
        candidates.into_iter().map(measured).filter(|(.., jaccard)| *jaccard >= threshold).collect();
    pairs.sort_by_key(|(a, b, _)| (*a, *b));
    Ok(Alike { classes: distinct.into_iter().map(|(_, members)| members).collect(), pairs })
}

/// Pairs of documents, at most one more than are listed.
fn listed(classes: &[Vec<usize>], alike: &[(usize, usize, f64)]) -> Vec<(usize, usize, f64)> {
    let of = |class: &usize| classes.get(*class).map(Vec::as_slice).unwrap_or_default();
    let across = alike.iter().flat_map(|(a, b, jaccard)| {
        of(a).iter().flat_map(move |a| of(b).iter().map(move |b| (*a.min(b), *a.max(b), *jaccard)))
    });
    let copies = classes.iter().flat_map(|class| {
        class.iter().enumerate().flat_map(move |(at, a)| class.iter().skip(at + 1).map(move |b| (*a, *b, 1.0)))
    });
    copies.chain(across).take(MAX_PAIRS + 1).collect()
}

fn signature(set: &[u64]) -> Vec<u32> {
    let least = |permutation: usize| {
        let key = mix(permutation as u64);
        // The upper half of a mixed number.
        set.iter().map(|shingle| (mix(shingle ^ key) >> 32) as u32).min().unwrap_or(u32::MAX)
    };
    (0..PERMUTATIONS).map(least).collect()
}

/// Bands of as many rows as overlook a pair at the threshold with a chance of at most [`MISSED`].
fn signature_bands(threshold: f64) -> impl Iterator<Item = std::ops::Range<usize>> {
    let missed = |rows: usize| {
        let bands = i32::try_from(PERMUTATIONS / rows).unwrap_or(1);
        (1.0 - threshold.powi(i32::try_from(rows).unwrap_or(1))).powi(bands)
    };
    let rows = ROWS.into_iter().rev().find(|rows| missed(*rows) <= MISSED).unwrap_or(1);
    (0..PERMUTATIONS / rows).map(move |band| band * rows..(band + 1) * rows)
}

/// Share of common members of two sorted sets.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    let mut common = 0_usize;
    while let (Some(x), Some(y)) = (left.peek(), right.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                left.next();
                right.next();
            }
        }
    }
    common as f64 / (a.len() + b.len() - common).max(1) as f64
}

/// Disjoint sets; the least member is the root.
struct Union(Vec<usize>);

impl Union {
    fn root(&mut self, at: usize) -> usize {
        let mut root = at;
        while let Some(parent) = self.0.get(root).copied().filter(|parent| *parent != root) {
            root = parent;
        }
        // Path compression.
        let mut step = at;
        while let Some(parent) = self.0.get_mut(step).filter(|parent| **parent != root) {
            step = std::mem::replace(parent, root);
        }
        root
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if let Some(parent) = self.0.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}
