//! Approvals: opened, decided, withdrawn, cancelled, executed, reviewed, expired. A file of its own beside the actor, which
//! holds the state.

use std::sync::Arc;
use std::time::Duration;

use muster_core::guard::{GuardedAction, QuorumRole, VetoFacts, VetoingRule};
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::actor::{Change, GovernanceActor, put_op};
use crate::approval::{
    ApprovalEvent, ApprovalRecord, ApprovalState, DecisionKind, Facts, PayloadRecord, VetoRecord, apply,
    effective_state, met_roles,
};
use crate::caller::{GovernanceCaller, SessionFacts};
use crate::messages::{Act, ApprovalAct, ApprovalView, NewApproval, Open, Show};
use crate::signature::{self, NonceSubject, canonical};

/// Largest payload, in bytes of its RFC 8785 form.
const MAX_PAYLOAD: usize = 64 << 10;
/// Approvals of one requester that are not final.
const MAX_OF_ONE: usize = 50;
/// Approvals of all requesters that are not final.
const MAX_OF_ALL: usize = 1_000;
/// People who are notified of one approval that waits.
const MAX_NOTIFIED: usize = 200;

/// Circumstances of a request that veto rules judge, beside the approval itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Judged {
    pub bound: bool,
    pub session_s: u64,
    pub amid_critical_incident: bool,
}

impl Judged {
    fn of(session: Option<&SessionFacts>, now: Millis) -> Self {
        Self {
            bound: session.is_some_and(|session| session.jkt.is_some()),
            session_s: session.map_or(0, |session| now.since(session.since).as_secs()),
            amid_critical_incident: false,
        }
    }
}

impl GovernanceActor {
    pub(crate) fn open(&mut self, Open { caller, new, idempotency }: Open) -> Result<(ApprovalView, bool), Error> {
        let now = self.now();
        if let Some(request) = &idempotency
            && let Some(first) = self.responses.replay(request, &self.options.store, now)?
        {
            let record = self.find(first.get("id").and_then(Value::as_str).unwrap_or_default())?;
            return Ok((self.view(&caller, &record, None), true));
        }
        self.admit()?;
        self.count_write(caller.id())?;
        let (record, mut change) = self.opened(&caller, new)?;
        if let Some(request) = &idempotency {
            change.ops.push(request.op(now, json!({ "id": record.id }))?);
        }
        let number = self.journal().next_number();
        let record = self.remember(record);
        self.decide(change, None)?;
        if let Some(request) = &idempotency {
            self.responses.insert(request, json!({ "id": record.id }), number);
        }
        if record.state == ApprovalState::Vetoed {
            return Err(vetoed(&record));
        }
        Ok((self.view(&caller, &record, None), false))
    }

    /// Returns a new approval with its writes. One that a rule forbids is recorded as `vetoed`.
    pub(crate) fn opened(
        &self,
        caller: &GovernanceCaller,
        new: NewApproval,
    ) -> Result<(ApprovalRecord, Change), Error> {
        let now = self.now();
        let open = self.open.values().filter(|record| !record.state.is_final());
        let (own, all) =
            open.fold((0, 0), |(own, all), record| (own + usize::from(record.requester.id == caller.id()), all + 1));
        if own >= MAX_OF_ONE || all >= MAX_OF_ALL {
            let message =
                format!("{MAX_OF_ONE} approvals of one requester, {MAX_OF_ALL} of all may be open: cancel some");
            return Err(Error::new(Kind::RateLimited, message)
                .coded("too_many_pending")
                .retry_in(Duration::from_secs(60)));
        }
        let payload = canonical(new.payload.as_ref().unwrap_or(&Value::Null))?;
        if payload.len() > MAX_PAYLOAD {
            let message = format!("a payload has at most {MAX_PAYLOAD} bytes");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let action = GuardedAction::parse(&new.action);
        let standing = self.standing();
        let rule = action.map(|action| standing.rule(action));
        let risk = rule.as_ref().map_or(new.risk, |rule| new.risk.max(rule.risk));
        let mut record = ApprovalRecord {
            id: new_id(IdKind::Approval),
            resource: new.resource,
            risk,
            reason: new.reason,
            payload_sha256: format!("{:x}", Sha256::digest(&payload)),
            has_payload: new.payload.is_some(),
            guarded: action.is_some(),
            blast: new.blast,
            budget_pct: new.budget_pct,
            requester: caller.requester.clone(),
            state: ApprovalState::Pending,
            version: 1,
            quorum: rule.map_or_else(|| standing.quorum(), |rule| rule.roles),
            decisions: Vec::new(),
            turns: std::collections::BTreeMap::new(),
            veto: VetoRecord { rules: Vec::new(), policy: self.options.veto.policy().to_string() },
            created_at: now,
            updated_at: now,
            expires_at: now.plus(Duration::from_secs(new.expires_in_seconds)),
            execution: None,
            break_glass: None,
            cancelled: None,
            action: new.action,
        };
        let judged =
            Judged { amid_critical_incident: new.amid_critical_incident, ..Judged::of(caller.session.as_ref(), now) };
        let vetoes = self.vetoes_in(&record, judged, now);
        if !vetoes.is_empty() {
            record.veto.rules = vetoes.into_iter().map(|rule| rule.id).collect();
            record.state = ApprovalState::Vetoed;
        }
        let mut change = Change::default();
        if let Some(payload) = new.payload {
            change.ops.push(put_op(PayloadRecord::key(&record.id), &PayloadRecord(payload))?);
        }
        self.approval_change(&mut change, None, &record)?;
        let details = json!({
            "action": record.action, "resource": record.resource, "risk": record.risk, "state": record.state,
            "payload_sha256": record.payload_sha256, "veto": record.veto.rules,
        });
        self.audit(&mut change, caller.id(), "approval_opened", &record.id, details)?;
        if record.state == ApprovalState::Pending {
            self.notify_deciders(&mut change, &record)?;
        }
        Ok((record, change))
    }

    fn notify_deciders(&self, change: &mut Change, record: &ApprovalRecord) -> Result<(), Error> {
        let may = |user: &muster_identity::UserRecord| {
            let held = record.quorum.iter().any(|role| role.is_held_by(user.role));
            let decides = !self.constituted || self.deciders.contains_key(&user.id);
            held && decides && !user.disabled && !record.requester.concerned.contains(&user.id)
        };
        let channels = self.options.people.ids_of(may, MAX_NOTIFIED);
        if channels.is_empty() {
            return Ok(());
        }
        let channels = channels.into_iter().map(|id| format!("user:{id}")).collect();
        let data = json!({
            "id": record.id, "action": record.action, "resource": record.resource, "risk": record.risk,
            "expires_at": record.expires_at,
        });
        self.notify_on(change, "approval.waiting", channels, &data)
    }

    /// Returns the rules that forbid an action now, for a requester with this session.
    pub(crate) fn vetoes(
        &self,
        record: &ApprovalRecord,
        session: Option<&SessionFacts>,
        now: Millis,
    ) -> Vec<VetoingRule> {
        self.vetoes_in(record, Judged::of(session, now), now)
    }

    /// Returns the rules that forbid an action now, with these circumstances of its requester.
    pub(crate) fn vetoes_in(&self, record: &ApprovalRecord, judged: Judged, now: Millis) -> Vec<VetoingRule> {
        let Judged { bound, session_s, amid_critical_incident } = judged;
        let lately = || self.recent.iter().filter(|one| now.since(one.at) < Duration::from_secs(3600));
        let same = |one: &&crate::actor::Refusal| one.action == record.action && one.resource == record.resource;
        let facts = VetoFacts {
            action: record.action.clone(),
            resource: record.resource.clone(),
            risk: record.risk,
            requester: record.requester.id.clone(),
            bound,
            session_s,
            critical_incident: amid_critical_incident || self.options.conditions.critical_incident(&record.resource),
            blast: record.blast,
            budget_pct: record.budget_pct,
            rejected_1h: lately().filter(|one| !one.vetoed).any(|one| same(&one)),
            vetoed_1h: lately()
                .filter(|one| one.vetoed && one.requester == record.requester.id)
                .fold(0, |count, _| count + 1),
            audit_ok: self.options.conditions.audit_ok(),
            frozen: self.options.conditions.frozen(),
        };
        self.options.veto.judge(&facts)
    }

    /// Applies an act of a caller.
    pub(crate) fn act(&mut self, Act { caller, id, act }: Act) -> Result<ApprovalView, Error> {
        self.admit()?;
        let record = self.visible(&caller, &id)?;
        self.count_write(caller.id())?;
        self.check_lease(&id)?;
        let facts = self.facts(Some(&record), caller.id());
        let now = self.now();
        let (event, name) = self.event_of(&caller, &record, act, &facts, now)?;
        let next = apply(&record, event, &facts, now)?;
        self.check_signature(&caller, &record, &next, now)?;
        let change = self.changed(&caller, &record, &next, name)?;
        let next = self.remember(next);
        self.decide(change, None)?;
        if record.state == ApprovalState::Approved && name == "approval_executed" {
            executed(&next)?;
        }
        Ok(self.view(&caller, &next, None))
    }

    /// Returns the event of an act and the name of its audit entry.
    fn event_of(
        &self,
        caller: &GovernanceCaller,
        record: &ApprovalRecord,
        act: ApprovalAct,
        facts: &Facts,
        now: Millis,
    ) -> Result<(ApprovalEvent, &'static str), Error> {
        let by = caller.id().to_owned();
        match act {
            ApprovalAct::Decide(decision) => {
                Ok((self.decision_event(caller, decision, facts, now)?, "approval_decided"))
            }
            ApprovalAct::Withdraw => Ok((ApprovalEvent::Withdraw { by }, "approval_withdrawn")),
            ApprovalAct::Cancel(reason) => {
                if record.requester.id != by && !caller.is_super_admin {
                    return Err(Error::new(Kind::Forbidden, "the requester or a super_admin cancels an approval"));
                }
                Ok((ApprovalEvent::Cancel { reason }, "approval_cancelled"))
            }
            ApprovalAct::Execute(outcome, note) => {
                if record.requester.id != by {
                    return Err(Error::new(Kind::Forbidden, "the requester executes an approval"));
                }
                if record.guarded {
                    let message = format!(
                        "the server itself executes `{}`: repeat the request with the header Muster-Approval: {}",
                        record.action, record.id
                    );
                    return Err(Error::new(Kind::Conflict, message).coded("state_conflict"));
                }
                let (vetoes, policy) =
                    (self.vetoes(record, caller.session.as_ref(), now), self.options.veto.policy().to_string());
                Ok((ApprovalEvent::Execute { by, vetoes, policy, outcome, note }, "approval_executed"))
            }
            ApprovalAct::Review(comment) => {
                let decider = self.deciders.get(&by).is_some_and(|decider| !self.is_suspended(decider));
                if !caller.is_person() || !(decider || caller.is_reader) {
                    return Err(Error::new(Kind::Forbidden, "another decider or an auditor reviews a break-glass"));
                }
                Ok((ApprovalEvent::Review { by, comment }, "break_glass_reviewed"))
            }
        }
    }

    /// Returns the writes of a changed approval.
    pub(crate) fn changed(
        &self,
        caller: &GovernanceCaller,
        before: &ApprovalRecord,
        next: &ApprovalRecord,
        name: &str,
    ) -> Result<Change, Error> {
        let mut change = Change::default();
        self.approval_change(&mut change, Some(before), next)?;
        let mut details = json!({ "state": next.state, "version": next.version });
        if next.decisions.len() > before.decisions.len()
            && let Some(decision) = next.decisions.last()
        {
            details = json!({
                "state": next.state, "decision": decision.decision, "role": decision.role,
                "delegated_from": decision.delegated_from, "kid": decision.kid, "action": next.action,
            });
            let data = json!({
                "id": next.id, "by": decision.by, "decision": decision.decision, "role": decision.role,
                "state": next.state,
            });
            self.notify(&mut change, "approval.decided", &data)?;
            let used = next.break_glass.as_ref().is_some_and(|glass| glass.review_due_at.is_some());
            if decision.decision == DecisionKind::BreakGlass && used {
                let by = next.break_glass.as_ref().map(|glass| &glass.by);
                self.notify(
                    &mut change,
                    "break_glass.used",
                    &json!({ "id": next.id, "action": next.action, "by": by }),
                )?;
            }
        }
        self.audit(&mut change, caller.id(), name, &next.id, details)?;
        Ok(change)
    }

    /// Returns an approval that a caller may see.
    ///
    /// # Errors
    /// `NotFound`: a stranger does not learn that it exists.
    pub(crate) fn visible(&self, caller: &GovernanceCaller, id: &str) -> Result<Arc<ApprovalRecord>, Error> {
        let record = self.find(id)?;
        if caller.may_see(&record, &self.delegated_to(caller.id())) {
            return Ok(record);
        }
        Err(Error::new(Kind::NotFound, format!("no approval has the id {id}")))
    }

    /// Returns the roles that others delegated to a person.
    pub(crate) fn delegated_to(&self, person: &str) -> Vec<QuorumRole> {
        let now = self.now();
        let own = self.delegations.values().filter(|one| one.to == person && now < one.until);
        own.map(|one| one.role).collect()
    }

    pub(crate) fn view(
        &self,
        caller: &GovernanceCaller,
        record: &Arc<ApprovalRecord>,
        payload: Option<Value>,
    ) -> ApprovalView {
        let now = self.now();
        let state = effective_state(record, now);
        let facts = self.facts(Some(record), caller.id());
        let delegated = self.delegated_to(caller.id());
        let decides = caller.is_person()
            && state == ApprovalState::Pending
            && record.requester.id != caller.id()
            && record.quorum.iter().any(|role| caller.roles.contains(role) || delegated.contains(role));
        let breaks = caller.is_super_admin && caller.is_person() && state == ApprovalState::Pending;
        let challenge = (decides || breaks).then(|| {
            let subject = NonceSubject { of: &record.id, person: caller.id(), turn: record.turn(caller.id()) };
            signature::challenge(&*self.options.nonces, subject, now)
        });
        ApprovalView { state, met: met_roles(record, &facts, now), record: Arc::clone(record), payload, challenge }
    }

    pub(crate) fn show(&mut self, Show { caller, records }: Show) -> Result<Vec<ApprovalView>, Error> {
        let present = records.into_iter().map(|(record, payload)| {
            // What was read from the store may be older than what is decided.
            let record = self.open.get(&record.id).cloned().unwrap_or(record);
            self.view(&caller, &record, payload)
        });
        Ok(present.collect())
    }

    /// Expires what has ended and reports overdue reviews.
    pub(crate) fn age(&mut self, now: Millis) -> Result<(), Error> {
        let due: Vec<_> = self
            .open
            .values()
            .filter(|record| {
                let glass = record.break_glass.as_ref();
                let overdue = glass.is_some_and(|glass| {
                    record.awaits_review()
                        && !glass.overdue_reported
                        && glass.review_due_at.is_some_and(|due| now >= due)
                });
                (!record.state.is_final() && now >= record.expires_at) || overdue
            })
            .filter(|record| !self.leases.contains_key(&record.id))
            .take(100)
            .cloned()
            .collect();
        for record in due {
            let mut change = Change::default();
            let next = if !record.state.is_final() && now >= record.expires_at {
                let next = apply(&record, ApprovalEvent::Tick, &Facts::default(), now)?;
                self.audit(&mut change, "system", "approval_expired", &record.id, json!({ "action": record.action }))?;
                next
            } else {
                let mut next = ApprovalRecord::clone(&record);
                next.version += 1;
                if let Some(glass) = &mut next.break_glass {
                    glass.overdue_reported = true;
                }
                let data = json!({ "id": record.id, "action": record.action });
                self.notify(&mut change, "break_glass.overdue", &data)?;
                self.audit(&mut change, "system", "break_glass_overdue", &record.id, Value::Null)?;
                next
            };
            self.approval_change(&mut change, Some(&record), &next)?;
            self.remember(next);
            self.decide(change, None)?;
        }
        Ok(())
    }
}

pub(crate) fn encode(record: &ApprovalRecord) -> Result<muster_store::Rec, Error> {
    use muster_store::Record as _;
    Ok(record.encode()?)
}

/// The error of a request that rules forbid.
pub(crate) fn vetoed(record: &ApprovalRecord) -> Error {
    let message = format!("rules forbid this: {} ({})", record.veto.rules.join(", "), record.id);
    let details = json!({ "approval_id": record.id, "rules": record.veto.rules, "policy": record.veto.policy });
    Error::new(Kind::Forbidden, message).coded("risk_veto").detailing(details)
}

/// Checks that an execution took place.
///
/// # Errors
/// `Forbidden` (`risk_veto`); `Conflict` (`quorum_lost`).
pub(crate) fn executed(record: &ApprovalRecord) -> Result<(), Error> {
    match record.state {
        ApprovalState::Vetoed => Err(vetoed(record)),
        ApprovalState::Revoked => {
            let message = format!("the quorum of {} no longer holds: open another approval", record.id);
            Err(Error::new(Kind::Conflict, message).coded("quorum_lost"))
        }
        _ => Ok(()),
    }
}
