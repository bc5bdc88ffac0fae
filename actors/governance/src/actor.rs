//! The governance actor: its state, how it is restored, and what it writes with each decision.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, Context};
use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::guard::{DeciderStanding, QuorumRole, Standing, StandingPublisher};
use muster_core::idempotency::PendingResponses;
use muster_core::journal::{Committed, Journal, Journalled, Reply};
use muster_core::{Clock, Error, Kind, Millis};
use muster_identity::{Makers, People};
use muster_store::{Op, Record, StoreError, StoreHandle};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::approval::{ApprovalRecord, ApprovalState, DelegationFact, Facts, PersonFacts};
use crate::decider::{DeciderRecord, DelegationRecord, NewestTime};
use crate::load::refusal;
use crate::signature::NonceKey;
use crate::veto::{Conditions, Veto};

/// Interval at which expiry, leases and overdue reviews are examined.
const TICK: Duration = Duration::from_secs(1);
/// Time for which no other permit is given for an approval. Longer than a permit is valid.
pub(crate) const LEASE: Duration = Duration::from_secs(60);
/// Time for which vetoes and rejections are remembered.
pub(crate) const RECENT: Duration = Duration::from_secs(3600);
/// Maximum number of those that are remembered.
const MAX_RECENT: usize = 10_000;
/// Writes of one principal within a minute.
const WRITES: usize = 30;
/// Maximum number of principals whose writes are counted.
const MAX_WRITERS: usize = 10_000;
/// The channel on which governance publishes.
const CHANNEL: &str = "governance";

/// Options of the governance actor.
#[derive(Debug, Clone)]
pub struct GovernanceOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock.
    pub clock: Clock,
    /// Publishes events; `None` publishes nothing.
    pub publisher: Option<Publisher>,
    /// Authenticates nonces.
    pub nonces: Arc<dyn NonceKey>,
    /// Rules that forbid requests.
    pub veto: Arc<dyn Veto>,
    /// Conditions of the server that rules judge.
    pub conditions: Arc<dyn Conditions>,
    /// The accounts.
    pub people: People,
    /// Receives the standing after each durable decision.
    pub standing: StandingPublisher,
}

/// Numbers for health and summaries, as of the durable decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GovernanceCounts {
    /// Whether there is a quorum.
    pub constituted: bool,
    /// Pending approvals by risk, from low to critical.
    pub pending: [usize; 4],
    /// Break-glass reviews that are due.
    pub reviews_due: usize,
    /// Those of them that are overdue.
    pub reviews_overdue: usize,
    /// Time at which the oldest pending approval was opened.
    pub oldest_pending: Option<Millis>,
    /// Roles of the quorum that nobody covers at present: no decider, or no account before there is a quorum.
    pub uncovered: Vec<QuorumRole>,
}

/// An effect of a decision, performed once it is durable.
pub(crate) enum Effect {
    /// Publishes events, and the standing.
    Publish(Vec<Event>, Option<Box<Standing>>),
    /// Responds to a caller.
    Reply(Reply<()>),
}

impl From<Reply<()>> for Effect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// An approval that another actor's batch may change.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Time until which the batch is waited for.
    pub until: Millis,
    /// Events of the change, which are published once it is stored.
    pub events: Vec<Event>,
}

/// A request that ended against its requester.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub at: Millis,
    pub vetoed: bool,
    pub requester: String,
    pub action: String,
    pub resource: String,
}

/// Owns approvals, deciders and delegations.
pub(crate) struct GovernanceActor {
    pub(crate) options: GovernanceOptions,
    pub(crate) journal: Journal<Effect>,
    /// Approvals that are not final, or await a review, after every decision so far.
    pub(crate) open: BTreeMap<String, Arc<ApprovalRecord>>,
    pub(crate) deciders: BTreeMap<String, Arc<DeciderRecord>>,
    pub(crate) delegations: BTreeMap<String, Arc<DelegationRecord>>,
    pub(crate) constituted: bool,
    /// The newest time of a decision.
    pub(crate) newest: Millis,
    pub(crate) recent: VecDeque<Refusal>,
    /// Approvals that another actor's batch may change.
    pub(crate) leases: HashMap<String, Lease>,
    pub(crate) writes: HashMap<String, VecDeque<Millis>>,
    pub(crate) responses: PendingResponses,
    pub(crate) counts: watch::Sender<GovernanceCounts>,
}

impl std::fmt::Debug for GovernanceActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GovernanceActor").finish_non_exhaustive()
    }
}

impl Actor for GovernanceActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(TICK, |actor, context| actor.tick(context));
    }
}

impl Journalled for GovernanceActor {
    type Effects = Effect;

    fn journal(&mut self) -> &mut Journal<Effect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Effect>, _: &mut Context<Self>) {
        self.responses.settle(committed.last);
        for effect in committed.effects {
            match effect {
                Effect::Publish(events, standing) => {
                    if let Some(standing) = standing {
                        self.options.standing.publish(*standing);
                    }
                    if let Some(publisher) = self.options.publisher.as_ref().filter(|_| !events.is_empty()) {
                        publisher.publish(events);
                    }
                }
                Effect::Reply(reply) => reply.send(),
            }
        }
        self.publish_counts();
    }

    fn on_failed(&mut self, effects: Vec<Effect>, error: &Error) {
        for effect in effects {
            if let Effect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

/// The writes and events of a decision.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub ops: Vec<Op>,
    pub events: Vec<Event>,
}

impl GovernanceActor {
    /// Returns the time of a decision, which never runs back.
    pub(crate) fn now(&self) -> Millis {
        self.options.clock.now().max(self.newest)
    }

    /// Returns the makers of accounts that make people dependent: before there is a quorum, a `super_admin` does guarded
    /// things alone.
    fn makers(&self) -> Makers {
        if self.constituted { Makers::All } else { Makers::AllButSuperAdmins }
    }

    /// Returns whether another changed a decider's account since the decider last proved to have its key.
    pub(crate) fn is_suspended(&self, decider: &DeciderRecord) -> bool {
        self.options
            .people
            .get(&decider.user)
            .is_none_or(|user| user.altered_at.is_some_and(|altered| altered > decider.confirmed_at))
    }

    fn person(&self, id: &str) -> Option<PersonFacts> {
        let user = self.options.people.get(id).filter(|user| user.service.is_none())?;
        let decider = self.deciders.get(id);
        Some(PersonFacts {
            held: QuorumRole::ALL.into_iter().filter(|role| role.is_held_by(user.role)).collect(),
            enrolled: decider.map(|decider| decider.roles.clone()).unwrap_or_default(),
            is_decider: decider.is_some(),
            suspended: decider.is_some_and(|decider| self.is_suspended(decider)),
            active: !user.disabled,
            is_super_admin: user.role == muster_core::principal::UserRole::SuperAdmin,
        })
    }

    /// Collects what the state machine needs to know about the people of an approval and a caller.
    pub(crate) fn facts(&self, record: Option<&ApprovalRecord>, caller: &str) -> Facts {
        let now = self.now();
        let mut ids = vec![caller];
        if let Some(record) = record {
            ids.extend(record.requester.concerned.iter().map(String::as_str));
            for decision in &record.decisions {
                ids.push(&decision.by);
                ids.extend(decision.delegated_from.as_deref());
            }
            ids.extend(record.break_glass.iter().flat_map(|glass| glass.by.iter().map(String::as_str)));
        }
        let in_force = self.delegations.values().filter(|one| now < one.until);
        let delegations: Vec<_> = in_force
            .map(|one| DelegationFact { from: one.from.clone(), to: one.to.clone(), role: one.role, until: one.until })
            .collect();
        // The caller may decide for who delegated to it.
        ids.extend(self.delegations.values().filter(|one| one.to == caller).map(|one| one.from.as_str()));
        ids.sort_unstable();
        ids.dedup();
        let mut facts = Facts { constituted: self.constituted, delegations, ..Facts::default() };
        for (number, id) in ids.iter().enumerate() {
            if let Some(person) = self.person(id) {
                facts.people.insert((*id).to_owned(), person);
            }
            for other in ids.iter().skip(number + 1) {
                if !self.options.people.are_independent(id, other, self.makers(), now) {
                    facts.relate(id, other);
                }
            }
        }
        facts
    }

    /// Returns the standing after every decision so far.
    pub(crate) fn standing(&self) -> Standing {
        let of = |decider: &Arc<DeciderRecord>| DeciderStanding { roles: decider.roles.clone() };
        // The policy is published by its own service.
        let policy = self.options.standing.reader().get();
        Standing {
            ready: true,
            constituted: self.constituted,
            quorum: policy.quorum.clone(),
            guards: policy.guards.clone(),
            deciders: self.deciders.iter().map(|(user, decider)| (user.as_str().into(), of(decider))).collect(),
        }
    }

    /// Counts a write of a principal.
    ///
    /// # Errors
    /// `RateLimited` beyond 30 within a minute.
    pub(crate) fn count_write(&mut self, caller: &str) -> Result<(), Error> {
        const WINDOW: Duration = Duration::from_secs(60);
        let now = self.now();
        if self.writes.len() >= MAX_WRITERS && !self.writes.contains_key(caller) {
            self.writes.retain(|_, writes| writes.back().is_some_and(|at| now.since(*at) < WINDOW));
            if self.writes.len() >= MAX_WRITERS {
                return Err(
                    Error::new(Kind::RateLimited, "too many principals write: try again later").retry_in(WINDOW)
                );
            }
        }
        let writes = self.writes.entry(caller.to_owned()).or_default();
        while writes.front().is_some_and(|at| now.since(*at) >= WINDOW) {
            writes.pop_front();
        }
        match writes.front().filter(|_| writes.len() >= WRITES) {
            Some(first) => {
                let wait = WINDOW.saturating_sub(now.since(*first));
                Err(Error::new(Kind::RateLimited, format!("{WRITES} writes a minute are permitted")).retry_in(wait))
            }
            None => {
                writes.push_back(now);
                Ok(())
            }
        }
    }

    /// Adds an event on the channel of governance.
    pub(crate) fn notify(&self, change: &mut Change, name: &str, data: &Value) -> Result<(), Error> {
        self.notify_on(change, name, vec![CHANNEL.to_owned()], data)
    }

    pub(crate) fn notify_on(
        &self,
        change: &mut Change,
        name: &str,
        channels: Vec<String>,
        data: &Value,
    ) -> Result<(), Error> {
        if self.options.publisher.is_some() {
            let event = Event::new(name, self.now(), channels, data);
            change.ops.push(event.op()?);
            change.events.push(event);
        }
        Ok(())
    }

    /// Adds an entry of the audit log.
    pub(crate) fn audit(
        &self,
        change: &mut Change,
        actor: &str,
        action: &str,
        resource: &str,
        details: Value,
    ) -> Result<(), Error> {
        change.ops.push(AuditEntry::new(self.now(), actor, action, resource, details).op()?);
        Ok(())
    }

    /// Adds an entry of the audit log about a record that allows something, with what it allows from then on.
    pub(crate) fn audit_state(
        &self,
        change: &mut Change,
        actor: &str,
        action: &str,
        resource: &str,
        details: Value,
        allows: &Value,
    ) -> Result<(), Error> {
        change.ops.push(AuditEntry::new(self.now(), actor, action, resource, details).after(allows).op()?);
        Ok(())
    }

    /// Adds the new version of an approval with its events: a new state is one on the channel of governance.
    pub(crate) fn approval_change(
        &self,
        change: &mut Change,
        before: Option<&ApprovalRecord>,
        next: &ApprovalRecord,
    ) -> Result<(), Error> {
        change.ops.push(put_op(next.id.as_bytes().to_vec(), next)?);
        if before.is_none_or(|before| before.state != next.state) {
            let name = format!("approval.{}", next.state.name());
            let data = json!({
                "id": next.id, "action": next.action, "resource": next.resource, "risk": next.risk,
                "state": next.state, "requester": next.requester.id, "version": next.version,
            });
            self.notify(change, &name, &data)?;
        }
        Ok(())
    }

    /// Takes over the new version of an approval that is written by this actor.
    pub(crate) fn remember(&mut self, next: ApprovalRecord) -> Arc<ApprovalRecord> {
        let next = Arc::new(next);
        self.newest = self.newest.max(next.updated_at);
        if let Some(refusal) = refusal(&next) {
            self.remember_refusal(refusal);
        }
        if next.state.is_final() && !next.awaits_review() {
            self.open.remove(&next.id);
        } else {
            self.open.insert(next.id.clone(), Arc::clone(&next));
        }
        next
    }

    pub(crate) fn remember_refusal(&mut self, refusal: Refusal) {
        let now = self.now();
        self.recent.retain(|earlier| now.since(earlier.at) < RECENT);
        if self.recent.len() >= MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(refusal);
    }

    /// Hands a decision to the journal, with the newest time.
    pub(crate) fn decide(&mut self, mut change: Change, standing: Option<Standing>) -> Result<(), Error> {
        self.newest = self.now();
        change.ops.push(put_op(NewestTime::KEY.to_vec(), &NewestTime(self.newest))?);
        self.journal.push(change.ops, Effect::Publish(change.events, standing.map(Box::new)));
        Ok(())
    }

    /// Returns an approval of which something may be decided: one in memory, or a final one.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<ApprovalRecord>, Error> {
        if let Some(record) = self.open.get(id) {
            return Ok(Arc::clone(record));
        }
        let missing = || Error::new(Kind::NotFound, format!("no approval has the id {id}"));
        if !id.starts_with("apr_") {
            return Err(missing());
        }
        self.options.store.record::<ApprovalRecord>(id.as_bytes())?.map(Arc::new).ok_or_else(missing)
    }

    /// Checks that no batch of another actor may change an approval at the moment.
    pub(crate) fn check_lease(&self, id: &str) -> Result<(), Error> {
        if self.leases.contains_key(id) {
            let message = "the approval is being executed or decided at this moment: try again";
            return Err(Error::new(Kind::Conflict, message).coded("state_conflict").retry_in(Duration::from_secs(1)));
        }
        Ok(())
    }

    pub(crate) fn publish_counts(&self) {
        let now = self.now();
        let mut counts = GovernanceCounts { constituted: self.constituted, ..GovernanceCounts::default() };
        for record in self.open.values() {
            if record.state == ApprovalState::Pending && now < record.expires_at {
                counts.oldest_pending =
                    Some(counts.oldest_pending.map_or(record.created_at, |oldest| oldest.min(record.created_at)));
                let place = counts.pending.get_mut(usize::from(record.risk.number()).saturating_sub(1));
                if let Some(place) = place {
                    *place += 1;
                }
            }
            if record.awaits_review() {
                counts.reviews_due += 1;
                let due = record.break_glass.as_ref().and_then(|glass| glass.review_due_at);
                counts.reviews_overdue += usize::from(due.is_some_and(|due| now >= due));
            }
        }
        counts.uncovered = self.standing().quorum().into_iter().filter(|role| !self.is_covered(*role)).collect();
        self.counts.send_if_modified(|present| {
            let changed = *present != counts;
            *present = counts;
            changed
        });
    }

    /// Returns whether somebody may decide for a role at present.
    fn is_covered(&self, role: QuorumRole) -> bool {
        let decides = |user: &muster_identity::UserRecord| {
            let decider = self.deciders.get(&user.id);
            let enrolled = decider.is_some_and(|decider| decider.roles.contains(&role) && !self.is_suspended(decider));
            !user.disabled && role.is_held_by(user.role) && (enrolled || !self.constituted)
        };
        !self.options.people.ids_of(decides, 1).is_empty()
    }

    /// Expires approvals, reports overdue reviews, and ends leases whose batch was not reported.
    fn tick(&mut self, context: &mut Context<Self>) {
        let now = self.now();
        let ended: Vec<String> =
            self.leases.iter().filter(|(_, lease)| now >= lease.until).map(|(id, _)| id.clone()).collect();
        for id in ended {
            if let Err(error) = self.settle(&id) {
                tracing::warn!(%error, approval = id, "an approval could not be read after its execution");
            }
        }
        if self.admit().is_ok() {
            if let Err(error) = self.age(now) {
                tracing::warn!(%error, "approvals could not be expired");
            }
            self.flush(context);
        }
        self.publish_counts();
    }
}

/// Returns the write of a record.
pub(crate) fn put_op<R: Record>(key: Vec<u8>, record: &R) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: R::TREE, key, rec: record.encode()? })
}
