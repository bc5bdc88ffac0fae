//! q179: token and n-gram statistics.

use std::collections::HashMap;

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, Vocabulary, bounded, stemmer, terms};

/// Type-token ratio at which a factor of the MTLD ends (McCarthy & Jarvis 2010).
const FACTOR: f64 = 0.72;

/// Most texts; each has counts of its own.
const MAX_TEXTS: usize = 50_000;

#[derive(Input)]
pub struct Input {
    texts: Vec<String>,
    language: String,
    ngram: usize,
    stem: bool,
    top: usize,
}

#[derive(Output)]
pub struct Output {
    tokens: usize,
    types: usize,
    ngrams: Vec<Counted>,
    tfidf: Vec<Vec<Weighted>>,
    collocations: Vec<Collocation>,
    mtld: Option<f64>,
}

#[derive(Output)]
struct Counted {
    text: String,
    count: usize,
}

#[derive(Output)]
struct Weighted {
    term: String,
    weight: f64,
}

#[derive(Output)]
struct Collocation {
    text: String,
    pmi: f64,
    ll: f64,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.texts.len() > MAX_TEXTS {
        return Err(Failure::too_large(format!(
            "texts has {} items, at most {MAX_TEXTS} are allowed",
            input.texts.len()
        )));
    }
    bounded(input.texts.iter().map(String::as_str), MAX_BYTES)?;
    let stemmer = if input.stem { stemmer(&input.language, context) } else { None };
    let mut vocabulary = Vocabulary::default();
    let texts: Vec<Vec<u32>> = input
        .texts
        .iter()
        .map(|text| terms(text, stemmer.as_ref()).into_iter().map(|term| vocabulary.number(term)).collect())
        .collect();
    let tokens: usize = texts.iter().map(Vec::len).sum();
    let all: Vec<u32> = texts.iter().flatten().copied().collect();
    Ok(Output {
        tokens,
        types: vocabulary.terms.len(),
        ngrams: ngrams(&texts, input.ngram, input.top, &vocabulary),
        tfidf: tfidf(&texts, input.top, &vocabulary),
        collocations: collocations(&texts, tokens, input.top, &vocabulary),
        mtld: mtld(&all),
    })
}

/// The most frequent n-grams within the texts; those of equal counts by their text.
fn ngrams(texts: &[Vec<u32>], n: usize, top: usize, vocabulary: &Vocabulary) -> Vec<Counted> {
    let mut counts: HashMap<&[u32], usize> = HashMap::new();
    for gram in texts.iter().flat_map(|text| text.windows(n.max(1))) {
        *counts.entry(gram).or_default() += 1;
    }
    let text = |gram: &[u32]| gram.iter().map(|term| vocabulary.term(*term)).collect::<Vec<_>>().join(" ");
    let mut found: Vec<Counted> = counts.into_iter().map(|(gram, count)| Counted { text: text(gram), count }).collect();
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
    found.truncate(top);
    found
}

/// Terms of each text by tf (ln((1 + n) / (1 + df)) + 1), each text's weights with length 1.
fn tfidf(texts: &[Vec<u32>], top: usize, vocabulary: &Vocabulary) -> Vec<Vec<Weighted>> {
    let counted: Vec<HashMap<u32, usize>> = texts
        .iter()
        .map(|text| {
            let mut counts = HashMap::new();
            for term in text {
                *counts.entry(*term).or_default() += 1;
            }
            counts
        })
        .collect();
    let mut frequency = vec![0_usize; vocabulary.terms.len()];
    for term in counted.iter().flat_map(HashMap::keys) {
        if let Some(texts) = frequency.get_mut(*term as usize) {
            *texts += 1;
        }
    }
    let idf = |term: u32| {
        let with = frequency.get(term as usize).copied().unwrap_or_default();
        ((1 + texts.len()) as f64 / (1 + with) as f64).ln() + 1.0
    };
    let weigh = |counts: HashMap<u32, usize>| {
        let mut weights: Vec<(u32, f64)> =
            counts.into_iter().map(|(term, count)| (term, count as f64 * idf(term))).collect();
        // The sum's order must not be that of the hash.
        weights.sort_by_key(|(term, _)| *term);
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        let mut found: Vec<Weighted> = weights
            .into_iter()
            .map(|(term, weight)| Weighted { term: vocabulary.term(term).to_owned(), weight: weight / length })
            .collect();
        found.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.term.cmp(&b.term)));
        found.truncate(top);
        found
    };
    counted.into_iter().map(weigh).collect()
}

/// Pairs of adjacent words by Dunning's log-likelihood, with the pointwise mutual information in bits. Margins are the
/// counts of the words.
fn collocations(texts: &[Vec<u32>], tokens: usize, top: usize, vocabulary: &Vocabulary) -> Vec<Collocation> {
    let mut single = vec![0_usize; vocabulary.terms.len()];
    let mut pairs: HashMap<(u32, u32), usize> = HashMap::new();
    for text in texts {
        for term in text {
            if let Some(count) = single.get_mut(*term as usize) {
                *count += 1;
            }
        }
        for pair in text.windows(2) {
            if let [first, second] = *pair {
                *pairs.entry((first, second)).or_default() += 1;
            }
        }
    }
    let count = |term: u32| single.get(term as usize).copied().unwrap_or_default() as f64;
    let all = tokens as f64;
    let mut found: Vec<Collocation> = pairs
        .into_iter()
        .map(|((first, second), both)| {
            let (left, right, both) = (count(first), count(second), both as f64);
            Collocation {
                text: format!("{} {}", vocabulary.term(first), vocabulary.term(second)),
                pmi: (both * all / (left * right)).log2(),
                ll: log_likelihood(both, left, right, all),
            }
        })
        .collect();
    found.sort_by(|a, b| b.ll.total_cmp(&a.ll).then_with(|| a.text.cmp(&b.text)));
    found.truncate(top);
    found
}

/// Twice the logarithm of the likelihood ratio of a table of two by two.
fn log_likelihood(both: f64, left: f64, right: f64, all: f64) -> f64 {
    let cells = [
        (both, left * right),
        (left - both, left * (all - right)),
        (right - both, (all - left) * right),
        // A word that follows itself makes the last cell negative in the corner; it counts as empty.
        ((all - left - right + both).max(0.0), (all - left) * (all - right)),
    ];
    let part = |(found, margins): (f64, f64)| if found > 0.0 { found * (found * all / margins).ln() } else { 0.0 };
    2.0 * cells.into_iter().map(part).filter(|part| part.is_finite()).sum::<f64>()
}

/// Mean of the measure of textual lexical diversity forwards and backwards; `None` where no word is repeated.
fn mtld(tokens: &[u32]) -> Option<f64> {
    let forward = factors(tokens.iter());
    let backward = factors(tokens.iter().rev());
    let length = tokens.len() as f64;
    (forward > 0.0 && backward > 0.0).then(|| f64::midpoint(length / forward, length / backward))
}

fn factors<'a>(tokens: impl Iterator<Item = &'a u32>) -> f64 {
    let mut seen = std::collections::HashSet::new();
    let (mut count, mut factors, mut ratio) = (0_usize, 0.0, 1.0);
    for token in tokens {
        seen.insert(*token);
        count += 1;
        ratio = seen.len() as f64 / count as f64;
        if ratio <= FACTOR {
            factors += 1.0;
            seen.clear();
            (count, ratio) = (0, 1.0);
        }
    }
    if count > 0 { factors + (1.0 - ratio) / (1.0 - FACTOR) } else { factors }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The Finnish stemmer of Snowball 2.2 (PyStemmer) leaves numbers as they are.
    #[test]
    fn numbers_have_no_stem() {
        let input = json!({ "texts": ["100 10 taloissa"], "language": "fi", "ngram": 1 });
        let output = crate::FAMILY.run(179, input, &Context::default()).unwrap();
        assert_eq!(output["types"], 3);
        assert_eq!(output["ngrams"][1], json!({ "text": "100", "count": 1 }));
        assert_eq!(output["ngrams"][2], json!({ "text": "talo", "count": 1 }));
    }
}
