//! Decisions: who decides for whom, with which key, and in whose batch. A file of its own beside the other acts.

use muster_core::guard::{ApprovalStep, QuorumRole, StepOutcome};
use muster_core::journal::Journalled;
use muster_core::{Error, Kind, Millis};
use muster_store::{Expect, Tree};
use serde_json::json;

use crate::actor::{Change, GovernanceActor, LEASE, Lease};
use crate::acts::{Judged, encode, vetoed};
use crate::approval::{ApprovalEvent, ApprovalRecord, ApprovalState, DecisionKind, Facts, SignedBy, apply};
use crate::caller::GovernanceCaller;
use crate::messages::{DecisionRequest, PrepareDecision, PrepareOpening};
use crate::signature::{self, NonceSubject, SignedDecision};

impl GovernanceActor {
    /// Returns the event of a decision. A person who does not hold the role decides for who delegated it.
    pub(crate) fn decision_event(
        &self,
        caller: &GovernanceCaller,
        decision: DecisionRequest,
        facts: &Facts,
        now: Millis,
    ) -> Result<ApprovalEvent, Error> {
        if !caller.is_person() {
            let message = "people decide: no key, agent or device does";
            return Err(Error::new(Kind::Forbidden, message).coded("not_a_decider"));
        }
        let by = caller.id().to_owned();
        let DecisionRequest { decision, role, comment, nonce, kid, signature } = decision;
        let signed = SignedBy { kid: kid.or_else(|| self.only_kid(caller, signature.is_some())), nonce, signature };
        let Some(role) = role.filter(|_| decision != DecisionKind::BreakGlass) else {
            return Ok(ApprovalEvent::BreakGlass { by, comment, signed });
        };
        let holds = facts.people.get(&by).is_some_and(|person| {
            person.held.contains(&role) && (!self.constituted || person.enrolled.contains(&role))
        });
        let mut givers = facts.delegations.iter().filter(|one| one.to == by && one.role == role && now < one.until);
        let delegated_from = if holds { None } else { givers.next().map(|one| one.from.clone()) };
        Ok(ApprovalEvent::Decide { by, decision, role, delegated_from, comment, signed })
    }

    /// Returns the thumbprint of the only key with which a caller can have signed.
    fn only_kid(&self, caller: &GovernanceCaller, signed: bool) -> Option<String> {
        if !signed {
            return None;
        }
        match self.deciders.get(caller.id()).map(|decider| &*decider.keys) {
            Some([key]) => Some(key.kid.clone()),
            Some(_) => None,
            None => caller.session.as_ref()?.jkt.clone(),
        }
    }

    /// Checks the signature of the decision that was added, if one was. Rights come first, so that a stranger learns
    /// nothing about signatures.
    pub(crate) fn check_signature(
        &self,
        caller: &GovernanceCaller,
        before: &ApprovalRecord,
        next: &ApprovalRecord,
        now: Millis,
    ) -> Result<(), Error> {
        if next.decisions.len() <= before.decisions.len() {
            return Ok(());
        }
        let Some(decision) = next.decisions.last() else { return Ok(()) };
        let is_break_glass = decision.decision == DecisionKind::BreakGlass;
        let (nonce, sig) = match (&decision.nonce, &decision.signature) {
            (Some(nonce), Some(signature)) => (nonce, signature),
            (None, None) if !before.risk.is_signed() && !is_break_glass && decision.kid.is_none() => return Ok(()),
            _ => {
                let message = format!(
                    "a decision about the risk {} is signed: send `nonce` (of the approval's `challenge`), `kid` and \
                     `signature`",
                    before.risk.name()
                );
                return Err(Error::new(Kind::Invalid, message).coded("signature_required"));
            }
        };
        let subject = NonceSubject { of: &before.id, person: caller.id(), turn: before.turn(caller.id()) };
        let invalid = || {
            let message = "no key of yours that was enrolled before the approval was opened has this `kid`";
            Error::new(Kind::Forbidden, message).coded("signature_invalid")
        };
        let key = self.key_of(caller, decision.kid.as_deref(), before.created_at).ok_or_else(invalid)?;
        let bytes = SignedDecision {
            approval_id: &before.id,
            action: &before.action,
            resource: &before.resource,
            risk: before.risk,
            payload_sha256: &before.payload_sha256,
            decision: decision.decision.name(),
            role: decision.role.map_or("super_admin", QuorumRole::name),
            nonce,
        }
        .bytes()?;
        signature::verify(&key, &bytes, sig)?;
        signature::check_nonce(&*self.options.nonces, nonce, subject, now)
    }

    /// Returns the key with which a caller may sign about an approval: enrolled before it was opened; before there is a
    /// quorum, that of the caller's bound session too.
    fn key_of(&self, caller: &GovernanceCaller, kid: Option<&str>, opened: Millis) -> Option<muster_auth::PublicKey> {
        let kid = kid?;
        let enrolled = self.deciders.get(caller.id()).and_then(|decider| {
            let key = decider.keys.iter().find(|key| key.kid == kid && key.enrolled_at < opened)?;
            key.public()
        });
        let of_session = || {
            let session = caller.session.as_ref().filter(|_| !self.constituted)?;
            session.key.clone().filter(|key| session.jkt.as_deref() == Some(kid) && key.thumbprint() == kid)
        };
        enrolled.or_else(of_session)
    }

    pub(crate) fn prepare_opening(&mut self, request: PrepareOpening) -> Result<ApprovalStep, Error> {
        let PrepareOpening { caller, new } = request;
        self.admit()?;
        self.count_write(caller.id())?;
        let (record, change) = self.opened(&caller, new)?;
        if record.state == ApprovalState::Vetoed {
            let record = self.remember(record);
            self.decide(change, None)?;
            return Err(vetoed(&record));
        }
        Ok(self.step(&record, Expect::Absent, change))
    }

    pub(crate) fn prepare_decision(&mut self, request: PrepareDecision) -> Result<ApprovalStep, Error> {
        let PrepareDecision { caller, id, decision, amid_critical_incident } = request;
        self.admit()?;
        let before = self.visible(&caller, &id)?;
        self.count_write(caller.id())?;
        self.check_lease(&id)?;
        let facts = self.facts(Some(&before), caller.id());
        let now = self.now();
        let event = self.decision_event(&caller, decision, &facts, now)?;
        let decided = apply(&before, event, &facts, now)?;
        self.check_signature(&caller, &before, &decided, now)?;
        let mut change = self.changed(&caller, &before, &decided, "approval_decided")?;
        let mut next = decided;
        if next.state == ApprovalState::Approved {
            let event = ApprovalEvent::Execute {
                by: before.requester.id.clone(),
                // Of the requester there is no session now; who decides has just proved to hold a key.
                vetoes: self.vetoes_in(&next, Judged { bound: true, session_s: 0, amid_critical_incident }, now),
                policy: self.options.veto.policy().to_string(),
                outcome: crate::approval::Outcome::Ok,
                note: None,
            };
            let last = apply(&next, event, &facts, now)?;
            self.approval_change(&mut change, Some(&next), &last)?;
            let details = json!({ "action": last.action, "resource": last.resource, "state": last.state });
            self.audit(&mut change, caller.id(), "approval_executed", &id, details)?;
            next = last;
        }
        Ok(self.step(&next, Expect::Is(encode(&before)?), change))
    }

    /// Returns the writes of a change that another actor's batch contains. Until that has ended, or for [`LEASE`], nothing
    /// else changes the approval.
    fn step(&mut self, next: &ApprovalRecord, expect: Expect, change: Change) -> ApprovalStep {
        let outcome = match next.state {
            ApprovalState::Pending | ApprovalState::Approved => StepOutcome::Waits,
            ApprovalState::Executed => StepOutcome::Executed,
            ApprovalState::Vetoed => StepOutcome::Ended(format!("vetoed by {}", next.veto.rules.join(", "))),
            state => StepOutcome::Ended(state.name().to_owned()),
        };
        self.leases.insert(next.id.clone(), Lease { until: self.now().plus(LEASE), events: change.events });
        ApprovalStep {
            approval: next.id.clone(),
            action: next.action.clone(),
            resource: next.resource.clone(),
            people: u32::try_from(next.quorum.len()).unwrap_or(u32::MAX),
            decided_by: next.decisions.iter().map(|decision| decision.by.clone()).collect(),
            outcome,
            expect: (Tree::Approvals, next.id.clone().into_bytes(), expect),
            ops: change.ops,
        }
    }
}
