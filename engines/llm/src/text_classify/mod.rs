//! q160: text classification.

mod model;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use muster_kernel_words::bayes::ComplementBayes;
use muster_kernel_words::stop;
use muster_kernel_words::tokens::{fold, words};

use muster_engine::prelude::*;

use crate::hashing::{DIMENSIONS, cosine, normalised, sum, vector};

/// Texts, labels and examples of a call, and their bytes.
const MAX_TEXTS: usize = 1_000;
const MAX_LABELS: usize = 200;
const MAX_EXAMPLES: usize = 20_000;
const MAX_BYTES: usize = 4_000_000;
/// Products of texts and labels: each pair has a score.
const MAX_SCORES: usize = 50_000;
/// Examples of each label from which naive Bayes is used.
const LEAST: usize = 2;
/// Difference of cosines that makes a label e times likelier.
const SCALE: f64 = 0.1;
/// Words that are shown, and the weight or likeness from which they are.
const WORDS: usize = 5;
const SHOWN: f64 = 0.05;

#[derive(Input)]
pub struct Input {
    texts: Vec<String>,
    labels: Vec<Label>,
    multi_label: bool,
    use_model: bool,
}

#[derive(Input)]
struct Label {
    id: String,
    description: Option<String>,
    examples: Option<Vec<String>>,
}

#[derive(Output)]
pub struct Output {
    results: Vec<Judged>,
    method: &'static str,
}

#[derive(Output)]
struct Judged {
    label: String,
    scores: BTreeMap<String, f64>,
    confidence: f64,
    evidence: Vec<String>,
}

/// How texts are judged.
enum Judge {
    Bayes(ComplementBayes),
    /// A vector for each label.
    Prototypes(Vec<Vec<f64>>),
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input)?;
    let examples = |label: &Label| label.examples.as_ref().map_or(0, Vec::len);
    let (judge, method) = if input.labels.iter().all(|label| examples(label) >= LEAST) {
        (bayes(&input.labels), "complement_naive_bayes")
    } else {
        (Judge::Prototypes(input.labels.iter().map(prototype).collect()), "prototypes")
    };
    let chosen = if input.use_model && !input.texts.is_empty() { model::choose(&input, cx)? } else { None };
    let method = if chosen.is_some() { "model" } else { method };
    let result = |(at, text): (usize, &String)| {
        let logits = judge.logits(text);
        let scores = if input.multi_label { apart(&logits) } else { shares(&logits) };
        let best = || {
            let mut best = (0, f64::NEG_INFINITY);
            for (label, logit) in logits.iter().enumerate() {
                if *logit > best.1 {
                    best = (label, *logit);
                }
            }
            best.0
        };
        let label = chosen.as_ref().and_then(|chosen| chosen.get(at).copied()).unwrap_or_else(best);
        Judged {
            label: input.labels.get(label).map(|label| label.id.clone()).unwrap_or_default(),
            confidence: scores.get(label).copied().unwrap_or_default(),
            scores: input.labels.iter().map(|label| label.id.clone()).zip(scores).collect(),
            evidence: judge.evidence(text, label),
        }
    };
    Ok(Output { results: input.texts.iter().enumerate().map(result).collect(), method })
}

fn check(input: &Input) -> Result<(), Failure> {
    let examples = || input.labels.iter().flat_map(|label| label.examples.iter().flatten());
    let described = input.labels.iter().filter_map(|label| label.description.as_ref());
    let bytes: usize = input.texts.iter().chain(examples()).chain(described).map(String::len).sum();
    let (texts, labels) = (input.texts.len(), input.labels.len());
    if texts > MAX_TEXTS
        || labels > MAX_LABELS
        || texts * labels > MAX_SCORES
        || bytes > MAX_BYTES
        || examples().count() > MAX_EXAMPLES
    {
        return Err(Failure::too_large(format!(
            "{texts} texts, {labels} labels, {} examples, {bytes} bytes; allowed are {MAX_TEXTS}, {MAX_LABELS} (together {MAX_SCORES} scores), {MAX_EXAMPLES} and {MAX_BYTES}",
            examples().count()
        )));
    }
    if input.labels.is_empty() {
        return Err(Failure::invalid(&["labels"], "is empty: send the labels to choose from"));
    }
    let mut ids = HashSet::new();
    for (at, label) in input.labels.iter().enumerate() {
        let message = match ids.insert(label.id.as_str()) {
            false => "is the id of an earlier label: each id must occur once",
            true if label.id.trim().is_empty() => "is empty",
            true => continue,
        };
        return Err(Failure::invalid(&["labels", &at.to_string(), "id"], message));
    }
    Ok(())
}

fn bayes(labels: &[Label]) -> Judge {
    let texts = labels.iter().enumerate().flat_map(|(class, label)| {
        label
            .examples
            .iter()
            .flatten()
            .map(move |example| (class, tokens(example).map(|(_, word)| word).collect::<Vec<_>>()))
    });
    let texts: Vec<(usize, Vec<String>)> = texts.collect();
    Judge::Bayes(ComplementBayes::train(labels.len(), texts.iter().map(|(class, words)| (*class, words.as_slice()))))
}

/// The mean of the vectors of what is said of a label: its description and examples, and its id if there is neither.
fn prototype(label: &Label) -> Vec<f64> {
    let said: Vec<&String> = label.description.iter().chain(label.examples.iter().flatten()).collect();
    let id = label.id.replace(['-', '_'], " ");
    let vectors = match said.is_empty() {
        true => vec![sum(&id, DIMENSIONS)],
        false => said.into_iter().map(|text| vector(text, DIMENSIONS)).collect(),
    };
    let mut mean = vec![0.0; DIMENSIONS];
    for vector in vectors {
        mean.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part);
    }
    normalised(mean)
}

/// Words as they are written and folded, without stop words of English.
fn tokens(text: &str) -> impl Iterator<Item = (&str, String)> {
    let stop = stop::of("en");
    words(text)
        .map(|(_, word)| (word, fold(word)))
        .filter(move |(_, folded)| !stop.is_some_and(|stop| stop.contains(folded.as_str())))
}

impl Judge {
    /// A number for each label: differences are logarithms of ratios of likelihood.
    fn logits(&self, text: &str) -> Vec<f64> {
        match self {
            Self::Bayes(bayes) => bayes.scores(&tokens(text).map(|(_, word)| word).collect::<Vec<_>>()),
            Self::Prototypes(prototypes) => {
                let vector = vector(text, DIMENSIONS);
                prototypes.iter().map(|prototype| cosine(&vector, prototype) / SCALE).collect()
            }
        }
    }

    /// The words of a text that speak most for a label, as they are written.
    fn evidence(&self, text: &str, label: usize) -> Vec<String> {
        let weight = |word: &str| match self {
            Self::Bayes(bayes) => {
                let weights = bayes.weights(word);
                let all: f64 = weights.iter().sum();
                weights.get(label).map_or(0.0, |own| own - all / weights.len() as f64)
            }
            Self::Prototypes(prototypes) => {
                let own = vector(word, DIMENSIONS);
                let likeness: Vec<f64> = prototypes.iter().map(|prototype| cosine(&own, prototype)).collect();
                let all: f64 = likeness.iter().sum();
                likeness
                    .get(label)
                    .map_or(0.0, |own| if likeness.len() > 1 { own - all / likeness.len() as f64 } else { *own })
            }
        };
        let mut seen = HashSet::new();
        let mut found: Vec<(&str, f64)> = tokens(text)
            .filter(|(_, folded)| seen.insert(folded.clone()))
            .take(1_000)
            .map(|(word, folded)| (word, weight(&folded)))
            .filter(|(_, weight)| *weight > SHOWN)
            .collect();
        // The sort is stable: of equal words the earlier one comes first.
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found.into_iter().take(WORDS).map(|(word, _)| word.to_owned()).collect()
    }
}

/// Probabilities of labels of which one applies.
fn shares(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// Probabilities of labels of which any number may apply: each against the mean of the others.
fn apart(logits: &[f64]) -> Vec<f64> {
    let sum: f64 = logits.iter().sum();
    let others = logits.len().saturating_sub(1).max(1) as f64;
    logits.iter().map(|logit| 1.0 / (1.0 + ((sum - logit) / others - logit).exp())).collect()
}
