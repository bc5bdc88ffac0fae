//! Queries about live tasks. Whatever a reply contains is durable.

use actix::{Context, Handler, Message, MessageResult, ResponseFuture};
use futures::future::ready;
use serde_json::json;
use tokio::sync::oneshot;

use super::actor::TaskActor;
use super::effect::Effect;
use super::events::AGENTS;
use super::live_tasks::Entry;
use super::messages::{Filter, Reach, Requester};
use super::record::TaskRecord;
use super::transaction::{Transaction, deferred_reply};
use muster_core::journal::Journalled;
use muster_core::principal::Permission;
use muster_core::principal::Viewer;
use muster_core::{Error, Kind};
use muster_feed::{Denied, SnapshotRequest, StateItem};

/// Maximum number of callers that wait for the next change of one task.
const MAX_WAITERS: usize = 1_000;
/// Maximum number of items in a channel's state.
const MAX_ITEMS: usize = 10_000;
/// Number of lines in the initial state of a log channel.
const LINES: usize = 200;

/// Requests a live task; `None` if it is not live.
#[derive(Message)]
#[rtype(result = "Result<Option<Box<TaskRecord>>, Error>")]
pub(super) struct Get {
    pub(super) id: String,
}

/// Waits for the next change of a live task.
#[derive(Message)]
#[rtype(result = "Result<Watched, Error>")]
pub(super) struct Watch {
    pub(super) id: String,
    /// A change that happened before counts as well.
    pub(super) after_seq: Option<u64>,
    pub(super) requester: Requester,
}

#[derive(Debug)]
pub(super) enum Watched {
    Gone,
    Now(Box<TaskRecord>),
    /// The first change after that `seq`.
    Later(oneshot::Receiver<Box<TaskRecord>>, u64),
}

/// Requests the live tasks that match a filter, newest first.
#[derive(Message)]
#[rtype(result = "Result<Vec<TaskRecord>, Error>")]
pub(super) struct ListLive {
    pub(super) filter: Filter,
    pub(super) requester: Requester,
    pub(super) before: Option<String>,
    pub(super) limit: usize,
}

/// Requests the identifiers of live tasks that match a filter and that the principal controls.
#[derive(Message)]
#[rtype(result = "Vec<String>")]
pub(super) struct MatchLive {
    pub(super) filter: Filter,
    pub(super) requester: Requester,
    pub(super) limit: usize,
}

/// Requests the state of a channel.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Snapshot(pub(super) Option<SnapshotRequest>);

impl Filter {
    /// Returns whether a task matches the filter.
    pub fn matches(&self, record: &TaskRecord) -> bool {
        (self.status.is_empty() || self.status.contains(&record.status))
            && self.agent.as_ref().is_none_or(|agent| *agent == record.agent)
            && self.priority.is_none_or(|priority| priority == record.priority)
            && self.from.is_none_or(|from| record.created_at >= from)
            && self.to.is_none_or(|to| record.created_at < to)
    }
}

impl TaskActor {
    /// Iterates over the live tasks within a principal's reach, newest first.
    fn within<'a>(
        &'a self,
        reach: Reach,
        owner: &'a str,
        before: Option<&'a str>,
    ) -> Box<dyn Iterator<Item = &'a Entry> + 'a> {
        use std::ops::Bound::{Excluded, Unbounded};
        let entries = &self.live.entries;
        match reach {
            Reach::All => {
                let upper = before.map_or(Unbounded, Excluded);
                Box::new(entries.range::<str, _>((Unbounded, upper)).rev().map(|(_, entry)| entry))
            }
            Reach::Own => {
                let least = (std::sync::Arc::<str>::from(owner), std::sync::Arc::<str>::from(""));
                let own = self.live.owners.range(least..).take_while(move |(of, _)| **of == *owner);
                let ids: Vec<_> =
                    own.map(|(_, id)| id).filter(|id| before.is_none_or(|before| ***id < *before)).collect();
                Box::new(ids.into_iter().rev().filter_map(|id| entries.get(id)))
            }
        }
    }

    /// Replies once everything in the reply is durable.
    fn reply_when_durable<T: Send + 'static>(
        &mut self,
        decided: u64,
        value: T,
        context: &mut Context<Self>,
    ) -> ResponseFuture<Result<T, Error>> {
        if self.journal.is_durable(decided) {
            return Box::pin(ready(Ok(value)));
        }
        let (reply, answered) = deferred_reply(value);
        let mut transaction = Transaction::default();
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(answered)
    }

    fn items(&self, channel: &str, viewer: &Viewer) -> Result<Vec<StateItem>, Denied> {
        let all = viewer.permissions.has(Permission::AgentsRead);
        let now = self.now();
        let agent = channel.strip_prefix(AGENTS).and_then(|rest| rest.strip_prefix(':'));
        if channel == AGENTS || agent.is_some() {
            let reach = if all { Reach::All } else { Reach::Own };
            let of_it = |record: &TaskRecord| agent.is_none_or(|agent| record.agent == agent);
            let visible = |entry: &&Entry| !entry.task.status().ended() && of_it(&entry.task.record);
            let seen = self.within(reach, &viewer.id, None).filter(visible);
            return Ok(seen.take(MAX_ITEMS).map(|entry| item(&summary(&entry.record_at(now)))).collect());
        }
        let Some(rest) = channel.strip_prefix("tasks:") else { return Ok(Vec::new()) };
        let id = rest.strip_suffix(":logs").unwrap_or(rest);
        let ended = |id: &str| super::stored::ended(&self.options.store, id).map_err(|_| Denied::Unavailable);
        let record = match self.live.entries.get(id) {
            Some(entry) => entry.record_at(now),
            None => ended(id)?.ok_or(Denied::NotFound)?.record,
        };
        if !all && record.owner.id != *viewer.id {
            return Err(Denied::NotFound);
        }
        if rest != id {
            let lines = self.runner.buffers.find(id).map(|buffer| buffer.lines(0, usize::MAX)).unwrap_or_default();
            let last = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default();
            return Ok(last.iter().map(|line| state_item(&line.n.to_string(), line.n, &json!(line))).collect());
        }
        let mut data = json!(record);
        if let Some(fields) = data.as_object_mut() {
            fields.insert("task_id".to_owned(), json!(record.id));
            fields.insert("ended".to_owned(), json!(record.status.ended()));
        }
        Ok(vec![state_item(&record.id, record.seq, &data)])
    }
}

/// Returns a task's entry in a list of live tasks.
fn summary(record: &TaskRecord) -> (String, u64, serde_json::Value) {
    let data = json!({
        "task_id": record.id, "agent": record.agent, "status": record.status, "priority": record.priority,
        "revision": record.revision, "seq": record.seq, "progress": record.progress, "owner": record.owner.id,
        "created_at": record.created_at, "instruction": record.latest_instruction(),
    });
    (record.id.clone(), record.seq, data)
}

fn item((id, version, data): &(String, u64, serde_json::Value)) -> StateItem {
    state_item(id, *version, data)
}

fn state_item(id: &str, version: u64, data: &serde_json::Value) -> StateItem {
    let data = serde_json::value::to_raw_value(data).unwrap_or_else(|error| {
        tracing::error!(id, %error, "the state of a task cannot be serialized");
        serde_json::value::RawValue::NULL.to_owned()
    });
    StateItem { id: id.to_owned(), version, data }
}

impl Handler<Get> for TaskActor {
    type Result = ResponseFuture<Result<Option<Box<TaskRecord>>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let Some(entry) = self.live.entries.get(get.id.as_str()) else { return Box::pin(ready(Ok(None))) };
        let (decided, record) = (entry.decided, Box::new(entry.record_at(self.now())));
        self.reply_when_durable(decided, Some(record), context)
    }
}

impl Handler<Watch> for TaskActor {
    type Result = ResponseFuture<Result<Watched, Error>>;

    fn handle(&mut self, watch: Watch, context: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let Some(entry) = self.live.entries.get_mut(watch.id.as_str()) else {
            return Box::pin(ready(Ok(Watched::Gone)));
        };
        let record = &entry.task.record;
        if !watch.requester.may_read(&record.owner.id) {
            return Box::pin(ready(Err(Error::new(Kind::NotFound, format!("there is no task {:?}", watch.id)))));
        }
        if record.status.ended() || watch.after_seq.is_some_and(|seq| record.seq > seq) {
            let (decided, record) = (entry.decided, Box::new(entry.record_at(now)));
            return self.reply_when_durable(decided, Watched::Now(record), context);
        }
        let seq = record.seq;
        entry.waiters.retain(|waiter| !waiter.is_closed());
        if entry.waiters.len() >= MAX_WAITERS {
            let message = format!("{MAX_WAITERS} callers wait for this task already: subscribe to its channel instead");
            return Box::pin(ready(Err(Error::new(Kind::Unavailable, message))));
        }
        let (waiter, change) = oneshot::channel();
        entry.waiters.push(waiter);
        Box::pin(ready(Ok(Watched::Later(change, seq))))
    }
}

impl Handler<ListLive> for TaskActor {
    type Result = ResponseFuture<Result<Vec<TaskRecord>, Error>>;

    fn handle(&mut self, list: ListLive, context: &mut Context<Self>) -> Self::Result {
        let ListLive { filter, requester, before, limit } = list;
        let now = self.now();
        let found = self
            .within(requester.reads, requester.by.id(), before.as_deref())
            .filter(|entry| filter.matches(&entry.task.record));
        let (mut decided, mut records) = (0, Vec::new());
        for entry in found.take(limit) {
            decided = decided.max(entry.decided);
            records.push(entry.record_at(now));
        }
        self.reply_when_durable(decided, records, context)
    }
}

impl Handler<MatchLive> for TaskActor {
    type Result = MessageResult<MatchLive>;

    fn handle(&mut self, request: MatchLive, _: &mut Context<Self>) -> Self::Result {
        let live = self.within(request.requester.controls, request.requester.by.id(), None);
        let matched = live.filter(|entry| !entry.task.status().ended() && request.filter.matches(&entry.task.record));
        MessageResult(matched.take(request.limit).map(|entry| entry.task.record.id.clone()).collect())
    }
}

impl Handler<Snapshot> for TaskActor {
    type Result = ();

    fn handle(&mut self, mut snapshot: Snapshot, context: &mut Context<Self>) {
        let Some(request) = snapshot.0.take() else { return };
        let state = self.items(&request.channel, &request.viewer);
        // Queued behind every event about what the reply contains, and before every later one.
        let mut transaction = Transaction::default();
        transaction.replies.push(Effect::Reply(Box::new(move |stored| {
            request.reply.send(if stored.is_ok() { state } else { Err(Denied::Unavailable) });
        })));
        self.seal(transaction);
        self.flush(context);
    }
}
