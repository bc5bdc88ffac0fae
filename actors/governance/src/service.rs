//! The service of governance: the public face of the crate.

use std::sync::Arc;

use actix::{Context, Handler, ResponseFuture};
use actix_rt::ArbiterHandle;
use muster_core::guard::{ApprovalStep, Permit};
use muster_core::idempotency::Idempotency;
use muster_core::journal::{Journalled, respond};
use muster_core::page::{Page, PageParams};
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind, Millis};
use muster_store::{PageRequest, StoreHandle};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::actor::{GovernanceActor, GovernanceCounts, GovernanceOptions};
use crate::approval::{ApprovalRecord, ApprovalState, PayloadRecord, effective_state};
use crate::caller::GovernanceCaller;
use crate::decider::{DeciderRecord, DelegationRecord};
use crate::load::load;
use crate::messages::{
    Acquire, Act, ApprovalAct, ApprovalView, DeciderList, DecisionRequest, Delegate, EndDelegation, Enrol,
    ListDeciders, NewApproval, NewDelegation, Open, Ping, PrepareDecision, PrepareOpening, RemoveDecider, Resume,
    Settle, Show,
};
use crate::signature::canonical;
use muster_core::guard::{QuorumRole, Risk};

/// Maximum number of records examined for one page. A selective filter may yield a short page with a cursor.
const MAX_EXAMINED: usize = 2_000;
/// Records read at a time.
const READ: usize = 100;

/// Conditions on approvals; all given ones must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// State at present.
    pub state: Option<ApprovalState>,
    /// Risk.
    pub risk: Option<Risk>,
    /// Name of the action.
    pub action: Option<String>,
    /// Principal that requested it.
    pub requester: Option<String>,
    /// Earliest opening, inclusive.
    pub from: Option<Millis>,
    /// Latest opening, exclusive.
    pub to: Option<Millis>,
}

impl ApprovalFilter {
    fn matches(&self, record: &ApprovalRecord, now: Millis) -> bool {
        self.state.is_none_or(|state| effective_state(record, now) == state)
            && self.risk.is_none_or(|risk| record.risk == risk)
            && self.action.as_ref().is_none_or(|action| record.action == *action)
            && self.requester.as_ref().is_none_or(|requester| record.requester.id == *requester)
            && self.from.is_none_or(|from| record.created_at >= from)
            && self.to.is_none_or(|to| record.created_at < to)
    }
}

/// Returns the hash of a payload: SHA-256 of its RFC 8785 form, in hexadecimal.
///
/// # Errors
/// `Invalid` for a payload without such a form.
pub fn payload_sha256(payload: &Value) -> Result<String, Error> {
    Ok(format!("{:x}", Sha256::digest(canonical(payload)?)))
}

/// The service of governance.
#[derive(Debug, Clone)]
pub struct Governance {
    handle: Handle<GovernanceActor>,
    store: StoreHandle,
    clock: Clock,
    counts: watch::Receiver<GovernanceCounts>,
}

impl Governance {
    /// Starts the actor. Guarded commands are refused until it runs: await [`Governance::up`] before serving.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: GovernanceOptions) -> Self {
        let (publish, counts) = watch::channel(GovernanceCounts::default());
        let (store, clock) = (Arc::clone(&options.store), options.clock.clone());
        let handle =
            group.start(ChildSpec::new("governance", arbiter, move |_| load(options.clone(), publish.clone())));
        Self { handle, store, clock, counts }
    }

    /// Waits until the records were read from the store.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Returns numbers for health and summaries. Involves no actor.
    pub fn counts(&self) -> GovernanceCounts {
        self.counts.borrow().clone()
    }

    /// Waits for the actor.
    ///
    /// # Errors
    /// `Unavailable` if it does not respond.
    pub async fn respond(&self) -> Result<(), Error> {
        self.handle.ask(Ping).await.map_err(Error::from)
    }

    /// Opens an approval; returns also whether it is the first response to a repeated request.
    ///
    /// # Errors
    /// `Forbidden` (`risk_veto`), with the approval recorded as vetoed; `RateLimited` (`too_many_pending`); `TooLarge`;
    /// `Invalid`; `IdempotencyConflict`; `Unavailable`.
    pub async fn open(
        &self,
        caller: GovernanceCaller,
        new: NewApproval,
        idempotency: Option<Idempotency>,
    ) -> Result<(ApprovalView, bool), Error> {
        self.handle.ask(Open { caller, new, idempotency }).await?
    }

    /// Returns an approval that the caller may see, with its payload.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn approval(&self, caller: GovernanceCaller, id: &str) -> Result<ApprovalView, Error> {
        let missing = || Error::new(Kind::NotFound, format!("no approval has the id {id}"));
        if !id.starts_with("apr_") {
            return Err(missing());
        }
        let (store, key) = (Arc::clone(&self.store), id.to_owned());
        let read = move || {
            let record = store.record::<ApprovalRecord>(key.as_bytes())?;
            let payload = store.record::<PayloadRecord>(&PayloadRecord::key(&key))?;
            Ok::<_, Error>(record.map(|record| (Arc::new(record), payload.map(|payload| payload.0))))
        };
        let found = blocking(read).await?.ok_or_else(missing)?;
        let delegated = self.delegated(&caller).await;
        if !caller.may_see(&found.0, &delegated) {
            return Err(missing());
        }
        let views = self.handle.ask(Show { caller, records: vec![found] }).await??;
        views.into_iter().next().ok_or_else(missing)
    }

    async fn delegated(&self, caller: &GovernanceCaller) -> Vec<QuorumRole> {
        if !caller.is_person() || caller.roles.is_empty() {
            return Vec::new();
        }
        let list = self.handle.ask(ListDeciders { caller: caller.clone() }).await;
        let Ok(Ok(list)) = list else { return Vec::new() };
        list.delegations.iter().filter(|one| one.to == caller.id()).map(|one| one.role).collect()
    }

    /// Returns a page of the approvals that the caller may see and that match a filter, newest first. The page may be
    /// short, and have a cursor.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn approvals(
        &self,
        caller: GovernanceCaller,
        filter: ApprovalFilter,
        page: PageParams,
    ) -> Result<Page<ApprovalView>, Error> {
        let (store, now) = (Arc::clone(&self.store), self.clock.now());
        let (viewer, delegated) = (caller.clone(), self.delegated(&caller).await);
        let read = move || {
            read_page(&store, &page, |record| viewer.may_see(record, &delegated) && filter.matches(record, now))
        };
        let Page { items, next } = blocking(read).await?;
        let records = items.into_iter().map(|record| (Arc::new(record), None)).collect();
        let items = self.handle.ask(Show { caller, records }).await??;
        Ok(Page { items, next })
    }

    /// Applies an act of a person or a requester to an approval.
    ///
    /// # Errors
    /// Those of contract 6, section 3.
    pub async fn act(&self, caller: GovernanceCaller, id: String, act: ApprovalAct) -> Result<ApprovalView, Error> {
        self.handle.ask(Act { caller, id, act }).await?
    }

    /// Returns the permit of an approved action. After the command has ended, with whatever outcome, the caller awaits
    /// [`Self::settle`].
    ///
    /// # Errors
    /// `Conflict` (`approval_mismatch`, `approval_used`, `quorum_lost`, `state_conflict`), `Forbidden` (`risk_veto`),
    /// `Gone` (`approval_expired`), `NotFound`, `Unavailable`.
    pub async fn permit(&self, caller: GovernanceCaller, id: String, payload_sha256: String) -> Result<Permit, Error> {
        self.handle.ask(Acquire { caller, id, payload_sha256 }).await?
    }

    /// Reports that a command with a permit, or with prepared writes, has ended.
    pub async fn settle(&self, id: String) {
        // The lease ends by itself.
        if let Err(error) = self.handle.ask(Settle { id }).await {
            tracing::debug!(%error, "the end of an execution was not reported");
        }
    }

    /// Prepares the opening of an approval by another actor, in the batch of what waits for it.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub async fn prepare_opening(&self, caller: GovernanceCaller, new: NewApproval) -> Result<ApprovalStep, Error> {
        self.handle.ask(PrepareOpening { caller, new }).await?
    }

    /// Prepares a decision by another actor, in the batch of what waits for it. The last decision executes the approval.
    ///
    /// # Errors
    /// Those of [`Self::act`].
    pub async fn prepare_decision(
        &self,
        caller: GovernanceCaller,
        id: String,
        decision: DecisionRequest,
        amid_critical_incident: bool,
    ) -> Result<ApprovalStep, Error> {
        self.handle.ask(PrepareDecision { caller, id, decision, amid_critical_incident }).await?
    }

    /// Enrols the caller as a decider, or a further key.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`, `role_not_held`, `signature_invalid`), `Conflict`, `Invalid`, `Unavailable`.
    pub async fn enrol(
        &self,
        caller: GovernanceCaller,
        roles: Vec<QuorumRole>,
        jwk: Value,
        proof: String,
        permit: Option<Permit>,
    ) -> Result<Arc<DeciderRecord>, Error> {
        self.handle.ask(Enrol { caller, roles, jwk, proof, permit }).await?
    }

    /// Removes a decider.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`, `Conflict` (`last_decider`), `Unavailable`.
    pub async fn remove_decider(&self, caller: GovernanceCaller, user: String) -> Result<(), Error> {
        self.handle.ask(RemoveDecider { caller, user }).await?
    }

    /// Ends the suspension of the caller.
    ///
    /// # Errors
    /// `Forbidden` (`not_a_decider`, `signature_invalid`), `Unavailable`.
    pub async fn resume(&self, caller: GovernanceCaller, proof: String) -> Result<Arc<DeciderRecord>, Error> {
        self.handle.ask(Resume { caller, proof }).await?
    }

    /// Delegates a role of the caller.
    ///
    /// # Errors
    /// `Forbidden` (`not_a_decider`, `role_not_held`, `signature_invalid`), `Conflict` (`nonce_stale`), `Invalid`.
    pub async fn delegate(&self, caller: GovernanceCaller, new: NewDelegation) -> Result<Arc<DelegationRecord>, Error> {
        self.handle.ask(Delegate { caller, new }).await?
    }

    /// Ends a delegation.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn end_delegation(&self, caller: GovernanceCaller, id: String) -> Result<(), Error> {
        self.handle.ask(EndDelegation { caller, id }).await?
    }

    /// Returns all deciders and delegations.
    ///
    /// # Errors
    /// `Forbidden`, `Unavailable`.
    pub async fn deciders(&self, caller: GovernanceCaller) -> Result<DeciderList, Error> {
        self.handle.ask(ListDeciders { caller }).await?
    }
}

async fn blocking<T: Send + 'static>(read: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|_| Error::new(Kind::Internal, "the approvals could not be read completely"))?
}

/// Reads a page, newest first. Blocking.
fn read_page(
    store: &StoreHandle,
    page: &PageParams,
    matches: impl Fn(&ApprovalRecord) -> bool,
) -> Result<Page<ApprovalRecord>, Error> {
    let from = page.after.as_ref().map(|cursor| cursor.clone().into_bytes());
    let request = PageRequest::of(READ).starting_at(from).descending();
    let mut found = Page { items: Vec::new(), next: None };
    for (examined, record) in store.records::<ApprovalRecord>("apr_", request).values().enumerate() {
        let record = record?;
        if page.after.as_ref().is_some_and(|cursor| record.id >= *cursor) {
            continue;
        }
        if found.items.len() >= page.limit || examined >= MAX_EXAMINED {
            return Ok(found);
        }
        found.next = Some(record.id.clone());
        if matches(&record) {
            found.items.push(record);
        }
    }
    Ok(Page { next: None, ..found })
}

/// Answers a message by a method of the same name.
macro_rules! handle {
    ($($message:ty => $method:ident -> $answer:ty;)*) => {$(
        impl Handler<$message> for GovernanceActor {
            type Result = ResponseFuture<Result<$answer, Error>>;

            fn handle(&mut self, message: $message, context: &mut Context<Self>) -> Self::Result {
                let done = self.$method(message);
                self.flush(context);
                respond(self, done, context)
            }
        }
    )*};
}

handle! {
    Open => open -> (ApprovalView, bool);
    Show => show -> Vec<ApprovalView>;
    Act => act -> ApprovalView;
    Acquire => acquire -> Permit;
    PrepareOpening => prepare_opening -> ApprovalStep;
    PrepareDecision => prepare_decision -> ApprovalStep;
    Enrol => enrol -> Arc<DeciderRecord>;
    RemoveDecider => remove_decider -> ();
    Resume => resume -> Arc<DeciderRecord>;
    Delegate => delegate -> Arc<DelegationRecord>;
    EndDelegation => end_delegation -> ();
    ListDeciders => list_deciders -> DeciderList;
}

impl Handler<Ping> for GovernanceActor {
    type Result = ();

    fn handle(&mut self, _: Ping, _: &mut Context<Self>) {
        // Who decides at present follows from accounts, which change without this actor.
        self.publish_counts();
    }
}

impl Handler<Settle> for GovernanceActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, Settle { id }: Settle, context: &mut Context<Self>) -> Self::Result {
        let settled = self.settle(&id);
        respond(self, settled, context)
    }
}
