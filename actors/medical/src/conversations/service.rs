//! The service.

use actix_rt::ArbiterHandle;
use muster_core::audit::AuditEntry;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error};
use serde_json::Value;

use super::actor::{ConversationActor, ConversationOptions, load};
use super::messages::{
    ConversationView, Count, Delete, Keep, KeptCounts, NewTurn, Note, Notice, Open, OpenedConversation, Read, Reader,
    Receipt, Sending, Sweep, TakeNotices,
};

/// The kept conversations, and what the medical interface writes into the audit log.
#[derive(Debug, Clone)]
pub struct Conversations {
    handle: Handle<ConversationActor>,
    clock: Clock,
    kept: bool,
}

impl Conversations {
    /// Starts the actor.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: ConversationOptions) -> Self {
        let (clock, kept) = (options.clock.clone(), options.keep_hours > 0);
        let handle = group.start(ChildSpec::new("conversations", arbiter, move |_| load(options.clone())));
        Self { handle, clock, kept }
    }

    /// Waits until the index was read from the store.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Whether conversations are kept at all.
    #[must_use]
    pub const fn kept(&self) -> bool {
        self.kept
    }

    /// Returns what a conversation of an owner said so far.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` with the code `conversation_unreadable` if the present key does not open it; `Unavailable`.
    pub async fn open(&self, owner: &str, id: &str) -> Result<OpenedConversation, Error> {
        self.handle.ask(Open { owner: owner.to_owned(), id: id.to_owned() }).await?
    }

    /// Keeps a turn; begins a conversation if it names none.
    ///
    /// # Errors
    /// Those of [`Self::open`], and `QuotaExceeded`.
    pub async fn keep(&self, turn: NewTurn) -> Result<Receipt, Error> {
        self.handle.ask(Keep(Box::new(turn))).await?
    }

    /// Returns a conversation. The audit log has it first, and the owner is notified if somebody else reads it.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub async fn read(&self, reader: Reader, id: &str) -> Result<ConversationView, Error> {
        self.handle.ask(Read { reader, id: id.to_owned() }).await?
    }

    /// Deletes a conversation of an owner, whether or not it can be decrypted.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn delete(&self, owner: &str, id: &str) -> Result<(), Error> {
        self.handle.ask(Delete { owner: owner.to_owned(), id: id.to_owned() }).await?
    }

    /// Takes the notices that wait for an owner: each is returned once.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn take_notices(&self, owner: &str) -> Result<Vec<Notice>, Error> {
        self.handle.ask(TakeNotices { owner: owner.to_owned() }).await?
    }

    /// Writes into the audit log that something is about to be sent to providers.
    ///
    /// # Errors
    /// `Unavailable`: then it must not be sent.
    pub async fn note_sending(&self, sending: Sending) -> Result<(), Error> {
        let Sending { owner, request_id, details } = sending;
        self.note(&owner, "medical_sent_to_provider", &request_id, details).await
    }

    /// Writes into the audit log. `details` must have nothing clinical.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn note(&self, actor: &str, action: &str, resource: &str, details: Value) -> Result<(), Error> {
        self.handle.ask(Note(AuditEntry::new(self.clock.now(), actor, action, resource, details))).await?
    }

    /// Deletes conversations that have ended; returns how many.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn sweep(&self) -> Result<usize, Error> {
        self.handle.ask(Sweep).await?
    }

    /// Counts what is kept.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn count(&self) -> Result<KeptCounts, Error> {
        self.handle.ask(Count).await?
    }
}
