//! Controls by operators: validated, answered once per request, and recorded in the audit log.

use std::sync::Arc;

use actix::{Context, Handler, Message, ResponseFuture};
use muster_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::actor::TaskActor;
use super::executor::Admission;
use super::messages::{Control, ControlReply, Requester, Verb};
use super::record::Status;
use super::state::{ControlRejection, Task, Transition};
use super::stored;
use super::transaction::{Transaction, Write, deferred_reply};
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
    pub(super) requester: Requester,
    /// Admission by the new agent, if the task is reassigned.
    pub(super) admission: Option<Admission>,
    /// Time at which the request was received.
    pub(super) received_at: Instant,
}

/// A control of several tasks.
#[derive(Message)]
#[rtype(result = "Result<Vec<(String, Result<ControlReply, Error>)>, Error>")]
pub(super) struct OperateMany {
    pub(super) ids: Vec<String>,
    pub(super) control: Control,
    pub(super) requester: Requester,
    pub(super) received_at: Instant,
}

/// FirstReply reply to a control, repeated for 24 h.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FirstReply {
    ControlOutcome(ControlReply),
    Refused { status: Status, seq: u64, why: String },
}

impl FirstReply {
    fn into_result(self, id: &str) -> Result<ControlReply, Error> {
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
        principal: operate.requester.by.id().to_owned(),
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
    fn operate(&mut self, operate: Operate, transaction: &mut Transaction) -> Result<FirstReply, Error> {
        let live = self.live.id(&operate.id);
        let ended = match &live {
            Some(_) => None,
            None => stored::ended(&self.options.store, &operate.id)?,
        };
        let task = live.as_ref().and_then(|id| self.live.entries.get(id)).map(|entry| &entry.task).or(ended.as_ref());
        let owner = task.map(|task| task.record.owner.id.as_str());
        allowed(&operate, owner)?;
        let request = idempotency(&operate);
        if let Some(first) = self.first_reply(&request)? {
            return Ok(first);
        }
        // A control is accepted however many decisions wait for the store.
        self.options.store.writable()?;
        if self.draining.as_ref().is_some_and(|drain| drain.over) {
            return Err(Error::new(Kind::Unavailable, "the server is shutting down: no control is accepted"));
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
        self.remember(&operate, &request, &first, transaction)?;
        Ok(first)
    }

    fn operate_live(&mut self, id: &Arc<str>, operate: &Operate, transaction: &mut Transaction) -> FirstReply {
        let first =
            self.change(id, transaction, Write::IfNoted, |task, transition| first_of(task, operate, transition));
        if operate.control.verb == Verb::Kill {
            transaction.time_kills(|| self.options.kill_latency.since(operate.received_at));
        }
        self.settle(id, transaction);
        self.dispatch(transaction);
        first.unwrap_or_else(|| FirstReply::Refused {
            status: Status::Killed,
            seq: 0,
            why: "it no longer exists".to_owned(),
        })
    }

    /// Returns the first reply to the same request, durable or not yet.
    fn first_reply(&self, request: &Idempotency) -> Result<Option<FirstReply>, Error> {
        self.replies.replay(request, &self.options.store, self.now()).map_err(|error| match error.kind {
            Kind::IdempotencyConflict => {
                let message = "this request_id was used with another control: use a new request_id";
                Error::new(Kind::IdempotencyConflict, message)
            }
            _ => error,
        })
    }

    /// Adds the reply, by which a repeated request is answered, and the audit entry to the transaction.
    fn remember(
        &mut self,
        operate: &Operate,
        request: &Idempotency,
        first: &FirstReply,
        transaction: &mut Transaction,
    ) -> Result<(), StoreError> {
        let now = self.now();
        transaction.ops.push(request.op(now, json!(first))?);
        let phase = match first {
            FirstReply::ControlOutcome(reply) => json!(reply.phase),
            FirstReply::Refused { .. } => json!("refused"),
        };
        let details = json!({
            "request_id": operate.control.request_id, "phase": phase, "reason": operate.control.reason,
            "control": operate.control.verb.audited(),
        });
        let action = match operate.control.verb {
            Verb::Pause { .. } => "task_pause",
            Verb::Resume => "task_resume",
            Verb::Kill => "task_kill",
            Verb::Redirect { .. } => "task_redirect",
        };
        transaction.ops.push(AuditEntry::new(now, operate.requester.by.id(), action, &operate.id, details).op()?);
        self.replies.insert(request, first.clone(), self.journal.next_number());
        Ok(())
    }
}

fn missing(id: &str) -> Error {
    Error::new(Kind::NotFound, format!("there is no task {id:?}"))
}

fn allowed(operate: &Operate, owner: Option<&str>) -> Result<(), Error> {
    let owner = owner.filter(|owner| operate.requester.may_read(owner)).ok_or_else(|| missing(&operate.id))?;
    if operate.requester.may_control(owner) {
        return Ok(());
    }
    let message =
        "controlling another owner's task requires the scope `admin`, the role `operations` or `agents:control`";
    Err(Error::new(Kind::Forbidden, message).coded("permission_denied"))
}

fn first_of(task: &mut Task, operate: &Operate, transition: &mut Transition<'_>) -> FirstReply {
    let control_outcome =
        task.control(&operate.control, operate.requester.by.id(), operate.admission.as_ref(), transition);
    let (status, seq) = (task.record.status, task.record.seq);
    match control_outcome {
        Ok(control_outcome) => FirstReply::ControlOutcome(ControlReply {
            task_id: task.record.id.clone(),
            request_id: operate.control.request_id.clone(),
            phase: control_outcome.phase,
            effective: control_outcome.effective,
            status,
            seq,
            abort: control_outcome.abort,
        }),
        Err(ControlRejection::NotPossible(why)) => FirstReply::Refused { status, seq, why: why.to_owned() },
        Err(ControlRejection::SeqMismatch) => {
            let why = "it has changed since the requested `if_seq`: read it again".to_owned();
            FirstReply::Refused { status, seq, why }
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
        let (reply, answered) = deferred_reply(first);
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(async move { answered.await?.into_result(&id) })
    }
}

impl Verb {
    /// Returns the control for the audit log: without the text of an instruction, which may be confidential.
    fn audited(&self) -> Value {
        let mut control = json!(self);
        if let Self::Redirect { instruction, .. } = self
            && let Some(control) = control.as_object_mut()
        {
            control.remove("instruction");
            control.insert("instruction_bytes".to_owned(), json!(instruction.len()));
        }
        control
    }
}

impl Handler<OperateMany> for TaskActor {
    type Result = ResponseFuture<Result<Vec<(String, Result<ControlReply, Error>)>, Error>>;

    fn handle(&mut self, many: OperateMany, context: &mut Context<Self>) -> Self::Result {
        let OperateMany { ids, control, requester, received_at } = many;
        let mut outcomes = Vec::with_capacity(ids.len());
        for id in ids {
            let (control, requester) = (control.clone(), requester.clone());
            let mut transaction = Transaction::default();
            let operate = Operate { id: id.clone(), control, requester, admission: None, received_at };
            let outcome = self.operate(operate, &mut transaction);
            self.seal(transaction);
            outcomes.push((id.clone(), outcome.and_then(|first| first.into_result(&id))));
        }
        // Queued behind all of them: once it is durable, so are they.
        let (reply, answered) = deferred_reply(outcomes);
        let mut transaction = Transaction::default();
        transaction.reply(reply);
        self.seal(transaction);
        self.flush(context);
        Box::pin(answered)
    }
}
