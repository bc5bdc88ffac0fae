//! Handlers of stores, deletes and vectors.

use std::time::Duration;

use actix::{Context, Handler, Message, ResponseFuture};
use futures::future::ready;
use muster_store::StoreError;
use serde_json::json;
use tokio::sync::oneshot;

use super::actor::MemoryWriter;

use super::decision::{Decision, Effect, Reply};
use super::messages::{Precondition, StoreResponse};
use super::port::{ApplyOutcome, NewVector};
use super::record::{EntryId, Place};
use super::responses::{self, EntryOutcome, StoredResponse};
use super::state::{self, Draft, Rejection, Stored};
use super::usage_cache::owner_total;
use muster_core::idempotency::Idempotency;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind};

/// Maximum writes per decision; the rest of a request goes into the next one.
const MAX_OPS: usize = 2_048;

/// Entries to be stored independently, in order.
#[derive(Message)]
#[rtype(result = "Result<Vec<Result<StoreResponse, Error>>, Error>")]
pub(super) struct Store {
    pub(super) drafts: Vec<Draft>,
    pub(super) idempotency: Option<Idempotency>,
}

/// An entry to be deleted.
#[derive(Message)]
#[rtype(result = "Result<bool, Error>")]
pub(super) struct Delete {
    pub(super) place: Place,
    /// If set, only this entry.
    pub(super) id: Option<EntryId>,
    pub(super) precondition: Precondition,
}

/// Vectors to be stored.
#[derive(Message)]
#[rtype(result = "Result<usize, Error>")]
pub(super) struct Vectors(pub(super) Vec<NewVector>);

/// A response channel, and the effect that responds once a decision is durable and indexed.
fn reply_channel<T: Send + 'static>(
    finish: impl FnOnce(ApplyOutcome) -> T + Send + 'static,
) -> (Reply, ResponseFuture<Result<T, Error>>) {
    let (to, from) = oneshot::channel();
    let reply: Reply = Box::new(move |stored: Result<ApplyOutcome, Error>| {
        // The caller may have stopped waiting.
        let _ = to.send(stored.map(finish));
    });
    (reply, Box::pin(async move { from.await.unwrap_or_else(|_| Err(restarting())) }))
}

pub(super) fn restarting() -> Error {
    Error::new(Kind::Unavailable, "memory is restarting: try again").retry_in(Duration::from_secs(1))
}

impl MemoryWriter {
    fn store_one(&mut self, draft: &Draft, into: &mut Decision) -> Result<Stored, Rejection> {
        let owner = &draft.place.space.owner;
        if self.forgetting.contains_key(owner) {
            return Err(Rejection::Forgetting);
        }
        let unreadable = |error: StoreError| {
            tracing::error!(%error, "an entry cannot be read or written");
            Rejection::Unreadable
        };
        let present = self.present(&draft.place).map_err(unreadable)?;
        let (mut transaction, max) = (self.transaction(), self.options.settings.max_entries);
        let owned = self.usages.held(&owner_total(owner));
        let stored = state::store(&mut transaction, present.as_deref(), draft, EntryId::fresh(), (owned, max));
        let stored = stored.map_err(unreadable)??;
        self.take(transaction, into);
        Ok(stored)
    }

    /// Decides about every entry of a request.
    fn store_all(&mut self, store: &Store) -> (Vec<Result<Stored, Rejection>>, Decision) {
        let (mut outcomes, mut decision) = (Vec::with_capacity(store.drafts.len()), Decision::default());
        for draft in &store.drafts {
            if decision.ops.len() > MAX_OPS {
                self.seal(std::mem::take(&mut decision));
            }
            outcomes.push(self.store_one(draft, &mut decision));
        }
        if let Some(request) = &store.idempotency
            && outcomes.iter().any(Result::is_ok)
        {
            let response = StoredResponse { memory: outcomes.iter().map(EntryOutcome::of).collect() };
            match request.op(self.now(), json!(response)) {
                Ok(op) => decision.ops.push(op),
                // Every part of it is bounded, so this is a bug; continuing would store twice.
                Err(error) => self.fault(&error),
            }
            // The decision is the next one: `conclude` submits it.
            self.responses.insert(request, response, self.next_decision());
        }
        (outcomes, decision)
    }

    fn delete_one(&mut self, delete: &Delete, into: &mut Decision) -> Result<bool, Error> {
        if self.forgetting.contains_key(&delete.place.space.owner) {
            return Err(Rejection::Forgetting.into());
        }
        let present = self.present(&delete.place)?;
        let present = present.filter(|present| delete.id.is_none_or(|id| present.id == id));
        let mut transaction = self.transaction();
        let deleted = state::delete(&mut transaction, present.as_deref(), delete.precondition)??;
        self.take(transaction, into);
        Ok(deleted)
    }

    fn put_one(&mut self, new: &NewVector, into: &mut Decision) -> Result<bool, StoreError> {
        if self.forgetting.contains_key(&new.place.space.owner) {
            return Ok(false);
        }
        let present = self.present(&new.place)?;
        let mut transaction = self.transaction();
        let stored = state::vector(&mut transaction, present.as_deref(), new)?;
        self.take(transaction, into);
        Ok(stored)
    }

    /// Submits a decision, and responds once it is durable and indexed.
    fn conclude<T: Send + 'static>(
        &mut self,
        mut decision: Decision,
        context: &mut Context<Self>,
        finish: impl FnOnce(ApplyOutcome) -> T + Send + 'static,
    ) -> ResponseFuture<Result<T, Error>> {
        let (reply, response) = reply_channel(finish);
        // Ordered after the decisions it depends on, even if it writes nothing.
        decision.effects.push(Effect::Reply(reply));
        self.seal(decision);
        self.flush(context);
        response
    }
}

impl Handler<Store> for MemoryWriter {
    type Result = ResponseFuture<Result<Vec<Result<StoreResponse, Error>>, Error>>;

    fn handle(&mut self, store: Store, context: &mut Context<Self>) -> Self::Result {
        let replay = |request| self.responses.replay(request, &self.options.store, self.now());
        let before = store.idempotency.as_ref().map(replay).transpose();
        match before.and_then(|before| self.admit().map(|()| before.flatten())) {
            Err(rejection) => Box::pin(ready(Err(rejection))),
            Ok(Some(before)) => self.conclude(Decision::default(), context, move |_| {
                before.memory.into_iter().zip(store.drafts).map(|(outcome, draft)| outcome.replay(draft)).collect()
            }),
            Ok(None) => {
                let (outcomes, decision) = self.store_all(&store);
                self.conclude(decision, context, move |indexed| {
                    outcomes.into_iter().map(|outcome| responses::response(outcome, indexed)).collect()
                })
            }
        }
    }
}

impl Handler<Delete> for MemoryWriter {
    type Result = ResponseFuture<Result<bool, Error>>;

    fn handle(&mut self, delete: Delete, context: &mut Context<Self>) -> Self::Result {
        if let Err(refused) = self.admit() {
            return Box::pin(ready(Err(refused)));
        }
        let mut decision = Decision::default();
        let outcome = self.delete_one(&delete, &mut decision);
        let response = self.conclude(decision, context, move |_| outcome);
        Box::pin(async move { response.await? })
    }
}

impl Handler<Vectors> for MemoryWriter {
    type Result = ResponseFuture<Result<usize, Error>>;

    fn handle(&mut self, vectors: Vectors, context: &mut Context<Self>) -> Self::Result {
        if let Err(refused) = self.admit() {
            return Box::pin(ready(Err(refused)));
        }
        let (mut decision, mut stored) = (Decision::default(), 0);
        for new in &vectors.0 {
            match self.put_one(new, &mut decision) {
                Ok(put) => stored += usize::from(put),
                Err(error) => tracing::error!(%error, id = %new.id, "a vector cannot be stored"),
            }
        }
        self.conclude(decision, context, move |_| stored)
    }
}
