//! The state machine of an approval. Pure: time and facts about people are arguments.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_core::guard::{QuorumRole, VetoingRule};
use muster_core::{Error, Kind, Millis};
use serde_json::json;

use super::facts::Facts;
use super::quorum::covered;
use super::record::{ApprovalRecord, ApprovalState, Decision, DecisionKind, Execution, Outcome};

/// Time within which an approval by break-glass is executed.
pub const BREAK_GLASS_TIME: Duration = Duration::from_secs(15 * 60);
/// Time within which another person reviews it.
pub const REVIEW_TIME: Duration = Duration::from_secs(24 * 3600);
/// Number of people who sign a break-glass.
const BREAK_GLASS_PEOPLE: usize = 2;
/// Maximum number of decisions of one approval.
const MAX_DECISIONS: usize = 64;

/// How a decision was signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignedBy {
    /// Thumbprint of the key.
    pub kid: Option<String>,
    /// The nonce.
    pub nonce: Option<String>,
    /// The signature, base64url, which was verified.
    pub signature: Option<String>,
}

/// An event of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalEvent {
    /// A person approves or rejects for a role.
    Decide {
        /// The person.
        by: String,
        /// Approve or reject.
        decision: DecisionKind,
        /// The role.
        role: QuorumRole,
        /// Who delegated the role, where the person does not have it.
        delegated_from: Option<String>,
        /// Remark.
        comment: Option<String>,
        /// Signature.
        signed: SignedBy,
    },
    /// A `super_admin` approves without the quorum. `hard` are the rules that forbid even that.
    BreakGlass {
        /// The person.
        by: String,
        /// Remark.
        comment: Option<String>,
        /// Signature.
        signed: SignedBy,
    },
    /// A person withdraws all of their decisions.
    Withdraw {
        /// The person.
        by: String,
    },
    /// The requester, or who may, cancels it.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Time passes.
    Tick,
    /// The requester executes the action. `vetoes` are the rules that forbid it now.
    Execute {
        /// The requester.
        by: String,
        /// Rules that forbid it.
        vetoes: Vec<VetoingRule>,
        /// Identifier of those rules.
        policy: String,
        /// How it ended.
        outcome: Outcome,
        /// Remark.
        note: Option<String>,
    },
    /// A person reviews a break-glass.
    Review {
        /// The person.
        by: String,
        /// What the review says.
        comment: String,
    },
}

/// Returns the state of an approval at a time: one that is not final may have expired.
pub fn effective_state(record: &ApprovalRecord, now: Millis) -> ApprovalState {
    if !record.state.is_final() && now >= record.expires_at { ApprovalState::Expired } else { record.state }
}

/// Applies an event. Returns the record after it, which has the next version.
///
/// An execution that a veto or a lost quorum prevents changes the state too: the caller looks at the state of the result.
///
/// # Errors
/// `Conflict` (`state_conflict`, `already_decided`), `Gone` (`approval_expired`), `Forbidden` (`self_approval`,
/// `not_a_decider`, `role_not_held`, `not_independent`).
pub fn apply(
    record: &ApprovalRecord,
    event: ApprovalEvent,
    facts: &Facts,
    now: Millis,
) -> Result<ApprovalRecord, Error> {
    let now = now.max(record.updated_at);
    let mut next = record.clone();
    next.version += 1;
    next.updated_at = now;
    if let ApprovalEvent::Review { by, comment } = event {
        review(&mut next, by, comment, facts)?;
        return Ok(next);
    }
    if effective_state(record, now) == ApprovalState::Expired {
        if record.state.is_final() || event != ApprovalEvent::Tick {
            return Err(expired(record));
        }
        next.state = ApprovalState::Expired;
        return Ok(next);
    }
    if record.state.is_final() {
        return Err(conflict(record));
    }
    match event {
        ApprovalEvent::Tick => return Err(conflict(record)),
        ApprovalEvent::Cancel { reason } => {
            next.cancelled = Some(reason);
            next.state = ApprovalState::Cancelled;
        }
        ApprovalEvent::Decide { by, decision, role, delegated_from, comment, signed } => {
            require(record, ApprovalState::Pending)?;
            let entry = Decision { role: Some(role), delegated_from, ..entry(by, decision, comment, signed, now) };
            check_decision(record, &entry, role, facts, now)?;
            count_turn(&mut next, &entry.by);
            next.decisions.push(entry);
            if decision == DecisionKind::Reject {
                next.state = ApprovalState::Rejected;
            } else if is_met(&next, facts, now) {
                next.state = ApprovalState::Approved;
            }
        }
        ApprovalEvent::BreakGlass { by, comment, signed } => {
            require(record, ApprovalState::Pending)?;
            break_glass(&mut next, entry(by, DecisionKind::BreakGlass, comment, signed, now), facts, now)?;
        }
        ApprovalEvent::Withdraw { by } => {
            let before = next.decisions.len();
            next.decisions.retain(|decision| decision.by != by);
            if next.decisions.len() == before {
                return Err(Error::new(Kind::NotFound, "you have made no decision on this approval"));
            }
            if let Some(glass) = &mut next.break_glass {
                glass.by.retain(|person| *person != by);
            }
            count_turn(&mut next, &by);
            if record.state == ApprovalState::Approved {
                next.state = ApprovalState::Revoked;
            }
        }
        ApprovalEvent::Execute { by, vetoes, policy, outcome, note } => {
            require(record, ApprovalState::Approved)?;
            let by_break_glass = is_by_break_glass(record);
            let rules = vetoes.into_iter().filter(|rule| rule.hard || !by_break_glass);
            next.veto.rules = rules.map(|rule| rule.id).collect();
            next.veto.policy = policy;
            if !next.veto.rules.is_empty() {
                next.state = ApprovalState::Vetoed;
            } else if !holds(record, facts, now) {
                next.state = ApprovalState::Revoked;
            } else {
                next.state = ApprovalState::Executed;
                next.execution = Some(Execution { at: now, by, outcome, note });
            }
        }
        ApprovalEvent::Review { .. } => return Err(conflict(record)),
    }
    Ok(next)
}

fn entry(by: String, decision: DecisionKind, comment: Option<String>, signed: SignedBy, at: Millis) -> Decision {
    let SignedBy { kid, nonce, signature } = signed;
    Decision { by, role: None, decision, comment, at, delegated_from: None, kid, nonce, signature }
}

fn count_turn(record: &mut ApprovalRecord, person: &str) {
    let turn = record.turns.entry(person.to_owned()).or_default();
    *turn = turn.saturating_add(1);
}

fn require(record: &ApprovalRecord, state: ApprovalState) -> Result<(), Error> {
    if record.state == state { Ok(()) } else { Err(conflict(record)) }
}

fn conflict(record: &ApprovalRecord) -> Error {
    let code = if record.state == ApprovalState::Executed { "approval_used" } else { "state_conflict" };
    let message = format!("{} is {}: this is not possible any more, or not yet", record.id, record.state.name());
    Error::new(Kind::Conflict, message)
        .coded(code)
        .detailing(json!({ "state": record.state, "version": record.version }))
}

fn expired(record: &ApprovalRecord) -> Error {
    let message = format!("{} expired at {}: open another one", record.id, record.expires_at.rfc3339());
    Error::new(Kind::Gone, message).coded("approval_expired")
}

fn forbidden(code: &'static str, message: impl Into<String>) -> Error {
    Error::new(Kind::Forbidden, message).coded(code)
}

/// Returns the person's representative among those who count as one with them: giver and delegate of any delegation in
/// force, or by which they decided here.
fn unit_of(record: &ApprovalRecord, facts: &Facts, now: Millis, person: &str) -> String {
    let used = record.decisions.iter().filter_map(|decision| Some((decision.delegated_from.as_ref()?, &decision.by)));
    let in_force = facts.in_force(now).map(|one| (&one.from, &one.to));
    let edges: Vec<(&str, &str)> = used.chain(in_force).map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let mut unit = vec![person];
    let mut next = 0;
    while let Some(&of) = unit.get(next) {
        next += 1;
        for &(from, to) in &edges {
            for (one, other) in [(from, to), (to, from)] {
                if one == of && !unit.contains(&other) {
                    unit.push(other);
                }
            }
        }
    }
    unit.into_iter().min().unwrap_or(person).to_owned()
}

/// Whether a person counts as one with somebody who is concerned, and so never decides.
fn is_concerned(record: &ApprovalRecord, facts: &Facts, now: Millis, person: &str) -> bool {
    let unit = unit_of(record, facts, now, person);
    record.requester.concerned.iter().any(|concerned| unit_of(record, facts, now, concerned) == unit)
}

/// Whether a person is independent of everybody who is concerned.
fn is_independent(record: &ApprovalRecord, facts: &Facts, person: &str) -> bool {
    record.requester.concerned.iter().all(|concerned| facts.are_independent(concerned, person))
}

/// Whether the role of a decision is held now, by the person or by who delegated it.
fn holds_role(facts: &Facts, decision: &Decision, role: QuorumRole, now: Millis) -> bool {
    match &decision.delegated_from {
        None => facts.has_role(&decision.by, role),
        Some(from) => {
            facts.is_delegated(from, &decision.by, role, now) && facts.may_decide(from) && facts.has_role(from, role)
        }
    }
}

/// Checks whether a person may make a decision now.
fn check_decision(
    record: &ApprovalRecord,
    decision: &Decision,
    role: QuorumRole,
    facts: &Facts,
    now: Millis,
) -> Result<(), Error> {
    let by = decision.by.as_str();
    let giver = decision.delegated_from.as_deref();
    if is_concerned(record, facts, now, by) || giver.is_some_and(|from| is_concerned(record, facts, now, from)) {
        return Err(forbidden("self_approval", "nobody decides about a request of their own, of their key or agent"));
    }
    if !facts.may_decide(by) {
        return Err(forbidden("not_a_decider", "only an enrolled decider who is not suspended decides"));
    }
    if !record.quorum.contains(&role) || !holds_role(facts, decision, role, now) {
        let message = format!("you do not hold the role {}, or the quorum does not need it", role.name());
        return Err(forbidden("role_not_held", message));
    }
    let others = record.decisions.iter().map(|other| other.by.as_str()).filter(|other| *other != by);
    let independent = |person: &str| {
        is_independent(record, facts, person) && others.clone().all(|other| facts.are_independent(other, person))
    };
    if !independent(by) || giver.is_some_and(|from| !independent(from)) {
        let message = "you are not independent of the requester or of another decider: one of you made the account or set \
                       the password of the other within 30 days, or one admin did for both";
        return Err(forbidden("not_independent", message));
    }
    if record.decisions.iter().any(|other| other.by == by && other.role == Some(role)) {
        let message = "you have decided for this role: withdraw your decisions first";
        return Err(Error::new(Kind::Conflict, message).coded("already_decided"));
    }
    if record.decisions.len() >= MAX_DECISIONS {
        return Err(conflict(record));
    }
    Ok(())
}

/// Returns the approvals that count now, each as the number of its unit and its role, in the order of the decisions.
pub(super) fn counted(record: &ApprovalRecord, facts: &Facts, now: Millis) -> Vec<(usize, QuorumRole)> {
    let mut units = BTreeMap::new();
    let mut people: Vec<&str> = Vec::new();
    let mut approvals = Vec::new();
    for decision in &record.decisions {
        let (DecisionKind::Approve, Some(role)) = (decision.decision, decision.role) else { continue };
        let parties = [Some(decision.by.as_str()), decision.delegated_from.as_deref()];
        let mut parties = parties.into_iter().flatten();
        let counts = facts.may_decide(&decision.by)
            && holds_role(facts, decision, role, now)
            && parties.all(|person| {
                !is_concerned(record, facts, now, person)
                    && is_independent(record, facts, person)
                    && people.iter().all(|other| *other == person || facts.are_independent(other, person))
            });
        if !counts {
            continue;
        }
        people.push(&decision.by);
        people.extend(decision.delegated_from.as_deref());
        let number = units.len();
        let unit = *units.entry(unit_of(record, facts, now, &decision.by)).or_insert(number);
        approvals.push((unit, role));
    }
    approvals
}

/// Whether each role of the quorum is covered by another person now.
pub(super) fn is_met(record: &ApprovalRecord, facts: &Facts, now: Millis) -> bool {
    let covered = covered(&record.quorum, &counted(record, facts, now));
    !covered.is_empty() && covered.into_iter().all(|covered| covered)
}

/// Returns the roles of the quorum that are covered now.
pub(crate) fn met_roles(record: &ApprovalRecord, facts: &Facts, now: Millis) -> Vec<QuorumRole> {
    let covered = covered(&record.quorum, &counted(record, facts, now));
    record.quorum.iter().zip(covered).filter(|(_, covered)| *covered).map(|(role, _)| *role).collect()
}

fn is_by_break_glass(record: &ApprovalRecord) -> bool {
    record.break_glass.as_ref().is_some_and(|glass| glass.review_due_at.is_some())
}

/// Whether what approved the record still holds.
fn holds(record: &ApprovalRecord, facts: &Facts, now: Millis) -> bool {
    match &record.break_glass {
        Some(glass) if glass.review_due_at.is_some() => {
            glass.by.len() >= BREAK_GLASS_PEOPLE && glass.by.iter().all(|person| may_break_glass(facts, person))
        }
        _ => is_met(record, facts, now),
    }
}

fn may_break_glass(facts: &Facts, person: &str) -> bool {
    let of = facts.people.get(person);
    of.is_some_and(|facts| facts.is_super_admin && facts.is_decider && !facts.suspended && facts.active)
}

/// Adds the signature of a `super_admin` who is a decider. The requester may be one of the two.
fn break_glass(next: &mut ApprovalRecord, decision: Decision, facts: &Facts, now: Millis) -> Result<(), Error> {
    if !may_break_glass(facts, &decision.by) {
        return Err(forbidden(
            "not_a_decider",
            "break-glass takes two people with the role super_admin who are deciders",
        ));
    }
    let glass = next.break_glass.get_or_insert_default();
    if glass.by.contains(&decision.by) {
        let message = "you have signed: another super_admin must sign too";
        return Err(Error::new(Kind::Conflict, message).coded("already_decided"));
    }
    // One person who administers the other is one person.
    if glass.by.iter().any(|other| !facts.are_independent(other, &decision.by)) {
        return Err(forbidden("not_independent", "the two people must be independent of each other"));
    }
    glass.by.push(decision.by.clone());
    if glass.by.len() >= BREAK_GLASS_PEOPLE {
        glass.review_due_at = Some(now.plus(REVIEW_TIME));
        next.state = ApprovalState::Approved;
        next.expires_at = now.plus(BREAK_GLASS_TIME);
    }
    let by = decision.by.clone();
    next.decisions.push(decision);
    count_turn(next, &by);
    Ok(())
}

fn review(next: &mut ApprovalRecord, by: String, comment: String, facts: &Facts) -> Result<(), Error> {
    let concerned = next.requester.concerned.contains(&by);
    let Some(glass) = next.break_glass.as_mut().filter(|glass| glass.review_due_at.is_some()) else {
        return Err(Error::new(Kind::Conflict, "only a break-glass is reviewed").coded("state_conflict"));
    };
    if concerned || glass.by.contains(&by) || glass.by.iter().any(|other| !facts.are_independent(other, &by)) {
        return Err(forbidden("self_approval", "a break-glass is reviewed by somebody else"));
    }
    if glass.reviewed_by.is_some() {
        return Err(Error::new(Kind::Conflict, "the break-glass was reviewed").coded("already_decided"));
    }
    (glass.reviewed_by, glass.review) = (Some(by), Some(comment));
    Ok(())
}
