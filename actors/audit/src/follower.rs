//! The actor that follows the log: it makes the tree of what is durable, signs checkpoints, compares the log with its
//! tiles. It runs on an arbiter of its own, because it reads, hashes and syncs.

mod alarms;
mod checkpoints;
mod scrub;
mod witnesses;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use muster_core::audit::AuditRecord;
use muster_core::event::Publisher;
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error};
use muster_store::{Batch, Order, Record, Scan, StoreError, StoreHandle, Tree};
use muster_tlog::{Checkpoint, Hash, TileId};
use tokio::sync::watch;

use crate::checkpoint_file::{CheckpointFile, LastLine};
use crate::keys::LogKeys;
use crate::marks::{LogMark, parse_note};
use crate::summary::Summary;
use crate::tiles::{LogReader, WIDTH, tile_record};
use crate::view::{LogView, SignedCheckpoint, WitnessStatus};
use crate::witness::Witness;

/// Entries that are read in one turn of the actor.
const TURN: usize = 4096;

/// Options of the follower.
#[derive(Clone)]
pub(crate) struct FollowerOptions {
    pub(crate) store: StoreHandle,
    pub(crate) clock: Clock,
    pub(crate) keys: LogKeys,
    pub(crate) publisher: Option<Publisher>,
    /// The data folder.
    pub(crate) data: PathBuf,
    /// Which log it is.
    pub(crate) mark: LogMark,
    pub(crate) marks_lost: bool,
    /// Time from the first entry that is not signed to its checkpoint.
    pub(crate) delay: Duration,
    /// File to which each checkpoint is copied.
    pub(crate) copy: Option<PathBuf>,
    pub(crate) witnesses: Vec<Arc<dyn Witness>>,
    pub(crate) view: watch::Sender<Arc<LogView>>,
}

/// Follows the log.
pub(crate) struct Follower {
    options: FollowerOptions,
    log: LogReader,
    file: CheckpointFile,
    view: LogView,
    /// Entries of the tile that is not full yet, for its summary. Following begins with the first entry of a tile.
    partial: Vec<AuditRecord>,
    /// Whether a checkpoint is due.
    signing_due: bool,
    /// Size from which on an announced key signs.
    new_key_at: Option<u64>,
    /// The tile that is compared next.
    scrubbed: u64,
    /// Witnesses that have not answered yet.
    asked: Vec<bool>,
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("origin", &self.view.origin).finish_non_exhaustive()
    }
}

/// Reads what was made and signed before.
pub(crate) async fn load(options: FollowerOptions) -> Result<Follower, BuildError> {
    tokio::task::spawn_blocking(move || Follower::read(options)).await?
}

impl Follower {
    fn read(options: FollowerOptions) -> Result<Self, BuildError> {
        let log = LogReader::from(&options.store);
        let (file, last) = CheckpointFile::open(&options.data)?;
        let mut view = LogView::new(&options.mark, options.marks_lost);
        view.witnesses = options.witnesses.iter().map(|witness| status_of(&**witness)).collect();
        if let LastLine::Line(line) = last
            && let Some(Checkpoint { origin, size, root, .. }) = parse_note(&line.note)
            && origin == view.origin
        {
            let (at, note) = (line.at, line.note);
            view.signed = Some(SignedCheckpoint { size, root, at, note, cosignatures: Vec::new() });
        }
        // What lies behind the last tile is read in turns, like new entries.
        let followed = last_tile(&log)?.map_or(0, |index| (index + 1) * WIDTH);
        let followed = followed.min(log.length() / WIDTH * WIDTH);
        view.edge = log.edge(followed)?;
        let asked = vec![false; options.witnesses.len()];
        let (partial, signing_due, new_key_at, scrubbed) = (Vec::new(), false, None, 0);
        Ok(Self { options, log, file, view, partial, signing_due, new_key_at, scrubbed, asked })
    }

    fn publish(&self) {
        self.options.view.send_replace(Arc::new(self.view.clone()));
    }

    /// Takes up to [`TURN`] new entries into the tree. Returns whether there are more.
    fn follow(&mut self, context: &mut Context<Self>) -> Result<bool, StoreError> {
        let (mut taken, mut full) = (0, Vec::new());
        let log = self.log.clone();
        for found in log.entries(self.view.edge.size()).take(TURN) {
            let (_, record) = found?;
            let tiles = self.view.edge.append(Hash::of_leaf(record.leaf.as_bytes()));
            self.partial.push(record);
            for (id, tile) in tiles.map_err(|error| StoreError::Corrupt(error.to_string()))? {
                full.push((id, tile));
                if id.level == 0 {
                    self.summarize(id, context);
                }
            }
            taken += 1;
        }
        if !full.is_empty() {
            let put =
                |batch: Batch, (id, tile): &(TileId, _)| batch.and_put(Tree::AuditTiles, id.key(), tile_record(tile));
            self.store(full.iter().fold(Batch::default(), put), context);
        }
        if taken > 0 {
            self.sign_soon(context);
            self.publish();
        }
        Ok(taken == TURN)
    }

    /// Stores the summary of the tile whose entries are complete.
    fn summarize(&mut self, id: TileId, context: &mut Context<Self>) {
        let entries = std::mem::take(&mut self.partial);
        match Summary::of(&entries).and_then(|summary| summary.encode()) {
            Ok(rec) => self.store(Batch::put(Tree::AuditTiles, Summary::key(id.index), rec), context),
            Err(error) => tracing::warn!(tile = id.index, %error, "a tile of the audit log has no summary"),
        }
    }

    /// Stores what is made from the log. What is lost by a failure is made anew.
    fn store(&self, batch: Batch, context: &mut Context<Self>) {
        let written = self.options.store.commit(batch);
        context.spawn(written.into_actor(self).map(|written, _, _| {
            if let Err(error) = written {
                tracing::warn!(%error, "tiles of the audit log were not stored: they will be made anew");
            }
        }));
    }
}

fn status_of(witness: &dyn Witness) -> WitnessStatus {
    WitnessStatus { name: witness.key().name().to_owned(), size: 0, at: None, problem: None }
}

/// The index of the last tile of level 0 that is stored.
fn last_tile(log: &LogReader) -> Result<Option<u64>, StoreError> {
    let scan = Scan { prefix: vec![0], from: None, limit: 1, order: Order::Descending };
    let page = log.store().scan(Tree::AuditTiles, &scan)?;
    Ok(page.items.first().and_then(|(key, _)| TileId::from_key(key)).map(|id| id.index))
}

/// Takes new entries into the tree; the answer is whether there are more.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
struct Follow;

/// Signs what is durable at once. The answer is the checkpoint.
#[derive(Debug, Message)]
#[rtype(result = "Result<Option<SignedCheckpoint>, Error>")]
pub(crate) struct SignNow;

/// Reads the file of keys again.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(crate) struct ReloadKeys;

impl Actor for Follower {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        self.publish();
        let (address, mut length) = (context.address(), self.options.store.appended(Tree::AuditLog));
        let following = async move {
            loop {
                length.borrow_and_update();
                while address.send(Follow).await.unwrap_or(false) {}
                if length.changed().await.is_err() {
                    return;
                }
            }
        };
        context.spawn(following.into_actor(self));
        context.run_interval(scrub::INTERVAL, Self::scrub);
        context.run_interval(witnesses::RETRY, |follower, context| follower.ask_witnesses(context));
        self.announce_key(context);
        self.sign_soon(context);
    }
}

impl Handler<Follow> for Follower {
    type Result = bool;

    fn handle(&mut self, _: Follow, context: &mut Context<Self>) -> bool {
        self.follow(context).unwrap_or_else(|error| {
            self.alarm(None, format!("the log cannot be followed: {error}"), context);
            self.publish();
            false
        })
    }
}

impl Handler<SignNow> for Follower {
    type Result = Result<Option<SignedCheckpoint>, Error>;

    fn handle(&mut self, _: SignNow, context: &mut Context<Self>) -> Self::Result {
        while self.follow(context)? {}
        self.sign(context);
        Ok(self.view.signed.clone())
    }
}

impl Handler<ReloadKeys> for Follower {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, _: ReloadKeys, context: &mut Context<Self>) -> Self::Result {
        let read = self.options.keys.reload();
        if read.is_ok() {
            self.announce_key(context);
        }
        let read = read.map_err(|error| Error::new(muster_core::Kind::Internal, error.to_string()));
        Box::pin(std::future::ready(read))
    }
}
