//! The quorum against a naive checker, and mutants that the checker must detect.

use muster_core::Millis;
use muster_core::guard::{QuorumRole, VetoingRule};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::super::state::{self, is_met};
use super::super::*;
use super::QuorumRole::{Operations, Security};
use super::{BOTH, NOW, PEOPLE, approve, decide, execute, facts, record};

/// A naive definition: some choice of one decision for each role, by people of whom no two count as one.
fn naive(record: &ApprovalRecord, facts: &Facts, now: Millis) -> bool {
    fn linked(record: &ApprovalRecord, facts: &Facts, now: Millis, one: &str, other: &str) -> bool {
        let mut reached = vec![one.to_owned()];
        loop {
            let mut more = Vec::new();
            let live = facts.delegations.iter().filter(|entry| now < entry.until);
            let live = live.map(|entry| (entry.from.clone(), entry.to.clone()));
            let used = record.decisions.iter();
            let used = used.filter_map(|entry| Some((entry.delegated_from.clone()?, entry.by.clone())));
            for (from, to) in live.chain(used) {
                if reached.contains(&from) && !reached.contains(&to) {
                    more.push(to);
                } else if reached.contains(&to) && !reached.contains(&from) {
                    more.push(from);
                }
            }
            if more.is_empty() {
                return reached.iter().any(|person| person == other);
            }
            reached.append(&mut more);
        }
    }
    let good = |person: &str, role: QuorumRole| {
        facts.people.get(person).is_some_and(|of| {
            of.active
                && !of.suspended
                && of.held.contains(&role)
                && (!facts.constituted || (of.is_decider && of.enrolled.contains(&role)))
        })
    };
    let present = |person: &str| {
        facts.people.get(person).is_some_and(|of| of.active && !of.suspended && (of.is_decider || !facts.constituted))
    };
    let eligible = |decision: &Decision, role: QuorumRole| {
        if decision.decision != DecisionKind::Approve || decision.role != Some(role) {
            return false;
        }
        let holder = decision.delegated_from.as_deref().unwrap_or(&decision.by);
        let delegated = decision.delegated_from.is_none()
            || facts
                .delegations
                .iter()
                .any(|one| one.from == holder && one.to == decision.by && one.role == role && now < one.until);
        delegated
            && good(holder, role)
            && present(&decision.by)
            && record.requester.concerned.iter().all(|concerned| {
                [holder, decision.by.as_str()].iter().all(|person| {
                    !linked(record, facts, now, concerned, person) && facts.are_independent(concerned, person)
                })
            })
    };
    fn choose<'a>(
        roles: &[QuorumRole],
        chosen: &mut Vec<&'a Decision>,
        decisions: &'a [Decision],
        eligible: &dyn Fn(&Decision, QuorumRole) -> bool,
        apart: &dyn Fn(&Decision, &Decision) -> bool,
    ) -> bool {
        let Some((role, rest)) = roles.split_first() else { return true };
        decisions.iter().any(|decision| {
            if !eligible(decision, *role) || !chosen.iter().all(|other| apart(other, decision)) {
                return false;
            }
            chosen.push(decision);
            let found = choose(rest, chosen, decisions, eligible, apart);
            chosen.pop();
            found
        })
    }
    let apart = |one: &Decision, other: &Decision| {
        !linked(record, facts, now, &one.by, &other.by) && facts.are_independent(&one.by, &other.by)
    };
    !record.quorum.is_empty() && choose(&record.quorum, &mut Vec::new(), &record.decisions, &eligible, &apart)
}

fn roles() -> impl Strategy<Value = Vec<QuorumRole>> {
    prop_oneof![
        Just(vec![]),
        Just(vec![Security]),
        Just(vec![Operations]),
        Just(vec![Security, Operations]),
        Just(vec![Security, Operations])
    ]
}

fn any_person() -> impl Strategy<Value = PersonFacts> {
    (roles(), roles(), prop::bool::weighted(0.9), prop::bool::weighted(0.1), prop::bool::weighted(0.9)).prop_map(
        |(held, enrolled, is_decider, suspended, active)| PersonFacts {
            held,
            enrolled,
            is_decider,
            suspended,
            active,
            is_super_admin: false,
        },
    )
}

fn index() -> impl Strategy<Value = usize> {
    0..PEOPLE.len()
}

fn role() -> impl Strategy<Value = QuorumRole> {
    prop_oneof![Just(Security), Just(Operations)]
}

/// People, delegations and dependencies at random.
fn any_facts() -> impl Strategy<Value = Facts> {
    let people = prop::collection::vec(any_person(), PEOPLE.len());
    let delegations = prop::collection::vec((index(), index(), role(), prop::bool::ANY), 0..3);
    let dependent = prop::collection::vec((index(), index()), 0..2);
    (prop::bool::weighted(0.8), people, delegations, dependent).prop_map(
        |(constituted, people, delegations, dependent)| {
            let mut facts = Facts { constituted, ..Facts::default() };
            facts.people = PEOPLE.iter().map(|id| (*id).to_owned()).zip(people).collect();
            facts.delegations = delegations
                .into_iter()
                .filter(|(from, to, ..)| from != to)
                .map(|(from, to, role, live)| DelegationFact {
                    from: PEOPLE[from].to_owned(),
                    to: PEOPLE[to].to_owned(),
                    role,
                    until: Millis(if live { NOW.0 + 1_000 } else { NOW.0 }),
                })
                .collect();
            for (one, other) in dependent.into_iter().filter(|(one, other)| one != other) {
                facts.relate(PEOPLE[one], PEOPLE[other]);
            }
            facts
        },
    )
}

/// A record with decisions that nobody checked, as if every check at the decision were missing.
fn any_record() -> impl Strategy<Value = ApprovalRecord> {
    let quorum = prop_oneof![
        3 => Just(vec![Security, Operations]),
        1 => Just(vec![Security]),
        1 => Just(vec![Security, Security]),
        1 => Just(vec![Security, Operations, Operations]),
    ];
    let decisions =
        prop::collection::vec((index(), role(), prop::bool::weighted(0.9), prop::option::weighted(0.2, index())), 0..6);
    (quorum, decisions).prop_map(|(quorum, decisions)| {
        let mut record = record(&quorum);
        record.decisions = decisions
            .into_iter()
            .map(|(by, role, approves, from)| Decision {
                by: PEOPLE[by].to_owned(),
                role: Some(role),
                decision: if approves { DecisionKind::Approve } else { DecisionKind::Reject },
                comment: None,
                at: NOW,
                delegated_from: from.filter(|from| *from != by).map(|from| PEOPLE[from].to_owned()),
                kid: None,
                nonce: None,
                signature: None,
            })
            .collect();
        record
    })
}

proptest! {
    #![proptest_config(Config::with_cases(4_000))]

    #[test]
    fn a_quorum_is_one_for_the_naive_checker_too(record in any_record(), facts in any_facts()) {
        let (met, naive) = (is_met(&record, &facts, NOW), naive(&record, &facts, NOW));
        prop_assert!(!met || naive, "met without a quorum: {record:?} {facts:?}");
        // Deciders who depend on each other are refused when they decide, so the order matters only here.
        if facts.dependent.is_empty() {
            prop_assert_eq!(met, naive);
        }
    }

    #[test]
    fn whatever_happens_nothing_is_executed_without_a_quorum_and_final_states_stay(
        facts in prop::collection::vec(any_facts(), 1..4),
        events in prop::collection::vec((0_u8..6, index(), role(), prop::option::weighted(0.2, index()), 0_u64..30_000), 1..24),
    ) {
        let mut record = record(&BOTH);
        for (number, (kind, who, role, from, later)) in events.into_iter().enumerate() {
            let facts = &facts[number % facts.len()];
            let (by, now) = (PEOPLE[who].to_owned(), Millis(NOW.0 + later));
            let event = match kind {
                0 => execute(),
                1 => ApprovalEvent::Withdraw { by },
                2 => ApprovalEvent::Tick,
                3 if who == 0 => ApprovalEvent::Cancel { reason: String::new() },
                4 if who == 0 => decide(&by, role, DecisionKind::Reject),
                _ => ApprovalEvent::Decide {
                    by,
                    decision: DecisionKind::Approve,
                    role,
                    delegated_from: from.map(|from| PEOPLE[from].to_owned()).filter(|from| from != PEOPLE[who]),
                    comment: None,
                    signed: SignedBy::default(),
                },
            };
            let before = record.clone();
            let Ok(after) = apply(&before, event, facts, now) else { continue };
            prop_assert!(!before.state.is_final(), "a final state changed: {before:?}");
            prop_assert_eq!(after.version, before.version + 1);
            prop_assert!(after.updated_at >= before.updated_at, "time ran back");
            if after.state == ApprovalState::Executed {
                prop_assert!(naive(&before, facts, after.updated_at), "executed without a quorum: {before:?} {facts:?}");
            }
            record = after;
        }
    }
}

/// An implementation of the quorum.
type Quorum = fn(&ApprovalRecord, &Facts) -> bool;

/// Returns how often an implementation finds a quorum where the naive checker finds none.
fn failures(implementation: Quorum) -> usize {
    let mut runner = TestRunner::deterministic();
    let cases = (0..3_000).map(|_| (any_record(), any_facts()).new_tree(&mut runner).unwrap().current());
    cases.filter(|(record, facts)| implementation(record, facts) && !naive(record, facts, NOW)).count()
}

#[test]
fn the_property_rejects_every_mutant_of_the_quorum() {
    let own: Quorum = |record, facts| is_met(record, facts, NOW);
    assert_eq!(failures(own), 0);
    let requester_not_compared: Quorum = |record, facts| {
        let mut record = record.clone();
        record.requester.concerned.clear();
        is_met(&record, facts, NOW)
    };
    let by_count: Quorum = |record, facts| state::counted(record, facts, NOW).len() >= record.quorum.len();
    let roles_only_at_the_decision: Quorum = |record, facts| {
        let mut facts = facts.clone();
        for person in facts.people.values_mut() {
            (person.held, person.enrolled) = (BOTH.to_vec(), BOTH.to_vec());
        }
        is_met(record, &facts, NOW)
    };
    let suspension_ignored: Quorum = |record, facts| {
        let mut facts = facts.clone();
        facts.people.values_mut().for_each(|person| person.suspended = false);
        is_met(record, &facts, NOW)
    };
    let delegates_counted_apart: Quorum = |record, facts| {
        let counted = state::counted(record, facts, NOW);
        let apart: Vec<_> = counted.into_iter().enumerate().map(|(number, (_, role))| (number, role)).collect();
        covered(&record.quorum, &apart).into_iter().all(|covered| covered)
    };
    for (name, mutant) in [
        ("requester not compared", requester_not_compared),
        ("quorum by count", by_count),
        ("roles only at the decision", roles_only_at_the_decision),
        ("suspension ignored", suspension_ignored),
        ("delegates counted apart", delegates_counted_apart),
    ] {
        assert!(failures(mutant) > 0, "{name}: no case detects it");
    }
}

/// Judges an execution under a rule that cannot be evaluated.
type Judge = fn(Result<bool, &'static str>) -> Vec<VetoingRule>;

fn state_under(judge: Judge) -> ApprovalState {
    let facts = facts(&[("usr_a", &[Security]), ("usr_b", &[Operations])]);
    let pending = apply(&record(&BOTH), approve("usr_a", Security), &facts, NOW).unwrap();
    let approved = apply(&pending, approve("usr_b", Operations), &facts, NOW).unwrap();
    let execute = ApprovalEvent::Execute {
        by: "usr_r".to_owned(),
        vetoes: judge(Err("the rule divides by zero")),
        policy: "p".to_owned(),
        outcome: Outcome::Ok,
        note: None,
    };
    apply(&approved, execute, &facts, NOW).unwrap().state
}

#[test]
fn a_rule_that_errs_vetoes_and_the_mutant_that_lets_it_pass_is_detected() {
    let own: Judge = |outcome| match outcome {
        Ok(false) => Vec::new(),
        Ok(true) | Err(_) => vec![VetoingRule { id: "broken".to_owned(), hard: false }],
    };
    let erring_rule_passes: Judge = |outcome| match outcome {
        Ok(false) | Err(_) => Vec::new(),
        Ok(true) => vec![VetoingRule { id: "broken".to_owned(), hard: false }],
    };
    assert_eq!(state_under(own), ApprovalState::Vetoed);
    assert_eq!(state_under(erring_rule_passes), ApprovalState::Executed, "the same check detects it");
}
