//! Stands in for the crate of ranked search until it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default)]
pub struct CollectionOptions {
    pub dimensions: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
}

impl Language {
    pub fn from_tag(tag: &str) -> Option<Self> {
        (tag == "en").then_some(Self::English)
    }
}

#[derive(Debug, Clone)]
pub struct Document<'a> {
    pub id: u128,
    pub version: u32,
    pub key: &'a str,
    pub value: &'a str,
    pub tags: &'a [String],
    pub thread: Option<&'a str>,
    pub stored_at: i64,
    pub expires_at: Option<i64>,
    pub importance: f32,
    pub language: Option<Language>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Doc {
    version: u32,
    key: String,
    value: String,
    tags: Vec<String>,
    thread: Option<String>,
    expires_at: Option<i64>,
    vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone, Default)]
pub struct Collection {
    docs: Arc<BTreeMap<u128, Doc>>,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

impl Collection {
    pub fn new(_: CollectionOptions) -> Self {
        Self::default()
    }

    pub fn put(&mut self, document: &Document<'_>) {
        let docs = Arc::make_mut(&mut self.docs);
        let same = docs.get(&document.id).filter(|doc| doc.value == document.value && doc.key == document.key);
        let vector = same.and_then(|doc| doc.vector.clone());
        let doc = Doc {
            version: document.version,
            key: document.key.to_owned(),
            value: document.value.to_owned(),
            tags: document.tags.to_vec(),
            thread: document.thread.map(str::to_owned),
            expires_at: document.expires_at,
            vector,
        };
        docs.insert(document.id, doc);
    }

    pub fn put_vector(&mut self, id: u128, version: u32, vector: &[f32]) -> bool {
        let Some(doc) = Arc::make_mut(&mut self.docs).get_mut(&id).filter(|doc| doc.version == version) else {
            return false;
        };
        doc.vector = Some(vector.to_vec());
        true
    }

    pub fn remove(&mut self, id: u128) -> bool {
        Arc::make_mut(&mut self.docs).remove(&id).is_some()
    }

    pub fn version(&self, id: u128) -> Option<u32> {
        self.docs.get(&id).map(|doc| doc.version)
    }

    pub fn without_vector(&self, limit: usize) -> Vec<u128> {
        self.docs.iter().filter(|(_, doc)| doc.vector.is_none()).map(|(id, _)| *id).take(limit).collect()
    }

    pub fn len(&self) -> usize {
        self.docs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    pub fn vectors(&self) -> usize {
        self.docs.values().filter(|doc| doc.vector.is_some()).count()
    }

    pub fn bytes(&self) -> usize {
        self.docs.len() * 100
    }

    pub fn work(&mut self, _budget: usize) -> usize {
        0
    }

    pub fn encode(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&postcard::to_stdvec(&*self.docs).map_err(io::Error::other)?)
    }

    pub fn decode(input: &mut dyn Read) -> Result<Self, DecodeError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(|error| DecodeError(error.to_string()))?;
        let docs = postcard::from_bytes(&bytes).map_err(|error| DecodeError(error.to_string()))?;
        Ok(Self { docs: Arc::new(docs) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Hybrid,
    Text,
    Semantic,
}

#[derive(Debug, Clone)]
pub struct Query<'a> {
    pub text: &'a str,
    pub vector: Option<&'a [f32]>,
    pub mode: Mode,
    pub limit: usize,
    pub offset: usize,
    pub tags_all: &'a [String],
    pub tags_any: &'a [String],
    pub key_prefix: Option<&'a str>,
    pub thread: Option<&'a str>,
    pub now: i64,
    pub include_expired: bool,
    pub min_score: Option<f32>,
    pub half_life_ms: Option<i64>,
    pub mmr: Option<f32>,
    pub alpha: Option<f32>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Explain {}

#[derive(Debug, Clone)]
pub struct Hit {
    pub collection: usize,
    pub id: u128,
    pub version: u32,
    pub score: f32,
    pub text: Option<f32>,
    pub semantic: Option<f32>,
    pub explain: Explain,
    pub prev: Option<u128>,
    pub next: Option<u128>,
}

#[derive(Debug, Clone)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub total: usize,
    pub mode: Mode,
    pub warnings: Vec<String>,
}

pub fn search(collections: &[&Collection], query: &Query<'_>) -> Found {
    let words: BTreeSet<&str> = query.text.split_whitespace().collect();
    let mut hits = Vec::new();
    for (collection, docs) in collections.iter().enumerate() {
        for (id, doc) in docs.docs.iter() {
            let known: BTreeSet<&str> = doc.value.split_whitespace().chain([doc.key.as_str()]).collect();
            let text = words.intersection(&known).count() as f32 / words.len().max(1) as f32;
            let semantic =
                query.vector.zip(doc.vector.as_ref()).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum());
            let score = match query.mode {
                Mode::Text => text,
                Mode::Semantic => semantic.unwrap_or(0.0),
                Mode::Hybrid => text.max(semantic.unwrap_or(0.0)),
            };
            let gone = doc.expires_at.is_some_and(|at| at <= query.now);
            if score > 0.0 && !gone {
                let (text, id, version) = (Some(text), *id, doc.version);
                hits.push(Hit {
                    collection,
                    id,
                    version,
                    score,
                    text,
                    semantic,
                    explain: Explain {},
                    prev: None,
                    next: None,
                });
            }
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
    let total = hits.len();
    let hits = hits.into_iter().skip(query.offset).take(query.limit).collect();
    let mode = if query.vector.is_some() { query.mode } else { Mode::Text };
    Found { hits, total, mode, warnings: Vec::new() }
}

pub fn passages(key: &str, value: &str) -> Vec<String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let pieces: Vec<String> = words.chunks(100).map(|chunk| format!("{key}: {}", chunk.join(" "))).collect();
    if pieces.is_empty() { vec![key.to_owned()] } else { pieces }
}
