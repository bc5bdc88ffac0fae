//! q161: summarisation.

mod lexrank;
mod model;
#[cfg(test)]
mod tests;

use muster_kernel_words::stop;
use muster_kernel_words::tokens::{fold, sentences, words};
use muster_retrieval::{Language, analyze, detect};

use muster_engine::prelude::*;

use lexrank::{Terms, cosine, links, rank, weigh};

/// Texts, bytes and sentences of a call: each sentence is compared with each.
const MAX_TEXTS: usize = 500;
const MAX_BYTES: usize = 1_000_000;
const MAX_SENTENCES: usize = 3_000;
/// Weight of the begin of a text: how much more the first sentence counts.
const POSITION: f64 = 0.2;
/// Weight of a row of a table, which is data and no statement.
const ROW: f64 = 0.1;
/// Words that are no stop words from which a sentence counts in full.
const FULL: f64 = 5.0;
/// Share of rank against novelty when sentences are chosen (Carbonell & Goldstein 1998).
const RELEVANCE: f64 = 0.7;
/// Characters of a headline.
const HEADLINE: usize = 120;

#[derive(Input)]
pub struct Input {
    texts: Vec<String>,
    sentences: usize,
    query: Option<String>,
    style: Style,
    use_model: bool,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Style {
    Bullets,
    Paragraph,
    Headline,
}

#[derive(Output)]
pub struct Output {
    summary: String,
    sentences: Vec<Chosen>,
    compression: f64,
    method: &'static str,
}

#[derive(Clone, Output)]
struct Chosen {
    document: usize,
    index: usize,
    text: String,
    score: f64,
}

/// A sentence of a document.
struct Sentence<'a> {
    document: usize,
    index: usize,
    /// Bytes of the document at which it begins.
    begin: usize,
    text: &'a str,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let bytes: usize = input.texts.iter().chain(&input.query).map(String::len).sum();
    let all: Vec<Sentence<'_>> = if bytes > MAX_BYTES { Vec::new() } else { split(&input.texts) };
    if input.texts.len() > MAX_TEXTS || bytes > MAX_BYTES || all.len() > MAX_SENTENCES {
        return Err(Failure::too_large(format!(
            "{} texts of {bytes} bytes and {} sentences; allowed are {MAX_TEXTS}, {MAX_BYTES} and {MAX_SENTENCES}",
            input.texts.len(),
            all.len()
        )));
    }
    let count = if input.style == Style::Headline { 1 } else { input.sentences };
    let extracted = extract(&all, count, input.query.as_deref(), cx);
    let (summary, sentences, method) = match input.use_model && !all.is_empty() {
        true => match model::write(&input, count, &all, cx)? {
            Some((summary, sentences)) => (summary, sentences, "model"),
            None => (written(&extracted, input.style), extracted, "lexrank"),
        },
        false => (written(&extracted, input.style), extracted, "lexrank"),
    };
    let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count() as f64;
    let whole: f64 = input.texts.iter().map(|text| letters(text)).sum();
    let compression = if whole > 0.0 { (letters(&summary) / whole).min(1.0) } else { 0.0 };
    Ok(Output { summary, sentences, compression, method })
}

fn split(texts: &[String]) -> Vec<Sentence<'_>> {
    let of = |(document, text): (usize, &'_ String)| -> Vec<(usize, usize, std::ops::Range<usize>)> {
        sentences(text).into_iter().enumerate().map(|(index, range)| (document, index, range)).collect()
    };
    texts
        .iter()
        .enumerate()
        .flat_map(of)
        .filter_map(|(document, index, range)| {
            let begin = range.start;
            let text = texts.get(document)?.get(range)?;
            Some(Sentence { document, index, begin, text })
        })
        .collect()
}

/// Whether a text is a row of a Markdown table.
fn is_row(text: &str) -> bool {
    text.trim_start().starts_with('|') || text.trim_end().ends_with('|')
}

/// The sentences of the summary in the order of the texts.
fn extract(all: &[Sentence<'_>], count: usize, query: Option<&str>, cx: &Context) -> Vec<Chosen> {
    let language = |text: &str| detect(text, Language::English);
    let terms: Vec<Vec<String>> = all.iter().map(|sentence| stems(sentence.text, language(sentence.text))).collect();
    let mut weighed = weigh(&terms);
    let begin = match query.map(|query| stems(query, language(query))).filter(|query| !query.is_empty()) {
        None => vec![1.0 / all.len().max(1) as f64; all.len()],
        Some(query) => {
            // Weighed together with the sentences, so that its terms have their numbers.
            let mut with: Vec<Vec<String>> = terms.clone();
            with.push(query);
            weighed = weigh(&with);
            let query = weighed.pop().unwrap_or_default();
            let alike: Vec<f64> = weighed.iter().map(|sentence| cosine(sentence, &query)).collect();
            let sum: f64 = alike.iter().sum();
            if sum <= 0.0 {
                cx.warn("no_match: no sentence has a word of the query; the summary is of the whole");
            }
            let even = 1.0 / all.len().max(1) as f64;
            alike.iter().map(|alike| if sum > 0.0 { alike / sum } else { even }).collect()
        }
    };
    let ranks = rank(&links(&weighed), &begin);
    let most = ranks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let scores: Vec<f64> = all
        .iter()
        .zip(&ranks)
        .zip(&terms)
        .map(|((sentence, rank), terms)| {
            let position = 1.0 + POSITION / (1.0 + sentence.index as f64);
            // A fragment of few words says little, however central it is.
            let content = (terms.len() as f64 / FULL).min(1.0);
            let prose = if is_row(sentence.text) { ROW } else { 1.0 };
            rank / most * position / (1.0 + POSITION) * content * prose
        })
        .collect();
    let mut chosen = choose(&scores, &weighed, count);
    chosen.sort_unstable();
    let show = |at: usize| {
        let (sentence, score) = (all.get(at)?, scores.get(at)?);
        Some(Chosen {
            document: sentence.document,
            index: sentence.index,
            text: sentence.text.to_owned(),
            score: *score,
        })
    };
    chosen.into_iter().filter_map(show).collect()
}

/// Maximal marginal relevance: the best sentence, then always the one with the best of rank less likeness to those that
/// were chosen. Sentences without a score are left out.
fn choose(scores: &[f64], sentences: &[Terms], count: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    // Of each sentence its greatest likeness to one that was chosen.
    let mut repeated = vec![0.0_f64; scores.len()];
    while chosen.len() < count {
        let mut best: Option<(usize, f64)> = None;
        for (at, (score, repeated)) in scores.iter().zip(&repeated).enumerate() {
            let value = RELEVANCE * score - (1.0 - RELEVANCE) * repeated;
            if *score > 0.0 && !chosen.contains(&at) && best.is_none_or(|(_, other)| value > other) {
                best = Some((at, value));
            }
        }
        let Some((at, _)) = best else { break };
        chosen.push(at);
        if let Some(sentence) = sentences.get(at) {
            for (repeated, other) in repeated.iter_mut().zip(sentences) {
                *repeated = repeated.max(cosine(sentence, other));
            }
        }
    }
    chosen
}

/// Stems without stop words of English and of the text's own language; of a language without stems the words.
fn stems(text: &str, language: Language) -> Vec<String> {
    let stop = stop::of("en");
    let mut stems = Vec::new();
    for (_, word) in words(text) {
        let folded = fold(word);
        if stop.is_some_and(|stop| stop.contains(folded.as_str())) {
            continue;
        }
        // The analysis keeps the word beside its stem; the shorter one of both stands for it.
        let terms = analyze(&[word], language);
        let stem = terms.terms().map(|(term, _)| term).min_by_key(|term| (term.len(), *term)).map(str::to_owned);
        stems.extend(stem);
    }
    stems
}

fn written(sentences: &[Chosen], style: Style) -> String {
    let one_line = |sentence: &Chosen| sentence.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match style {
        Style::Bullets => {
            sentences.iter().map(|sentence| format!("- {}", one_line(sentence))).collect::<Vec<_>>().join("\n")
        }
        Style::Paragraph => sentences.iter().map(one_line).collect::<Vec<_>>().join(" "),
        Style::Headline => sentences.first().map(|sentence| headline(&one_line(sentence))).unwrap_or_default(),
    }
}

/// The begin of a sentence that fits into a headline, without its full stop.
fn headline(text: &str) -> String {
    let text = text.trim_end_matches(['.', '。']);
    if text.chars().count() <= HEADLINE {
        return text.to_owned();
    }
    let cut: String = text.chars().take(HEADLINE - 1).collect();
    let end = cut.rfind(' ').filter(|end| *end > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end_matches([',', ';', ':']))
}
