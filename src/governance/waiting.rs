//! What waits for an approval in a state of its own: firmware jobs and alerts. Its approval is opened in the batch that
//! makes it, and each decision is in a batch with what it means for it. Both ends are kept together afterwards: what waits
//! ends with its approval, and its approval with it.

use std::future::Future;
use std::time::Duration;

use actix_web::{HttpRequest, web};
use muster_core::guard::{ApprovalStep, GuardedAction, Need, QuorumRole};
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::upkeep::PeriodicJob;
use muster_core::{Error, Kind};
use muster_governance::{
    ApprovalAct, ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalView, DecisionKind, DecisionRequest,
    Governance, GovernanceCaller, NewApproval,
};
use muster_identity::By;
use muster_network::firmware::{Firmwares, JobAction};
use muster_network::incident::Incidents;
use muster_request::Request;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{APPROVAL, caller, header, payload, reason, settled};
use crate::app::App;
use crate::disaster::Disaster;
use crate::error::HttpError;
use crate::guard::person_of;

/// Bytes of a payload above which the hash of its body stands for the body. Deciders read the facts.
const MAX_SHOWN: usize = 48 << 10;
/// Interval at which both ends are compared.
const COMPARE_EVERY: Duration = Duration::from_secs(60);
/// Approvals of an action that are compared at a time.
const MAX_COMPARED: usize = 200;

/// How a person decides on something that waits for an approval.
#[derive(Debug, Clone, Request)]
pub struct DecisionFields {
    /// Where an approval is waited for (`approval_id`): the role for which the caller decides, `security` or `operations`.
    #[request(schema = String)]
    pub role: Option<QuorumRole>,
    /// The nonce of the approval's `challenge`.
    #[request(chars = 1..=256)]
    pub nonce: Option<String>,
    /// Thumbprint of the key that signed.
    #[request(chars = 1..=128)]
    pub kid: Option<String>,
    /// Ed25519 signature as of `POST /api/v1/governance/approvals/{id}/decisions`. Required for the risks `high` and
    /// `critical`.
    #[request(chars = 1..=128)]
    pub signature: Option<String>,
}

impl DecisionFields {
    /// Returns the decision.
    ///
    /// # Errors
    /// `Invalid` without a role, which only a break-glass has not.
    pub fn decision(self, decision: DecisionKind, comment: Option<String>) -> Result<DecisionRequest, Error> {
        let Self { role, nonce, kid, signature } = self;
        if role.is_none() && decision != DecisionKind::BreakGlass {
            let message = "is missing: this waits for an approval, so say for which role you decide, security or \
                           operations";
            return Err(Error::field(Kind::Invalid, &["body", "role"], message, Value::Null));
        }
        Ok(DecisionRequest { decision, role, comment, nonce, kid, signature })
    }
}

/// Runs a command that may make something which waits for an approval. `run` runs it with the step that opens the approval,
/// and without one first.
///
/// # Errors
/// Those of the command; those of [`Governance::prepare_opening`]; `Conflict` (`approval_mismatch`) with `Muster-Approval`.
pub async fn opening<T, R, F>(
    app: &web::Data<App>,
    http: &HttpRequest,
    sent: &[u8],
    why: &str,
    run: R,
) -> Result<T, HttpError>
where
    T: 'static,
    R: Fn(Option<ApprovalStep>) -> F,
    F: Future<Output = Result<T, Error>> + 'static,
{
    if header(http, &APPROVAL)?.is_some() {
        let message = "leave Muster-Approval out: what this makes waits for an approval of its own, whose last decision \
                       executes it";
        return Err(HttpError(Error::new(Kind::Conflict, message).coded("approval_mismatch")));
    }
    let error = match run(None).await {
        Ok(done) => return Ok(done),
        Err(error) => error,
    };
    let Some(need) = Need::of_error(&error) else { return Err(error.into()) };
    let why = reason(http)?.unwrap_or_else(|| why.to_owned());
    let shown = with_facts(payload(http, sent)?, need.facts.clone(), sent);
    let step = app.governance.prepare_opening(caller(app, http)?, NewApproval::of(need, why, shown)).await?;
    Ok(settled(app, step.approval.clone(), run(Some(step))).await?)
}

/// Adds to a payload what deciders must know beside the request. Of one that is too long the hash stands for the body.
fn with_facts(payload: Value, facts: Value, sent: &[u8]) -> Value {
    let is_long = payload.to_string().len() > MAX_SHOWN;
    let Value::Object(mut members) = payload else { return payload };
    members.insert("facts".to_owned(), facts);
    if is_long {
        let hash = json!({ "bytes": sent.len(), "sha256": format!("{:x}", Sha256::digest(sent)) });
        members.insert("body".to_owned(), hash);
    }
    Value::Object(members)
}

/// Runs a decision on something that waits for an approval, with the step that records it.
///
/// # Errors
/// Those of the decision and of [`Governance::prepare_decision`].
pub async fn decided<T, R, F>(
    app: &web::Data<App>,
    http: &HttpRequest,
    (approval, amid_critical_incident): (String, bool),
    decision: DecisionRequest,
    run: R,
) -> Result<T, HttpError>
where
    T: 'static,
    R: FnOnce(ApprovalStep) -> F,
    F: Future<Output = Result<T, Error>> + 'static,
{
    let caller = caller(app, http)?;
    let step = app.governance.prepare_decision(caller, approval, decision, amid_critical_incident).await?;
    Ok(settled(app, step.approval.clone(), run(step)).await?)
}

/// Decides on an approval, and on what waits for it.
///
/// # Errors
/// Those of [`Governance::act`]; `Conflict` if what waited for it has ended.
pub async fn decide(
    app: &web::Data<App>,
    http: &HttpRequest,
    id: String,
    decision: DecisionRequest,
) -> Result<ApprovalView, HttpError> {
    let caller = caller(app, http)?;
    let (things, record) = (WaitingThings::in_app(app), app.governance.approval(caller.clone(), &id).await?.record);
    let waiting = if caller.is_person() { things.of(&record).await? } else { None };
    let Some(waiting) = waiting.filter(|_| !record.state.is_final()) else {
        return Ok(app.governance.act(caller, id, ApprovalAct::Decide(decision)).await?);
    };
    let Some(awaited) = waiting.awaited else {
        things.cancel(&id).await?;
        let message = "what waited for this approval has ended, and the approval with it";
        return Err(HttpError(Error::new(Kind::Conflict, message).coded("state_conflict")));
    };
    let (person, resource) = (person_of(http)?, record.resource.clone());
    let note = decision.comment.clone().unwrap_or_default();
    let approves = decision.decision != DecisionKind::Reject;
    match waiting.kind {
        WaitingKind::Job => {
            let (firmware, action) =
                (app.firmware.clone(), if approves { JobAction::Approve } else { JobAction::Deny });
            decided(app, http, awaited, decision, |step| async move {
                firmware.apply_action(resource, action, person, note, IfMatch::Any, Some(step)).await
            })
            .await?;
        }
        WaitingKind::Alert => {
            let (incidents, by) = (app.incidents.clone(), By::Person(person));
            decided(app, http, awaited, decision, |step| async move {
                if approves {
                    incidents.confirm(by, resource, IfMatch::Any, Some(step)).await
                } else {
                    let note = if note.is_empty() { "rejected by a decider".to_owned() } else { note };
                    incidents.reject(by, resource, Some(note), Some(step)).await
                }
            })
            .await?;
        }
    }
    Ok(app.governance.approval(caller, &id).await?)
}

/// Kind of what waits for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitingKind {
    Job,
    Alert,
}

impl WaitingKind {
    const ALL: [(GuardedAction, Self); 2] =
        [(GuardedAction::FirmwareRollout, Self::Job), (GuardedAction::AlertBroadcast, Self::Alert)];

    fn of(action: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(guarded, _)| guarded.name() == action).map(|(_, kind)| kind)
    }
}

/// What an approval is for.
#[derive(Debug)]
struct Waiting {
    kind: WaitingKind,
    /// The approval that it waits for, if it still waits for this one, and whether a critical incident concerns it.
    awaited: Option<(String, bool)>,
}

/// Keeps what waits and its approvals together. Cheap to clone.
#[derive(Debug, Clone)]
pub struct WaitingThings {
    governance: Governance,
    firmware: Firmwares,
    incidents: Incidents,
}

/// Returns the job that compares what waits with its approvals.
pub fn comparing(governance: &Governance, network: &Disaster) -> PeriodicJob {
    let things = WaitingThings {
        governance: governance.clone(),
        firmware: network.firmware.clone(),
        incidents: network.incidents.clone(),
    };
    things.comparing()
}

impl WaitingThings {
    /// Returns those of a server.
    pub fn in_app(app: &App) -> Self {
        let (governance, firmware, incidents) = (app.governance.clone(), app.firmware.clone(), app.incidents.clone());
        Self { governance, firmware, incidents }
    }

    fn comparing(self) -> PeriodicJob {
        PeriodicJob::new("waiting-approvals", COMPARE_EVERY, move || {
            let things = self.clone();
            async move { things.compare().await.map_err(|error| error.to_string()) }
        })
    }

    /// Returns what an approval is for; `None` if nothing waits in a state of its own for such approvals, as for those
    /// that were opened by themselves.
    async fn of(&self, record: &ApprovalRecord) -> Result<Option<Waiting>, Error> {
        let Some(kind) = WaitingKind::of(&record.action) else { return Ok(None) };
        let awaited = match kind {
            WaitingKind::Job => self.firmware.awaited_approval(&record.resource).await,
            WaitingKind::Alert => {
                self.incidents.awaited_approval(&record.resource).await.map(|id| id.map(|id| (id, false)))
            }
        };
        match awaited {
            Ok(awaited) => Ok(Some(Waiting { kind, awaited: awaited.filter(|(id, _)| *id == record.id) })),
            Err(error) if error.kind == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends what waits for an approval that has ended without an execution, and removes decisions that were withdrawn.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn follow(&self, approval: &ApprovalView) -> Result<(), Error> {
        let record = &approval.record;
        if approval.state == ApprovalState::Executed {
            return Ok(());
        }
        let (resource, id) = (record.resource.clone(), record.id.clone());
        let why = format!("its approval {id} is {}", approval.state.name());
        let ended = match WaitingKind::of(&record.action) {
            Some(WaitingKind::Job) if !approval.state.is_final() => {
                let decided_by = record.decisions.iter().map(|decision| decision.by.clone()).collect();
                self.firmware.keep_decisions(resource, id, decided_by).await
            }
            Some(WaitingKind::Alert) if !approval.state.is_final() => Ok(()),
            Some(WaitingKind::Job) => self.firmware.end_waiting(resource, id, why).await,
            Some(WaitingKind::Alert) => self.incidents.end_waiting(resource, id, why).await,
            None => Ok(()),
        };
        match ended {
            Err(error) if error.kind == Kind::NotFound => Ok(()),
            ended => ended,
        }
    }

    /// Cancels an approval for which nothing waits any more.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn cancel(&self, id: &str) -> Result<(), Error> {
        let reason = "what waited for it has ended".to_owned();
        match self.governance.act(GovernanceCaller::system(), id.to_owned(), ApprovalAct::Cancel(reason)).await {
            // It has ended by itself, or it is being decided: the next comparison sees what came of it.
            Err(error) if matches!(error.kind, Kind::Conflict | Kind::Gone | Kind::NotFound) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Compares both ends: after a crash, an expiry, or a change of what waits.
    async fn compare(&self) -> Result<(), Error> {
        let waiting = [self.firmware.awaiting_approvals().await?, self.incidents.awaiting_approvals().await?];
        for (_, id) in waiting.into_iter().flatten() {
            let approval = self.governance.approval(GovernanceCaller::system(), &id).await?;
            self.follow(&approval).await?;
        }
        for (action, _) in WaitingKind::ALL {
            for state in [ApprovalState::Pending, ApprovalState::Approved] {
                let filter = ApprovalFilter {
                    action: Some(action.name().to_owned()),
                    state: Some(state),
                    ..ApprovalFilter::default()
                };
                let page = PageParams { limit: MAX_COMPARED, after: None };
                for approval in self.governance.approvals(GovernanceCaller::system(), filter, page).await?.items {
                    if self.of(&approval.record).await?.is_some_and(|waiting| waiting.awaited.is_none()) {
                        self.cancel(&approval.record.id).await?;
                    }
                }
            }
        }
        Ok(())
    }
}
