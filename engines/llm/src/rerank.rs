//! q158: reranking and diversity.

use std::collections::{HashMap, HashSet};

use muster_kernel_words::tokens::{fold, words};

use muster_engine::prelude::*;

use crate::hashing::{DIMENSIONS, cosine, vector};
use crate::tokens::Encoding;

/// Candidates of a call and their bytes.
const MAX_CANDIDATES: usize = 1_000;
const MAX_BYTES: usize = 4_000_000;
const MAX_QUERY: usize = 10_000;
/// Words of the longest query that is looked for as a phrase.
const MAX_PHRASE: usize = 50;
/// Parts of relevance: likeness, share of the query's words, nearness of these words, the exact phrase, and the score
/// that the caller gives (scaled to 1 for the best).
const LIKENESS: f64 = 0.4;
const COVERAGE: f64 = 0.3;
const NEARNESS: f64 = 0.15;
const PHRASE: f64 = 0.15;
const GIVEN: f64 = 0.3;

#[derive(Input)]
pub struct Input {
    query: String,
    candidates: Vec<Candidate>,
    top: usize,
    diversity: f64,
    token_budget: Option<u64>,
}

#[derive(Input)]
struct Candidate {
    id: String,
    text: String,
    score: Option<f64>,
}

#[derive(Output)]
pub struct Output {
    ranked: Vec<Ranked>,
    dropped: Vec<String>,
    tokens: u64,
}

#[derive(Output)]
struct Ranked {
    id: String,
    score: f64,
    relevance: f64,
    novelty: f64,
    tokens: u64,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { query, candidates, top, diversity, token_budget } = input;
    let bytes: usize = candidates.iter().map(|candidate| candidate.text.len()).sum();
    if candidates.len() > MAX_CANDIDATES || bytes > MAX_BYTES || query.len() > MAX_QUERY {
        return Err(Failure::too_large(format!(
            "{} candidates of {bytes} bytes, a query of {} bytes; allowed are {MAX_CANDIDATES}, {MAX_BYTES} and {MAX_QUERY}",
            candidates.len(),
            query.len()
        )));
    }
    let wanted = vector(&query, DIMENSIONS);
    let terms: Vec<String> = words(&query).map(|(_, word)| fold(word)).collect();
    let vectors: Vec<Vec<f64>> = candidates.iter().map(|candidate| vector(&candidate.text, DIMENSIONS)).collect();
    let best = candidates.iter().filter_map(|candidate| candidate.score).fold(0.0, f64::max);
    let relevance: Vec<f64> = candidates
        .iter()
        .zip(&vectors)
        .map(|(candidate, vector)| {
            let found = by_words(&candidate.text, &terms) + LIKENESS * cosine(&wanted, vector).max(0.0);
            match candidate.score.filter(|_| best > 0.0) {
                Some(score) => (1.0 - GIVEN) * found + GIVEN * (score / best).max(0.0),
                None => found,
            }
        })
        .collect();
    let tokens: Vec<u64> = candidates.iter().map(|candidate| Encoding::O200k.count(&candidate.text) as u64).collect();
    let mut nearest: Vec<f64> = vec![0.0; candidates.len()];
    let mut left: Vec<usize> = (0..candidates.len()).collect();
    let (mut ranked, mut used) = (Vec::new(), 0_u64);
    let mut too_long = false;
    while ranked.len() < top {
        let of = |values: &[f64], at: usize| values.get(at).copied().unwrap_or_default();
        // Maximal marginal relevance: with a diversity of 1 only novelty counts, and relevance decides between equals.
        let gain = |at: usize| (1.0 - diversity) * of(&relevance, at) - diversity * of(&nearest, at);
        let fits = |at: &usize| {
            token_budget.is_none_or(|budget| used + tokens.get(*at).copied().unwrap_or_default() <= budget)
        };
        too_long |= left.iter().any(|at| !fits(at));
        let next = left.iter().copied().filter(fits).max_by(|a, b| {
            let relevance = || of(&relevance, *a).total_cmp(&of(&relevance, *b));
            gain(*a).total_cmp(&gain(*b)).then_with(relevance).then(b.cmp(a))
        });
        let Some(chosen) = next else { break };
        left.retain(|at| *at != chosen);
        let size = tokens.get(chosen).copied().unwrap_or_default();
        used += size;
        ranked.push(Ranked {
            id: candidates.get(chosen).map(|candidate| candidate.id.clone()).unwrap_or_default(),
            score: gain(chosen),
            relevance: of(&relevance, chosen),
            novelty: 1.0 - of(&nearest, chosen),
            tokens: size,
        });
        if let Some(vector) = vectors.get(chosen) {
            for (near, other) in nearest.iter_mut().zip(&vectors) {
                *near = near.max(cosine(vector, other));
            }
        }
    }
    if too_long {
        context.warn("budget: candidates were left out because token_budget is used up");
    }
    let dropped = left.iter().filter_map(|at| candidates.get(*at)).map(|candidate| candidate.id.clone()).collect();
    Ok(Output { ranked, dropped, tokens: used })
}

/// Share of the query's words, how near they stand, and the exact phrase.
fn by_words(text: &str, terms: &[String]) -> f64 {
    let wanted: HashSet<&str> = terms.iter().map(String::as_str).collect();
    if wanted.is_empty() {
        return 0.0;
    }
    let found: Vec<String> = words(text).map(|(_, word)| fold(word)).collect();
    let places: Vec<(usize, &str)> =
        found.iter().enumerate().filter_map(|(at, word)| wanted.get(word.as_str()).map(|word| (at, *word))).collect();
    let distinct = places.iter().map(|(_, word)| *word).collect::<HashSet<_>>().len();
    let coverage = distinct as f64 / wanted.len() as f64;
    let nearness = window(&places, distinct).map_or(0.0, |span| distinct as f64 / span as f64);
    let phrase = (2..=MAX_PHRASE).contains(&terms.len()) && found.windows(terms.len()).any(|part| part == terms);
    let several = if distinct > 1 { nearness } else { 0.0 };
    COVERAGE * coverage + NEARNESS * several + if phrase { PHRASE } else { 0.0 }
}

/// Words of the shortest span that holds all `distinct` words.
fn window(places: &[(usize, &str)], distinct: usize) -> Option<usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let (mut first, mut best) = (0, None);
    for (at, word) in places {
        *counts.entry(word).or_default() += 1;
        while counts.len() == distinct {
            let (start, early) = places.get(first)?;
            let span = at - start + 1;
            best = Some(best.map_or(span, |best: usize| best.min(span)));
            first += 1;
            if let Some(count) = counts.get_mut(early) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(early);
                }
            }
        }
    }
    best
}
