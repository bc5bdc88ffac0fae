//! The table of states, and what people may do.

mod properties;

use super::state::BREAK_GLASS_TIME;
use super::*;
use muster_core::Millis;
use muster_core::guard::{QuorumRole, Risk, VetoingRule};

const NOW: Millis = Millis(1_000_000_000);
const PEOPLE: [&str; 6] = ["usr_a", "usr_b", "usr_c", "usr_d", "usr_e", "usr_r"];

fn record(quorum: &[QuorumRole]) -> ApprovalRecord {
    ApprovalRecord {
        id: "apr_1".to_owned(),
        action: "key.grant".to_owned(),
        resource: "ci".to_owned(),
        risk: Risk::High,
        reason: "a test".to_owned(),
        payload_sha256: String::new(),
        has_payload: false,
        guarded: true,
        blast: 0,
        budget_pct: 0,
        requester: RequesterRecord {
            id: "usr_r".to_owned(),
            kind: RequesterKind::User,
            owner: None,
            concerned: vec!["usr_r".to_owned()],
        },
        state: ApprovalState::Pending,
        version: 1,
        quorum: quorum.to_vec(),
        decisions: Vec::new(),
        turns: Default::default(),
        veto: VetoRecord::default(),
        created_at: NOW,
        updated_at: NOW,
        expires_at: Millis(NOW.0 + 60_000),
        execution: None,
        break_glass: None,
        cancelled: None,
    }
}

fn person(roles: &[QuorumRole]) -> PersonFacts {
    PersonFacts {
        held: roles.to_vec(),
        enrolled: roles.to_vec(),
        is_decider: true,
        suspended: false,
        active: true,
        is_super_admin: false,
    }
}

fn facts(people: &[(&str, &[QuorumRole])]) -> Facts {
    let people = people.iter().map(|(id, roles)| ((*id).to_owned(), person(roles))).collect();
    Facts { constituted: true, people, ..Facts::default() }
}

fn decide(by: &str, role: QuorumRole, decision: DecisionKind) -> ApprovalEvent {
    let signed = SignedBy::default();
    ApprovalEvent::Decide { by: by.to_owned(), decision, role, delegated_from: None, comment: None, signed }
}

fn approve(by: &str, role: QuorumRole) -> ApprovalEvent {
    decide(by, role, DecisionKind::Approve)
}

fn execute() -> ApprovalEvent {
    ApprovalEvent::Execute {
        by: "usr_r".to_owned(),
        vetoes: Vec::new(),
        policy: "test".to_owned(),
        outcome: Outcome::Ok,
        note: None,
    }
}

fn code(result: Result<ApprovalRecord, muster_core::Error>) -> &'static str {
    match result {
        Ok(record) => record.state.name(),
        Err(error) => error.code.unwrap_or("?"),
    }
}

use QuorumRole::{Operations, Security};

const BOTH: [QuorumRole; 2] = [Security, Operations];

#[test]
fn two_people_approve_and_the_requester_executes_once() {
    let facts = facts(&[("usr_a", &[Security]), ("usr_b", &[Operations])]);
    let pending = record(&BOTH);
    assert_eq!(code(apply(&pending, execute(), &facts, NOW)), "state_conflict");
    let pending = apply(&pending, approve("usr_a", Security), &facts, NOW).unwrap();
    assert_eq!(pending.state, ApprovalState::Pending);
    let approved = apply(&pending, approve("usr_b", Operations), &facts, NOW).unwrap();
    assert_eq!(approved.state, ApprovalState::Approved);
    let executed = apply(&approved, execute(), &facts, NOW).unwrap();
    assert_eq!(executed.state, ApprovalState::Executed);
    assert_eq!(code(apply(&executed, execute(), &facts, NOW)), "approval_used");
    for event in [approve("usr_a", Security), ApprovalEvent::Withdraw { by: "usr_a".to_owned() }] {
        assert_eq!(code(apply(&executed, event, &facts, NOW)), "approval_used");
    }
}

#[test]
fn each_row_of_the_table_of_states() {
    let facts = facts(&[("usr_a", &[Security]), ("usr_b", &[Operations]), ("usr_c", &[])]);
    let pending = apply(&record(&BOTH), approve("usr_a", Security), &facts, NOW).unwrap();
    let approved = apply(&pending, approve("usr_b", Operations), &facts, NOW).unwrap();
    let cancel = || ApprovalEvent::Cancel { reason: "no need".to_owned() };
    let withdraw = |by: &str| ApprovalEvent::Withdraw { by: by.to_owned() };
    let reject = decide("usr_b", Operations, DecisionKind::Reject);
    let late = Millis(NOW.0 + 60_000);
    for (from, event, now, expected) in [
        (&pending, reject.clone(), NOW, "rejected"),
        (&pending, cancel(), NOW, "cancelled"),
        (&pending, withdraw("usr_a"), NOW, "pending"),
        (&pending, ApprovalEvent::Tick, late, "expired"),
        (&pending, approve("usr_b", Operations), late, "approval_expired"),
        (&pending, cancel(), late, "approval_expired"),
        (&pending, ApprovalEvent::Tick, NOW, "state_conflict"),
        (&pending, approve("usr_a", Security), NOW, "already_decided"),
        (&pending, approve("usr_c", Operations), NOW, "role_not_held"),
        (&pending, approve("usr_a", Operations), NOW, "role_not_held"),
        (&pending, approve("usr_r", Operations), NOW, "self_approval"),
        (&pending, approve("usr_x", Operations), NOW, "not_a_decider"),
        (&approved, approve("usr_a", Security), NOW, "state_conflict"),
        (&approved, reject, NOW, "state_conflict"),
        (&approved, cancel(), NOW, "cancelled"),
        (&approved, withdraw("usr_b"), NOW, "revoked"),
        (&approved, ApprovalEvent::Tick, late, "expired"),
        (&approved, execute(), late, "approval_expired"),
        (&approved, execute(), NOW, "executed"),
    ] {
        assert_eq!(code(apply(from, event.clone(), &facts, now)), expected, "{event:?}");
    }
    assert_eq!(apply(&pending, withdraw("usr_a"), &facts, NOW).unwrap().turn("usr_a"), 2, "its signature is spent");
}

#[test]
fn a_person_with_both_roles_covers_the_one_that_nobody_else_has() {
    let facts = facts(&[("usr_a", &BOTH), ("usr_b", &[Operations])]);
    let mut record = record(&BOTH);
    for role in [Operations, Security] {
        record = apply(&record, approve("usr_a", role), &facts, NOW).unwrap();
        assert_eq!(record.state, ApprovalState::Pending, "alone never");
    }
    assert_eq!(apply(&record, approve("usr_b", Operations), &facts, NOW).unwrap().state, ApprovalState::Approved);
}

#[test]
fn giver_and_delegate_count_as_one() {
    let mut facts = facts(&[("usr_a", &BOTH), ("usr_b", &[Operations]), ("usr_c", &[])]);
    facts.delegations = vec![DelegationFact {
        from: "usr_a".to_owned(),
        to: "usr_c".to_owned(),
        role: Security,
        until: Millis(NOW.0 + 10),
    }];
    let delegated = ApprovalEvent::Decide {
        by: "usr_c".to_owned(),
        decision: DecisionKind::Approve,
        role: Security,
        delegated_from: Some("usr_a".to_owned()),
        comment: None,
        signed: SignedBy::default(),
    };
    let start = record(&BOTH);
    let by_delegate = apply(&start, delegated.clone(), &facts, NOW).unwrap();
    let both = apply(&by_delegate, approve("usr_a", Operations), &facts, NOW).unwrap();
    assert_eq!(both.state, ApprovalState::Pending);
    let approved = apply(&by_delegate, approve("usr_b", Operations), &facts, NOW).unwrap();
    assert_eq!(approved.state, ApprovalState::Approved);
    // The delegation ends between decision and execution.
    assert_eq!(code(apply(&approved, execute(), &facts, Millis(NOW.0 + 10))), "revoked");
    assert_eq!(code(apply(&start, delegated, &facts, Millis(NOW.0 + 10))), "role_not_held");
    // A delegate of the requester never decides.
    facts.people.insert("usr_r".to_owned(), person(&BOTH));
    facts.delegations[0].from = "usr_r".to_owned();
    assert_eq!(code(apply(&start, approve("usr_c", Security), &facts, NOW)), "self_approval");
}

#[test]
fn a_lost_quorum_revokes_and_a_veto_vetoes_at_the_execution() {
    let before = facts(&[("usr_a", &[Security]), ("usr_b", &[Operations])]);
    let pending = apply(&record(&BOTH), approve("usr_a", Security), &before, NOW).unwrap();
    let approved = apply(&pending, approve("usr_b", Operations), &before, NOW).unwrap();
    let change: [fn(&mut PersonFacts); 4] = [
        |facts| facts.suspended = true,
        |facts| facts.held.clear(),
        |facts| facts.active = false,
        |facts| facts.is_decider = false,
    ];
    for change in change {
        let mut after = before.clone();
        change(after.people.get_mut("usr_b").unwrap());
        assert_eq!(code(apply(&approved, execute(), &after, NOW)), "revoked");
    }
    let mut dependent = before.clone();
    dependent.relate("usr_b", "usr_r");
    assert_eq!(code(apply(&approved, execute(), &dependent, NOW)), "revoked");
    assert_eq!(code(apply(&pending, approve("usr_b", Operations), &dependent, NOW)), "not_independent");
    let vetoes = vec![VetoingRule { id: "frozen".to_owned(), hard: false }];
    let vetoed = ApprovalEvent::Execute {
        by: "usr_r".to_owned(),
        vetoes,
        policy: "p".to_owned(),
        outcome: Outcome::Ok,
        note: None,
    };
    let vetoed = apply(&approved, vetoed, &before, NOW).unwrap();
    assert_eq!((vetoed.state, vetoed.veto.rules), (ApprovalState::Vetoed, vec!["frozen".to_owned()]));
}

#[test]
fn a_clock_that_moves_back_revives_nothing() {
    let facts = facts(&[("usr_a", &[Security]), ("usr_b", &[Operations])]);
    let mut pending = record(&BOTH);
    pending.updated_at = Millis(NOW.0 + 60_000);
    let result = apply(&pending, approve("usr_a", Security), &facts, NOW);
    assert_eq!(code(result), "approval_expired", "the record is newer than the clock");
}

#[test]
fn break_glass_takes_two_super_admins_and_is_reviewed_by_another() {
    let mut facts = facts(&[("usr_a", &BOTH), ("usr_b", &BOTH), ("usr_r", &BOTH), ("usr_c", &[Security])]);
    for id in ["usr_a", "usr_b", "usr_r"] {
        facts.people.get_mut(id).unwrap().is_super_admin = true;
    }
    let glass = |by: &str| ApprovalEvent::BreakGlass { by: by.to_owned(), comment: None, signed: SignedBy::default() };
    let review = |by: &str| ApprovalEvent::Review { by: by.to_owned(), comment: "was right".to_owned() };
    let start = record(&BOTH);
    assert_eq!(code(apply(&start, glass("usr_c"), &facts, NOW)), "not_a_decider");
    let one = apply(&start, glass("usr_r"), &facts, NOW).unwrap();
    assert_eq!(one.state, ApprovalState::Pending);
    assert_eq!(code(apply(&one, review("usr_c"), &facts, NOW)), "state_conflict");
    assert_eq!(code(apply(&one, glass("usr_r"), &facts, NOW)), "already_decided");
    let two = apply(&one, glass("usr_a"), &facts, NOW).unwrap();
    assert_eq!((two.state, two.expires_at), (ApprovalState::Approved, NOW.plus(BREAK_GLASS_TIME)));
    let execute = |hard| ApprovalEvent::Execute {
        by: "usr_r".to_owned(),
        vetoes: vec![VetoingRule { id: "no-audit".to_owned(), hard }],
        policy: "p".to_owned(),
        outcome: Outcome::Ok,
        note: None,
    };
    assert_eq!(code(apply(&two, execute(true), &facts, NOW)), "vetoed");
    let executed = apply(&two, execute(false), &facts, NOW).unwrap();
    assert_eq!(executed.state, ApprovalState::Executed);
    assert!(executed.awaits_review());
    for by in ["usr_r", "usr_a"] {
        assert_eq!(code(apply(&executed, review(by), &facts, NOW)), "self_approval");
    }
    let reviewed = apply(&executed, review("usr_c"), &facts, NOW).unwrap();
    assert!(!reviewed.awaits_review());
    assert_eq!(reviewed.state, ApprovalState::Executed);
    assert_eq!(code(apply(&two, execute(false), &facts, NOW.plus(BREAK_GLASS_TIME))), "approval_expired");
}
