//! Policies: checks, storage, replacement by permit, and comparison with the file.

use std::sync::Arc;

use muster_core::guard::{
    GuardRule, GuardedAction, Permit, QuorumRole, Requester, Risk, Standing, StandingPublisher, VetoFacts,
};
use muster_core::{Clock, Kind};
use muster_store::{Expect, MemStore, Op, Rec, StoreHandle, Tree};

use super::*;
use crate::veto::Veto as _;

/// Every request of more than one device is vetoed.
const STRICT: &str = "@id(\"one\") forbid (principal, action, resource) when { context.blast > 1 };";
const ADMIN: Requester<'static> = Requester { id: "usr_1", is_super_admin: true };
const WRITER: PolicyWriter<'static> = PolicyWriter { requester: ADMIN, expected: None };

fn facts(blast: u64) -> VetoFacts {
    VetoFacts {
        action: "firmware.rollout".to_owned(),
        resource: "job_1".to_owned(),
        risk: Risk::High,
        requester: "usr_1".to_owned(),
        bound: true,
        session_s: 0,
        critical_incident: false,
        blast,
        budget_pct: 0,
        rejected_1h: false,
        vetoed_1h: 0,
        audit_ok: true,
        frozen: false,
    }
}

fn document(veto: &str) -> PolicyDocument {
    PolicyDocument { veto: veto.to_owned(), ..PolicyDocument::default() }
}

fn standing(constituted: bool) -> StandingPublisher {
    let publisher = StandingPublisher::new();
    publisher.publish(Standing { ready: true, constituted, ..Standing::default() });
    publisher
}

fn open(store: &StoreHandle, standing: &StandingPublisher, file: &PolicyDocument) -> PolicyService {
    PolicyService::open(store, &Clock::system(), standing.clone(), None, file).unwrap()
}

fn store() -> StoreHandle {
    Arc::new(MemStore::default())
}

fn vetoes(policy: &PolicyService, blast: u64) -> Vec<String> {
    policy.judge(&facts(blast)).into_iter().map(|rule| rule.id).collect()
}

/// A permit for a change of the policy, and the key that its use writes.
fn permit(approval: &str) -> Permit {
    let rec = Rec { schema: 1, bytes: b"executed".to_vec() };
    Permit {
        approval: approval.to_owned(),
        action: "policy.change".to_owned(),
        resource: "policy".to_owned(),
        requester: "usr_1".to_owned(),
        expect: (Tree::Meta, approval.as_bytes().to_vec(), Expect::Absent),
        ops: vec![Op::Put { tree: Tree::Meta, key: approval.as_bytes().to_vec(), rec }],
        valid_until: muster_core::Millis(u64::MAX),
    }
}

#[test]
fn a_guard_raises_a_risk_and_never_lowers_it() {
    let text = r#"{"quorum": ["operations"], "guards": {
        "tasks.kill": {"risk": "high", "over": 7}, "backup.read": {"risk": "low", "roles": ["security"]}}}"#;
    let document: PolicyDocument = serde_json::from_str(text).unwrap();
    let rules = document.rules_of_guards();
    let rule = |risk, roles: &[QuorumRole], over| GuardRule { risk, roles: roles.to_vec(), over };
    let (security, operations) = (QuorumRole::Security, QuorumRole::Operations);
    assert_eq!(rules[&GuardedAction::TasksKill], rule(Risk::High, &[operations], Some(7)));
    assert_eq!(rules[&GuardedAction::BackupRead], rule(Risk::Critical, &[security], None));
    assert_eq!(rules[&GuardedAction::FirmwareRollout], rule(Risk::High, &[operations], Some(100)));
    // Whoever could change these alone could then do anything alone.
    for action in [GuardedAction::PolicyChange, GuardedAction::DeciderEnrol, GuardedAction::RoleGrant] {
        assert_eq!(rules[&action].roles, [security, operations], "{action:?}");
    }
}

#[test]
fn a_policy_that_cannot_be_used_names_its_member() {
    let member = |text: &str| {
        let read = serde_json::from_str::<PolicyDocument>(text).unwrap();
        read.check().unwrap_err().member
    };
    assert_eq!(member(r#"{"quorum": []}"#), "quorum");
    assert_eq!(member(r#"{"guards": {"policy.change": {"roles": ["security"]}}}"#), "guards.policy.change");
    assert_eq!(member(r#"{"guards": {"trust.add": {"over": 3}}}"#), "guards.trust.add");
    assert_eq!(member(r#"{"guards": {"trust.add": {"roles": []}}}"#), "guards.trust.add");
    assert_eq!(member(r#"{"veto": "forbid"}"#), "veto");
    for unknown in [r#"{"quorom": []}"#, r#"{"guards": {"all": {}}}"#, r#"{"guards": {"trust.add": {"rsk": 1}}}"#] {
        assert!(serde_json::from_str::<PolicyDocument>(unknown).is_err(), "{unknown}");
    }
    assert!(PolicyDocument::default().check().is_ok());
}

#[tokio::test]
async fn the_file_is_the_policy_until_there_is_a_quorum() {
    let (store, without) = (store(), standing(false));
    let policy = open(&store, &without, &document(""));
    assert!(policy.take_file(&document("")).await.unwrap());
    assert_eq!(vetoes(&policy, 2), [""; 0]);
    assert!(policy.take_file(&document(STRICT)).await.unwrap());
    assert_eq!(vetoes(&policy, 2), ["one"]);
    // Started again with a quorum, and with another file: the stored policy holds, and the difference is reported.
    let policy = open(&store, &standing(true), &document(""));
    assert!(!policy.take_file(&document("")).await.unwrap());
    assert_eq!((vetoes(&policy, 2), policy.now().like_file), (vec!["one".to_owned()], false));
    assert!(policy.take_file(&document(STRICT)).await.unwrap());
    assert!(policy.now().like_file);
}

#[tokio::test]
async fn a_change_is_in_force_with_its_permit_only_and_once() {
    let (store, with) = (store(), standing(true));
    let policy = open(&store, &with, &document(""));
    policy.take_file(&document("")).await.unwrap();
    let refused = policy.replace(document(STRICT), WRITER, None).await.unwrap_err();
    assert_eq!((refused.kind, refused.code), (Kind::Forbidden, Some("approval_required")));
    assert_eq!(vetoes(&policy, 2), [""; 0]);
    let changed = policy.replace(document(STRICT), WRITER, Some(permit("apr_1"))).await.unwrap();
    assert_eq!((changed.version, changed.source, changed.approval.as_deref()), (2, PolicySource::Store, Some("apr_1")));
    assert_eq!((vetoes(&policy, 2), changed.like_file), (vec!["one".to_owned()], false));
    let guards = PolicyDocument { quorum: vec![QuorumRole::Security], ..document(STRICT) };
    policy.replace(guards, WRITER, Some(permit("apr_0"))).await.unwrap();
    assert_eq!(with.reader().get().rule(GuardedAction::TrustAdd).roles, [QuorumRole::Security], "guards know at once");
    // The same permit again: its approval is no longer as it was read.
    assert_eq!(policy.replace(document(""), WRITER, Some(permit("apr_1"))).await.unwrap_err().kind, Kind::Conflict);
    assert_eq!(vetoes(&policy, 2), ["one"]);
    let entries = crate::test_entries::of(&store);
    let of: Vec<_> = entries.iter().map(|entry| (entry.actor.as_str(), entry.action.as_str())).collect();
    assert_eq!(of, [("system", "policy.change"), ("usr_1", "policy.change"), ("usr_1", "policy.change")]);
    assert_eq!(entries[1].approval.as_deref(), Some("apr_1"));
    assert!(entries[0].after.is_some() && entries[0].after != entries[1].after, "each names the policy that it set");
    // A reload of the file that did not change, and a start, leave it in force.
    assert!(!policy.take_file(&document("")).await.unwrap());
    assert_eq!(vetoes(&open(&store, &with, &document("")), 2), ["one"]);
}

#[tokio::test]
async fn before_there_is_a_quorum_a_super_admin_changes_it_at_once_until_the_file_changes() {
    let (store, without) = (store(), standing(false));
    let policy = open(&store, &without, &document(""));
    policy.take_file(&document("")).await.unwrap();
    policy.replace(document(STRICT), WRITER, None).await.unwrap();
    assert!(!policy.take_file(&document("")).await.unwrap(), "the file is as it was");
    assert_eq!(vetoes(&policy, 2), ["one"]);
    assert!(policy.take_file(&PolicyDocument { quorum: vec![QuorumRole::Security], ..document("") }).await.unwrap());
    assert_eq!((vetoes(&policy, 2), policy.now().version), (Vec::new(), 3));
    let other = Requester { id: "usr_2", is_super_admin: false };
    let writer = PolicyWriter { requester: other, expected: None };
    assert_eq!(policy.replace(document(STRICT), writer, None).await.unwrap_err().kind, Kind::Forbidden);
}

#[tokio::test]
async fn a_change_of_another_version_is_refused() {
    let (store, without) = (store(), standing(false));
    let policy = open(&store, &without, &document(""));
    policy.take_file(&document("")).await.unwrap();
    let stale = PolicyWriter { expected: Some(7), ..WRITER };
    assert_eq!(policy.replace(document(STRICT), stale, None).await.unwrap_err().kind, Kind::PreconditionFailed);
    policy.replace(document(STRICT), PolicyWriter { expected: Some(1), ..WRITER }, None).await.unwrap();
    assert_eq!(policy.now().version, 2);
}

#[tokio::test]
async fn a_stored_policy_that_cannot_be_used_stops_the_start() {
    let (store, without) = (store(), standing(false));
    let bad = r#"{"version":1,"document":{"quorum":["security"],"guards":{},"veto":"forbid"},"by":"usr_1","at":0,"file":"","from_file":false}"#;
    let rec = Rec { schema: 1, bytes: bad.as_bytes().to_vec() };
    store.commit(muster_store::Batch::put(Tree::Policy, "policy", rec)).await.unwrap();
    assert!(PolicyService::open(&store, &Clock::system(), without, None, &document("")).is_err());
}
