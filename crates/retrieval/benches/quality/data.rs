use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Failure;

/// Entries, questions, and the relevant entries of each question.
pub struct TestSet {
    pub entries: Vec<Entry>,
    pub questions: Vec<Question>,
}

pub struct Entry {
    pub id: u128,
    pub key: String,
    pub value: String,
    pub tags: Vec<String>,
    pub thread: Option<String>,
}

pub struct Question {
    pub text: String,
    /// Tags that an entry must have.
    pub tags: Vec<String>,
    pub answers: HashSet<u128>,
    /// Half of the data it belongs to: of the conversations, or of the questions without conversations.
    pub half: usize,
}

#[derive(Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct QueryLine {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    tag: Option<String>,
}

impl TestSet {
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let corpus: Vec<CorpusLine> = lines(&folder.join("corpus.jsonl"))?;
        let ids: HashMap<String, u128> = corpus.iter().zip(1..).map(|(line, id)| (line.id.clone(), id)).collect();
        let mut answers: HashMap<String, HashSet<u128>> = HashMap::new();
        for line in fs::read_to_string(folder.join("qrels/test.tsv"))?.lines().skip(1) {
            let mut columns = line.split('\t');
            if let (Some(query), Some(entry), Some(gain)) = (columns.next(), columns.next(), columns.next())
                && let (Some(id), Ok(1..)) = (ids.get(entry), gain.parse::<i32>())
            {
                answers.entry(query.to_owned()).or_default().insert(*id);
            }
        }
        let mut queries: Vec<QueryLine> = lines(&folder.join("queries.jsonl"))?;
        queries.retain(|query| answers.contains_key(&query.id));
        let mut groups: Vec<String> = queries.iter().filter_map(|query| query.tag.clone()).collect();
        groups.dedup();
        let half = |query: &QueryLine, nth: usize| match &query.tag {
            Some(tag) => groups.iter().position(|group| group == tag).unwrap_or_default() % 2,
            None => nth % 2,
        };
        let questions = queries.iter().enumerate().map(|(nth, query)| Question {
            text: query.text.clone(),
            tags: query.tag.iter().cloned().collect(),
            answers: answers.get(&query.id).cloned().unwrap_or_default(),
            half: half(query, nth),
        });
        let questions = questions.collect();
        Ok(Self { entries: corpus.into_iter().zip(1..).map(|(line, id)| entry(line, id)).collect(), questions })
    }
}

fn entry(line: CorpusLine, id: u128) -> Entry {
    let is_turn = line.tags.iter().any(|tag| tag.starts_with("session:"));
    let thread = line.id.rsplit_once(':').filter(|_| is_turn).map(|(session, _)| session.to_owned());
    let has_title = line.title.is_empty() || line.text.starts_with(&line.title);
    let value = if has_title { line.text } else { format!("{}: {}", line.title, line.text) };
    Entry { id, key: line.id, value, tags: line.tags, thread }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect::<Result<_, _>>()?)
}
