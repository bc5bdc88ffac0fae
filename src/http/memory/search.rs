//! `GET /api/memory/search` and `POST /api/memory/search`

use actix_web::{HttpRequest, web};
use muster_core::Millis;
use muster_memory::{EntryId, FoundEntry, Highlight, Hit, IndexHealth, Mode, SearchAsk, SearchReply};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::search_request::SearchRequest;
use crate::app::App;
use crate::error::HttpError;
use crate::error::sets::{Agent, BodyErrors, ReadErrors};
use crate::guard::{MemoryUse, Queried, Sent, acting};

/// Of each way alone, as far as it was computed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScoresBody {
    /// BM25 as a share of the most that any entry could have, 0 to 1; null where words did not count.
    pub text: Option<f32>,
    /// Cosine of the query and the entry with its neighbours, -1 to 1; null where vectors did not count, or the entry has
    /// none yet.
    pub semantic: Option<f32>,
}

/// A part of a value that answers the query.
#[derive(Debug, Serialize, ToSchema)]
pub struct HighlightBody {
    pub snippet: String,
    /// Where the snippet begins and ends in the value, in characters.
    pub start: usize,
    pub end: usize,
    /// Where words match within the snippet, in characters: from, to.
    #[schema(value_type = Vec<Vec<usize>>)]
    pub matches: Vec<(usize, usize)>,
}

/// The neighbours of an entry in its thread.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContextBody {
    #[schema(value_type = Option<String>)]
    pub prev_id: Option<EntryId>,
    #[schema(value_type = Option<String>)]
    pub next_id: Option<EntryId>,
}

/// An entry that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct HitBody {
    #[schema(value_type = String)]
    pub id: EntryId,
    pub key: String,
    pub value: String,
    pub tags: Vec<String>,
    pub namespace: String,
    pub version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<f32>,
    /// 0 to 1: the share it has of what a perfect entry would score, in which every word of the query stands without end
    /// and whose vector is the query's. Comparable within one search.
    pub score: f32,
    /// From 1, over all pages.
    pub rank: usize,
    pub scores: ScoresBody,
    pub highlights: Vec<HighlightBody>,
    #[schema(value_type = String, format = DateTime)]
    pub stored_at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Millis>,
    /// Every part of the score, with `explain=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub explain: Option<Value>,
    pub context: ContextBody,
}

/// What was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchBody {
    pub query: String,
    /// The ranking that was used: `hybrid`, `text` or `semantic`. `text` where no vectors can be had, and `warnings` says
    /// why.
    #[schema(value_type = String)]
    pub mode: Mode,
    /// Best first.
    pub results: Vec<HitBody>,
    pub took_ms: u64,
    /// Entries that match, those of other pages among them.
    pub total: usize,
    /// For the next page, of the same search; null at the end.
    pub next_cursor: Option<String>,
    pub warnings: Vec<String>,
    /// `state`: `ready`, `rebuilding` (with `percent`: what is not there yet is not found) or `down`.
    #[schema(value_type = Object)]
    pub index: IndexHealth,
}

fn hit(found: FoundEntry, explained: bool) -> HitBody {
    let FoundEntry { record, rank, hit, highlights } = found;
    let Hit { score, text, semantic, explain, prev, next, .. } = hit;
    HitBody {
        id: record.id,
        key: record.key().to_owned(),
        tags: record.tags.clone(),
        namespace: record.namespace().to_owned(),
        version: record.version,
        thread: record.thread.clone(),
        importance: record.importance,
        score,
        rank,
        scores: ScoresBody { text, semantic },
        highlights: highlights.into_iter().map(|part| highlight(part, &record.value)).collect(),
        stored_at: record.stored_at,
        expires_at: record.expires_at,
        explain: explained.then(|| serde_json::to_value(explain).unwrap_or_default()),
        context: ContextBody { prev_id: prev.map(EntryId), next_id: next.map(EntryId) },
        value: record.value.to_string(),
    }
}

/// Places in characters: JSON's texts have no bytes.
fn highlight(part: Highlight, value: &str) -> HighlightBody {
    let Highlight { start, end, snippet, matches } = part;
    let characters = |text: &str, to: usize| text.char_indices().take_while(|(at, _)| *at < to).count();
    let matches =
        matches.into_iter().map(|(from, to)| (characters(&snippet, from), characters(&snippet, to))).collect();
    HighlightBody { start: characters(value, start), end: characters(value, end), matches, snippet }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Hybrid => "hybrid",
        Mode::Text => "text",
        Mode::Semantic => "semantic",
    }
}

/// Search memory
///
/// Finds entries by words and by meaning, best first. The query is plain text without operators. Without the embedding
/// model, and for entries that it has not processed, only words are compared; `mode` and `warnings` state this. Expired
/// entries are never found.
#[utoipa::path(get, path = "/api/memory/search", tag = "memory", operation_id = "search_memory",
    params(SearchRequest),
    responses((status = 200, description = "The matching entries", body = SearchBody),
        (status = 400, description = "The URL is longer than 65,534 bytes; the body is empty. Send the query by POST"),
        ReadErrors<Agent>))]
pub async fn search(
    request: Queried<MemoryUse, SearchRequest>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<SearchBody>, HttpError> {
    found(request.query, &http, &app).await
}

/// Search memory with a request body
///
/// Finds entries as `GET /api/memory/search` does, with the parameters in the body, for queries that are too long for a
/// URL.
#[utoipa::path(post, path = "/api/memory/search", tag = "memory", operation_id = "search_memory_by_body",
    request_body = SearchRequest,
    responses((status = 200, description = "The matching entries", body = SearchBody), BodyErrors<Agent>))]
pub async fn search_by_body(
    request: Sent<MemoryUse, SearchRequest>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<SearchBody>, HttpError> {
    found(request.body, &http, &app).await
}

async fn found(request: SearchRequest, http: &HttpRequest, app: &App) -> Result<web::Json<SearchBody>, HttpError> {
    let explain = request.explain;
    let ask = SearchAsk::from(request);
    let text = ask.query.text.to_string();
    let reply = app.memory.entries.search(ask, &acting(http)?).await?;
    let SearchReply { mode, hits, total, next, took, mut warnings, index } = reply;
    if let IndexHealth::Rebuilding { percent } = index {
        warnings.push(format!("the index is rebuilt ({percent} %): what is not in it yet is not found"));
    }
    app.metrics.memory_search(name(mode), took);
    Ok(web::Json(SearchBody {
        query: text,
        mode,
        results: hits.into_iter().map(|found| hit(found, explain)).collect(),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        total,
        next_cursor: next,
        warnings,
        index,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_characters() {
        let part = Highlight { start: 3, end: 12, snippet: "größe ü".to_owned(), matches: vec![(0, 7), (8, 10)] };
        let told = highlight(part, "é größe ü");
        assert_eq!((told.start, told.end), (2, 9));
        assert_eq!(told.matches, [(0, 5), (6, 7)]);
    }
}
