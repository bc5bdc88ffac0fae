//! The actor that owns the geofences.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, ActorContext as _, AsyncContext, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use muster_store::{Batch, Op, Order, Record, Scan, StoreError, StoreHandle};
use serde_json::{Value, json};

use super::checks::check;
use super::inbox::Inbox;
use super::messages::{Create, Created, Drain, Get, List, Remove, Update, WhoIsInside};
use super::record::{FENCES, Fence, Member, Observation, Subject};
use super::state::{Crossing, FenceState, Reason, Shaped};
use muster_core::audit::AuditEntry;
use muster_core::event::Publisher;
use muster_core::ids::{IdKind, new_id};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error};
use muster_identity::By;

/// Observations looked at, and subjects written, in one turn: others want an answer too.
const MAX_LOOKED_AT: usize = 2_000;
const MAX_CROSSINGS: usize = 256;
/// How often the inbox is looked into without being told: what could not be told, what could not be written.
const TICK: Duration = Duration::from_secs(1);

/// What the actor needs.
#[derive(Clone)]
pub struct GeofenceOptions {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
}

impl std::fmt::Debug for GeofenceOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GeofenceOptions")
    }
}

#[derive(Debug)]
pub struct GeofenceActor {
    options: GeofenceOptions,
    state: FenceState,
    inbox: Inbox,
    /// Whose fences changed.
    rechecks: VecDeque<Subject>,
    /// Taken out of the inbox, and to be looked at first in the next turn.
    held: Option<(Observation, Reason)>,
}

/// Reads everything back. All who were inside are checked anew: a fence may have changed just before the end.
pub(super) async fn load(options: GeofenceOptions, inbox: Inbox) -> Result<GeofenceActor, BuildError> {
    let store = Arc::clone(&options.store);
    let (state, rechecks) = tokio::task::spawn_blocking(move || read_all(&store)).await??;
    Ok(GeofenceActor { options, state, inbox, rechecks, held: None })
}

fn read_all(store: &StoreHandle) -> Result<(FenceState, VecDeque<Subject>), StoreError> {
    let (mut state, mut rechecks) = (FenceState::default(), VecDeque::new());
    for fence in all::<Fence>(store, FENCES) {
        let fence = fence?;
        match check(&fence) {
            Ok(shape) => drop(state.put((Arc::new(fence), shape))),
            Err(error) => tracing::error!(geofence = fence.id, %error, "a stored geofence is none any more"),
        }
    }
    for member in all::<Member>(store, Member::PREFIX) {
        rechecks.push_back(state.restore(member?));
    }
    Ok((state, rechecks))
}

fn all<T: Record>(store: &StoreHandle, prefix: &[u8]) -> impl Iterator<Item = Result<T, StoreError>> {
    let mut next = Some(None);
    let pages = std::iter::from_fn(move || {
        let from = next.take()?;
        let scan = Scan { prefix: prefix.to_vec(), from, limit: 1_000, order: Order::Ascending };
        Some(store.scan(T::TREE, &scan).map(|page| {
            next = page.next.map(Some);
            page.items
        }))
    });
    pages.flat_map(|page| match page {
        Ok(items) => items.iter().map(|(_, rec)| T::decode(rec)).collect::<Vec<_>>(),
        Err(error) => vec![Err(error)],
    })
}

fn batch(ops: Vec<Op>) -> Batch {
    Batch { ops, ..Batch::default() }
}

fn put(fence: &Fence) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: Fence::TREE, key: Fence::key(&fence.id), rec: fence.encode()? })
}

impl GeofenceActor {
    fn audited(&self, by: &By, action: &str, id: &str, details: Value) -> Result<Op, StoreError> {
        AuditEntry::new(self.options.clock.now(), by.id(), action, id, details).op()
    }

    fn recheck(&mut self, subjects: BTreeSet<Subject>, context: &mut Context<Self>) {
        self.rechecks.extend(subjects);
        context.notify(Drain);
    }

    fn next(&mut self) -> Option<(Observation, Reason)> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        while let Some(subject) = self.rechecks.pop_front() {
            if let Some(seen) = self.state.seen(&subject) {
                return Some((seen.clone(), Reason::FenceChanged));
            }
        }
        self.inbox.pop().map(|observation| (observation, Reason::Moved))
    }

    /// Who enters and leaves, by what waits. Ends before a subject would come twice: the second is judged by what the
    /// first one led to.
    fn crossings(&mut self) -> Vec<Crossing> {
        let (mut found, mut subjects) = (Vec::new(), BTreeSet::new());
        for _ in 0..MAX_LOOKED_AT {
            if found.len() >= MAX_CROSSINGS {
                break;
            }
            let Some((observation, reason)) = self.next() else { break };
            let subject = observation.subject.clone();
            if subjects.contains(&subject) {
                self.held = Some((observation, reason));
                break;
            }
            if !self.state.see(&observation) {
                continue;
            }
            if let Some(crossing) = self.state.judge(&observation, reason, self.options.clock.now()) {
                subjects.insert(subject);
                found.push(crossing);
            }
        }
        found
    }

    fn write(
        &self,
        crossings: &[Crossing],
    ) -> Result<impl Future<Output = Result<(), StoreError>> + use<>, StoreError> {
        let mut ops = Vec::new();
        for Crossing { member, events } in crossings {
            let key = Member::key(&member.seen.subject);
            ops.push(match member.fences.is_empty() {
                true => Op::Delete { tree: Member::TREE, key },
                false => Op::Put { tree: Member::TREE, key, rec: member.encode()? },
            });
            for event in events {
                ops.push(event.op()?);
            }
        }
        Ok(self.options.store.commit(batch(ops)))
    }

    fn again(&mut self, crossings: Vec<Crossing>, error: &StoreError) {
        tracing::warn!(%error, subjects = crossings.len(), "who entered and left was not written: tried again");
        self.rechecks.extend(crossings.into_iter().map(|crossing| crossing.member.seen.subject));
    }

    /// Looks at what waits; writes and tells what it means.
    fn drain(&mut self, context: &mut Context<Self>) {
        let crossings = self.crossings();
        if crossings.is_empty() {
            if self.held.is_some() || !self.rechecks.is_empty() || !self.inbox.is_empty() {
                context.notify(Drain);
            }
            return;
        }
        let write = match self.write(&crossings) {
            Ok(write) => write,
            Err(error) => return self.again(crossings, &error),
        };
        context.wait(write.into_actor(self).map(move |written, actor, context| match written {
            Ok(()) => {
                for Crossing { member, events } in crossings {
                    actor.state.take(member);
                    actor.options.publisher.publish(events);
                }
                context.notify(Drain);
            }
            Err(error) => actor.again(crossings, &error),
        }));
    }
}

impl Actor for GeofenceActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.notify(Drain);
        context.run_interval(TICK, |actor, context| {
            if !context.state().stopping() {
                actor.drain(context);
            }
        });
    }
}

impl Handler<Drain> for GeofenceActor {
    type Result = ();

    fn handle(&mut self, _: Drain, context: &mut Context<Self>) {
        self.drain(context);
    }
}

/// An answer that is there at once.
fn ready<T: 'static>(answer: T) -> AtomicResponse<GeofenceActor, T> {
    AtomicResponse::new(Box::pin(actix::fut::ready(answer)))
}

impl Handler<Create> for GeofenceActor {
    type Result = AtomicResponse<Self, Result<Created, Error>>;

    fn handle(&mut self, create: Create, _: &mut Context<Self>) -> Self::Result {
        let Create { new, by, idempotency } = create;
        let now = self.options.clock.now();
        let replayed = idempotency.as_ref().map(|named| named.replay(&self.options.store, now)).transpose();
        match replayed.map(Option::flatten) {
            Err(error) => return ready(Err(error)),
            Ok(Some(answer)) => {
                let fence = serde_json::from_value(answer).map_err(|error| StoreError::Corrupt(error.to_string()));
                return ready(
                    fence.map(|fence| Created { fence: Arc::new(fence), replayed: true }).map_err(Error::from),
                );
            }
            Ok(None) => {}
        }
        let prepared = self.state.make(new, by.id(), new_id(IdKind::Geofence), now).and_then(|shaped| {
            let fence = &shaped.0;
            let mut ops = vec![put(fence)?, self.audited(&by, "geofence_created", &fence.id, json!({}))?];
            if let Some(named) = &idempotency {
                ops.push(named.op(now, json!(**fence))?);
            }
            Ok((self.options.store.commit(batch(ops)), shaped))
        });
        let (write, shaped) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return ready(Err(error)),
        };
        AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, actor, context| {
            written?;
            Ok(Created { fence: actor.accept(shaped, context), replayed: false })
        })))
    }
}

impl GeofenceActor {
    fn accept(&mut self, shaped: Shaped, context: &mut Context<Self>) -> Arc<Fence> {
        let fence = Arc::clone(&shaped.0);
        let concerned = self.state.put(shaped);
        self.recheck(concerned, context);
        fence
    }
}

impl Handler<Update> for GeofenceActor {
    type Result = AtomicResponse<Self, Result<Arc<Fence>, Error>>;

    fn handle(&mut self, update: Update, _: &mut Context<Self>) -> Self::Result {
        let Update { id, change, if_match, by } = update;
        let prepared = self.state.change(&id, change, if_match, self.options.clock.now()).and_then(|shaped| {
            let details = json!({ "version": shaped.0.version });
            let ops = vec![put(&shaped.0)?, self.audited(&by, "geofence_updated", &id, details)?];
            Ok((self.options.store.commit(batch(ops)), shaped))
        });
        match prepared {
            Err(error) => ready(Err(error)),
            Ok((write, shaped)) => {
                AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, actor, context| {
                    written?;
                    Ok(actor.accept(shaped, context))
                })))
            }
        }
    }
}

impl Handler<Remove> for GeofenceActor {
    type Result = AtomicResponse<Self, Result<(), Error>>;

    fn handle(&mut self, remove: Remove, _: &mut Context<Self>) -> Self::Result {
        let Remove { id, if_match, by } = remove;
        let prepared = self.state.get(&id).and_then(|fence| {
            if_match.check(fence.version)?;
            let audit = self.audited(&by, "geofence_deleted", &id, json!({ "name": fence.name }))?;
            let gone = Op::Delete { tree: Fence::TREE, key: Fence::key(&id) };
            Ok(self.options.store.commit(batch(vec![gone, audit])))
        });
        match prepared {
            Err(error) => ready(Err(error)),
            Ok(write) => AtomicResponse::new(Box::pin(write.into_actor(self).map(move |written, actor, context| {
                written?;
                let concerned = actor.state.forget(&id);
                actor.recheck(concerned, context);
                Ok(())
            }))),
        }
    }
}

impl Handler<Get> for GeofenceActor {
    type Result = MessageResult<Get>;

    fn handle(&mut self, get: Get, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.get(&get.id))
    }
}

impl Handler<List> for GeofenceActor {
    type Result = MessageResult<List>;

    fn handle(&mut self, list: List, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.list(&list.page))
    }
}

impl Handler<WhoIsInside> for GeofenceActor {
    type Result = MessageResult<WhoIsInside>;

    fn handle(&mut self, ask: WhoIsInside, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.state.inside(&ask.id, &ask.page))
    }
}
