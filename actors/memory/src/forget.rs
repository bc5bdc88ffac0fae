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
use super::keys;
use super::messages::ForgottenCounts;
use super::owner_data::{self, OwnerDataSlice, Stage};
use super::port::{AppliedKind, ApplyOutcome};
use super::record::{Change, Owner};
use super::write::restarting;
use muster_core::audit::AuditEntry;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;

/// Deletes all data of an owner; responds once nothing is left.
#[derive(Message)]
#[rtype(result = "Result<ForgottenCounts, Error>")]
pub(super) struct Forget {
    pub(super) owner: Owner,
    pub(super) by: By,
}

/// Durable marker of an owner whose data is being deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeletionMark {
    owner: Owner,
    at: Millis,
    /// Requesting principal.
    by: String,
    /// Deleted records so far.
    forgotten: ForgottenCounts,
}

impl Record for DeletionMark {
    const TREE: Tree = Tree::MemoryIds;
    const SCHEMA: u16 = 1;
}

/// Deletion in progress.
pub(super) struct Forgetting {
    mark: DeletionMark,
    stage: Stage,
    /// A slice is being read or written.
    in_progress: bool,
    waiters: Vec<oneshot::Sender<Result<ForgottenCounts, Error>>>,
}

impl Forgetting {
    fn new(mark: DeletionMark) -> Self {
        Self { mark, stage: Stage::Entries, in_progress: false, waiters: Vec::new() }
    }
}

/// Returns the deletions that were in progress when the server stopped. Blocking.
///
/// # Errors
/// The store cannot be read.
pub(super) fn in_progress(store: &StoreHandle) -> Result<HashMap<Owner, Forgetting>, StoreError> {
    let marks = store.records::<DeletionMark>(keys::DELETION_MARKS, PageRequest::default()).values();
    marks.map(|mark| mark.map(|mark| (mark.owner.clone(), Forgetting::new(mark)))).collect()
}

/// Returns the response to a deletion, which is not confirmed while an index file may still contain data.
fn confirm(outcome: ApplyOutcome, forgotten: ForgottenCounts) -> Result<ForgottenCounts, Error> {
    match outcome {
        ApplyOutcome::Complete => Ok(forgotten),
        ApplyOutcome::Partial => {
            let message =
                "the entries are deleted, the index's files are not yet: repeat the request until it succeeds";
            Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(5)))
        }
    }
}

impl MemoryWriter {
    /// Writes the marker, the audit entry and the change for the indexes in one decision.
    fn begin_forgetting(&mut self, owner: &Owner, by: &By) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        let mark = DeletionMark {
            owner: owner.clone(),
            at: transaction.now,
            by: by.id().to_owned(),
            forgotten: ForgottenCounts::default(),
        };
        transaction.put(Tree::MemoryIds, keys::deletion_mark(owner), &mark)?;
        transaction
            .ops
            .push(AuditEntry::new(transaction.now, by.id(), "memory_forget", owner.as_str(), json!({})).op()?);
        let seq = transaction.change(&Change::OwnerDeleted { owner: owner.clone() })?;
        transaction.record(seq, AppliedKind::OwnerDeleted { owner: owner.clone() });
        let mut decision = Decision::default();
        self.take(transaction, &mut decision);
        decision.effects.push(Effect::Forget(owner.clone()));
        self.seal(decision);
        self.forgetting.insert(owner.clone(), Forgetting { in_progress: true, ..Forgetting::new(mark) });
        Ok(())
    }

    /// Continues after a failed read, or after a start that found a marker.
    pub(super) fn resume_forgetting(&mut self, context: &mut Context<Self>) {
        let idle = self.forgetting.iter().filter(|(_, forgetting)| !forgetting.in_progress);
        for owner in idle.map(|(owner, _)| owner.clone()).collect::<Vec<_>>() {
            self.forget_next(&owner, context);
        }
    }

    /// Reads the next slice, once everything decided for the owner is durable.
    pub(super) fn forget_next(&mut self, owner: &Owner, context: &mut Context<Self>) {
        let Some(forgetting) = self.forgetting.get_mut(owner) else { return };
        forgetting.in_progress = true;
        let (store, whose, stage) = (self.options.store.clone(), owner.clone(), forgetting.stage.clone());
        let read = tokio::task::spawn_blocking(move || owner_data::part(&store, &whose, &stage));
        let owner = owner.clone();
        context.spawn(read.into_actor(self).map(move |read, actor, context: &mut Context<Self>| {
            let read = read.map_err(|error| StoreError::Io(error.to_string()));
            if let Err(error) = read.and_then(|part| actor.forget_slice(&owner, part?)) {
                tracing::error!(%error, "an owner's data cannot be deleted: tried again");
                if let Some(forgetting) = actor.forgetting.get_mut(&owner) {
                    forgetting.in_progress = false;
                }
            }
            actor.flush(context);
        }));
    }

    /// Writes the deletion of a slice, and continues once it is durable.
    fn forget_slice(&mut self, owner: &Owner, part: OwnerDataSlice) -> Result<(), StoreError> {
        let Some(forgetting) = self.forgetting.get_mut(owner) else { return Ok(()) };
        let so_far = &mut forgetting.mark.forgotten;
        so_far.entries += part.forgotten.entries;
        so_far.versions += part.forgotten.versions;
        so_far.vectors += part.forgotten.vectors;
        forgetting.stage = part.next;
        if forgetting.stage == Stage::Done {
            return self.end_forgetting(owner, part.ops);
        }
        let mut decision = Decision { ops: part.ops, ..Decision::default() };
        if !decision.ops.is_empty() {
            let (key, rec) = (keys::deletion_mark(owner), forgetting.mark.encode()?);
            decision.ops.push(Op::Put { tree: Tree::MemoryIds, key, rec });
            decision.seq = self.transaction().seq;
        }
        decision.effects.push(Effect::Forget(owner.clone()));
        self.seal(decision);
        Ok(())
    }

    /// Ends a deletion of which only the marker is left. The indexes are notified again: one that was rebuilt meanwhile
    /// may have read data before it was deleted.
    fn end_forgetting(&mut self, owner: &Owner, ops: Vec<Op>) -> Result<(), StoreError> {
        let mut transaction = self.transaction();
        transaction.ops.extend(ops);
        transaction.delete(Tree::MemoryIds, keys::deletion_mark(owner));
        let seq = transaction.change(&Change::OwnerDeleted { owner: owner.clone() })?;
        transaction.record(seq, AppliedKind::OwnerDeleted { owner: owner.clone() });
        let Some(forgetting) = self.forgetting.get(owner) else { return Ok(()) };
        let DeletionMark { at, by, forgotten, .. } = forgetting.mark.clone();
        let details = json!({ "asked_at": at, "forgotten": forgotten });
        let entry = AuditEntry::new(transaction.now, &by, "memory_forgotten", owner.as_str(), details);
        transaction.ops.push(entry.op()?);
        let waiters = self.forgetting.remove(owner).map(|forgetting| forgetting.waiters).unwrap_or_default();
        let mut decision = Decision::default();
        self.take(transaction, &mut decision);
        self.usages.forget(owner);
        decision.effects.extend(waiters.into_iter().map(|waiter| {
            let reply: Reply = Box::new(move |stored| {
                // The caller may have stopped waiting.
                let _ = waiter.send(stored.and_then(|outcome| confirm(outcome, forgotten)));
            });
            Effect::PatientReply(reply)
        }));
        self.seal(decision);
        Ok(())
    }
}

impl Handler<Forget> for MemoryWriter {
    type Result = ResponseFuture<Result<ForgottenCounts, Error>>;

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
