//! Handlers of the geofence actor. Changes and reads alike are answered once what they rest on is durable.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use muster_store::{Op, Record, StoreError};
use serde_json::{Value, json};

use super::actor::GeofenceActor;
use super::messages::{Create, Created, Get, List, Remove, Update, WhoIsInside};
use super::record::{Fence, Inside};
use super::state::Shaped;
use crate::journal::{answer, decide};
use muster_core::Error;
use muster_core::audit::AuditEntry;
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::page::Page;
use muster_identity::By;

fn put(fence: &Fence) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Fence::TREE, key: Fence::key(&fence.id), rec: fence.encode()? })
}

/// The first answer to a request with an idempotency key.
type FirstAnswer = (Idempotency, Value);

impl GeofenceActor {
    fn audited(&self, by: &By, action: &str, id: &str, details: Value) -> Result<Op, StoreError> {
        AuditEntry::new(self.options.clock.now(), by.id(), action, id, details).op()
    }

    /// The first answer to the same request.
    fn replay(&self, request: Option<&Idempotency>) -> Result<Option<Created>, Error> {
        let Some(request) = request else { return Ok(None) };
        let Some(answer) = self.answers.replay(request, &self.options.store, self.options.clock.now())? else {
            return Ok(None);
        };
        let fence = serde_json::from_value(answer).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Some(Created { fence: Arc::new(fence), replayed: true }))
    }

    fn create(&self, create: Create) -> Result<(Shaped, Vec<Op>, Option<FirstAnswer>), Error> {
        let Create { new, by, idempotency } = create;
        let now = self.options.clock.now();
        let shaped = self.state.make(new, by.id(), new_id(IdKind::Geofence), now)?;
        let fence = &shaped.0;
        let mut ops = vec![put(fence)?, self.audited(&by, "geofence_created", &fence.id, json!({}))?];
        let first = idempotency.map(|request| (request, json!(**fence)));
        if let Some((request, answer)) = &first {
            ops.push(request.op(now, answer.clone())?);
        }
        Ok((shaped, ops, first))
    }

    fn update(&self, update: Update) -> Result<(Shaped, Vec<Op>), Error> {
        let Update { id, change, if_match, by } = update;
        let shaped = self.state.change(&id, change, if_match, self.options.clock.now())?;
        let details = json!({ "version": shaped.0.version });
        let ops = vec![put(&shaped.0)?, self.audited(&by, "geofence_updated", &id, details)?];
        Ok((shaped, ops))
    }

    fn remove(&self, remove: &Remove) -> Result<Vec<Op>, Error> {
        let Remove { id, if_match, by } = remove;
        let fence = self.state.get(id)?;
        if_match.check(fence.version)?;
        let audit = self.audited(by, "geofence_deleted", id, json!({ "name": fence.name }))?;
        Ok(vec![Op::Delete { tree: Fence::TREE, key: Fence::key(id) }, audit])
    }

    fn accept(&mut self, shaped: Shaped, context: &mut Context<Self>) -> Arc<Fence> {
        let fence = Arc::clone(&shaped.0);
        let concerned = self.state.put(shaped);
        self.recheck(concerned, context);
        fence
    }
}

impl Handler<Create> for GeofenceActor {
    type Result = ResponseFuture<Result<Created, Error>>;

    fn handle(&mut self, create: Create, context: &mut Context<Self>) -> Self::Result {
        match self.replay(create.idempotency.as_ref()) {
            Ok(None) => {}
            Ok(Some(again)) => return answer(self, Ok(again), context),
            Err(refused) => return answer(self, Err(refused), context),
        }
        match self.create(create).and_then(|made| self.admit().map(|()| made)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok((shaped, ops, first)) => {
                if let Some((request, first)) = first {
                    self.answers.insert(&request, first, self.journal.next_number());
                }
                let fence = self.accept(shaped, context);
                decide(self, ops, Created { fence, replayed: false }, context)
            }
        }
    }
}

impl Handler<Update> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, update: Update, context: &mut Context<Self>) -> Self::Result {
        match self.update(update).and_then(|changed| self.admit().map(|()| changed)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok((shaped, ops)) => {
                let fence = self.accept(shaped, context);
                decide(self, ops, fence, context)
            }
        }
    }
}

impl Handler<Remove> for GeofenceActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, remove: Remove, context: &mut Context<Self>) -> Self::Result {
        match self.remove(&remove).and_then(|ops| self.admit().map(|()| ops)) {
            Err(refused) => answer(self, Err(refused), context),
            Ok(ops) => {
                let concerned = self.state.forget(&remove.id);
                self.recheck(concerned, context);
                decide(self, ops, (), context)
            }
        }
    }
}

impl Handler<Get> for GeofenceActor {
    type Result = ResponseFuture<Result<Arc<Fence>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        answer(self, found, context)
    }
}

impl Handler<List> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<Arc<Fence>>, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(&list.page);
        answer(self, Ok(page), context)
    }
}

impl Handler<WhoIsInside> for GeofenceActor {
    type Result = ResponseFuture<Result<Page<Inside>, Error>>;

    fn handle(&mut self, request: WhoIsInside, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.inside(&request.id, &request.page);
        answer(self, page, context)
    }
}
