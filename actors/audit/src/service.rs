//! The public face: opening the log at a start, appending, searching, proofs, tiles, erasure.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_core::audit::AuditEntry;
use muster_core::event::Publisher;
use muster_core::guard::Cleared;
use muster_core::page::{Page, PageParams};
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};
use muster_store::{Batch, Expect, Record, StoreError, StoreHandle, Tree, number_key};
use muster_tlog::{Checkpoint, Hash, LogPath, ProveError, TileTree, VerifierKey, write_bundle};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::export::Export;
use crate::follower::{self, Follower, FollowerOptions, ReloadKeys, SignNow};
use crate::import::{self, RecordState};
use crate::keys::LogKeys;
use crate::search::{self, AuditFilter, NumberedEntry};
use crate::start::{self, LogRefusal, OpenOptions, Opened};
use crate::tiles::{LogReader, WIDTH};
use crate::view::{LogView, SignedCheckpoint};
use crate::witness::Witness;

/// Time for which a request waits for the checkpoint that covers its entry.
const COVERED: Duration = Duration::from_secs(12);

/// What the log is opened with.
#[derive(Debug, Clone)]
pub struct AuditOptions {
    /// The data folder: the file of checkpoints is in `audit/`, the keys are in `signing/`.
    pub data: PathBuf,
    /// Name of this server in the origin of the log; the identifier of the server if there is none.
    pub name: Option<String>,
    /// Why the operator accepts a log that does not continue what was signed.
    pub accept_rollback: Option<String>,
    /// Time from the first entry that is not signed to its checkpoint.
    pub delay: Duration,
    /// File to which each checkpoint is copied.
    pub copy: Option<PathBuf>,
    /// Servers that cosign checkpoints.
    pub witnesses: Vec<Arc<dyn Witness>>,
}

/// The log of a store, checked and brought up to date: nothing was appended by an actor yet.
#[derive(Debug)]
pub struct OpenedLog {
    opened: Opened,
    keys: LogKeys,
    options: AuditOptions,
    store: OpaqueStore,
    clock: Clock,
}

struct OpaqueStore(StoreHandle);

impl std::fmt::Debug for OpaqueStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Store")
    }
}

impl OpenedLog {
    /// Opens the log before the actors start: reads or makes its keys, compares it with what was signed last, and moves
    /// the entries of earlier versions into it. `records` returns what the stored records allow; it is called once in the
    /// life of a store.
    ///
    /// # Errors
    /// [`LogRefusal`]: the server must not start.
    pub async fn open(
        store: &StoreHandle,
        clock: &Clock,
        options: AuditOptions,
        records: impl FnOnce() -> Result<Vec<RecordState>, StoreError>,
    ) -> Result<Self, LogRefusal> {
        let now = clock.now();
        let made = LogKeys::open(&options.data.join("signing"), now)?;
        let name = options.name.clone().unwrap_or_else(|| made.keys.instance());
        let open_options = OpenOptions { name, accept_rollback: options.accept_rollback.clone() };
        let opened = start::open(store, &options.data, &made.keys, made.created, &open_options, now).await?;
        import::import_once(store, records, now).await?;
        let (store, clock) = (OpaqueStore(Arc::clone(store)), clock.clone());
        Ok(Self { opened, keys: made.keys, options, store, clock })
    }

    /// Returns the keys of the log.
    #[must_use]
    pub fn keys(&self) -> &LogKeys {
        &self.keys
    }

    /// Returns the origin of the log.
    #[must_use]
    pub fn origin(&self) -> String {
        self.opened.mark.origin()
    }

    /// Starts the follower.
    #[must_use]
    pub fn start(self, group: &Group, arbiter: ArbiterHandle, publisher: Option<Publisher>) -> Audit {
        let Self { opened, keys, options, store: OpaqueStore(store), clock } = self;
        let Opened { file, mark, marks_lost, .. } = opened;
        // The follower opens the file itself, at every start of the actor.
        drop(file);
        let (publish, view) = watch::channel(Arc::new(LogView::new(&mark, marks_lost)));
        let follower = FollowerOptions {
            store: Arc::clone(&store),
            clock: clock.clone(),
            keys: keys.clone(),
            publisher,
            data: options.data,
            mark,
            marks_lost,
            delay: options.delay,
            copy: options.copy,
            witnesses: options.witnesses,
            view: publish,
        };
        let handle = group.start(ChildSpec::new("follower", arbiter, move |_| follower::load(follower.clone())));
        Audit { log: LogReader::from(&store), view, keys, handle, clock }
    }
}

/// A proof that an entry is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// Number of the entry.
    pub seq: u64,
    /// Number of entries of the tree.
    pub size: u64,
    /// Hash of the leaf.
    pub leaf_hash: Hash,
    /// Path to the root.
    pub path: Vec<Hash>,
    /// Signed checkpoint of that size.
    pub checkpoint: String,
}

/// What is served below the prefix of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogResource {
    /// The newest checkpoint, which changes.
    Checkpoint(String),
    /// A tile or a bundle. `full` ones never change.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether it is full.
        full: bool,
    },
}

/// The audit log.
#[derive(Clone)]
pub struct Audit {
    log: LogReader,
    view: watch::Receiver<Arc<LogView>>,
    keys: LogKeys,
    handle: Handle<Follower>,
    clock: Clock,
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audit").field("origin", &self.view.borrow().origin).finish_non_exhaustive()
    }
}

impl Audit {
    /// Waits until the follower runs.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Returns the keys of the log.
    #[must_use]
    pub const fn keys(&self) -> &LogKeys {
        &self.keys
    }

    /// Returns the state of the log, and every later one.
    #[must_use]
    pub fn views(&self) -> watch::Receiver<Arc<LogView>> {
        self.view.clone()
    }

    /// Returns the state of the log.
    #[must_use]
    pub fn view(&self) -> Arc<LogView> {
        Arc::clone(&self.view.borrow())
    }

    /// Appends an entry about something that writes nothing else; returns once it is durable.
    ///
    /// # Errors
    /// The store does not accept it.
    pub async fn append(&self, entry: &AuditEntry) -> Result<(), Error> {
        let batch = Batch { ops: vec![entry.op()?], ..Batch::default() };
        Ok(self.log.store().commit(batch).await?)
    }

    /// Returns a page of the entries that meet the conditions, newest first. The page may be short, or even empty, and
    /// have a cursor, if few entries match.
    ///
    /// # Errors
    /// `Invalid` for a cursor of something else; the store cannot be read.
    pub async fn list(&self, filter: AuditFilter, page: PageParams) -> Result<Page<NumberedEntry>, Error> {
        self.read(move |log| search::list(log, &filter, &page)).await
    }

    /// Returns an entry.
    ///
    /// # Errors
    /// `NotFound`; the store cannot be read.
    pub async fn entry(&self, seq: u64) -> Result<NumberedEntry, Error> {
        self.read(move |log| {
            let record = log.entry(seq)?.ok_or_else(|| no_entry(seq))?;
            Ok(NumberedEntry::of(seq, record)?)
        })
        .await
    }

    /// Makes the proof that an entry is in the log of `size` entries, by default the newest signed one. Waits for the
    /// checkpoint that covers a new entry.
    ///
    /// # Errors
    /// `NotFound` if there is no such entry, `Invalid` for a size that was not signed or does not contain it.
    pub async fn inclusion(&self, seq: u64, size: Option<u64>) -> Result<InclusionProof, Error> {
        if seq >= self.log.length() {
            return Err(no_entry(seq));
        }
        if let Some(size) = size.filter(|size| *size > self.log.length()) {
            return Err(wrong_size(size, "is beyond the log"));
        }
        let view = self.covering(size.unwrap_or_default().max(seq + 1)).await?;
        let size = size.unwrap_or_else(|| view.signed_size());
        if size <= seq {
            return Err(wrong_size(size, "does not contain the entry"));
        }
        let (keys, now) = (self.keys.clone(), self.clock.now());
        self.read(move |log| {
            let tree = TileTree::new(&view.edge, log);
            let record = log.entry(seq)?.ok_or_else(|| no_entry(seq))?;
            let path = tree.inclusion(seq, size).map_err(unproven)?;
            let checkpoint = match &view.signed {
                Some(signed) if signed.size == size => signed.cosigned(),
                _ => earlier(&view, &keys, size, tree.root(size).map_err(unproven)?, now)?,
            };
            Ok(InclusionProof { seq, size, leaf_hash: Hash::of_leaf(record.leaf.as_bytes()), path, checkpoint })
        })
        .await
    }

    /// Makes the proof that the log of `to` entries, by default the newest signed one, begins with that of `from`.
    ///
    /// # Errors
    /// `Invalid` for sizes that were not signed or are not in order.
    pub async fn consistency(&self, from: u64, to: Option<u64>) -> Result<(u64, Vec<Hash>), Error> {
        let view = self.view();
        let to = to.unwrap_or_else(|| view.signed_size().max(from));
        if to > self.log.length() {
            return Err(wrong_size(to, "is beyond the log"));
        }
        if from > to {
            return Err(wrong_size(from, "is larger than `to`"));
        }
        let view = self.covering(to).await?;
        let path = self.read(move |log| TileTree::new(&view.edge, log).consistency(from, to).map_err(unproven)).await?;
        Ok((to, path))
    }

    /// Returns the newest checkpoint. Waits for the first one.
    ///
    /// # Errors
    /// `NotFound` if nothing was logged yet.
    pub async fn checkpoint(&self) -> Result<SignedCheckpoint, Error> {
        if self.log.length() == 0 {
            return Err(Error::new(Kind::NotFound, "the log has no entry yet, and so no checkpoint"));
        }
        let view = self.covering(1).await?;
        view.signed.clone().ok_or_else(|| not_signed_yet(1))
    }

    /// Signs everything that is durable now.
    ///
    /// # Errors
    /// The follower is down, or could not sign.
    pub async fn sign_now(&self) -> Result<SignedCheckpoint, Error> {
        let length = self.log.length();
        let signed = self.handle.ask(SignNow).await??;
        signed.filter(|signed| signed.size >= length).ok_or_else(|| {
            let problem = self.view().problem.clone().unwrap_or_else(|| "the log was not signed".to_owned());
            Error::new(Kind::Unavailable, problem)
        })
    }

    /// Returns the keys that verify checkpoints, the newest first.
    ///
    /// # Errors
    /// The name of the log cannot be one of a key, which the start excludes.
    pub fn vkeys(&self) -> Result<Vec<VerifierKey>, Error> {
        let vkeys = self.keys.vkeys(&self.view().origin);
        vkeys.map_err(|error| Error::new(Kind::Internal, error.to_string()))
    }

    /// Reads the file of keys again, so that a key announced by `muster audit rotate-key` is named in the log.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn reload_keys(&self) -> Result<(), Error> {
        self.handle.ask(ReloadKeys).await?
    }

    /// Returns a resource below the prefix of the log (C2SP tlog-tiles).
    ///
    /// # Errors
    /// `NotFound`: the log has no such tile, or not with this width.
    pub async fn resource(&self, path: LogPath) -> Result<LogResource, Error> {
        let view = self.view();
        match path {
            LogPath::Checkpoint => Ok(LogResource::Checkpoint(self.checkpoint().await?.cosigned())),
            LogPath::Tile { tile, width } => {
                let full = width as u64 == WIDTH;
                self.read(move |log| {
                    let found = TileTree::new(&view.edge, log).tile(tile, width);
                    let bytes = found.map_err(|error| missing_resource(&error))?.to_bytes();
                    Ok(LogResource::Bytes { bytes, full })
                })
                .await
            }
            LogPath::Entries { index, width } => {
                let first = index.checked_mul(WIDTH).filter(|first| *first < view.size()).ok_or_else(no_resource)?;
                if first + width as u64 > view.size() {
                    return Err(no_resource());
                }
                let full = width as u64 == WIDTH;
                self.read(move |log| {
                    let records = log.exactly(first, width)?;
                    let bundle = write_bundle(records.iter().map(|record| record.leaf.as_bytes()));
                    let bytes = bundle.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
                    Ok(LogResource::Bytes { bytes, full })
                })
                .await
            }
        }
    }

    /// Begins an export of the entries from number `from` to `to`, exclusive, by default all signed ones.
    ///
    /// # Errors
    /// `Invalid` for a range that is not signed; `NotFound` for a log without entries.
    pub async fn export(&self, from: u64, to: Option<u64>) -> Result<Export, Error> {
        let signed = self.checkpoint().await?;
        let to = to.unwrap_or(signed.size);
        if from > to || to > self.log.length() {
            return Err(wrong_size(to, "is beyond the log, or before `from`"));
        }
        let view = self.covering(to).await?;
        let log = self.log.clone();
        self.read(move |_| Export::new(log, &view, from, to)).await
    }

    /// Erases salt and details of an entry, as an approval clears it. The leaf stays, and every proof of it. Backups made
    /// before still have them.
    ///
    /// # Errors
    /// `NotFound` if there is no such entry, `Conflict` if it has no details or was changed meanwhile.
    pub async fn erase(&self, seq: u64, by: &str, reason: &str, cleared: Cleared) -> Result<NumberedEntry, Error> {
        let found = self.entry(seq).await?;
        if found.record.details.is_none() {
            return Err(Error::new(Kind::Conflict, "the entry has no details, or they were erased before"));
        }
        let erased = found.record.erased();
        let details = cleared.annotate(json!({ "seq": seq, "reason": reason }));
        let mut entry = AuditEntry::new(self.clock.now(), by, "audit.erase", &found.entry.id, details);
        if let Some(approval) = cleared.approval() {
            entry = entry.approval(approval);
        }
        let (expect, mut ops) = cleared.into_parts();
        ops.push(entry.op()?);
        let batch = Batch { expect, ops }.and_put(Tree::AuditLog, number_key(seq), erased.encode()?).when(
            Tree::AuditLog,
            number_key(seq),
            Expect::Is(found.record.encode()?),
        );
        self.log.store().commit(batch).await?;
        Ok(NumberedEntry::of(seq, erased)?)
    }

    /// Waits until that many entries are signed.
    async fn covering(&self, size: u64) -> Result<Arc<LogView>, Error> {
        let mut view = self.view.clone();
        let signed = view.wait_for(|view| view.signed_size() >= size && view.size() >= view.signed_size());
        match tokio::time::timeout(COVERED, signed).await {
            Ok(Ok(view)) => Ok(Arc::clone(&view)),
            Ok(Err(_)) | Err(_) => Err(not_signed_yet(size)),
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&LogReader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let log = self.log.clone();
        let read = tokio::task::spawn_blocking(move || read(&log)).await;
        read.map_err(|_| Error::new(Kind::Internal, "the audit log could not be read completely"))?
    }

    pub(crate) const fn log(&self) -> &LogReader {
        &self.log
    }
}

/// Signs an earlier size of the log. It is the beginning of what is signed already, so that it contradicts nothing.
fn earlier(view: &LogView, keys: &LogKeys, size: u64, root: Hash, now: Millis) -> Result<String, Error> {
    let internal = |error: &dyn std::fmt::Display| Error::new(Kind::Internal, error.to_string());
    let signers = keys.signers(&view.origin, now).map_err(|error| internal(&error))?;
    let signed = Checkpoint::new(view.origin.clone(), size, root).sign(&signers.iter().collect::<Vec<_>>());
    Ok(signed.map_err(|error| internal(&error))?.to_string())
}

fn no_entry(seq: u64) -> Error {
    Error::new(Kind::NotFound, format!("the log has no entry {seq}"))
}

fn no_resource() -> Error {
    Error::new(Kind::NotFound, "the log has no such tile, or not with this width")
}

fn missing_resource(error: &ProveError<StoreError>) -> Error {
    match error {
        ProveError::Read(error) => error.clone().into(),
        ProveError::Range | ProveError::Incomplete(_) => no_resource(),
    }
}

fn wrong_size(size: u64, why: &str) -> Error {
    Error::field(Kind::Invalid, &["query", "size"], format!("{size} {why}"), Value::from(size))
}

fn not_signed_yet(size: u64) -> Error {
    let mut error = Error::new(Kind::Unavailable, format!("a log of {size} entries is not signed yet"));
    error.retry_after = Some(Duration::from_secs(5));
    error
}

fn unproven(error: ProveError<StoreError>) -> Error {
    match error {
        ProveError::Read(error) => error.into(),
        error => Error::new(Kind::Internal, error.to_string()),
    }
}
