//! q180: topics over many short reports.

mod nmf;
mod sparse;
mod svd;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use muster_kernel_words::stop;
use muster_kernel_words::tokens::{lower, words};

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, Vocabulary, bounded, stemmer};
use nmf::{Factors, factorise};
use sparse::Sparse;

/// Documents of a call, and terms that are compared.
const MAX_DOCUMENTS: usize = 20_000;
const MAX_TERMS: usize = 10_000;
/// Terms and examples of a topic, and spans of its trend.
const TERMS: usize = 10;
const EXAMPLES: usize = 3;
const SPANS: usize = 10;
/// Topic of a document without terms.
const NONE: i64 = -1;

#[derive(Input)]
pub struct Input {
    documents: Vec<Document>,
    topics: usize,
    language: String,
    seed: i64,
}

#[derive(Input)]
struct Document {
    id: String,
    text: String,
    time: Option<Timestamp>,
}

#[derive(Output)]
pub struct Output {
    topics: Vec<Topic>,
    assignments: Vec<Assignment>,
    error: f64,
}

#[derive(Output)]
struct Topic {
    id: usize,
    terms: Vec<String>,
    size: usize,
    examples: Vec<String>,
    coherence: f64,
    trend: Vec<f64>,
}

#[derive(Output)]
struct Assignment {
    id: String,
    topic: i64,
    weight: f64,
}

/// The documents as numbers: of each the terms with their counts, and how each term is written.
struct Counted {
    documents: Vec<BTreeMap<usize, f64>>,
    written: Vec<String>,
    /// Documents that have a term.
    frequency: Vec<f64>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let documents = &input.documents;
    bounded(documents.iter().map(|document| document.text.as_str()), MAX_BYTES)?;
    if documents.len() > MAX_DOCUMENTS {
        let message = format!("{} documents, {MAX_DOCUMENTS} are allowed: take a sample", documents.len());
        return Err(Failure::too_large(message));
    }
    Failure::unless_distinct("documents", "document", documents.iter().map(|document| document.id.as_str()))?;
    let counted = count(documents, &input.language, cx);
    let with: usize = counted.documents.iter().filter(|terms| !terms.is_empty()).count();
    if with < 2 || counted.written.len() < 2 {
        let message = format!("{with} documents have words that are no stop words; topics need two or more");
        return Err(Failure::no_answer(NoAnswer::TooFew, message));
    }
    let matrix = weighted(&counted);
    let wanted = input.topics.min(with).min(counted.written.len());
    let factors = factorise(&matrix, wanted, input.seed, cx);
    if factors.count < input.topics {
        cx.warn(format!(
            "fewer_topics: {} instead of {}: the documents have no more directions",
            factors.count, input.topics
        ));
    }
    if !factors.converged {
        cx.warn("not_converged: the updates ended at their bound; topics may be blurred");
    }
    Ok(output(documents, &counted, &factors))
}

/// Counts stems without stop words and words without letters; of more than `MAX_TERMS` those in the most documents.
fn count(documents: &[Document], language: &str, cx: &Context) -> Counted {
    let stemmer = stemmer(language, cx);
    let stop = stop::of(language);
    if stop.is_none() {
        let language: String = language.chars().take(20).collect();
        cx.warn(format!("no_stop_words: there is no list for {language:?}; topics may be of function words"));
    }
    let mut vocabulary = Vocabulary::default();
    let mut forms: HashMap<u32, BTreeMap<String, usize>> = HashMap::new();
    let mut all: Vec<BTreeMap<u32, f64>> = Vec::new();
    for document in documents {
        let mut counts = BTreeMap::new();
        for (_, word) in words(&document.text) {
            let word = lower(word);
            let plain = word.chars().any(char::is_alphabetic) && word.len() <= 100;
            if !plain || stop.is_some_and(|stop| stop.contains(word.as_str())) {
                continue;
            }
            let stem = stemmer.as_ref().map_or_else(|| word.clone(), |stemmer| stemmer.stem(&word).into_owned());
            let number = vocabulary.number(stem);
            *counts.entry(number).or_insert(0.0) += 1.0;
            *forms.entry(number).or_default().entry(word).or_default() += 1;
        }
        all.push(counts);
    }
    let mut frequency = vec![0.0; vocabulary.terms.len()];
    for number in all.iter().flat_map(BTreeMap::keys) {
        if let Some(count) = frequency.get_mut(*number as usize) {
            *count += 1.0;
        }
    }
    let mut order: Vec<(u32, f64)> = (0..).zip(frequency).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    if order.len() > MAX_TERMS {
        cx.warn(format!("cut: of {} terms the {MAX_TERMS} of the most documents are compared", order.len()));
        order.truncate(MAX_TERMS);
    }
    order.sort_by_key(|(number, _)| *number);
    let places: HashMap<u32, usize> = order.iter().enumerate().map(|(place, (number, _))| (*number, place)).collect();
    // The form that occurs most often, of equal ones the first in the alphabet, stands for a stem.
    let written = |number: &u32| {
        let best = forms.get(number).into_iter().flatten().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        best.map_or_else(|| vocabulary.term(*number).to_owned(), |(form, _)| form.clone())
    };
    let kept = |counts: BTreeMap<u32, f64>| {
        counts.into_iter().filter_map(|(number, count)| Some((*places.get(&number)?, count))).collect()
    };
    Counted {
        documents: all.into_iter().map(kept).collect(),
        written: order.iter().map(|(number, _)| written(number)).collect(),
        frequency: order.iter().map(|(_, frequency)| *frequency).collect(),
    }
}

/// Counts times ln((1 + n) / (1 + documents with the term)) + 1, each document with length 1.
fn weighted(counted: &Counted) -> Sparse {
    let all = counted.documents.len() as f64;
    let row = |counts: &BTreeMap<usize, f64>| {
        let weight = |(term, count): (&usize, &f64)| {
            let frequency = counted.frequency.get(*term).copied().unwrap_or_default();
            (*term, count * (((1.0 + all) / (1.0 + frequency)).ln() + 1.0))
        };
        let mut row: Vec<(usize, f64)> = counts.iter().map(weight).collect();
        let length = row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
        row.iter_mut().for_each(|(_, value)| *value /= length);
        row
    };
    Sparse::new(counted.documents.iter().map(row).collect(), counted.written.len())
}

fn output(documents: &[Document], counted: &Counted, factors: &Factors) -> Output {
    let count = factors.count.max(1);
    // Of topics with length 1 the weights of documents can be compared.
    let mut lengths = vec![0.0; count];
    for row in factors.terms.chunks_exact(count) {
        lengths.iter_mut().zip(row).for_each(|(length, value)| *length += value * value);
    }
    let share = |row: &[f64]| -> Vec<f64> {
        let scaled: Vec<f64> = row.iter().zip(&lengths).map(|(value, length)| value * f64::sqrt(*length)).collect();
        let sum: f64 = scaled.iter().sum();
        if sum > 0.0 { scaled.into_iter().map(|value| value / sum).collect() } else { vec![0.0; count] }
    };
    let shares: Vec<Vec<f64>> = factors.documents.chunks_exact(count).map(share).collect();
    let best = |at: usize| -> Option<(usize, f64)> {
        // A document without terms has no topic, whatever the start left in its row.
        counted.documents.get(at).filter(|terms| !terms.is_empty())?;
        let mut best: Option<(usize, f64)> = None;
        for (topic, share) in shares.get(at)?.iter().enumerate() {
            if best.is_none_or(|(_, other)| *share > other) {
                best = Some((topic, *share));
            }
        }
        best.filter(|(_, share)| *share > 0.0)
    };
    let chosen: Vec<Option<(usize, f64)>> = (0..documents.len()).map(best).collect();
    // Topics are numbered by their first document; those without one follow.
    let mut order: Vec<usize> = Vec::new();
    for topic in chosen.iter().flatten().map(|(topic, _)| *topic).chain(0..factors.count) {
        if !order.contains(&topic) {
            order.push(topic);
        }
    }
    let number = |topic: usize| order.iter().position(|known| *known == topic).unwrap_or_default();
    let assignment = |(document, chosen): (&Document, &Option<(usize, f64)>)| Assignment {
        id: document.id.clone(),
        topic: chosen.map_or(NONE, |(topic, _)| number(topic) as i64),
        weight: chosen.map_or(0.0, |(_, share)| share),
    };
    let spans = spans(documents);
    let topic = |(id, topic): (usize, &usize)| {
        let mut members: Vec<(usize, f64)> = chosen
            .iter()
            .enumerate()
            .filter_map(|(at, chosen)| chosen.filter(|(of, _)| of == topic).map(|(_, share)| (at, share)))
            .collect();
        let size = members.len();
        let mut trend = vec![0.0; if spans.iter().any(Option::is_some) { SPANS } else { 0 }];
        for (at, _) in &members {
            if let Some(count) = spans.get(*at).copied().flatten().and_then(|span| trend.get_mut(span)) {
                *count += 1.0;
            }
        }
        members.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let terms = top_terms(factors, *topic);
        Topic {
            id,
            size,
            examples: members
                .iter()
                .take(EXAMPLES)
                .filter_map(|(at, _)| Some(documents.get(*at)?.id.clone()))
                .collect(),
            coherence: coherence(&counted.documents, &terms),
            terms: terms.iter().filter_map(|term| counted.written.get(*term).cloned()).collect(),
            trend,
        }
    };
    Output {
        topics: order.iter().enumerate().map(topic).collect(),
        assignments: documents.iter().zip(&chosen).map(assignment).collect(),
        error: factors.error,
    }
}

/// The terms that weigh most in a topic; those that weigh less than a thousandth of the first do not belong to it.
fn top_terms(factors: &Factors, topic: usize) -> Vec<usize> {
    let weights = factors.terms.chunks_exact(factors.count.max(1)).filter_map(|row| row.get(topic).copied());
    let mut order: Vec<(usize, f64)> = weights.enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let least = order.first().map_or(0.0, |(_, weight)| weight / 1e3);
    order.into_iter().take(TERMS).filter(|(_, weight)| *weight > least).map(|(term, _)| term).collect()
}

/// UMass (Mimno et al. 2011, equation 1): the sum over pairs of ln((documents with both + 1) / documents with the one that
/// weighs more). 0 is the best for fewer than two terms.
fn coherence(documents: &[BTreeMap<usize, f64>], terms: &[usize]) -> f64 {
    let having: Vec<Vec<bool>> =
        terms.iter().map(|term| documents.iter().map(|counts| counts.contains_key(term)).collect()).collect();
    let mut sum = 0.0;
    for (at, less) in having.iter().enumerate() {
        for more in having.iter().take(at) {
            let with = more.iter().filter(|has| **has).count() as f64;
            let both = more.iter().zip(less).filter(|(a, b)| **a && **b).count() as f64;
            sum += ((both + 1.0) / with.max(1.0)).ln();
        }
    }
    sum
}

/// The tenth of the time between the first and the last document in which each lies; `None` without a time, and of all
/// if their times are equal.
fn spans(documents: &[Document]) -> Vec<Option<usize>> {
    let times: Vec<Option<i128>> =
        documents.iter().map(|document| document.time.map(Timestamp::as_nanosecond)).collect();
    let (first, last) = (times.iter().flatten().min(), times.iter().flatten().max());
    let (Some(first), Some(last)) = (first.copied(), last.copied()) else { return vec![None; documents.len()] };
    let length = last - first;
    let span = |time: i128| {
        let at = (time - first).saturating_mul(SPANS as i128).checked_div(length)?;
        Some((at as usize).min(SPANS - 1))
    };
    times.into_iter().map(|time| time.and_then(span)).collect()
}
