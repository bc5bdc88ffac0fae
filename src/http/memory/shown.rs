//! An entry as it is shown.

use muster_core::Millis;
use muster_memory::{EntryId, EntryRecord, IndexState};
use serde::Serialize;
use utoipa::ToSchema;

/// An entry.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryBody {
    /// `mem_…`: stays over an entry's versions.
    #[schema(value_type = String)]
    pub id: EntryId,
    pub key: String,
    pub value: String,
    pub tags: Vec<String>,
    pub namespace: String,
    /// One more with each replacement, from 1; the `ETag` of an entry.
    pub version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<f32>,
    /// As it was said when it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Of the first version.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Millis,
    /// Of this version.
    #[schema(value_type = String, format = DateTime)]
    pub stored_at: Millis,
    /// From then on it is never returned; there where a TTL was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Millis>,
    /// How it is found: `indexed` (by text and meaning), `text` (by text; its vector is not there yet, or there is no
    /// model), `pending` (once the index has caught up). Lists do not tell it.
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
