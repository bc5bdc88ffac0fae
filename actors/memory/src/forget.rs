//! Deletion of all data of an owner, in slices. A durable marker starts it, so that it continues after a crash; while
//! the marker exists, nothing of the owner's is written.

use std::collections::HashMap;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{AsyncContext, Context, Handler, Message, ResponseFuture, WrapFuture};
use futures::future::ready;
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;

use super::actor::MemoryWriter;
use super::decision::{Decision, Effect, Reply};
use super::messages::Forgotten;
use super::place;
use super::port::{AppliedKind, Taken};
use super::record::{Change, Owner};
use super::traces::{self, Part, Stage};
use super::write::restarting;
use muster_core::audit::AuditEntry;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Deletes all data of an owner; responds once nothing is left.
#[derive(Message)]
#[rtype(result = "Result<Forgotten, Error>")]
pub(super) struct Forget {
    pub(super) owner: Owner,
    pub(super) by: By,
}

/// Durable marker of an owner whose data is being deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    owner: Owner,
    at: Millis,
    /// Requesting principal.
    by: String,
    /// Counts so far.
    forgotten: Forgotten,
}

impl Record for Mark {
    const TREE: Tree = Tree::MemoryIds;
    const SCHEMA: u16 = 1;
}

/// Deletion in progress.
pub(super) struct Forgetting {
    mark: Mark,
    stage: Stage,
    /// A slice is being read or written.
    under_way: bool,
    waiters: Vec<oneshot::Sender<Result<Forgotten, Error>>>,
}

impl Forgetting {
    fn new(mark: Mark) -> Self {
        Self { mark, stage: Stage::Entries, under_way: false, waiters: Vec::new() }
    }
}

/// Returns deletions that were in progress when the server ended. Blocking.
///
/// # Errors
/// The store cannot be read.
pub(super) fn under_way(store: &StoreHandle) -> Result<HashMap<Owner, Forgetting>, StoreError> {
    let marks = store.records::<Mark>(place::GONE, PageRequest::default()).values();
    marks.map(|mark| mark.map(|mark| (mark.owner.clone(), Forgetting::new(mark)))).collect()
}

/// Deletion is not confirmed while an index file may still contain data.
fn done(taken: Taken, forgotten: Forgotten) -> Result<Forgotten, Error> {
    match taken {
        Taken::All => Ok(forgotten),
        Taken::Partly => {
            let message = "the entries are deleted, the index's files are not yet: ask again, until it is done";
            Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(5)))
        }
    }
}

impl MemoryWriter {
    /// Writes the marker, the audit entry and the order to the indexes in one decision.
    fn begin_forgetting(&mut self, owner: &Owner, by: &By) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        let mark =
            Mark { owner: owner.clone(), at: transaction.now, by: by.id().to_owned(), forgotten: Forgotten::default() };
        transaction.put(Tree::MemoryIds, place::gone(owner), &mark)?;
        transaction
            .ops
            .push(AuditEntry::new(transaction.now, by.id(), "memory_forget", owner.as_str(), json!({})).op()?);
        let seq = transaction.change(&Change::OwnerGone { owner: owner.clone() })?;
        transaction.record(seq, AppliedKind::OwnerGone { owner: owner.clone() });
        let mut decision = Decision::default();
        self.take(transaction, &mut decision);
        decision.effects.push(Effect::Forget(owner.clone()));
        self.seal(decision);
        self.forgetting.insert(owner.clone(), Forgetting { under_way: true, ..Forgetting::new(mark) });
        Ok(())
    }

    /// Continues after a failed read, or after a start that found a marker.
    pub(super) fn resume_forgetting(&mut self, context: &mut Context<Self>) {
        let idle = self.forgetting.iter().filter(|(_, forgetting)| !forgetting.under_way);
        for owner in idle.map(|(owner, _)| owner.clone()).collect::<Vec<_>>() {
            self.forget_next(&owner, context);
        }
    }

    /// Everything decided for the owner is durable: reads the next slice.
    pub(super) fn forget_next(&mut self, owner: &Owner, context: &mut Context<Self>) {
        let Some(forgetting) = self.forgetting.get_mut(owner) else { return };
        forgetting.under_way = true;
        let (store, whose, stage) = (self.options.store.clone(), owner.clone(), forgetting.stage.clone());
        let read = tokio::task::spawn_blocking(move || traces::part(&store, &whose, &stage));
        let owner = owner.clone();
        context.spawn(read.into_actor(self).map(move |read, actor, context: &mut Context<Self>| {
            let read = read.map_err(|error| StoreError::Io(error.to_string()));
            if let Err(error) = read.and_then(|part| actor.forget_part(&owner, part?)) {
                tracing::error!(%error, "an owner cannot be forgotten: tried again");
                if let Some(forgetting) = actor.forgetting.get_mut(&owner) {
                    forgetting.under_way = false;
                }
            }
            actor.flush(context);
        }));
    }

    fn forget_part(&mut self, owner: &Owner, part: Part) -> Result<(), StoreError> {
        let Some(forgetting) = self.forgetting.get_mut(owner) else { return Ok(()) };
        let so_far = &mut forgetting.mark.forgotten;
        so_far.entries += part.forgotten.entries;
        so_far.versions += part.forgotten.versions;
        so_far.vectors += part.forgotten.vectors;
        forgetting.stage = part.next;
        if forgetting.stage == Stage::Over {
            return self.end_forgetting(owner, part.ops);
        }
        let mut decision = Decision { ops: part.ops, ..Decision::default() };
        if !decision.ops.is_empty() {
            let (key, rec) = (place::gone(owner), forgetting.mark.encode()?);
            decision.ops.push(Op::Put { tree: Tree::MemoryIds, key, rec });
            decision.seq = self.transaction().seq;
        }
        decision.effects.push(Effect::Forget(owner.clone()));
        self.seal(decision);
        Ok(())
    }

    /// Only the marker is left. The indexes are notified again: one that was rebuilt meanwhile may have read data
    /// before it was deleted.
    fn end_forgetting(&mut self, owner: &Owner, ops: Vec<Op>) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        transaction.ops.extend(ops);
        transaction.delete(Tree::MemoryIds, place::gone(owner));
        let seq = transaction.change(&Change::OwnerGone { owner: owner.clone() })?;
        transaction.record(seq, AppliedKind::OwnerGone { owner: owner.clone() });
        let Some(forgetting) = self.forgetting.get(owner) else { return Ok(()) };
        let Mark { at, by, forgotten, .. } = forgetting.mark.clone();
        let details = json!({ "asked_at": at, "forgotten": forgotten });
        let entry = AuditEntry::new(transaction.now, &by, "memory_forgotten", owner.as_str(), details);
        transaction.ops.push(entry.op()?);
        let waiters = self.forgetting.remove(owner).map(|forgetting| forgetting.waiters).unwrap_or_default();
        let mut decision = Decision::default();
        self.take(transaction, &mut decision);
        self.tallies.forget(owner);
        decision.effects.extend(waiters.into_iter().map(|waiter| {
            let reply: Reply = Box::new(move |stored| {
                // The caller may have stopped waiting.
                let _ = waiter.send(stored.and_then(|taken| done(taken, forgotten)));
            });
            Effect::PatientReply(reply)
        }));
        self.seal(decision);
        Ok(())
    }
}

impl Handler<Forget> for MemoryWriter {
    type Result = ResponseFuture<Result<Forgotten, Error>>;

    fn handle(&mut self, forget: Forget, context: &mut Context<Self>) -> Self::Result {
        let begun = self.admit().and_then(|()| {
            if self.forgetting.contains_key(&forget.owner) {
                return Ok(());
            }
            self.begin_forgetting(&forget.owner, &forget.by).map_err(Error::from)
        });
        if let Err(refused) = begun {
            return Box::pin(ready(Err(refused)));
        }
        let (to, from) = oneshot::channel();
        if let Some(forgetting) = self.forgetting.get_mut(&forget.owner) {
            forgetting.waiters.push(to);
        }
        self.flush(context);
        Box::pin(async move { from.await.unwrap_or_else(|_| Err(restarting())) })
    }
}
