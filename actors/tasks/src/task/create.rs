//! Creation of tasks.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler, Message, ResponseFuture};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::actor::TaskActor;
use super::executor::NextAction;
use super::live_tasks::Entry;
use super::messages::{Control, Start, Verb};
use super::record::{Estimate, TaskRecord};
use super::state::{Event, Inner, Task};
use super::stored;
use super::transaction::{Transaction, Write, deferred_reply};
use muster_core::idempotency::Idempotency;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::{Error, Kind};

/// A task to be accepted.
#[derive(Message)]
#[rtype(result = "Result<Accepted, Error>")]
pub(super) struct Create {
    pub(super) record: Box<TaskRecord>,
    pub(super) default_seconds: u32,
    /// The first step.
    pub(super) first: Option<Box<NextAction>>,
    pub(super) start: Start,
    pub(super) idempotency: Option<Idempotency>,
}

/// Reply to [`Create`], sent once it is durable.
#[derive(Debug)]
pub(super) enum Accepted {
    New(Box<TaskRecord>),
    /// The task was accepted before, with this identifier.
    Before(String),
}

/// First reply to a run request, stored for its `Idempotency-Key`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AcceptedTask {
    task_id: String,
}

impl TaskActor {
    /// Checks whether a task can be accepted.
    ///
    /// # Errors
    ///
    /// Fails if a bound is reached or the server is shutting down.
    fn check_capacity(&mut self, owner: &str) -> Result<(), Error> {
        let full =
            |message: String, after| Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(after)));
        self.admit()?;
        if self.draining.is_some() {
            return full("the server is shutting down: no task is accepted".to_owned(), 5);
        }
        if self.live.entries.len() >= self.options.settings.max_live {
            return full("the server has reached its maximum number of live tasks: try again later".to_owned(), 10);
        }
        let most = self.options.settings.queue_per_key;
        if self.live.queue.waiting_of(owner) >= most {
            let message = format!(
                "{most} of your tasks are queued already, which is the maximum: wait until some have run, or kill some"
            );
            return Err(Error::new(Kind::RateLimited, message).coded("QUEUE_FULL").retry_in(Duration::from_secs(1)));
        }
        Ok(())
    }

    /// Estimates the duration: from history if there are enough runs, otherwise from the agent's defaults.
    pub(super) fn estimate(&self, agent: &str, owner: &str, default_seconds: u32) -> Estimate {
        let default = u64::from(default_seconds.max(1));
        let times = self.live.times.get(agent);
        let seconds = |share: f64| times.and_then(|times| times.quantile_ms(share)).map(|ms| ms.div_ceil(1_000));
        let p50_seconds = seconds(0.5).unwrap_or(default);
        let mean = Some(self.rate.mean_run()).filter(|mean| !mean.is_zero());
        let mean = mean.unwrap_or(Duration::from_secs(p50_seconds));
        Estimate {
            p50_seconds,
            p90_seconds: seconds(0.9).unwrap_or(default * 2),
            samples: times.map_or(0, |times| times.samples),
            queue_seconds: self.live.queue.expected_wait(owner, mean).as_secs_f64().ceil() as u64,
        }
    }

    fn create(&mut self, create: Create, transaction: &mut Transaction) -> Result<Accepted, Error> {
        let Create { mut record, default_seconds, first, start, idempotency } = create;
        if let Some(request) = &idempotency
            && let Some(first) = self.accepted.replay(request, &self.options.store, self.now())?
        {
            return Ok(Accepted::Before(first.task_id));
        }
        self.check_capacity(&record.owner.id)?;
        record.estimate = self.estimate(&record.agent, &record.owner.id, default_seconds);
        let args_apart = stored::args_are_large(&record);
        stored::first_ops(&record, args_apart, &mut transaction.ops)?;
        if let Some(request) = idempotency {
            let first = AcceptedTask { task_id: record.id.clone() };
            transaction.ops.push(request.op(self.now(), json!(first))?);
            self.accepted.insert(&request, first, self.journal.next_number());
        }
        let task = Task { record: *record, inner: Inner { default_seconds, ..Inner::default() } };
        let mut entry = Entry::new(task, args_apart);
        entry.first = first;
        let id = self.live.insert(entry);
        let accepted = self.change(&id, transaction, Write::Always, |task, transition| {
            task.accepted(transition);
            task.record.clone()
        });
        // The agent has admitted it before.
        let _ = self.apply_event(&id, transaction, Event::Admitted);
        if start == Start::Paused {
            self.pause_at_start(&id, transaction);
        }
        self.settle(&id, transaction);
        self.dispatch(transaction);
        if let Some(entry) = self.live.entries.get_mut(&id)
            && entry.job.is_none()
        {
            // The task waits: its first step is determined again when it gets a slot, and need not be kept.
            entry.first = None;
        }
        accepted
            .map(|record| Accepted::New(Box::new(record)))
            .ok_or_else(|| Error::new(Kind::Internal, "the task could not be created"))
    }
}

impl TaskActor {
    /// Pauses a task that was just admitted, on behalf of its owner. No step of it has been started.
    fn pause_at_start(&mut self, id: &Arc<str>, transaction: &mut Transaction) {
        let request_id = new_id(IdKind::Request);
        let pause = Control { verb: Verb::Pause { now: false }, request_id, if_seq: None, reason: None };
        let paused = self.change(id, transaction, Write::Always, |task, transition| {
            let owner = task.record.owner.id.clone();
            task.control(&pause, &owner, None, transition)
        });
        debug_assert!(matches!(paused, Some(Ok(_))), "an admitted task can be paused");
    }
}

impl Handler<Create> for TaskActor {
    type Result = ResponseFuture<Result<Accepted, Error>>;

    fn handle(&mut self, create: Create, context: &mut Context<Self>) -> Self::Result {
        let mut transaction = Transaction::default();
        let accepted = match self.create(create, &mut transaction) {
            Ok(accepted) => accepted,
            // Nothing was started.
            Err(refused) => return Box::pin(futures::future::ready(Err(refused))),
        };
        let (reply, answered) = deferred_reply(accepted);
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(answered)
    }
}
