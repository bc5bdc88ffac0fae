//! q157: entries of the caller's memory.

use muster_core::page::PageParams;
use muster_core::{Error, Kind};
use muster_engines::MemoryRanking;
use muster_identity::By;
use muster_memory::{DEFAULT_NAMESPACE, EntryRecord, FoundEntry, IndexHealth, ListParams, Mode, Query, SearchParams};
use muster_tasks::engine::Provided;
use muster_tasks::task::Usage;
use serde_json::{Value, json};

use super::EffectParts;

/// Bytes that are shown of an entry in which no word was found.
const MAX_BEGINNING: usize = 200;
/// Bytes of all texts of an answer.
const MAX_BYTES: usize = 2_000_000;

impl EffectParts {
    /// Returns the best entries of the reader's memory for a query; for a blank one the newest.
    ///
    /// # Errors
    /// `Forbidden` without a reader; those of the memory.
    pub(super) async fn remembered(
        &self,
        query: &str,
        ranking: MemoryRanking,
        top: usize,
        reader: Option<By>,
    ) -> Result<Provided, Error> {
        let reader = reader.ok_or_else(|| Error::new(Kind::Forbidden, "the caller's key has no scope `memory`"))?;
        let (entries, total, mut warnings) = if query.trim().is_empty() {
            let page = PageParams { limit: top, after: None };
            let params = ListParams { page, ..ListParams::default() };
            let page = self.memory.list(params, &reader).await?;
            let total = self.memory.stats(&reader).await?.usage.entries;
            let rows = page.items.iter().map(|entry| row(entry, None)).collect::<Vec<_>>();
            (rows, total, Vec::new())
        } else {
            let mode = match ranking {
                MemoryRanking::Hybrid => Mode::Hybrid,
                MemoryRanking::Lexical => Mode::Text,
                MemoryRanking::Vector => Mode::Semantic,
            };
            let query = Query { text: query.into(), mode, limit: top, ..Query::default() };
            let params = SearchParams { query, ..SearchParams::default() };
            let found = self.memory.search(params, &reader).await?;
            let mut warnings = found.warnings;
            if let IndexHealth::Rebuilding { percent } = found.index {
                warnings.push(format!("rebuilding: {percent} % of the memory is indexed; the rest is not found"));
            }
            let rows = found.hits.iter().map(|found| row(&found.record, Some(found))).collect::<Vec<_>>();
            (rows, found.total as u64, warnings)
        };
        let mut bytes = 0;
        let fits = |entry: &Value| {
            bytes += entry.get("text").and_then(Value::as_str).map_or(0, str::len);
            bytes <= MAX_BYTES
        };
        let all = entries.len();
        let entries: Vec<Value> = entries.into_iter().take_while(fits).collect();
        if entries.len() < all {
            warnings.push(format!(
                "cut: {} of {all} entries are more than {MAX_BYTES} bytes; the rest is left out",
                entries.len()
            ));
        }
        let answer = json!({ "entries": entries, "total": total, "warnings": warnings });
        Ok(Provided::given(answer, Usage::default()))
    }
}

/// The first bytes of a text, at a boundary of characters.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_BEGINNING)).unwrap_or(text)
}

/// An entry, with its scores where it was searched for.
fn row(entry: &EntryRecord, found: Option<&FoundEntry>) -> Value {
    let highlights = found.map(|found| found.highlights.as_slice()).unwrap_or_default();
    let highlight = highlights.iter().map(|part| part.snippet.trim()).collect::<Vec<_>>().join(" … ");
    let hit = found.map(|found| &found.hit);
    // The key is what people know; the route of an entry finds both.
    let id = if entry.namespace() == DEFAULT_NAMESPACE { json!(entry.key()) } else { json!(entry.id) };
    let highlight = if highlight.is_empty() { beginning(&entry.value) } else { &highlight };
    json!({
        "id": id, "text": entry.value, "time": entry.stored_at.rfc3339(), "highlight": highlight,
        "score": hit.map_or(0.0, |hit| hit.score), "bm25": hit.and_then(|hit| hit.text).unwrap_or_default(),
        "cosine": hit.and_then(|hit| hit.semantic).unwrap_or_default(),
    })
}
