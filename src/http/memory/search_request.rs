//! A search request, sent as a query or as a body.

use std::time::Duration;

use muster_memory::{MAX_QUERY, Mode, Query, SearchParams};
use muster_request::{Fields, Request};

use super::entry::{check_key, check_name, check_namespace, tags};
use super::queries::check_cursor;

const DAY_SECONDS: f64 = 86_400.0;

/// A search.
#[derive(Debug, Request)]
#[request(query, body, last, skip_empty, schema = SearchRequest, example = {
    "q": "which pump needs a seal", "tags": ["pump"], "limit": 5, "explain": true
})]
pub struct SearchRequest {
    /// Text to search for, at most 64 KiB, of which the first 512 words count. No character is an operator. A URL has
    /// room for about 60 KB; use POST for longer texts.
    #[request(check = check_text)]
    #[schema(min_length = 1, max_length = 65_536)]
    q: String,
    /// Ranking: `hybrid`, `text` or `semantic` (also `vector`).
    #[request(with = mode, default, schema = String)]
    #[schema(default = "hybrid")]
    mode: Mode,
    /// Maximum number of hits of the page.
    #[request(range = 1..=200, default = 10)]
    limit: usize,
    /// `next_cursor` of the previous page of the same search.
    #[request(check = check_cursor)]
    #[schema(max_length = 2_048)]
    cursor: Option<String>,
    /// Namespace. By default all namespaces of the caller, without shared ones.
    #[request(check = check_namespace)]
    #[schema(min_length = 1, max_length = 128)]
    namespace: Option<String>,
    /// Returns only entries with all these tags; in a query repeatable or separated by commas.
    #[request(with = tags, default)]
    #[schema(max_items = 64)]
    tags: Vec<String>,
    /// Returns only entries with at least one of these tags; in a query repeatable or separated by commas.
    #[request(with = tags, default)]
    #[schema(max_items = 64)]
    tags_any: Vec<String>,
    /// Returns only entries whose key begins with this text.
    #[request(check = check_key)]
    #[schema(min_length = 1, max_length = 512)]
    key_prefix: Option<String>,
    /// Returns only entries of this thread.
    #[request(check = check_name)]
    #[schema(min_length = 1, max_length = 128)]
    thread: Option<String>,
    /// Minimum score of a hit.
    #[request(range = 0.0..=1.0)]
    min_score: Option<f32>,
    /// Age at which a score is halved, in days, at most a hundred years. By default age does not count.
    #[request(range = 0.001..=36_500.0)]
    half_life_days: Option<f64>,
    /// Weight of relevance in maximal marginal relevance. Below 1, hits that resemble a better hit move down.
    #[request(range = 0.0..=1.0)]
    mmr: Option<f32>,
    /// Whether every part of each score is returned.
    #[request(with = flag, default, schema = bool)]
    #[schema(default = false)]
    pub(super) explain: bool,
}

impl From<SearchRequest> for SearchParams {
    fn from(request: SearchRequest) -> Self {
        let query = Query {
            text: request.q.into(),
            mode: request.mode,
            limit: request.limit,
            offset: 0,
            tags_all: request.tags,
            tags_any: request.tags_any,
            key_prefix: request.key_prefix,
            thread: request.thread,
            min_score: request.min_score,
            half_life: request.half_life_days.map(|days| Duration::from_secs_f64(days * DAY_SECONDS)),
            mmr: request.mmr,
        };
        Self { query, namespace: request.namespace, after: request.cursor }
    }
}

fn check_text(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("must hold what to look for: GET /api/memory lists everything".to_owned());
    }
    if text.len() > MAX_QUERY { Err(format!("must be at most {MAX_QUERY} bytes")) } else { Ok(()) }
}

fn mode(fields: &mut Fields<'_>, name: &str) -> Option<Mode> {
    match fields.string(name)?.as_str() {
        "hybrid" => Some(Mode::Hybrid),
        "text" => Some(Mode::Text),
        "semantic" | "vector" => Some(Mode::Semantic),
        _ => {
            fields.fail(name, "must be hybrid, text or semantic");
            None
        }
    }
}

/// Reads true or false; a query may also contain `1` or `0`.
fn flag(fields: &mut Fields<'_>, name: &str) -> Option<bool> {
    match fields.value(name).and_then(|value| value.as_str()) {
        Some("1") if fields.is_query() => Some(true),
        Some("0") if fields.is_query() => Some(false),
        _ => fields.bool(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_invalid_field_is_reported() {
        let sent =
            [("limit", "0"), ("min_score", "NaN"), ("explain", "perhaps"), ("tags", "a\u{7}"), ("namespace", "a b")];
        let sent = sent.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let rejection = SearchRequest::from_query(&sent).unwrap_err();
        let fields: Vec<_> = rejection.fields.iter().map(|field| (field.kind, field.loc[1].as_str())).collect();
        let wrong = |name| ("value_error", name);
        assert_eq!(
            fields,
            [("missing", "q"), wrong("limit"), wrong("namespace"), wrong("tags"), wrong("min_score"), wrong("explain")]
        );
    }
}
