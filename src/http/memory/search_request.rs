//! A search, as a query or a body sends it.

use std::time::Duration;

use muster_memory::{MAX_QUERY, Mode, Query, SearchParams};
use muster_request::{Fields, Request};

use super::entry::{check_key, check_name, check_namespace, tags};
use super::queries::check_cursor;

const DAY_SECONDS: f64 = 86_400.0;

/// What to search for.
#[derive(Debug, Request)]
#[request(query, body, last, skip_empty, schema = SearchRequest, example = {
    "q": "which pump needs a seal", "tags": ["pump"], "limit": 5, "explain": true
})]
pub struct SearchRequest {
    /// At most 64 KiB; its first 512 words count. No character of it is an operator. An address has room for about 60 KB:
    /// longer ones by POST.
    #[request(check = check_text)]
    #[schema(min_length = 1, max_length = 65_536)]
    q: String,
    /// `hybrid`, `text` or `semantic` (also `vector`).
    #[request(with = mode, default, schema = String)]
    #[schema(default = "hybrid")]
    mode: Mode,
    /// Most hits of the page.
    #[request(range = 1..=200, default = 10)]
    limit: usize,
    /// `next_cursor` of the page before, of the same search.
    #[request(check = check_cursor)]
    #[schema(max_length = 2_048)]
    cursor: Option<String>,
    /// All of the caller's own where it is left out; a shared one must be named.
    #[request(check = check_namespace)]
    #[schema(min_length = 1, max_length = 128)]
    namespace: Option<String>,
    /// All of these; in a query repeatable, or with commas between.
    #[request(with = tags, default)]
    #[schema(max_items = 64)]
    tags: Vec<String>,
    /// At least one of these; in a query repeatable, or with commas between.
    #[request(with = tags, default)]
    #[schema(max_items = 64)]
    tags_any: Vec<String>,
    /// How keys begin.
    #[request(check = check_key)]
    #[schema(min_length = 1, max_length = 512)]
    key_prefix: Option<String>,
    /// Of this thread only.
    #[request(check = check_name)]
    #[schema(min_length = 1, max_length = 128)]
    thread: Option<String>,
    /// What scores less is left out.
    #[request(range = 0.0..=1.0)]
    min_score: Option<f32>,
    /// The age at which a score is halved; without it age does not count. At most a hundred years.
    #[request(range = 0.001..=36_500.0)]
    half_life_days: Option<f64>,
    /// Below 1, what resembles a better hit moves down (maximal marginal relevance).
    #[request(range = 0.0..=1.0)]
    mmr: Option<f32>,
    /// Whether every part of each score is wanted.
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

/// True or false; a query may also have `1` or `0`.
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
    fn everything_that_is_wrong_is_reported() {
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
