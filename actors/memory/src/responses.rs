//! Stored responses to idempotent requests. They contain no values of entries: the repeated request carries them again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::{IndexState, StoreResponse};
use super::port::ApplyOutcome;
use super::record::{EntryId, EntryRecord};
use super::state::{Draft, Rejection, Stored};
use muster_core::{Error, Millis};

/// Outcome for one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryOutcome {
    Stored(ResponseExtras),
    Refused(Rejection),
}

/// Parts of a response that are not in its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ResponseExtras {
    id: EntryId,
    version: u32,
    text_version: u32,
    seq: u64,
    created: bool,
    created_at: Millis,
    stored_at: Millis,
    expires_at: Option<Millis>,
}

/// Stored response to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredResponse {
    /// One outcome per entry.
    pub(super) memory: Vec<EntryOutcome>,
}

/// Returns whether a stored response belongs to memory.
pub(super) fn is_ours(response: &Value) -> bool {
    response.get("memory").is_some()
}

impl EntryOutcome {
    pub(super) fn of(outcome: &Result<Stored, Rejection>) -> Self {
        match outcome {
            Err(rejection) => Self::Refused(*rejection),
            Ok(Stored { record, created }) => Self::Stored(ResponseExtras {
                id: record.id,
                version: record.version,
                text_version: record.text_version,
                seq: record.seq,
                created: *created,
                created_at: record.created_at,
                stored_at: record.stored_at,
                expires_at: record.expires_at,
            }),
        }
    }

    /// Rebuilds the first response, with the values from the repeated request.
    pub(super) fn replay(self, draft: Draft) -> Result<StoreResponse, Error> {
        let extras = match self {
            Self::Refused(rejection) => return Err(rejection.into()),
            Self::Stored(extras) => extras,
        };
        let record = EntryRecord {
            id: extras.id,
            place: draft.place,
            value: draft.value,
            tags: draft.tags,
            thread: draft.thread,
            importance: draft.importance,
            language: draft.language,
            created_at: extras.created_at,
            stored_at: extras.stored_at,
            expires_at: extras.expires_at,
            version: extras.version,
            text_version: extras.text_version,
            seq: extras.seq,
            kept: Vec::new(),
        };
        let (record, created) = (Arc::new(record), extras.created);
        Ok(StoreResponse { record, created, index_state: IndexState::Text, replayed: true })
    }
}

/// Returns the response for one entry of a store request, given its outcome and whether it is indexed.
pub(super) fn response(outcome: Result<Stored, Rejection>, indexed: ApplyOutcome) -> Result<StoreResponse, Error> {
    let Stored { record, created } = outcome?;
    let index_state = match indexed {
        ApplyOutcome::Complete => IndexState::Text,
        ApplyOutcome::Partial => IndexState::Pending,
    };
    Ok(StoreResponse { record, created, index_state, replayed: false })
}
