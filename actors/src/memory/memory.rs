//! What the rest of the house holds of semantic memory.

use std::sync::Arc;

use actix_rt::ArbiterHandle;
use muster_store::StoreHandle;

use super::messages::{
    Forgotten, IndexState, ListAsk, NewEntry, Precondition, SearchAsk, SearchReply, Stats, StoreReply,
};
use super::port::{Index, IndexHealth};
use super::record::{EntryRecord, Owner};
use super::settings::MemorySettings;
use crate::idempotency::Idempotency;
use crate::identity::By;
use crate::page::Page;
use crate::supervise::Group;
use crate::{Clock, Error, Kind};

/// What semantic memory needs.
#[derive(Clone)]
pub struct MemoryOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub settings: MemorySettings,
    pub index: Arc<dyn Index>,
}

impl std::fmt::Debug for MemoryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryOptions").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Semantic memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Memory {
    options: MemoryOptions,
}

fn soon<T>() -> Result<T, Error> {
    Err(Error::new(Kind::Unavailable, "memory is not there yet"))
}

impl Memory {
    /// Starts the actor: await [`Memory::up`] before serving.
    pub fn start(_group: &Group, _writer: ArbiterHandle, options: MemoryOptions) -> Self {
        Self { options }
    }

    /// Waits until the actor answers.
    pub async fn up(&self) {}

    /// Stores an entry of the caller's, or of a shared namespace: it is durable when this resolves, and the next search
    /// finds it unless `index_state` says `Pending`.
    ///
    /// # Errors
    /// `Invalid` with every failed check; `PreconditionFailed`; `QuotaExceeded` where the owner has as many entries as may
    /// be; `IdempotencyConflict`; `Conflict` while the owner is being forgotten; `Unavailable`.
    pub async fn store(
        &self,
        _entry: NewEntry,
        _by: &By,
        _precondition: Precondition,
        _idempotency: Option<Idempotency>,
    ) -> Result<StoreReply, Error> {
        soon()
    }

    /// Stores up to 100 entries, each for itself: one answer each, in order.
    ///
    /// # Errors
    /// Of the request as a whole: none or too many entries, `IdempotencyConflict`, `Unavailable`.
    pub async fn store_many(
        &self,
        _entries: Vec<NewEntry>,
        _by: &By,
        _idempotency: Option<Idempotency>,
    ) -> Result<Vec<Result<StoreReply, Error>>, Error> {
        soon()
    }

    /// The caller's entry of that key, else of that identifier; `None` where there is none or its time is over. Keys are of
    /// that namespace (`default`), identifiers of any of the caller's or shared.
    ///
    /// # Errors
    /// `Unavailable`, `Internal`: it cannot be read.
    pub fn get(&self, _namespace: Option<&str>, _key_or_id: &str, _by: &By) -> Result<Option<EntryRecord>, Error> {
        soon()
    }

    /// Every version of an entry that is kept and whose time is not over, newest first: the present one, then at most 32
    /// replaced ones. Empty where there is no such entry.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn history(&self, _namespace: Option<&str>, _key_or_id: &str, _by: &By) -> Result<Vec<EntryRecord>, Error> {
        soon()
    }

    /// How an entry can be found now.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn index_state(&self, _record: &EntryRecord) -> Result<IndexState, Error> {
        soon()
    }

    /// A page of the caller's entries, or of a shared namespace's: what was made last first (a replaced entry keeps its
    /// place). A filter that lets little through may give a short page with a cursor.
    ///
    /// # Errors
    /// `Invalid` for a cursor of another list; `Unavailable`.
    pub async fn list(&self, _ask: ListAsk, _by: &By) -> Result<Page<EntryRecord>, Error> {
        soon()
    }

    /// Deletes an entry with its history; false where there was none.
    ///
    /// # Errors
    /// `PreconditionFailed`, `Conflict`, `Unavailable`.
    pub async fn delete(
        &self,
        _namespace: Option<&str>,
        _key_or_id: &str,
        _precondition: Precondition,
        _by: &By,
    ) -> Result<bool, Error> {
        soon()
    }

    /// Deletes every trace of an owner. It goes on after a crash; asked again, it waits for the same end.
    ///
    /// # Errors
    /// `Unavailable`: it may go on; ask again.
    pub async fn forget(&self, _owner: &Owner, _by: &By) -> Result<Forgotten, Error> {
        soon()
    }

    /// Entries that answer a query, best first.
    ///
    /// # Errors
    /// `Invalid` with every failed check, or for a cursor of another search; `Unavailable`.
    pub async fn search(&self, _ask: SearchAsk, _by: &By) -> Result<SearchReply, Error> {
        soon()
    }

    /// Figures of the caller's own memory.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn stats(&self, _by: &By) -> Result<Stats, Error> {
        soon()
    }

    /// Deletes what has expired, some at a time; gives how many entries and versions. For upkeep: the actor does it by
    /// itself, too, at each expiry.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn sweep(&self) -> Result<usize, Error> {
        soon()
    }

    /// Whether the indexes hold everything. Asks nobody.
    pub fn health(&self) -> IndexHealth {
        self.options.index.health()
    }
}
