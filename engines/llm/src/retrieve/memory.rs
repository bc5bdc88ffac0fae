//! Entries of the caller's memory, as the memory's own search ranks them.

use serde::Deserialize;

use muster_engine::prelude::*;

use super::{Entry, Hit, Input, Mode, Output};

/// Parameters of BM25 by default; the memory has its own.
const DEFAULTS: (f64, f64) = (1.2, 0.75);

/// The server's answer to a need of entries.
#[derive(Deserialize)]
struct Found {
    entries: Vec<FoundEntry>,
    total: usize,
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct FoundEntry {
    id: String,
    text: String,
    time: String,
    score: f64,
    bm25: f64,
    cosine: f64,
    highlight: String,
}

/// Returns the best entries for the query; for a blank one the newest.
pub(super) fn search(input: &Input, context: &Context) -> Result<Output, Failure> {
    if input.documents.is_some() {
        return Err(Failure::invalid(
            &["documents"],
            "are not searched with `source` memory: leave them out, or use inline",
        ));
    }
    if (input.k1, input.b) != DEFAULTS {
        context.warn("own_ranking: the memory ranks by its own parameters; `k1` and `b` were not used");
    }
    let ranking = match input.mode {
        Mode::Hybrid => MemoryRanking::Hybrid,
        Mode::Lexical => MemoryRanking::Lexical,
        Mode::Vector => MemoryRanking::Vector,
    };
    let need = Need::Memory { query: input.query.clone(), ranking, top: input.top };
    let given = match context.ask(need)? {
        Answer::Given(given) => given,
        Answer::Refused { why } => return Err(Failure::Refused { why: format!("the memory was not read: {why}") }),
    };
    let Found { entries, total, warnings } = serde_json::from_value(given).map_err(Failure::internal)?;
    warnings.into_iter().for_each(|warning| context.warn(warning));
    let (mut hits, mut texts) = (Vec::new(), Vec::new());
    for (at, entry) in entries.into_iter().enumerate() {
        let FoundEntry { id, text, time, score, bm25, cosine, highlight } = entry;
        hits.push(Hit { id: id.clone(), score, bm25, cosine, highlight, rank: at + 1 });
        texts.push(Entry { id, text, time });
    }
    Ok(Output { hits, total, entries: Some(texts) })
}

#[cfg(test)]
mod tests {
    use muster_engine::Answered;
    use serde_json::json;

    use super::*;

    fn run(input: Value, answer: Answer) -> (Result<Value, Failure>, Vec<String>) {
        let need = Need::Memory { query: "pumps".to_owned(), ranking: MemoryRanking::Hybrid, top: 10 };
        let context = Context::default().with_answers(vec![Answered { need, answer }]);
        (crate::FAMILY.run(157, input, &context), context.into_warnings())
    }

    #[test]
    fn hits_are_those_of_the_memory_with_their_texts() {
        let entry = json!({
            "id": "mem_1", "text": "Two pumps are at the depot.", "time": "2026-11-27T03:00:00Z",
            "score": 0.7, "bm25": 0.5, "cosine": 0.8, "highlight": "Two pumps",
        });
        let given = Answer::Given(json!({ "entries": [entry], "total": 3, "warnings": ["vectors did not count"] }));
        let (output, warnings) = run(json!({ "query": "pumps", "source": "memory", "k1": 1.5 }), given);
        let expected = json!({
            "hits": [{ "id": "mem_1", "score": 0.7, "bm25": 0.5, "cosine": 0.8, "highlight": "Two pumps", "rank": 1 }],
            "total": 3,
            "entries": [{ "id": "mem_1", "text": "Two pumps are at the depot.", "time": "2026-11-27T03:00:00Z" }],
        });
        assert_eq!(output.unwrap(), expected);
        assert!(warnings[0].starts_with("own_ranking") && warnings[1].contains("vectors"), "{warnings:?}");
    }

    /// Nothing found and nothing read are not the same.
    #[test]
    fn without_access_there_is_no_empty_answer() {
        let refused = Answer::Refused { why: "no scope".to_owned() };
        let (output, _) = run(json!({ "query": "pumps", "source": "memory" }), refused);
        assert!(matches!(output, Err(Failure::Refused { why }) if why.contains("no scope")));
    }

    #[test]
    fn documents_are_not_searched_beside_the_memory() {
        let input = json!({ "query": "pumps", "source": "memory", "documents": [] });
        let (output, _) = run(input, Answer::Refused { why: String::new() });
        assert!(matches!(output, Err(Failure::Invalid { problems }) if problems[0].loc == ["documents"]));
    }
}
