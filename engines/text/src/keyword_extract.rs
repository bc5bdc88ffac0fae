//! q169: keyword extraction.

#[cfg(test)]
use std::collections::HashSet;
use std::collections::{BTreeMap, HashMap};

use muster_kernel_words::stop::{self, StopWords};
use muster_kernel_words::tokens::{lower, sentences, words};

use muster_engine::prelude::*;

use crate::support::bounded;

/// Bytes of the longest text.
const MAX_BYTES: usize = 1_000_000;
/// Candidates that are compared when phrases that are almost equal are left out.
const MAX_COMPARED: usize = 2_000;
/// Similarity from which a phrase counts as a repetition of a better one.
const SAME: f64 = 0.9;

#[derive(Input)]
pub struct Input {
    text: String,
    language: String,
    max_words: usize,
    top: usize,
    method: Method,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Method {
    Yake,
    Rake,
}

#[derive(Output)]
pub struct Output {
    keywords: Vec<Keyword>,
}

#[derive(Output)]
struct Keyword {
    phrase: String,
    score: f64,
    count: usize,
}

/// A word in its place.
struct Token {
    /// Number in the list of terms.
    term: usize,
    stop: bool,
    /// Digits and signs: a phrase neither begins, ends nor goes on over it.
    odd: bool,
}

/// What is counted of a term.
#[derive(Default)]
struct Term {
    text: String,
    stop: bool,
    count: f64,
    /// Occurrences in capitals, and with a capital that does not begin a sentence.
    acronyms: f64,
    names: f64,
    /// Sentences in which it occurs.
    sentences: Vec<usize>,
    /// Neighbours and how often each was seen.
    left: HashMap<usize, f64>,
    right: HashMap<usize, f64>,
}

/// Words of the text in blocks without punctuation.
#[derive(Default)]
struct Words {
    terms: Vec<Term>,
    numbers: HashMap<String, usize>,
    blocks: Vec<Vec<Token>>,
    sentences: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    bounded([input.text.as_str()], MAX_BYTES)?;
    static NONE: std::sync::LazyLock<StopWords> = std::sync::LazyLock::new(StopWords::new);
    let stop = stop::of(&input.language).unwrap_or_else(|| {
        let language: String = input.language.chars().take(20).collect();
        context.warn(format!("no_stop_words: there is no list for {language:?}; phrases may hold function words"));
        &NONE
    });
    let words = Words::of(&input.text, stop);
    let mut found = match input.method {
        Method::Yake => words.yake(input.max_words),
        Method::Rake => words.rake(input.max_words),
    };
    let better = |a: f64, b: f64| match input.method {
        Method::Yake => a.total_cmp(&b),
        Method::Rake => b.total_cmp(&a),
    };
    found.sort_by(|a, b| better(a.score, b.score).then_with(|| a.phrase.cmp(&b.phrase)));
    let keywords = match input.method {
        Method::Yake => distinct(found, input.top),
        Method::Rake => found.into_iter().take(input.top).collect(),
    };
    Ok(Output { keywords })
}

/// The best phrases without those that are almost equal to a better one.
fn distinct(found: Vec<Keyword>, top: usize) -> Vec<Keyword> {
    let mut kept: Vec<Keyword> = Vec::new();
    for keyword in found.into_iter().take(MAX_COMPARED) {
        if kept.len() >= top {
            break;
        }
        if kept.iter().all(|other| strsim::normalized_levenshtein(&other.phrase, &keyword.phrase) <= SAME) {
            kept.push(keyword);
        }
    }
    kept
}

impl Words {
    fn of(text: &str, stop: &StopWords) -> Self {
        let mut found = Self::default();
        for range in sentences(text) {
            let Some(sentence) = text.get(range) else { continue };
            let mut block: Vec<Token> = Vec::new();
            let (mut end, mut first) = (0, true);
            for (at, word) in words(sentence) {
                // Punctuation ends a phrase; a hyphen or apostrophe joins.
                let between = sentence.get(end..at).unwrap_or_default();
                if between.chars().any(|sign| !sign.is_whitespace() && !matches!(sign, '-' | '\'' | '’' | '‑')) {
                    found.blocks.push(std::mem::take(&mut block));
                }
                end = at + word.len();
                let token = found.token(word, first, stop);
                if let Some(before) = block.last().filter(|before| !before.odd && !token.odd) {
                    let (before, after) = (before.term, token.term);
                    found.meet(before, after);
                }
                block.push(token);
                first = false;
            }
            found.blocks.push(block);
            found.sentences += 1;
        }
        found.blocks.retain(|block| !block.is_empty());
        found
    }

    fn token(&mut self, word: &str, first: bool, stop: &StopWords) -> Token {
        let text = lower(word);
        let odd = text.len() > 100 || !text.chars().any(char::is_alphabetic);
        let is_stop = stop.contains(text.as_str()) || text.chars().nth(2).is_none() && word.is_ascii();
        let next = self.terms.len();
        let term = *self.numbers.entry(text.clone()).or_insert(next);
        if term == next {
            self.terms.push(Term { text, stop: is_stop, ..Term::default() });
        }
        if let Some(term) = self.terms.get_mut(term) {
            let mut letters = word.chars().filter(|letter| letter.is_alphabetic());
            let capital = letters.clone().next().is_some_and(char::is_uppercase);
            term.count += 1.0;
            term.acronyms += f64::from(u8::from(capital && word.len() > 1 && letters.all(char::is_uppercase)));
            term.names += f64::from(u8::from(capital && !first));
            if term.sentences.last() != Some(&self.sentences) {
                term.sentences.push(self.sentences);
            }
        }
        Token { term, stop: is_stop, odd }
    }

    fn meet(&mut self, before: usize, after: usize) {
        if let Some(term) = self.terms.get_mut(before) {
            *term.right.entry(after).or_default() += 1.0;
        }
        if let Some(term) = self.terms.get_mut(after) {
            *term.left.entry(before).or_default() += 1.0;
        }
    }

    /// Phrases of up to `most` words that neither begin nor end with a stop word, with their places.
    fn phrases(&self, most: usize) -> BTreeMap<Vec<usize>, usize> {
        let mut found = BTreeMap::new();
        for block in &self.blocks {
            for at in 0..block.len() {
                for count in 1..=most.min(block.len() - at) {
                    let (Some(first), Some(last)) = (block.get(at), block.get(at + count - 1)) else { break };
                    if first.stop || first.odd || last.odd {
                        break;
                    }
                    if !last.stop {
                        let phrase = block.iter().skip(at).take(count).map(|token| token.term).collect();
                        *found.entry(phrase).or_default() += 1;
                    }
                }
            }
        }
        found
    }

    fn text(&self, phrase: &[usize]) -> String {
        phrase
            .iter()
            .filter_map(|term| self.terms.get(*term))
            .map(|term| term.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Campos et al. 2020, equations 1 to 7; a lower score is better.
    fn yake(&self, most: usize) -> Vec<Keyword> {
        let valid: Vec<f64> = self.terms.iter().filter(|term| !term.stop).map(|term| term.count).collect();
        let mean = valid.iter().sum::<f64>() / valid.len().max(1) as f64;
        let spread = (valid.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / valid.len().max(1) as f64).sqrt();
        let highest = self.terms.iter().map(|term| term.count).fold(1.0, f64::max);
        let weight = |term: &Term| {
            let dispersion = |side: &HashMap<usize, f64>| {
                // Sums of whole numbers do not depend on their order.
                let all: f64 = side.values().sum();
                if all > 0.0 { side.len() as f64 / all } else { 0.0 }
            };
            let relatedness = 1.0 + (dispersion(&term.left) + dispersion(&term.right)) * term.count / highest;
            let casing = term.acronyms.max(term.names) / (1.0 + term.count.ln());
            let position = (3.0 + median(&term.sentences)).ln().ln();
            let frequency = term.count / (mean + spread);
            let sentences = term.sentences.len() as f64 / self.sentences.max(1) as f64;
            position * relatedness / (casing + frequency / relatedness + sentences / relatedness)
        };
        let weights: Vec<f64> = self.terms.iter().map(weight).collect();
        let score = |(phrase, count): (Vec<usize>, usize)| {
            let (mut product, mut sum) = (1.0, 0.0);
            for (at, term) in phrase.iter().enumerate() {
                match self.terms.get(*term) {
                    // A stop word within counts by how surely it follows the word before and stands before the next.
                    Some(term) if term.stop => {
                        let before = at.checked_sub(1).and_then(|at| phrase.get(at)).copied();
                        let after = phrase.get(at + 1).copied();
                        let of = |place: Option<usize>| place.map_or(1.0, |term| self.count(term));
                        let chance = self.pairs(before, phrase.get(at).copied()) / of(before)
                            * self.pairs(phrase.get(at).copied(), after)
                            / of(after);
                        product *= 1.0 + (1.0 - chance);
                        sum -= 1.0 - chance;
                    }
                    Some(_) => {
                        let weight = weights.get(*term).copied().unwrap_or(1.0);
                        product *= weight;
                        sum += weight;
                    }
                    None => {}
                }
            }
            let score = product / (count as f64 * (1.0 + sum).max(f64::MIN_POSITIVE));
            Keyword { phrase: self.text(&phrase), score, count }
        };
        self.phrases(most).into_iter().map(score).filter(|keyword| keyword.score.is_finite()).collect()
    }

    fn count(&self, term: usize) -> f64 {
        self.terms.get(term).map_or(1.0, |term| term.count.max(1.0))
    }

    /// How often one term stands right before another.
    fn pairs(&self, before: Option<usize>, after: Option<usize>) -> f64 {
        let pair = before.and_then(|before| self.terms.get(before)).zip(after);
        pair.and_then(|(term, after)| term.right.get(&after)).copied().unwrap_or(0.0)
    }

    /// Rose et al. 2010: phrases between stop words; sum of degree by frequency of their words; a higher score is better.
    fn rake(&self, most: usize) -> Vec<Keyword> {
        let mut counts: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for block in &self.blocks {
            for part in
                block.split(|token| token.stop || token.odd).filter(|part| !part.is_empty() && part.len() <= most)
            {
                *counts.entry(part.iter().map(|token| token.term).collect()).or_default() += 1;
            }
        }
        let mut degrees: HashMap<usize, (f64, f64)> = HashMap::new();
        for (phrase, count) in &counts {
            for term in phrase {
                let degree = degrees.entry(*term).or_default();
                degree.0 += (phrase.len() * count) as f64;
                degree.1 += *count as f64;
            }
        }
        let score = |(phrase, count): (Vec<usize>, usize)| {
            let ratio = |term: &usize| degrees.get(term).map_or(0.0, |(degree, count)| degree / count);
            Keyword { phrase: self.text(&phrase), score: phrase.iter().map(ratio).sum(), count }
        };
        counts.into_iter().map(score).collect()
    }
}

fn median(sorted: &[usize]) -> f64 {
    let value = |at: usize| sorted.get(at).copied().unwrap_or_default() as f64;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => value(odd / 2),
        even => f64::midpoint(value(even / 2 - 1), value(even / 2)),
    }
}

#[cfg(test)]
#[test]
fn a_stop_word_ends_no_phrase() {
    let words = Words::of("The flood of the river in town", stop::of("en").unwrap());
    let found: HashSet<String> = words.phrases(4).keys().map(|phrase| words.text(phrase)).collect();
    assert!(found.contains("flood of the river") && !found.iter().any(|phrase| phrase.ends_with("the")));
}

/// yake 0.7.3 with this list of stop words and `dedup_lim=1.0`.
#[cfg(test)]
#[test]
fn phrases_over_stop_words_are_those_of_yake() {
    let text = "The fort of water and the fort of stone. Water of rain fell. People of water came.";
    let words = Words::of(text, stop::of("en").unwrap());
    let found = words.yake(3);
    for (phrase, score) in [
        ("fort of stone", 0.022_890_488_405_737_312),
        ("fort of water", 0.095_134_612_881_334_42),
        ("water of rain", 0.506_397_179_387_116),
    ] {
        let ours = found.iter().find(|keyword| keyword.phrase == phrase).map(|keyword| keyword.score);
        assert!(ours.is_some_and(|ours| (ours - score).abs() < 1e-12), "{phrase}: {ours:?}");
    }
}
