//! Message handlers of the geofence actor, a file of their own because of their number. Changes and reads alike are
//! answered once the state that they rest on is durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record, StoreError};
use serde_json::{Value, json};

use super::actor::GeofenceActor;
use super::messages::{CreateFence, CreatedFence, GetFence, ListFences, ListInside, RemoveFence, UpdateFence};
use super::record::{Fence, SubjectInside};
use super::state::ShapedFence;
use muster_core::Error;
use muster_core::audit::AuditEntry;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::journal::{decide, respond};
use muster_core::page::Page;
use muster_identity::By;

fn put(fence: &Fence) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Fence::TREE, key: Fence::key(&fence.id), rec: fence.encode()? })
}

/// The first response to a request with an idempotency key.
type FirstResponse = (Idempotency, Value);

impl GeofenceActor {
    fn audit_op(&self, by: &By, action: &str, id: &str, details: Value) -> Result<Op, StoreError> {
        AuditEntry::new(self.options.clock.now(), by.id(), action, id, details).op()
    }

    /// Returns the first response to the same request, if there is one.
    fn replay(&self, request: Option<&Idempotency>) -> Result<Option<CreatedFence>, Error> {
        let Some(request) = request else { return Ok(None) };
        let Some(answer) = self.responses.replay(request, &self.options.store, self.options.clock.now())? else {
            return Ok(None);
        };
        let fence = serde_json::from_value(answer).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Some(CreatedFence { fence: Arc::new(fence), replayed: true }))
    }

    fn create(&self, create: CreateFence) -> Result<(ShapedFence, Vec<Op>, Option<FirstResponse>), Error> {
        let CreateFence { new, by, idempotency } = create;
        let now = self.options.clock.now();
        let shaped = self.state.make(new, by.id(), new_id(IdKind::Geofence), now)?;
        let fence = &shaped.0;
        let mut ops = vec![put(fence)?, self.audit_op(&by, "geofence_created", &fence.id, json!({}))?];
        let first = idempotency.map(|request| (request, json!(**fence)));
        if let Some((request, answer)) = &first {
            ops.push(request.op(now, answer.clone())?);
        }
        Ok((shaped, ops, first))
    }

    fn update(&self, update: UpdateFence) -> Result<(ShapedFence, Vec<Op>), Error> {
        let UpdateFence { id, change, if_match, by } = update;
        let shaped = self.state.change(&id, change, if_match, self.options.clock.now())?;
        let details = json!({ "version": shaped.0.version });
        let ops = vec![put(&shaped.0)?, self.audit_op(&by, "geofence_updated", &id, details)?];
        Ok((shaped, ops))
    }

    fn remove(&self, remove: &RemoveFence) -> Result<Vec<Op>, Error> {
        let RemoveFence { id, if_match, by } = remove;
        let fence = self.state.get(id)?;
        if_match.check(fence.version)?;
        let audit = self.audit_op(by, "geofence_deleted", id, json!({ "name": fence.name }))?;
        Ok(vec![Op::Delete { tree: Fence::TREE, key: Fence::key(id) }, audit])
    }

    fn accept(&mut self, shaped: ShapedFence, context: &mut Context<Self>) -> Arc<Fence> {
        let fence = Arc::clone(&shaped.0);
        let affected = self.state.put(shaped);
        self.recheck(affected, context);
        fence
    }
}

impl Handler<CreateFence> for GeofenceActor {
    type Result = ResponseFuture<Result<CreatedFence, Error>>;

    fn handle(&mut self, create: CreateFence, context: &mut Context<Self>) -> Self::Result {
        match self.replay(create.idempotency.as_ref()) {
            Ok(None) => {}
            Ok(Some(again)) => return respond(self, Ok(again), context),
            Err(error) => return respond(self, Err(error), context),
        }
        match self.create(create).and_then(|made| self.admit().map(|()| made)) {
            Err(error) => respond(self, Err(error), context),
            Ok((shaped, ops, first)) => {
                if let Some((request, first)) = first {
                    self.responses.insert(&request, first, self.journal.next_number());
                }
                let fence = self.accept(shaped, context);
                decide(self, ops, CreatedFence { fence, replayed: false }, context)
            }
        }
    }
}

impl Handler<UpdateFence> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, update: UpdateFence, context: &mut Context<Self>) -> Self::Result {
        match self.update(update).and_then(|changed| self.admit().map(|()| changed)) {
            Err(error) => respond(self, Err(error), context),
            Ok((shaped, ops)) => {
                let fence = self.accept(shaped, context);
                decide(self, ops, fence, context)
            }
        }
    }
}

impl Handler<RemoveFence> for GeofenceActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, remove: RemoveFence, context: &mut Context<Self>) -> Self::Result {
        match self.remove(&remove).and_then(|ops| self.admit().map(|()| ops)) {
            Err(error) => respond(self, Err(error), context),
            Ok(ops) => {
                let affected = self.state.remove_fence(&remove.id);
                self.recheck(affected, context);
                decide(self, ops, (), context)
            }
        }
    }
}

impl Handler<GetFence> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, get: GetFence, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        respond(self, found, context)
    }
}

impl Handler<ListFences> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<Arc<Fence>>, Error>>;

    fn handle(&mut self, list: ListFences, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(&list.page);
        respond(self, Ok(page), context)
    }
}

impl Handler<ListInside> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<SubjectInside>, Error>>;

    fn handle(&mut self, request: ListInside, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.inside(&request.id, &request.page);
        respond(self, page, context)
    }
}
