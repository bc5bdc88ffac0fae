//! What is looked for, as a query or a body says it.

use std::time::Duration;

use muster_core::Error;
use muster_core::page::PageAsk;
use muster_memory::{MAX_QUERY, Mode, Query, SearchAsk};
use utoipa::ToSchema;

use super::entry::{fit, tags, unfit_key, unfit_namespace, unfit_thread};
use super::query::{MAX_CURSOR, NO_CURSOR, Query as Parameters};
use crate::body::{Fields, FromJson};

const DEFAULT_LIMIT: usize = 10;
/// A hundred years.
const MAX_HALF_LIFE_DAYS: f64 = 36_500.0;
const DAY_SECONDS: f64 = 86_400.0;

/// A search, and whether every part of its scores is wanted.
#[derive(Debug)]
pub struct Sought {
    pub(super) ask: SearchAsk,
    pub(super) explain: bool,
}

/// What to look for.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "the description reads its fields")]
pub struct SoughtBody {
    /// At most 64 KiB; its first 512 words count. No character of it is an operator.
    #[schema(min_length = 1, max_length = 65_536)]
    pub q: String,
    /// `hybrid`, `text` or `semantic` (also `vector`).
    #[schema(default = "hybrid")]
    pub mode: Option<String>,
    #[schema(minimum = 1, maximum = 200, default = 10)]
    pub limit: Option<u64>,
    /// `next_cursor` of the page before, of the same search.
    #[schema(max_length = 2_048)]
    pub cursor: Option<String>,
    /// All of the caller's own where it is left out; a shared one must be named.
    #[schema(min_length = 1, max_length = 128)]
    pub namespace: Option<String>,
    /// All of these.
    #[schema(max_items = 64)]
    pub tags: Option<Vec<String>>,
    /// At least one of these.
    #[schema(max_items = 64)]
    pub tags_any: Option<Vec<String>>,
    /// How keys begin.
    #[schema(min_length = 1, max_length = 512)]
    pub key_prefix: Option<String>,
    /// Of this thread only.
    #[schema(min_length = 1, max_length = 128)]
    pub thread: Option<String>,
    /// What scores less is left out.
    #[schema(minimum = 0, maximum = 1)]
    pub min_score: Option<f32>,
    /// The age at which a score is halved; without it age does not count.
    #[schema(minimum = 0.001, maximum = 36_500)]
    pub half_life_days: Option<f64>,
    /// Below 1, what resembles a better hit moves down (maximal marginal relevance).
    #[schema(minimum = 0, maximum = 1)]
    pub mmr: Option<f32>,
    /// Whether every part of each score is wanted.
    #[schema(default = false)]
    pub explain: Option<bool>,
}

impl Sought {
    /// # Errors
    /// `Invalid` with every failed check.
    pub(super) fn in_query(pairs: &[(String, String)]) -> Result<Self, Error> {
        let mut query = Parameters::new(pairs);
        let text = query.required("q").unwrap_or_default().to_owned();
        if let Some(why) = unfit_text(&text) {
            query.fail("q", why);
        }
        // In the order of the failures that are reported.
        let mode = query.fit("mode", unfit_mode).and_then(|name| mode(&name)).unwrap_or_default();
        let namespace = query.namespace();
        let mut search = Query {
            text: text.into(),
            mode,
            tags_all: query.tags("tags"),
            tags_any: query.tags("tags_any"),
            key_prefix: query.key_prefix(),
            thread: query.thread(),
            min_score: query.number("min_score", 0.0..=1.0),
            half_life: query.number("half_life_days", 0.001..=MAX_HALF_LIFE_DAYS).map(days),
            mmr: query.number("mmr", 0.0..=1.0),
            ..Query::default()
        };
        let PageAsk { limit, after } = query.page(DEFAULT_LIMIT);
        search.limit = limit;
        let ask = SearchAsk { query: search, namespace, after };
        let explain = query.flag("explain");
        query.finish()?;
        Ok(Self { ask, explain })
    }
}

impl FromJson for Sought {
    fn read(fields: &mut Fields<'_>) -> Self {
        let text = fit(fields, "q", |text| if text.is_empty() { Some(EMPTY.to_owned()) } else { unfit_text(text) });
        let mode = fit(fields, "mode", unfit_mode).and_then(|name| mode(&name));
        let no_cursor = |cursor: &str| (cursor.len() > MAX_CURSOR).then(|| NO_CURSOR.to_owned());
        let limit = fields.integer("limit", 1..=200).and_then(|limit| usize::try_from(limit).ok());
        let after = fit(fields, "cursor", no_cursor);
        let text = fields.require("q", text).unwrap_or_default();
        let namespace = fit(fields, "namespace", unfit_namespace);
        let query = Query {
            text: text.into(),
            mode: mode.unwrap_or_default(),
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            offset: 0,
            tags_all: tags(fields, "tags"),
            tags_any: tags(fields, "tags_any"),
            key_prefix: fit(fields, "key_prefix", unfit_key),
            thread: fit(fields, "thread", unfit_thread),
            min_score: fields.number("min_score", 0.0..=1.0).map(|least| least as f32),
            half_life: fields.number("half_life_days", 0.001..=MAX_HALF_LIFE_DAYS).map(days),
            mmr: fields.number("mmr", 0.0..=1.0).map(|lambda| lambda as f32),
        };
        Self { ask: SearchAsk { query, namespace, after }, explain: fields.bool("explain").unwrap_or_default() }
    }
}

const EMPTY: &str = "must hold what to look for: GET /api/memory lists everything";

/// What keeps a text, which was sent, from being looked for.
fn unfit_text(text: &str) -> Option<String> {
    if !text.is_empty() && text.trim().is_empty() {
        return Some(EMPTY.to_owned());
    }
    (text.len() > MAX_QUERY).then(|| format!("must be at most {MAX_QUERY} bytes"))
}

fn mode(name: &str) -> Option<Mode> {
    match name {
        "hybrid" => Some(Mode::Hybrid),
        "text" => Some(Mode::Text),
        "semantic" | "vector" => Some(Mode::Semantic),
        _ => None,
    }
}

fn unfit_mode(name: &str) -> Option<String> {
    mode(name).is_none().then(|| "must be hybrid, text or semantic".to_owned())
}

fn days(days: f64) -> Duration {
    Duration::from_secs_f64(days * DAY_SECONDS)
}
