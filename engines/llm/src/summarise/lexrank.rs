//! Centrality of sentences (Erkan & Radev, JAIR 22, 2004, sections 3.1 and 3.2).

use std::collections::{BTreeMap, HashMap};

/// Cosine from which sentences are linked; share of the rank that follows links; power iterations and the change that ends
/// them.
const THRESHOLD: f64 = 0.1;
const DAMPING: f64 = 0.85;
const ITERATIONS: usize = 100;
const ENOUGH: f64 = 1e-9;

/// A sentence as numbers of terms with their weights, of length 1.
pub(super) type Terms = Vec<(usize, f64)>;

/// Weighs the terms of sentences by their counts and ln(sentences / sentences with the term) + 1.
pub(super) fn weigh(sentences: &[Vec<String>]) -> Vec<Terms> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut counts: Vec<BTreeMap<usize, f64>> = Vec::new();
    for sentence in sentences {
        let mut of = BTreeMap::new();
        for term in sentence {
            let next = numbers.len();
            *of.entry(*numbers.entry(term).or_insert(next)).or_insert(0.0) += 1.0;
        }
        counts.push(of);
    }
    let mut frequency = vec![0.0; numbers.len()];
    for term in counts.iter().flat_map(BTreeMap::keys) {
        if let Some(count) = frequency.get_mut(*term) {
            *count += 1.0;
        }
    }
    let all = sentences.len() as f64;
    let weighed = |counts: BTreeMap<usize, f64>| {
        let weight = |(term, count): (usize, f64)| {
            (term, count * (1.0 + (all / frequency.get(term).copied().unwrap_or(1.0)).ln()))
        };
        let terms: Terms = counts.into_iter().map(weight).collect();
        let length = terms.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        terms.into_iter().map(|(term, weight)| (term, weight / length)).collect()
    };
    counts.into_iter().map(weighed).collect()
}

/// Cosine of two sentences.
pub(super) fn cosine(a: &Terms, b: &Terms) -> f64 {
    let (mut left, mut right, mut sum) = (a.iter().peekable(), b.iter().peekable(), 0.0);
    while let (Some((x, u)), Some((y, v))) = (left.peek(), right.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => {
                left.next();
            }
            std::cmp::Ordering::Greater => {
                right.next();
            }
            std::cmp::Ordering::Equal => {
                sum += u * v;
                left.next();
                right.next();
            }
        }
    }
    sum
}

/// Of each sentence those that are linked to it, itself among them.
pub(super) fn links(sentences: &[Terms]) -> Vec<Vec<usize>> {
    let mut linked: Vec<Vec<usize>> = (0..sentences.len()).map(|at| vec![at]).collect();
    for (at, sentence) in sentences.iter().enumerate() {
        for (other, terms) in sentences.iter().enumerate().skip(at + 1) {
            if cosine(sentence, terms) > THRESHOLD {
                for (from, to) in [(at, other), (other, at)] {
                    if let Some(links) = linked.get_mut(from) {
                        links.push(to);
                    }
                }
            }
        }
    }
    linked
}

/// Ranks sentences: the stationary distribution of a walk that follows links, and else begins again by `begin`, which
/// sums to 1 (evenly, or by likeness to a query: Otterbacher et al. 2005).
pub(super) fn rank(linked: &[Vec<usize>], begin: &[f64]) -> Vec<f64> {
    let mut ranks = begin.to_vec();
    for _ in 0..ITERATIONS {
        let mut next: Vec<f64> = begin.iter().map(|begin| (1.0 - DAMPING) * begin).collect();
        for (links, rank) in linked.iter().zip(&ranks) {
            let each = DAMPING * rank / links.len().max(1) as f64;
            for to in links {
                if let Some(sum) = next.get_mut(*to) {
                    *sum += each;
                }
            }
        }
        let change: f64 = next.iter().zip(&ranks).map(|(a, b)| (a - b).abs()).sum();
        ranks = next;
        if change < ENOUGH {
            break;
        }
    }
    ranks
}
