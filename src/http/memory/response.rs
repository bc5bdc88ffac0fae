//! An entry in a response.

use muster_core::Millis;
use muster_memory::{EntryId, EntryRecord, IndexState};
use serde::Serialize;
use utoipa::ToSchema;

/// A memory entry.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryBody {
    /// Identifier, `mem_…`, the same for all versions of the entry.
    #[schema(value_type = String)]
    pub id: EntryId,
    pub key: String,
    pub value: String,
    pub tags: Vec<String>,
    pub namespace: String,
    /// Version, from 1, incremented by each replacement; also the `ETag`.
    pub version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Importance, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<f32>,
    /// Language that was stored with the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Time at which the first version was stored.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    /// Time at which this version was stored.
    #[schema(value_type = String, format = DateTime)]
    pub stored_at: Millis,
    /// Time from which the entry is not returned; only with a TTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Millis>,
    /// State in the index: `indexed` (found by text and meaning), `text` (found by text; no vector yet, or no model) or
    /// `pending` (not indexed yet). Not part of lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub index_state: Option<IndexState>,
}

impl EntryBody {
    pub(super) fn new(record: &EntryRecord, index_state: Option<IndexState>) -> Self {
        Self {
            id: record.id,
            key: record.key().to_owned(),
            value: record.value.to_string(),
            tags: record.tags.clone(),
            namespace: record.namespace().to_owned(),
            version: record.version,
            thread: record.thread.clone(),
            importance: record.importance,
            language: record.language.clone(),
            created_at: record.created_at,
            stored_at: record.stored_at,
            expires_at: record.expires_at,
            index_state,
        }
    }
}
