//! Requests and their results.

use actix::Message;
use muster_core::audit::AuditEntry;
use muster_core::{Error, Millis};
use serde_json::Value;

use super::content::{KnownFacts, Turn};

/// A message and its answer that are to be kept.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Identifier of the API key.
    pub owner: String,
    /// The conversation that goes on; `None` begins one.
    pub conversation: Option<String>,
    /// Identifier of the request.
    pub request_id: String,
    /// The message.
    pub message: String,
    /// The text of the answer.
    pub response: String,
    /// Level of care of the answer.
    pub level: Option<String>,
    /// Hash of the data.
    pub ruleset: String,
    /// What the message said.
    pub known: KnownFacts,
}

/// A kept turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Identifier of the conversation.
    pub id: String,
    /// Time at which it ends unless it goes on.
    pub ends: Millis,
    /// Number of turns that it has.
    pub turns: usize,
}

/// A conversation that goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedConversation {
    /// What its messages said so far.
    pub known: KnownFacts,
}

/// Who reads a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// The key that it belongs to.
    Owner(String),
    /// Another key, for a reason that is written into the audit log and reported to the owner.
    BreakGlass {
        /// Identifier of the key.
        by: String,
        /// Why.
        reason: String,
    },
}

/// A conversation as it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationView {
    /// Its identifier.
    pub id: String,
    /// Identifier of the API key that it belongs to.
    pub owner: String,
    /// Time at which it ends.
    pub ends: Millis,
    /// What its messages said so far.
    pub known: KnownFacts,
    /// The turns, oldest first.
    pub turns: Vec<Turn>,
    /// Number of older turns that were dropped.
    pub dropped: u32,
}

/// A notice to an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Identifier of the conversation that was read.
    pub conversation: String,
    /// Time of the reading.
    pub at: Millis,
    /// Identifier of the key that read it.
    pub by: String,
    /// The reason that was given.
    pub reason: String,
}

/// What is about to be sent to providers. It contains nothing clinical.
#[derive(Debug, Clone)]
pub struct Sending {
    /// Identifier of the API key.
    pub owner: String,
    /// Identifier of the request.
    pub request_id: String,
    /// Providers, form and purpose.
    pub details: Value,
}

/// Numbers of what is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptCounts {
    /// Conversations that have not ended.
    pub kept: usize,
    /// Those of them that are sealed with another key than the present one.
    pub unreadable: usize,
}

/// Reads what a conversation that goes on said so far.
#[derive(Debug, Message)]
#[rtype(result = "Result<OpenedConversation, Error>")]
pub(super) struct Open {
    pub(super) owner: String,
    pub(super) id: String,
}

/// Keeps a turn.
#[derive(Debug, Message)]
#[rtype(result = "Result<Receipt, Error>")]
pub(super) struct Keep(pub(super) Box<NewTurn>);

/// Reads a conversation.
#[derive(Debug, Message)]
#[rtype(result = "Result<ConversationView, Error>")]
pub(super) struct Read {
    pub(super) reader: Reader,
    pub(super) id: String,
}

/// Deletes a conversation.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Delete {
    pub(super) owner: String,
    pub(super) id: String,
}

/// Takes the notices that wait for an owner.
#[derive(Debug, Message)]
#[rtype(result = "Result<Vec<Notice>, Error>")]
pub(super) struct TakeNotices {
    pub(super) owner: String,
}

/// Writes entries into the audit log.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Note(pub(super) AuditEntry);

/// Deletes what has ended; returns how much.
#[derive(Debug, Message)]
#[rtype(result = "Result<usize, Error>")]
pub(super) struct Sweep;

/// Counts what is kept.
#[derive(Debug, Message)]
#[rtype(result = "Result<KeptCounts, Error>")]
pub(super) struct Count;
