//! First responses to idempotent requests. They contain no entry values: the repeated request carries them again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actor::MemoryWriter;
use super::messages::{IndexState, StoreReply};
use super::port::Taken;
use super::record::{EntryId, EntryRecord};
use super::state::{Draft, Refused, Stored};
use muster_core::idempotency::Idempotency;
use muster_core::{Error, Kind, Millis};

/// Outcome for one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EntryOutcome {
    Stored(ResponseExtras),
    Refused(Refused),
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

/// Stored response to a whole request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    /// One per entry.
    pub(super) memory: Vec<EntryOutcome>,
}

/// Returns whether a stored response belongs to memory.
pub(super) fn is_ours(answer: &Value) -> bool {
    answer.get("memory").is_some()
}

/// A response that is not durable yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) digest: [u8; 32],
    pub(super) answer: Answer,
}

impl EntryOutcome {
    pub(super) fn of(outcome: &Result<Stored, Refused>) -> Self {
        match outcome {
            Err(refused) => Self::Refused(*refused),
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
    pub(super) fn again(self, draft: Draft) -> Result<StoreReply, Error> {
        let gist = match self {
            Self::Refused(refused) => return Err(refused.into()),
            Self::Stored(gist) => gist,
        };
        let record = EntryRecord {
            id: gist.id,
            place: draft.place,
            value: draft.value,
            tags: draft.tags,
            thread: draft.thread,
            importance: draft.importance,
            language: draft.language,
            created_at: gist.created_at,
            stored_at: gist.stored_at,
            expires_at: gist.expires_at,
            version: gist.version,
            text_version: gist.text_version,
            seq: gist.seq,
            kept: Vec::new(),
        };
        let (record, created) = (Arc::new(record), gist.created);
        Ok(StoreReply { record, created, index_state: IndexState::Text, replayed: true })
    }
}

/// Response to a store request, given its outcome.
pub(super) fn reply(outcome: Result<Stored, Refused>, taken: Taken) -> Result<StoreReply, Error> {
    let Stored { record, created } = outcome?;
    let index_state = match taken {
        Taken::All => IndexState::Text,
        Taken::Partly => IndexState::Pending,
    };
    Ok(StoreReply { record, created, index_state, replayed: false })
}

impl MemoryWriter {
    /// Returns the first response to the same request, durable or pending.
    ///
    /// # Errors
    /// `IdempotencyConflict`; the store cannot be read.
    pub(super) fn answered(&self, asked: &Idempotency) -> Result<Option<Answer>, Error> {
        if let Some(waiting) = self.answers.get(&(asked.principal.clone(), asked.key.clone())) {
            if waiting.digest == asked.digest {
                return Ok(Some(waiting.answer.clone()));
            }
            let message = "this Idempotency-Key was used with another body: take a new one";
            return Err(Error::new(Kind::IdempotencyConflict, message));
        }
        let Some(answer) = asked.replay(&self.options.store, self.now())? else { return Ok(None) };
        let read = serde_json::from_value(answer).map_err(|error| {
            tracing::error!(%error, "a stored answer could not be read");
            Error::new(Kind::Internal, "the first answer could not be read")
        });
        read.map(Some)
    }
}
