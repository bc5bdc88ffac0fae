//! Public service of semantic memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::future::BoxFuture;
use muster_store::StoreHandle;

use super::actor::{MemoryWriter, load};
use super::check;
use super::forget::Forget;
use super::messages::{
    ForgottenCounts, IndexState, ListParams, NewEntry, Precondition, SearchParams, SearchResponse, Stats, StoreResponse,
};
use super::names::MAX_KEY;
use super::port::{Index, IndexHealth, NewVector, PutVectors};
use super::reads;
use super::record::{EntryRecord, Owner, Place};
use super::search;
use super::settings::MemorySettings;
use super::state::Draft;
use super::stored;
use super::sweep::SweepNow;
use super::write::{Delete, Store, Vectors};
use muster_core::idempotency::Idempotency;
use muster_core::page::Page;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind};
use muster_identity::By;

/// Maximum number of calls waiting for the actor.
const CALLS: usize = 4_096;
/// Time limit of a call, which waits for the disk.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit of the deletion of an owner.
const FORGET_TIMEOUT: Duration = Duration::from_secs(120);
/// Time limit of index statistics.
const STATS_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of entries per request.
const MAX_MANY: usize = 100;
/// Maximum bytes of all values per request.
const MAX_MANY_BYTES: usize = 4 << 20;
/// Maximum number of vectors per message.
const MAX_VECTORS: usize = 512;

/// Dependencies of semantic memory.
#[derive(Clone)]
pub struct MemoryOptions {
    /// Store of the entries.
    pub store: StoreHandle,
    /// Source of time.
    pub clock: Clock,
    /// Settings.
    pub settings: MemorySettings,
    /// The indexes.
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
    handle: Handle<MemoryWriter>,
    options: MemoryOptions,
}

fn interrupted() -> Error {
    Error::new(Kind::Internal, "the read was interrupted")
}

impl Memory {
    /// Starts the writer actor; await [`Memory::up`] before serving.
    pub fn start(group: &Group, writer: ArbiterHandle, options: MemoryOptions) -> Self {
        // The indexes read by themselves what was stored before this start.
        let announced = Arc::new(AtomicU64::new(u64::MAX));
        let (dependencies, first) = (options.clone(), Arc::clone(&announced));
        let spec = ChildSpec::new("memory", writer, move |_| {
            let (dependencies, announced) = (dependencies.clone(), Arc::clone(&first));
            async move {
                // Fails if an earlier incarnation has set it; its value is newer.
                let before = stored::last_change(&dependencies.store)?;
                let _ = announced.compare_exchange(u64::MAX, before, Ordering::AcqRel, Ordering::Acquire);
                load(dependencies, announced).await
            }
        });
        Self { handle: group.start(spec.capacity(CALLS)), options }
    }

    /// Waits until the actor responds.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Stores an entry of the caller or of a shared namespace. It is durable when this resolves, and the next search
    /// finds it unless `index_state` is `Pending`.
    ///
    /// # Errors
    /// `Invalid` with every failed check; `PreconditionFailed`; `QuotaExceeded` if the owner has reached the maximum
    /// number of entries; `IdempotencyConflict`; `Conflict` while the owner is being deleted; `Unavailable`.
    pub async fn store(
        &self,
        entry: NewEntry,
        by: &By,
        precondition: Precondition,
        idempotency: Option<Idempotency>,
    ) -> Result<StoreResponse, Error> {
        let draft = check::draft(entry, &["body"], by, &self.options.settings, precondition)?;
        let replies = self.handle.ask_within(TIMEOUT, Store { drafts: vec![draft], idempotency }).await??;
        replies.into_iter().next().unwrap_or_else(|| Err(Error::new(Kind::Internal, "the answer is missing")))
    }

    /// Stores up to 100 entries independently: one result per entry, in order.
    ///
    /// # Errors
    /// For the request as a whole: no or too many entries, `IdempotencyConflict`, `Unavailable`.
    pub async fn store_many(
        &self,
        entries: Vec<NewEntry>,
        by: &By,
        idempotency: Option<Idempotency>,
    ) -> Result<Vec<Result<StoreResponse, Error>>, Error> {
        if entries.is_empty() || entries.len() > MAX_MANY {
            let msg = format!("must be 1 to {MAX_MANY} entries, not {}", entries.len());
            return Err(Error::field(Kind::Invalid, &["body", "entries"], msg, entries.len().into()));
        }
        let checked = entries.into_iter().enumerate().map(|(n, entry)| {
            let at = ["body", "entries", &n.to_string()];
            check::draft(entry, &at, by, &self.options.settings, Precondition::None)
        });
        let checked: Vec<Result<Draft, Error>> = checked.collect();
        let drafts: Vec<Draft> = checked.iter().filter_map(|draft| draft.as_ref().ok().cloned()).collect();
        let bytes: usize = drafts.iter().map(|draft| draft.value.len()).sum();
        if bytes > MAX_MANY_BYTES {
            let message = format!("the values of one batch may have {MAX_MANY_BYTES} bytes, not {bytes}: send fewer");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let stored = if drafts.is_empty() {
            Vec::new()
        } else {
            self.handle.ask_within(TIMEOUT, Store { drafts, idempotency }).await??
        };
        let mut stored = stored.into_iter();
        let missing = || Err(Error::new(Kind::Internal, "the answer is missing"));
        Ok(checked.into_iter().map(|draft| draft.and_then(|_| stored.next().unwrap_or_else(missing))).collect())
    }

    /// Returns the caller's entry with this key or, failing that, this id; `None` if there is none or it has expired.
    /// Keys are looked up in the namespace (`default`), ids in any of the caller's or shared ones.
    ///
    /// # Errors
    /// `Unavailable`, `Internal`: the store cannot be read.
    pub fn get(&self, namespace: Option<&str>, key_or_id: &str, by: &By) -> Result<Option<EntryRecord>, Error> {
        let named = reads::named(&self.options, namespace, key_or_id, by)?;
        Ok(named.filter(|entry| !entry.expired(self.options.clock.now())))
    }

    /// Returns all retained, unexpired versions of an entry, newest first: the current one, then at most 32 replaced
    /// ones. Empty if there is no such entry.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn history(&self, namespace: Option<&str>, key_or_id: &str, by: &By) -> Result<Vec<EntryRecord>, Error> {
        let Some(present) = self.get(namespace, key_or_id, by)? else { return Ok(Vec::new()) };
        Ok(reads::versions(&self.options.store, present, self.options.clock.now())?)
    }

    /// Returns how an entry can be found now.
    ///
    /// # Errors
    /// As [`Memory::get`].
    pub fn index_state(&self, record: &EntryRecord) -> Result<IndexState, Error> {
        let vector = stored::vector(&self.options.store, record.id)?;
        let is_indexed = vector.is_some_and(|vector| record.is_vector_valid(vector.version));
        Ok(if is_indexed { IndexState::Indexed } else { IndexState::Text })
    }

    /// Returns a page of the caller's entries, or of a shared namespace's, newest creation first (a replaced entry
    /// keeps its position). A selective filter may return a short page with a cursor.
    ///
    /// # Errors
    /// `Invalid` for a cursor of another list; `Unavailable`.
    pub async fn list(&self, params: ListParams, by: &By) -> Result<Page<EntryRecord>, Error> {
        check::list(&params)?;
        let (options, by) = (self.options.clone(), by.clone());
        tokio::task::spawn_blocking(move || reads::list(&options, &params, &by)).await.map_err(|_| interrupted())?
    }

    /// Deletes an entry with its history; returns false if there was none.
    ///
    /// # Errors
    /// `PreconditionFailed`, `Conflict`, `Unavailable`.
    pub async fn delete(
        &self,
        namespace: Option<&str>,
        key_or_id: &str,
        precondition: Precondition,
        by: &By,
    ) -> Result<bool, Error> {
        // The actor decides by the entry present at that time; this only resolves the name.
        let named = reads::named(&self.options, namespace, key_or_id, by)?;
        let delete = match named {
            // A key addresses whatever entry is there; an id only that entry.
            Some(entry) => {
                let id = Some(entry.id).filter(|_| entry.key() != key_or_id);
                Delete { place: entry.place, id, precondition }
            }
            None if (1..=MAX_KEY).contains(&key_or_id.len()) => {
                let place = Place::new(self.options.settings.space(by, namespace), key_or_id);
                Delete { place, id: None, precondition }
            }
            None => return Ok(false),
        };
        self.handle.ask_within(TIMEOUT, delete).await?
    }

    /// Deletes all data of an owner. It continues after a crash; a repeated call waits for the same completion.
    ///
    /// # Errors
    /// `Invalid`: not a principal's id; `Unavailable`: it may still continue, try again.
    pub async fn forget(&self, owner: &Owner, by: &By) -> Result<ForgottenCounts, Error> {
        check::owner(owner)?;
        let forget = Forget { owner: owner.clone(), by: by.clone() };
        self.handle.ask_within(FORGET_TIMEOUT, forget).await?
    }

    /// Returns the entries that match a query, best first.
    ///
    /// # Errors
    /// `Invalid` with every failed check, or for a cursor of another search; `Unavailable`.
    pub async fn search(&self, params: SearchParams, by: &By) -> Result<SearchResponse, Error> {
        search::search(&self.options, params, by).await
    }

    /// Returns statistics of the caller's own memory.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn stats(&self, by: &By) -> Result<Stats, Error> {
        let owner = Owner::new(by.id());
        let (store, whose) = (Arc::clone(&self.options.store), owner.clone());
        let read = tokio::task::spawn_blocking(move || reads::usages(&store, &whose));
        let (usage, namespaces) = read.await.map_err(|_| interrupted())??;
        let index = tokio::time::timeout(STATS_TIMEOUT, self.options.index.owner_stats(&owner)).await;
        let (index, health) = (index.ok().and_then(Result::ok), self.options.index.health());
        Ok(Stats { usage, namespaces, index, health })
    }

    /// Deletes expired entries in slices; returns the number of entries and versions. For maintenance: the actor also
    /// does it on its own.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn sweep(&self) -> Result<usize, Error> {
        self.handle.ask_within(TIMEOUT, SweepNow).await?
    }

    /// Returns whether the indexes are complete. Does not block.
    pub fn health(&self) -> IndexHealth {
        self.options.index.health()
    }
}

impl PutVectors for Memory {
    fn put_vectors(&self, mut vectors: Vec<NewVector>) -> BoxFuture<'static, Result<usize, Error>> {
        let handle = self.handle.clone();
        Box::pin(async move {
            let mut stored = 0;
            while !vectors.is_empty() {
                let rest = vectors.split_off(vectors.len().min(MAX_VECTORS));
                stored += handle.ask_within(TIMEOUT, Vectors(std::mem::replace(&mut vectors, rest))).await??;
            }
            Ok(stored)
        })
    }
}
