//! q157: hybrid retrieval.

mod memory;

use std::collections::{BTreeMap, HashMap};

use muster_retrieval::{
    Bm25, DocNo, Filter, Highlight, Language, Languages, Neighbours, StopWords, TextIndex, TextOptions, TextQuery,
    analyze, detect, highlights,
};

use muster_engine::prelude::*;

use crate::hashing::{DIMENSIONS, cosine, vector};

/// Documents of a call, their bytes, and those of the query.
const MAX_DOCUMENTS: usize = 5_000;
const MAX_BYTES: usize = 4_000_000;
const MAX_QUERY: usize = 10_000;
/// Constant of the reciprocal rank fusion (Cormack et al. 2009).
const RRF: f64 = 60.0;

#[derive(Input)]
pub struct Input {
    query: String,
    documents: Option<Vec<Document>>,
    source: Source,
    top: usize,
    mode: Mode,
    k1: f64,
    b: f64,
}

#[derive(Input)]
struct Document {
    id: String,
    text: String,
    title: Option<String>,
    tags: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Source {
    Inline,
    Memory,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Mode {
    Hybrid,
    Lexical,
    Vector,
}

#[derive(Output)]
pub struct Output {
    hits: Vec<Hit>,
    total: usize,
    /// The texts of the hits; absent of documents that the caller sent.
    entries: Option<Vec<Entry>>,
}

#[derive(Output)]
struct Entry {
    id: String,
    text: String,
    time: String,
}

#[derive(Output)]
struct Hit {
    id: String,
    score: f64,
    bm25: f64,
    cosine: f64,
    highlight: String,
    rank: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.source == Source::Memory {
        return memory::search(&input, context);
    }
    let documents = input.documents.as_deref().unwrap_or_default();
    check(&input, documents)?;
    let languages: Vec<Language> = documents.iter().map(|document| detect(&document.text, Language::English)).collect();
    let all: Languages = languages.iter().copied().collect();
    let query = TextQuery::new(&input.query, all, StopWords::Dropped);
    if query.is_cut() {
        context.warn("cut: the query has more than 512 distinct words; the rest is not searched");
    }
    let bm25 = lexical(&input, documents, &languages, &query);
    let cosines: Vec<f64> = match input.mode {
        Mode::Lexical => vec![0.0; documents.len()],
        Mode::Hybrid | Mode::Vector => {
            let wanted = vector(&input.query, DIMENSIONS);
            documents.iter().map(|document| cosine(&wanted, &vector(&whole(document), DIMENSIONS))).collect()
        }
    };
    let scores = match input.mode {
        Mode::Lexical => bm25.clone(),
        Mode::Vector => cosines.iter().map(|cosine| cosine.max(0.0)).collect(),
        Mode::Hybrid => fused(&bm25, &cosines),
    };
    let score = |at: usize| scores.get(at).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..documents.len()).filter(|at| score(*at) > 0.0).collect();
    order.sort_by(|a, b| score(*b).total_cmp(&score(*a)).then(a.cmp(b)));
    let total = order.len();
    let hit = |(rank, at): (usize, usize)| {
        let document = documents.get(at)?;
        let language = languages.get(at).copied().unwrap_or_default();
        Some(Hit {
            id: document.id.clone(),
            score: score(at),
            bm25: bm25.get(at).copied().unwrap_or_default(),
            cosine: cosines.get(at).copied().unwrap_or_default(),
            highlight: excerpt(&document.text, &highlights(&document.text, &query, language)),
            rank: rank + 1,
        })
    };
    Ok(Output { hits: order.into_iter().take(input.top).enumerate().filter_map(hit).collect(), total, entries: None })
}

fn check(input: &Input, documents: &[Document]) -> Result<(), Failure> {
    if input.documents.is_none() {
        return Err(Failure::invalid(&["documents"], "is missing: send the passages to search"));
    }
    if !(0.0..=1.0).contains(&input.b) {
        return Err(Failure::invalid(&["b"], "must be from 0 to 1"));
    }
    if !(0.0..=100.0).contains(&input.k1) {
        return Err(Failure::invalid(&["k1"], "must be from 0 to 100"));
    }
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    if documents.len() > MAX_DOCUMENTS || bytes > MAX_BYTES || input.query.len() > MAX_QUERY {
        return Err(Failure::too_large(format!(
            "{} documents of {bytes} bytes, a query of {} bytes; allowed are {MAX_DOCUMENTS}, {MAX_BYTES} and {MAX_QUERY}",
            documents.len(),
            input.query.len()
        )));
    }
    Failure::unless_distinct("documents", "document", documents.iter().map(|document| document.id.as_str()))
}

/// Title, tags and text.
fn parts(document: &Document) -> Vec<&str> {
    let tags = document.tags.iter().flatten().map(String::as_str);
    document.title.as_deref().into_iter().chain(tags).chain([document.text.as_str()]).collect()
}

fn whole(document: &Document) -> String {
    parts(document).join("\n")
}

/// Okapi BM25 of each document.
fn lexical(input: &Input, documents: &[Document], languages: &[Language], query: &TextQuery) -> Vec<f64> {
    let bm25 = Bm25 { k1: input.k1 as f32, b: input.b as f32, prior: 0.0 };
    let mut index = TextIndex::new(TextOptions { bm25, neighbours: Neighbours::NONE, pairs: 0.0 });
    for ((number, document), language) in (0..).zip(documents).zip(languages) {
        index.insert(DocNo(number), &analyze(&parts(document), *language));
    }
    let resolved = index.resolve(query);
    let found = index.search(&resolved, resolved.statistics(), Filter::All, documents.len());
    let mut scores = vec![0.0; documents.len()];
    for (DocNo(number), score) in found {
        if let Some(place) = scores.get_mut(number as usize) {
            *place = f64::from(score);
        }
    }
    scores
}

/// Sum of 1 / (60 + rank) in both orders; equal scores have one rank.
fn fused(bm25: &[f64], cosines: &[f64]) -> Vec<f64> {
    let (words, vectors) = (ranks(bm25), ranks(cosines));
    let part = |rank: Option<&usize>| rank.map_or(0.0, |rank| 1.0 / (RRF + *rank as f64));
    (0..bm25.len()).map(|at| part(words.get(&at)) + part(vectors.get(&at))).collect()
}

/// Rank of each item with a positive score.
fn ranks(scores: &[f64]) -> HashMap<usize, usize> {
    // By bits, as positive numbers are in the order of their bits.
    let mut groups: BTreeMap<std::cmp::Reverse<u64>, Vec<usize>> = BTreeMap::new();
    for (at, score) in scores.iter().enumerate().filter(|(_, score)| **score > 0.0) {
        groups.entry(std::cmp::Reverse(score.to_bits())).or_default().push(at);
    }
    let mut next = 1;
    let mut found = HashMap::new();
    for group in groups.into_values() {
        found.extend(group.iter().map(|at| (*at, next)));
        next += group.len();
    }
    found
}

fn excerpt(text: &str, found: &[Highlight]) -> String {
    let snippets = found.iter().filter_map(|highlight| text.get(highlight.snippet.clone()));
    snippets.map(str::trim).collect::<Vec<_>>().join(" … ")
}
