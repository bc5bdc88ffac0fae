//! Controls by operators: validated, answered once per request, and recorded in the audit log.

use std::sync::Arc;

use actix::{Context, Handler, Message, ResponseFuture};
use muster_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::actor::TaskActor;
use super::effect::Effect;
use super::messages::{Asker, Control, ControlReply, Verb};
use super::record::Status;
use super::state::{Refused, Task, Transition};
use super::stored;
use super::transaction::{Transaction, Write, answer};
use super::work::Admission;
use muster_core::audit::AuditEntry;
use muster_core::idempotency::Idempotency;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind};

/// A control of one task.
#[derive(Message, Clone)]
#[rtype(result = "Result<ControlReply, Error>")]
pub(super) struct Operate {
    pub(super) id: String,
    pub(super) control: Control,
    pub(super) asker: Asker,
    /// Admission by the new agent, if the task is reassigned.
    pub(super) admission: Option<Admission>,
    /// Time at which the request was received.
    pub(super) asked: Instant,
}

/// A control of several tasks.
#[derive(Message)]
#[rtype(result = "Result<Vec<(String, Result<ControlReply, Error>)>, Error>")]
pub(super) struct OperateMany {
    pub(super) ids: Vec<String>,
    pub(super) control: Control,
    pub(super) asker: Asker,
    pub(super) asked: Instant,
}

/// First reply to a control, repeated for 24 h.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum First {
    ControlOutcome(ControlReply),
    Refused { status: Status, seq: u64, why: String },
}

/// A reply that is not durable yet.
#[derive(Debug)]
pub(super) struct PendingReply {
    digest: [u8; 32],
    first: First,
}

impl First {
    fn answer(self, id: &str) -> Result<ControlReply, Error> {
        match self {
            Self::ControlOutcome(reply) => Ok(reply),
            Self::Refused { status, seq, why } => {
                let message = format!("the task is {}: {why}", status.name());
                let details = json!({ "task_id": id, "status": status, "seq": seq });
                Err(Error::new(Kind::Conflict, message).coded("TASK_STATE_CONFLICT").detailing(details))
            }
        }
    }
}

/// Returns the digest by which repeated requests are recognized.
fn digest(control: &Control) -> [u8; 32] {
    let body = json!({ "verb": control.verb, "if_seq": control.if_seq, "reason": control.reason });
    Sha256::digest(body.to_string()).into()
}

fn idempotency(operate: &Operate) -> Idempotency {
    Idempotency {
        principal: operate.asker.by.id().to_owned(),
        key: format!("{}/{}", operate.id, operate.control.request_id),
        digest: digest(&operate.control),
    }
}

impl TaskActor {
    /// Applies a control.
    ///
    /// # Errors
    ///
    /// Fails if the task does not exist or is not visible to the principal; if the principal may not control it; if the
    /// request identifier was used for another control; or if the store fails.
    fn operate(&mut self, operate: Operate, transaction: &mut Transaction) -> Result<First, Error> {
        let live = self.live.id(&operate.id);
        let ended = match &live {
            Some(_) => None,
            None => stored::ended(&self.options.store, &operate.id)?,
        };
        let task = live.as_ref().and_then(|id| self.live.entries.get(id)).map(|entry| &entry.task).or(ended.as_ref());
        let owner = task.map(|task| task.record.owner.id.as_str());
        allowed(&operate, owner)?;
        let asked = idempotency(&operate);
        if let Some(first) = self.answered(&asked)? {
            return Ok(first);
        }
        // However much waits for the store, a control is taken.
        self.options.store.writable()?;
        if self.draining.as_ref().is_some_and(|drain| drain.over) {
            return Err(Error::new(Kind::Unavailable, "the server is about to end: no control is accepted"));
        }
        let first = match (live, ended) {
            (Some(id), _) => self.operate_live(&id, &operate, transaction),
            (None, Some(mut task)) => {
                // The state of an ended task never changes.
                let mut transition = Transition::new(self.now(), &self.options.settings);
                first_of(&mut task, &operate, &mut transition)
            }
            (None, None) => return Err(missing(&operate.id)),
        };
        self.remember(&operate, asked, &first, transaction)?;
        Ok(first)
    }

    fn operate_live(&mut self, id: &Arc<str>, operate: &Operate, transaction: &mut Transaction) -> First {
        let first =
            self.change(id, transaction, Write::IfNoted, |task, transition| first_of(task, operate, transition));
        if operate.control.verb == Verb::Kill {
            transaction.time_kills(|| self.options.kill_latency.since(operate.asked));
        }
        self.settle(id, transaction);
        self.dispatch(transaction);
        first.unwrap_or_else(|| First::Refused {
            status: Status::Killed,
            seq: 0,
            why: "it no longer exists".to_owned(),
        })
    }

    /// Returns the first reply to the same request, durable or not yet.
    fn answered(&self, asked: &Idempotency) -> Result<Option<First>, Error> {
        if let Some(kept) = self.answers.get(&(asked.principal.clone(), asked.key.clone())) {
            return if kept.digest == asked.digest {
                Ok(Some(kept.first.clone()))
            } else {
                let message = "this request_id was used with another control: use a new request_id";
                Err(Error::new(Kind::IdempotencyConflict, message))
            };
        }
        let Some(answer) = asked.replay(&self.options.store, self.now())? else { return Ok(None) };
        let read = serde_json::from_value(answer).map_err(|error| {
            tracing::error!(%error, "a stored reply could not be decoded");
            Error::new(Kind::Internal, "the first reply could not be decoded")
        });
        read.map(Some)
    }

    fn remember(
        &mut self,
        operate: &Operate,
        asked: Idempotency,
        first: &First,
        transaction: &mut Transaction,
    ) -> Result<(), StoreError> {
        let now = self.now();
        transaction.ops.push(asked.op(now, json!(first))?);
        let phase = match first {
            First::ControlOutcome(reply) => json!(reply.phase),
            First::Refused { .. } => json!("refused"),
        };
        let details = json!({
            "request_id": operate.control.request_id, "phase": phase, "reason": operate.control.reason,
            "control": operate.control.verb,
        });
        let action = match operate.control.verb {
            Verb::Pause { .. } => "task_pause",
            Verb::Resume => "task_resume",
            Verb::Kill => "task_kill",
            Verb::Redirect { .. } => "task_redirect",
        };
        transaction.ops.push(AuditEntry::new(now, operate.asker.by.id(), action, &operate.id, details).op()?);
        let key = (asked.principal, asked.key);
        self.answers.insert(key.clone(), PendingReply { digest: asked.digest, first: first.clone() });
        transaction.replies.push(Effect::Answered(key));
        Ok(())
    }
}

fn missing(id: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no task {id:?}"))
}

fn allowed(operate: &Operate, owner: Option<&str>) -> Result<(), Error> {
    let owner = owner.filter(|owner| operate.asker.may_see(owner)).ok_or_else(|| missing(&operate.id))?;
    if operate.asker.may_control(owner) {
        return Ok(());
    }
    let message =
        "controlling another owner's task requires the scope `admin`, the role `operations` or `agents:control`";
    Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
}

fn first_of(task: &mut Task, operate: &Operate, transition: &mut Transition<'_>) -> First {
    let control_outcome = task.control(&operate.control, operate.asker.by.id(), operate.admission.as_ref(), transition);
    let (status, seq) = (task.record.status, task.record.seq);
    match control_outcome {
        Ok(control_outcome) => First::ControlOutcome(ControlReply {
            task_id: task.record.id.clone(),
            request_id: operate.control.request_id.clone(),
            phase: control_outcome.phase,
            effective: control_outcome.effective,
            status,
            seq,
            abort: control_outcome.abort,
        }),
        Err(Refused::Here(why)) => First::Refused { status, seq, why: why.to_owned() },
        Err(Refused::Moved) => {
            let why = "it has changed since the given `if_seq`: read it again".to_owned();
            First::Refused { status, seq, why }
        }
    }
}

impl Handler<Operate> for TaskActor {
    type Result = ResponseFuture<Result<ControlReply, Error>>;

    fn handle(&mut self, operate: Operate, context: &mut Context<Self>) -> Self::Result {
        let (mut transaction, id) = (Transaction::default(), operate.id.clone());
        let first = match self.operate(operate, &mut transaction) {
            Ok(first) => first,
            Err(refused) => return Box::pin(futures::future::ready(Err(refused))),
        };
        let (reply, answered) = answer(first);
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(async move { answered.await?.answer(&id) })
    }
}

impl Handler<OperateMany> for TaskActor {
    type Result = ResponseFuture<Result<Vec<(String, Result<ControlReply, Error>)>, Error>>;

    fn handle(&mut self, many: OperateMany, context: &mut Context<Self>) -> Self::Result {
        let OperateMany { ids, control, asker, asked } = many;
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in ids {
            let (control, asker) = (control.clone(), asker.clone());
            let mut transaction = Transaction::default();
            let operate = Operate { id: id.clone(), control, asker, admission: None, asked };
            let outcome = self.operate(operate, &mut transaction);
            self.seal(transaction);
            outcomes.push((id.clone(), outcome.and_then(|first| first.answer(&id))));
        }
        // Queued behind all of them: once it is durable, so are they.
        let (reply, answered) = answer(outcomes);
        let mut transaction = Transaction::default();
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(answered)
    }
}
