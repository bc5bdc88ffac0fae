//! The actor that owns incidents and alerts: a thin shell around [`Network`].

use std::sync::Arc;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, AtomicResponse, Context, Handler, MessageResult, WrapFuture};
use muster_store::{Batch, Op, Order, Record, Scan, StoreError, StoreHandle, Tree};

use super::archive;
use super::events;
use super::messages::{Answer, Get, GetAlert, List, ListAlerts, Newest, Snapshot, What, Write};
use super::places;
use super::plan::Plan;
use super::record::Incident;
use super::settings::Settings;
use super::sight;
use super::snapshot;
use super::state::{Asked, Network};
use crate::alert::{AlertRecord, Document};
use crate::geofence::Watcher;
use muster_core::event::{Event, Publisher};
use muster_core::ids::new_id;
use muster_core::page::Page;
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Millis};
use muster_identity::By;

/// How often it looks at what time has changed.
const TICK: Duration = Duration::from_secs(1);

/// What the actor needs.
#[derive(Clone)]
pub struct Options {
    pub store: StoreHandle,
    pub clock: Clock,
    pub publisher: Publisher,
    /// Told where incidents are.
    pub watcher: Option<Arc<dyn Watcher>>,
    pub settings: Settings,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Owns incidents and alerts together: an alert and its incident change in one batch.
#[derive(Debug)]
pub struct IncidentActor {
    options: Options,
    network: Network,
}

/// A change that is ready to be made.
struct Ready {
    batch: Batch,
    plan: Plan,
    events: Vec<Event>,
    answer: Answer,
}

/// Reads everything back.
pub(super) async fn load(options: Options) -> Result<IncidentActor, BuildError> {
    let (store, settings, now) = (Arc::clone(&options.store), options.settings.clone(), options.clock.now());
    let network = tokio::task::spawn_blocking(move || {
        let (incidents, alerts) = (read_all::<Incident>(&store, "inc_")?, read_all::<AlertRecord>(&store, "alr_")?);
        let mut network = Network::new(settings, incidents, alerts);
        network.archive(now);
        Ok::<_, StoreError>(network)
    });
    Ok(IncidentActor { options, network: network.await?? })
}

fn read_all<R: Record>(store: &StoreHandle, prefix: &str) -> Result<Vec<R>, StoreError> {
    let (mut records, mut from) = (Vec::new(), None);
    loop {
        let scan = Scan { prefix: prefix.into(), from, limit: 1_000, order: Order::Ascending };
        let page = store.scan(R::TREE, &scan)?;
        for (_, rec) in &page.items {
            records.push(R::decode(rec)?);
        }
        from = page.next;
        if from.is_none() {
            return Ok(records);
        }
    }
}

/// One batch of a plan and the events that tell of it.
fn batch(plan: &Plan, events: &[Event]) -> Result<Batch, StoreError> {
    let mut ops = Vec::new();
    for changed in &plan.incidents {
        let (id, rec) = (&changed.after.id, changed.after.encode()?);
        ops.push(Op::Put { tree: Tree::Incidents, key: id.clone().into_bytes(), rec });
        if let Some(entry) = &changed.entry {
            ops.push(entry.op(id)?);
        }
    }
    for change in &plan.alerts {
        let (id, rec) = (&change.after.id, change.after.encode()?);
        ops.push(Op::Put { tree: Tree::Alerts, key: id.clone().into_bytes(), rec });
        if let Some(xml) = &change.document {
            let rec = Document { xml: xml.clone() }.encode()?;
            ops.push(Op::Put { tree: Tree::Alerts, key: Document::key(id), rec });
        }
    }
    for event in events {
        ops.push(event.op()?);
    }
    for entry in &plan.audit {
        ops.push(entry.op()?);
    }
    Ok(Batch { ops, ..Batch::default() })
}

fn told(plan: &Plan) -> Vec<Event> {
    let incidents = plan.incidents.iter().flat_map(events::of);
    incidents.chain(plan.alerts.iter().filter_map(events::of_alert)).collect()
}

impl IncidentActor {
    fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Brings back what has long been over, to be annotated or looked at; a tick drops it again.
    fn recall(&mut self, id: &str) -> Result<(), Error> {
        if self.network.archived
            && self.network.get(id).is_none()
            && let Some(incident) = archive::read(&self.options.store, id)?
        {
            self.network.put(Arc::new(incident));
        }
        Ok(())
    }

    fn prepare(&mut self, write: Write) -> Result<Ready, Error> {
        let now = self.now();
        let again = write.idempotency.as_ref().map(|asked| asked.replay(&self.options.store, now)).transpose()?;
        if let Some(answer) = again.flatten() {
            let answer: Answer = serde_json::from_value(answer).map_err(|error| {
                tracing::error!(%error, "a stored answer could not be read");
                Error::new(muster_core::Kind::Internal, "the first answer could not be read")
            })?;
            let answer = Answer { replayed: true, ..answer };
            return Ok(Ready { batch: Batch::default(), plan: Plan::default(), events: Vec::new(), answer });
        }
        if let Some(id) = write.what.incident() {
            self.recall(id)?;
        }
        let (plan, answer) = self.plan(write.what, &write.by, now)?;
        let events = told(&plan);
        let mut batch = batch(&plan, &events)?;
        if let Some(asked) = &write.idempotency {
            batch.ops.push(asked.op(now, serde_json::json!(answer))?);
        }
        Ok(Ready { batch, plan, events, answer })
    }

    fn plan(&self, what: What, by: &By, now: Millis) -> Result<(Plan, Answer), Error> {
        let asked = Asked { by, now, new_id: &new_id };
        let network = &self.network;
        let mut answer = Answer::default();
        let (plan, alert) = match what {
            What::Report(report) => {
                let (plan, reported) = network.report(*report, asked)?;
                answer.attached = reported.attached;
                (plan, None)
            }
            What::Act { id, if_match, mv } => (network.act(&id, if_match, asked, *mv)?, None),
            What::Edit { id, if_match, edit, note } => (network.edit(&id, if_match, asked, *edit, note)?, None),
            What::Resources { id, if_match, what } => (network.resources(&id, if_match, asked, what)?, None),
            What::Note { id, text, data } => (network.note(&id, asked, text, data)?, None),
            What::Publish { id, draft } => {
                let (plan, alert) = network.publish(&id, *draft, asked)?;
                (plan, Some(alert))
            }
            What::Confirm { alert } => (network.confirm(&alert, asked)?, Some(alert)),
            What::Reject { alert, reason } => (network.reject(&alert, reason, asked)?, Some(alert)),
            What::Import { message, xml } => {
                let (plan, alert, fate) = network.import(*message, xml, asked)?;
                answer.fate = Some(fate);
                (plan, Some(alert))
            }
        };
        answer.incident = plan.incidents.last().map(|changed| Arc::new(changed.after.clone()));
        answer.alert = alert.and_then(|id| {
            let changed = plan.alerts.iter().find(|change| change.after.id == id);
            changed.map(|change| Arc::new(change.after.clone())).or_else(|| network.alerts.get(&id).cloned())
        });
        Ok((plan, answer))
    }

    /// In one turn: taken over, and told.
    fn accept(&mut self, plan: &Plan, events: Vec<Event>) {
        self.network.take(plan);
        // Before the events: who loses sight is not told what comes then.
        for review in plan.incidents.iter().filter_map(sight::review) {
            self.options.publisher.restrict(review);
        }
        if let Some(watcher) = &self.options.watcher {
            plan.incidents.iter().filter_map(places::moved).for_each(|place| watcher.observe(place));
        }
        if !events.is_empty() {
            self.options.publisher.publish(events);
        }
    }

    /// What time alone has changed.
    fn tick(&mut self, context: &mut Context<Self>) {
        self.network.archive(self.now());
        let plan = self.network.tick(self.now());
        if plan.is_empty() {
            return;
        }
        let events = told(&plan);
        let batch = match batch(&plan, &events) {
            Ok(batch) => batch,
            Err(error) => return tracing::error!(%error, "what time changed of incidents cannot be stored"),
        };
        context.wait(self.options.store.commit(batch).into_actor(self).map(move |written, actor, _| match written {
            Ok(()) => actor.accept(&plan, events),
            Err(error) => tracing::warn!(%error, "what time changed of incidents was not stored: tried again"),
        }));
    }
}

impl Actor for IncidentActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(TICK, |actor, context| actor.tick(context));
        if let Some(watcher) = &self.options.watcher {
            watcher.observe_all(self.network.all().map(|incident| places::of(incident)).collect());
        }
    }
}

impl Handler<Write> for IncidentActor {
    type Result = AtomicResponse<Self, Result<Answer, Error>>;

    fn handle(&mut self, write: Write, _: &mut Context<Self>) -> Self::Result {
        let ready = match self.prepare(write) {
            Ok(ready) if ready.batch.ops.is_empty() => Ok(Err(ready.answer)),
            Ok(ready) => Ok(Ok(ready)),
            Err(refused) => Err(refused),
        };
        let ready = match ready {
            Ok(Ok(ready)) => ready,
            // Nothing changes: it was done before.
            Ok(Err(answer)) => return AtomicResponse::new(Box::pin(actix::fut::ready(Ok(answer)))),
            Err(refused) => return AtomicResponse::new(Box::pin(actix::fut::ready(Err(refused)))),
        };
        let Ready { batch, plan, events, answer } = ready;
        let commit = self.options.store.commit(batch);
        AtomicResponse::new(Box::pin(commit.into_actor(self).map(move |written, actor, _| {
            written?;
            actor.accept(&plan, events);
            Ok(answer)
        })))
    }
}

impl Handler<Get> for IncidentActor {
    type Result = MessageResult<Get>;

    fn handle(&mut self, get: Get, _: &mut Context<Self>) -> Self::Result {
        let recalled = self.recall(&get.id);
        MessageResult(recalled.and_then(|()| self.network.find(&get.id, &get.by).cloned()))
    }
}

impl Handler<List> for IncidentActor {
    type Result = MessageResult<List>;

    fn handle(&mut self, list: List, _: &mut Context<Self>) -> Self::Result {
        let List { filter, page, by } = &list;
        MessageResult(if self.network.archived && filter.looks_back() {
            archive::list(&self.options.store, &self.network, filter, page, by).map_err(Error::from)
        } else {
            Ok(self.network.list(filter, page, by))
        })
    }
}

impl Handler<GetAlert> for IncidentActor {
    type Result = MessageResult<GetAlert>;

    fn handle(&mut self, get: GetAlert, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.network.find_alert(&get.id, &get.by).cloned())
    }
}

impl Handler<ListAlerts> for IncidentActor {
    type Result = MessageResult<ListAlerts>;

    fn handle(&mut self, list: ListAlerts, _: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let newest_first = self.network.alerts.before(list.page.after.as_deref());
        let shown =
            newest_first.filter(|alert| self.network.shows(alert, &list.by) && list.filter.lets(alert, now)).cloned();
        MessageResult(Page::of(shown, list.page.limit, |alert| alert.id.clone()))
    }
}

impl Handler<Newest> for IncidentActor {
    type Result = MessageResult<Newest>;

    fn handle(&mut self, newest: Newest, _: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let recalled = self.recall(&newest.id);
        MessageResult(
            recalled.and_then(|()| self.network.newest(&newest.id, Asked { by: &newest.by, now, new_id: &new_id })),
        )
    }
}

impl Handler<Snapshot> for IncidentActor {
    type Result = ();

    fn handle(&mut self, mut snapshot: Snapshot, _: &mut Context<Self>) {
        if let Some(ask) = snapshot.0.take() {
            if let Some(Err(error)) = ask.channel.strip_prefix("incidents:").map(|id| self.recall(id)) {
                tracing::warn!(%error, "an incident could not be read");
            }
            let state = snapshot::of(&self.network, &ask.channel, &ask.viewer, self.now());
            ask.reply.send(state);
        }
    }
}
