//! The actor that owns the records and quotas.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext as _, AsyncContext, Context, Handler, MessageResult, ResponseFuture};
use muster_core::journal::{Committed, Journal, Journalled, Reply, respond};
use muster_core::page::Page;
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};

use super::files::PictureFiles;
use super::messages::{Delete, Get, Ids, List, PictureStats, Reserve, SetLimits, Stats, Store};
use super::record::{PREFIX, Picture};
use super::state::{PictureLimits, PictureState, not_found};

/// Time between two sweeps for expired pictures.
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// Most pictures that one decision of a sweep removes.
const SWEPT_AT_ONCE: usize = 256;

/// Dependencies of [`super::Pictures`].
#[derive(Clone)]
pub struct PictureOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of the server.
    pub clock: Clock,
    /// Folder of the files, for the exclusive use of this actor.
    pub folder: PathBuf,
    /// Quotas.
    pub limits: PictureLimits,
}

impl std::fmt::Debug for PictureOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PictureOptions").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Effect of a durable decision.
#[derive(Debug)]
pub(super) enum PictureEffect {
    /// A caller receives its response.
    Reply(Reply<()>),
    /// The files of removed records are deleted, and the caller, if there is one, receives its response.
    Removed { ids: Vec<String>, reply: Option<Reply<()>> },
}

impl From<Reply<()>> for PictureEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// Owns the records.
#[derive(Debug)]
pub(super) struct PictureActor {
    store: StoreHandle,
    clock: Clock,
    files: PictureFiles,
    state: PictureState,
    journal: Journal<PictureEffect>,
    /// Records whose files are missing: removed at the start.
    lost: Vec<String>,
}

/// Reads the records, and removes the files that have none.
pub(super) async fn load(options: PictureOptions, files: PictureFiles) -> Result<PictureActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let (store, own, limits) = (Arc::clone(&options.store), files.clone(), options.limits);
    let (state, lost) = tokio::task::spawn_blocking(move || read_all(&store, &own, limits)).await??;
    Ok(PictureActor { store: options.store, clock: options.clock, files, state, journal, lost })
}

fn read_all(
    store: &StoreHandle,
    files: &PictureFiles,
    limits: PictureLimits,
) -> Result<(PictureState, Vec<String>), StoreError> {
    let (mut state, mut lost, mut known) = (PictureState::new(limits), Vec::new(), HashSet::new());
    for picture in store.records::<Picture>(PREFIX, PageRequest::default()).values() {
        let picture = picture?;
        if files.has(&picture.id) {
            known.insert(picture.id.clone());
            state.insert(Arc::new(picture));
        } else {
            tracing::error!(picture = picture.id, "the file of a stored picture is missing: its record is removed");
            lost.push(picture.id);
        }
    }
    match files.remove_orphans(&known) {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "files of pictures that were never recorded are removed"),
        Err(error) => tracing::warn!(%error, "files without a record could not be removed"),
    }
    Ok((state, lost))
}

fn deleted(id: &str) -> Op {
    Op::Delete { tree: Picture::TREE, key: Picture::key(id) }
}

impl Journalled for PictureActor {
    type Effects = PictureEffect;

    fn journal(&mut self) -> &mut Journal<PictureEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.store
    }

    fn on_committed(&mut self, committed: Committed<PictureEffect>, _: &mut Context<Self>) {
        for effect in committed.effects {
            match effect {
                PictureEffect::Reply(reply) => reply.send(),
                PictureEffect::Removed { ids, reply } => {
                    let files = self.files.clone();
                    // The records are gone, so that nobody waits for the files.
                    drop(tokio::task::spawn_blocking(move || files.remove(&ids)));
                    if let Some(reply) = reply {
                        reply.send();
                    }
                }
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<PictureEffect>, error: &Error) {
        for effect in effects {
            match effect {
                PictureEffect::Reply(reply) | PictureEffect::Removed { reply: Some(reply), .. } => reply.fail(error),
                PictureEffect::Removed { reply: None, .. } => {}
            }
        }
    }
}

impl PictureActor {
    fn now(&self) -> Millis {
        self.clock.now()
    }

    /// Removes the records whose time is over, and those without a file.
    fn sweep(&mut self, context: &mut Context<Self>) {
        if context.state().stopping() || self.admit().is_err() {
            return;
        }
        let mut ids = self.state.expired(self.now(), SWEPT_AT_ONCE);
        for id in &ids {
            self.state.remove(id);
        }
        ids.append(&mut self.lost);
        if ids.is_empty() {
            return;
        }
        let ops = ids.iter().map(|id| deleted(id)).collect();
        let more = ids.len() >= SWEPT_AT_ONCE;
        self.journal.push(ops, PictureEffect::Removed { ids, reply: None });
        self.flush(context);
        if more {
            context.run_later(Duration::from_millis(10), Self::sweep);
        }
    }

    fn store_all(&mut self, store: Store) -> Result<Vec<Op>, Error> {
        self.admit()?;
        let put = |picture: &Arc<Picture>| {
            let rec = picture.encode()?;
            Ok(Op::Put { tree: Picture::TREE, key: Picture::key(&picture.id), rec })
        };
        let ops = store.pictures.iter().map(put).collect::<Result<Vec<_>, StoreError>>()?;
        self.state.settle(store.reservation, &store.pictures)?;
        store.pictures.into_iter().for_each(|picture| self.state.insert(picture));
        Ok(ops)
    }

    fn owned(&mut self, delete: &Delete) -> Result<(), Error> {
        let picture = self.state.get(&delete.id, self.now())?;
        if picture.owner != delete.owner {
            return Err(not_found());
        }
        self.admit()
    }
}

impl Actor for PictureActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.sweep(context);
        context.run_interval(SWEEP_EVERY, Self::sweep);
    }
}

impl Handler<Reserve> for PictureActor {
    type Result = MessageResult<Reserve>;

    fn handle(&mut self, reserve: Reserve, _: &mut Context<Self>) -> Self::Result {
        let admitted = self.admit();
        MessageResult(admitted.and_then(|()| self.state.reserve(&reserve.room, reserve.free_bytes, &reserve.token)))
    }
}

impl Handler<Store> for PictureActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, store: Store, context: &mut Context<Self>) -> Self::Result {
        match self.store_all(store) {
            Ok(ops) => muster_core::journal::decide(self, ops, (), context),
            Err(error) => respond(self, Err(error), context),
        }
    }
}

impl Handler<Get> for PictureActor {
    type Result = ResponseFuture<Result<Arc<Picture>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.0, self.now());
        respond(self, found, context)
    }
}

impl Handler<List> for PictureActor {
    type Result = ResponseFuture<Result<Page<Arc<Picture>>, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(&list.owner, self.now(), &list.page);
        respond(self, Ok(page), context)
    }
}

impl Handler<Delete> for PictureActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, delete: Delete, context: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.owned(&delete) {
            return respond(self, Err(error), context);
        }
        self.state.remove(&delete.id);
        let (reply, durable) = Reply::new(());
        let effect = PictureEffect::Removed { ids: vec![delete.id.clone()], reply: Some(reply) };
        self.journal.push(vec![deleted(&delete.id)], effect);
        self.flush(context);
        Box::pin(durable)
    }
}

impl Handler<Stats> for PictureActor {
    type Result = MessageResult<Stats>;

    fn handle(&mut self, _: Stats, _: &mut Context<Self>) -> Self::Result {
        let stats: PictureStats = self.state.stats();
        MessageResult(stats)
    }
}

impl Handler<Ids> for PictureActor {
    type Result = MessageResult<Ids>;

    fn handle(&mut self, _: Ids, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.ids().cloned().collect())
    }
}

impl Handler<SetLimits> for PictureActor {
    type Result = ();

    fn handle(&mut self, limits: SetLimits, _: &mut Context<Self>) {
        self.state.set_limits(limits.0);
    }
}
