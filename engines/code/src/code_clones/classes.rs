//! Merges clone pairs to clone classes: all occurrences of the same code.

use std::collections::{BTreeMap, BTreeSet};

use super::Tokens;
use super::fingerprint::{At, Pair, mix};

/// The same tokens at two or more places.
#[derive(Debug)]
pub(super) struct Class {
    pub tokens: usize,
    /// In the order of the files; they do not overlap.
    pub places: Vec<At>,
}

/// Returns the classes, largest first. A class is omitted if all its places lie in larger classes with as many places.
pub(super) fn classes(files: &[Tokens], pairs: &[Pair]) -> Vec<Class> {
    let mut alike: BTreeMap<(usize, u64), BTreeSet<At>> = BTreeMap::new();
    for pair in pairs {
        let places = alike.entry((pair.tokens, content(files, pair))).or_default();
        places.extend([pair.first, pair.second]);
    }
    let mut classes: Vec<Class> =
        alike.into_iter().map(|((tokens, _), places)| Class { tokens, places: apart(places, tokens) }).collect();
    classes.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.places.cmp(&b.places)));
    // For each token, the largest number of places of a class that covers it.
    let mut covered: Vec<Vec<u32>> = files.iter().map(|file| vec![0; file.ids.len()]).collect();
    classes.retain(|class| {
        let many = u32::try_from(class.places.len()).unwrap_or(u32::MAX);
        let is_new = class.places.iter().any(|&place| {
            span(&covered, place, class.tokens).is_some_and(|span| span.iter().any(|&covered| covered < many))
        });
        if many < 2 || !is_new {
            return false;
        }
        for &(file, at) in &class.places {
            let span = covered.get_mut(file).and_then(|file| file.get_mut(at..at + class.tokens));
            span.into_iter().flatten().for_each(|covered| *covered = many.max(*covered));
        }
        true
    });
    classes
}

/// Returns the share of tokens that belong to a class.
pub(super) fn share(files: &[Tokens], classes: &[Class]) -> f64 {
    let mut covered: Vec<Vec<u32>> = files.iter().map(|file| vec![0; file.ids.len()]).collect();
    for class in classes {
        for &(file, at) in &class.places {
            let span = covered.get_mut(file).and_then(|file| file.get_mut(at..at + class.tokens));
            span.into_iter().flatten().for_each(|covered| *covered = 1);
        }
    }
    let all: usize = files.iter().map(|file| file.ids.len()).sum();
    let within: u32 = covered.iter().flatten().sum();
    if all == 0 { 0.0 } else { f64::from(within) / all as f64 }
}

fn content(files: &[Tokens], pair: &Pair) -> u64 {
    let (file, at) = pair.first;
    let ids = files.get(file).and_then(|file| file.ids.get(at..at + pair.tokens)).unwrap_or_default();
    ids.iter().fold(0, |hash: u64, &id| mix((hash ^ (hash >> 32)) as u32 ^ id).wrapping_add(hash.rotate_left(23)))
}

/// Drops places that overlap an earlier one.
fn apart(places: BTreeSet<At>, tokens: usize) -> Vec<At> {
    let mut kept: Vec<At> = Vec::new();
    for (file, at) in places {
        if kept.last().is_none_or(|&(other, before)| other != file || before + tokens <= at) {
            kept.push((file, at));
        }
    }
    kept
}

fn span(covered: &[Vec<u32>], (file, at): At, tokens: usize) -> Option<&[u32]> {
    covered.get(file)?.get(at..at + tokens)
}
