//! The rules of issuers as properties.

use proptest::prelude::*;

use std::sync::Arc;
use std::time::Duration;

use super::messages::{KeyIssuer, KeyPage, KeyPatch, NewKey, NewTeam, TeamPatch};
use super::record::{KeyRecord, PlanA, PlanB, Role, Scope};
use super::state::KeyState;
use super::token::Token;
use muster_core::precondition::IfMatch;
use muster_core::{Error, Kind, Millis};

const NOW: Millis = Millis(1_000_000);

fn create(new: NewKey, issuer: &KeyIssuer) -> Result<KeyRecord, Error> {
    KeyState::default().create(new, issuer, &Token::generate().unwrap(), "key_1".into(), NOW)
}

fn named(scopes: Vec<Scope>) -> NewKey {
    NewKey { name: "n".into(), scopes, ..NewKey::default() }
}

prop_compose! {
    fn any_new()(
        scopes in prop::sample::subsequence(Scope::ALL.to_vec(), 1..=Scope::ALL.len()),
        roles in prop::sample::subsequence(Role::ALL.to_vec(), 0..=4),
        plan_a in prop::sample::select(vec![PlanA::Free, PlanA::Starter, PlanA::Pro, PlanA::Enterprise]),
        plan_b in prop::sample::select(vec![PlanB::Free, PlanB::Pro, PlanB::Enterprise]),
        budget in prop::option::of(0_u32..100),
        expires in prop::option::of(1_000_001_u64..2_000_000),
        rpm in prop::option::of(1_u64..100),
    ) -> NewKey {
        NewKey {
            name: "n".into(), scopes, roles, plan_a, plan_b, budget_usd: budget.map(f64::from),
            expires_at: expires.map(Millis),
            limits: rpm.map(|rpm| super::LimitOverride { requests_per_minute: Some(rpm), ..Default::default() }),
            owner: String::new(), ..NewKey::default()
        }
    }
}

proptest! {
    /// In any chain of keys that create keys, the last one grants nothing that the first one lacks.
    #[test]
    fn a_key_never_grants_what_its_issuer_lacks(issuer in any_new(), child in any_new()) {
        let issuer = Arc::new(create(issuer, &KeyIssuer::Operator).unwrap());
        if let Ok(child) = create(child, &KeyIssuer::Key(Arc::clone(&issuer))) {
            prop_assert!(child.scopes.iter().all(|scope| issuer.scopes.contains(scope)));
            prop_assert!(child.roles.iter().all(|role| issuer.roles.contains(role)));
            prop_assert!(child.plan_a <= issuer.plan_a && child.plan_b <= issuer.plan_b);
            prop_assert!(issuer.expires_at.is_none() || child.expires_at.is_some_and(|at| Some(at) <= issuer.expires_at));
            prop_assert!(issuer.budget_usd.is_none() || child.budget_usd.is_some_and(|usd| Some(usd) <= issuer.budget_usd));
            let rpm = |key: &KeyRecord| key.limits.as_ref().and_then(|limits| limits.requests_per_minute);
            prop_assert!(rpm(&issuer).is_none() || rpm(&child).is_some_and(|own| Some(own) <= rpm(&issuer)));
        }
    }
}

proptest! {
    /// A key revokes another one exactly if it has its scopes, roles and plans, or every right, or is the same.
    #[test]
    fn a_key_never_revokes_one_that_grants_more(issuer in any_new(), other in any_new()) {
        let issuer = Arc::new(KeyRecord { id: "key_2".into(), ..create(issuer, &KeyIssuer::Operator).unwrap() });
        let mut state = KeyState::default();
        let other = Arc::new(create(other, &KeyIssuer::Operator).unwrap());
        state.put(Arc::clone(&other));
        state.put(Arc::clone(&issuer));
        let has_all = other.scopes.iter().all(|scope| issuer.scopes.contains(scope))
            && other.roles.iter().all(|role| issuer.roles.contains(role))
            && other.plan_a <= issuer.plan_a && other.plan_b <= issuer.plan_b;
        let by = KeyIssuer::Key(Arc::clone(&issuer));
        let revoked = state.revoke("key_1", &by, NOW);
        prop_assert_eq!(revoked.is_ok(), has_all || issuer.roles.contains(&Role::SuperAdmin));
        prop_assert!(revoked.is_ok() || revoked.is_err_and(|error| error.kind == Kind::Forbidden));
        prop_assert!(state.revoke("key_2", &by, NOW).is_ok(), "its own");
        prop_assert!(state.revoke("key_1", &KeyIssuer::Operator, NOW).is_ok());
    }
}

#[test]
fn a_rotated_key_accepts_the_old_secret_during_the_grace_period_only() {
    let (old, new) = (Token::generate().unwrap(), Token::generate().unwrap());
    let mut state = KeyState::default();
    let record = state.create(named(vec![Scope::Chat]), &KeyIssuer::Operator, &old, "key_1".into(), NOW).unwrap();
    state.put(Arc::new(record));
    let grace = Duration::from_secs(60);
    let rotated = state.rotate("key_1", &KeyIssuer::Operator, &new.secret, grace, NOW).unwrap();
    let end = NOW.plus(grace);
    assert!(rotated.accepts(&new.secret, NOW) && rotated.accepts(&new.secret, end));
    assert!(rotated.accepts(&old.secret, Millis(end.0 - 1)) && !rotated.accepts(&old.secret, end));
    let immediate = state.rotate("key_1", &KeyIssuer::Operator, &new.secret, Duration::ZERO, NOW).unwrap();
    assert!(!immediate.accepts(&old.secret, NOW) && immediate.accepts(&new.secret, NOW));
    assert!(!immediate.accepts(&Token::generate().unwrap().secret, NOW));
}

#[test]
fn a_key_cannot_rotate_one_that_grants_more() {
    let mut state = KeyState::default();
    let strong = named(vec![Scope::Admin, Scope::Medical]);
    let token = Token::generate().unwrap();
    state.put(Arc::new(state.create(strong, &KeyIssuer::Operator, &token, "key_1".into(), NOW).unwrap()));
    let rotate = |issuer: &KeyRecord| {
        let issuer = KeyIssuer::Key(Arc::new(issuer.clone()));
        state.rotate("key_1", &issuer, &Token::generate().unwrap().secret, Duration::ZERO, NOW)
    };
    let weak = KeyRecord { id: "key_2".into(), ..create(named(vec![Scope::Admin]), &KeyIssuer::Operator).unwrap() };
    assert_eq!(rotate(&weak).unwrap_err().kind, Kind::Forbidden);
    assert!(rotate(&state.get("key_1").unwrap()).is_ok());
    assert!(state.rotate("key_9", &KeyIssuer::Operator, &token.secret, Duration::ZERO, NOW).is_err());
}

#[test]
fn invalid_requests_are_rejected_by_field() {
    for (new, field) in [
        (named(vec![]), "scopes"),
        (NewKey { name: " ".into(), ..named(vec![Scope::Chat]) }, "name"),
        (NewKey { expires_at: Some(NOW), ..named(vec![Scope::Chat]) }, "expires_at"),
        (NewKey { budget_usd: Some(f64::NAN), ..named(vec![Scope::Chat]) }, "budget_usd"),
    ] {
        let error = create(new, &KeyIssuer::Operator).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        assert_eq!(error.fields[0].loc, ["body", field]);
    }
}

#[test]
fn pages_are_sorted_newest_first_and_the_last_has_no_cursor() {
    let mut state = KeyState::default();
    for n in 0..5 {
        let token = Token::generate().unwrap();
        let record =
            state.create(named(vec![Scope::Chat]), &KeyIssuer::Operator, &token, format!("key_{n}"), NOW).unwrap();
        state.put(Arc::new(record));
    }
    let ids = |page: &KeyPage| page.keys.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
    let first = state.list(2, None);
    assert_eq!((ids(&first), first.next.as_deref()), (vec!["key_4".into(), "key_3".into()], Some("key_3")));
    let last = state.list(4, first.next.as_deref());
    assert_eq!((ids(&last).len(), last.next), (3, None));
}

/// A state with an issuer's key `key_2` and the key `key_1`.
fn state_of(issuer: NewKey, other: NewKey) -> (KeyState, KeyIssuer, NewKey) {
    let mut state = KeyState::default();
    let other = create(other, &KeyIssuer::Operator).unwrap();
    let issuer = Arc::new(KeyRecord { id: "key_2".into(), ..create(issuer, &KeyIssuer::Operator).unwrap() });
    let before = super::rights::grants(&other);
    state.put(Arc::new(other));
    state.put(Arc::clone(&issuer));
    (state, KeyIssuer::Key(issuer), before)
}

fn patch_to(new: &NewKey) -> KeyPatch {
    KeyPatch {
        scopes: Some(new.scopes.clone()),
        roles: Some(new.roles.clone()),
        plan_a: Some(new.plan_a),
        plan_b: Some(new.plan_b),
        limits: Some(new.limits.clone()),
        budget_usd: Some(new.budget_usd),
        expires_at: Some(new.expires_at),
        ..KeyPatch::default()
    }
}

proptest! {
    /// Whatever is edited, the new version grants a plain issuer's key nothing that the issuer lacks; and a super_admin
    /// adds no scope, role or plan that it lacks.
    #[test]
    fn an_edit_never_grants_what_its_issuer_lacks(issuer in any_new(), other in any_new(), new in any_new()) {
        let (state, by, before) = state_of(issuer, other);
        let KeyIssuer::Key(issuer) = &by else { unreachable!() };
        let Ok(edited) = state.edit("key_1", patch_to(&new), &by, IfMatch::Any, NOW) else { return Ok(()) };
        let added = edited.scopes.iter().filter(|scope| !before.scopes.contains(scope));
        prop_assert!(added.into_iter().all(|scope| issuer.scopes.contains(scope)));
        prop_assert!(edited.plan_b <= issuer.plan_b.max(before.plan_b));
        if issuer.roles.contains(&Role::SuperAdmin) || super::rights::grants(&edited) == before {
            return Ok(());
        }
        prop_assert!(before.scopes.iter().chain(&edited.scopes).all(|scope| issuer.scopes.contains(scope)));
        prop_assert!(before.roles.iter().chain(&edited.roles).all(|role| issuer.roles.contains(role)));
        prop_assert!(issuer.budget_usd.is_none() || edited.budget_usd.is_some_and(|usd| Some(usd) <= issuer.budget_usd));
        prop_assert!(issuer.expires_at.is_none() || edited.expires_at.is_some_and(|at| Some(at) <= issuer.expires_at));
    }
}

#[test]
fn an_edit_is_checked_against_the_version_and_changes_only_what_it_names() {
    let (state, _, before) = state_of(named(vec![Scope::Admin]), named(vec![Scope::Chat]));
    let edit = |patch, if_match| state.edit("key_1", patch, &KeyIssuer::Operator, if_match, NOW);
    let name = || KeyPatch { name: Some("other".into()), ..KeyPatch::default() };
    assert_eq!(edit(name(), IfMatch::Version(2)).unwrap_err().kind, Kind::PreconditionFailed);
    let edited = edit(name(), IfMatch::Version(1)).unwrap();
    assert_eq!((edited.version, super::rights::grants(&edited)), (2, NewKey { name: "other".into(), ..before }));
    assert_eq!(edit(KeyPatch::default(), IfMatch::Any).unwrap().version, 1, "nothing changes");
    let past = KeyPatch { expires_at: Some(Some(NOW)), ..KeyPatch::default() };
    assert_eq!(edit(past, IfMatch::Any).unwrap_err().fields[0].loc, ["body", "expires_at"]);
    let unknown = KeyPatch { team: Some(Some("team_1".into())), ..KeyPatch::default() };
    assert_eq!(edit(unknown, IfMatch::Any).unwrap_err().fields[0].loc, ["body", "team"]);
    let empty = KeyPatch { scopes: Some(vec![]), ..KeyPatch::default() };
    assert_eq!(edit(empty, IfMatch::Any).unwrap_err().fields[0].loc, ["body", "scopes"]);
    let missing = state.edit("key_9", name(), &KeyIssuer::Operator, IfMatch::Any, NOW);
    assert_eq!(missing.unwrap_err().kind, Kind::NotFound);
}

#[test]
fn a_member_of_a_team_neither_leaves_it_nor_changes_it() {
    let mut state = KeyState::default();
    let new = NewTeam { name: "research".into(), budget_usd: Some(5.0), ..NewTeam::default() };
    let team = state.create_team(new.clone(), &KeyIssuer::Operator, "team_1".into(), NOW).unwrap();
    state.put_team(Arc::clone(&team));
    assert_eq!(state.create_team(new, &KeyIssuer::Operator, "team_2".into(), NOW).unwrap_err().kind, Kind::Conflict);
    let of_team = NewKey { team: Some("team_1".into()), ..named(vec![Scope::Admin]) };
    let record = state.create(of_team, &KeyIssuer::Operator, &Token::generate().unwrap(), "key_1".into(), NOW);
    let record = Arc::new(record.unwrap());
    state.put(Arc::clone(&record));
    let member = KeyIssuer::Key(record);
    let kind = |error: Error| error.kind;
    let token = Token::generate().unwrap();
    let outside = state.create(named(vec![Scope::Admin]), &member, &token, "key_2".into(), NOW);
    assert_eq!(outside.map(drop).map_err(kind), Err(Kind::Forbidden));
    let leave = KeyPatch { team: Some(None), ..KeyPatch::default() };
    assert_eq!(state.edit("key_1", leave, &member, IfMatch::Any, NOW).map_err(kind), Err(Kind::Forbidden));
    let more = TeamPatch { budget_usd: Some(None), ..TeamPatch::default() };
    let edited = state.edit_team("team_1", more.clone(), &member, IfMatch::Any, NOW);
    assert_eq!(edited.map_err(kind), Err(Kind::Forbidden));
    assert_eq!(state.set_owner("o".into(), None, &member, NOW).map_err(kind), Err(Kind::Forbidden));
    let edited = state.edit_team("team_1", more, &KeyIssuer::Operator, IfMatch::Version(1), NOW).unwrap();
    assert_eq!((edited.budget_usd, edited.version), (None, 2));
    let delete = |state: &KeyState| state.delete_team("team_1", &KeyIssuer::Operator, IfMatch::Any).map_err(kind);
    assert_eq!(delete(&state).map(drop), Err(Kind::Conflict), "it has a key");
    state.put(state.revoke("key_1", &KeyIssuer::Operator, NOW).unwrap());
    assert!(delete(&state).is_ok());
}
