//! What the state machine knows about people at the time of an event. Plain values.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::Millis;
use muster_core::guard::QuorumRole;

/// A person at the time of an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonFacts {
    /// Quorum roles that the person's role of the server holds now.
    pub held: Vec<QuorumRole>,
    /// Roles for which the person is enrolled as a decider.
    pub enrolled: Vec<QuorumRole>,
    /// Whether the person is a decider.
    pub is_decider: bool,
    /// Whether the decider is suspended because another changed the account.
    pub suspended: bool,
    /// Whether the account may log in.
    pub active: bool,
    /// Whether the person has the role `super_admin`.
    pub is_super_admin: bool,
}

/// A delegation of a role that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegationFact {
    /// Who delegates.
    pub from: String,
    /// Who decides instead.
    pub to: String,
    /// The role.
    pub role: QuorumRole,
    /// Time until which it is in force.
    pub until: Millis,
}

/// Everything about people that an event depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether only enrolled deciders decide.
    pub constituted: bool,
    /// The people who decide, have decided, or are concerned. Nobody else exists.
    pub people: BTreeMap<String, PersonFacts>,
    /// Pairs of people who are not independent, in order.
    pub dependent: BTreeSet<(String, String)>,
    /// Delegations that were not withdrawn.
    pub delegations: Vec<DelegationFact>,
}

impl Facts {
    /// Returns whether two people are independent of each other.
    pub fn are_independent(&self, one: &str, other: &str) -> bool {
        let pair = if one <= other { (one, other) } else { (other, one) };
        !self.dependent.iter().any(|(first, second)| (first.as_str(), second.as_str()) == pair)
    }

    /// Adds a pair of people who are not independent.
    pub fn relate(&mut self, one: &str, other: &str) {
        let pair = if one <= other { (one, other) } else { (other, one) };
        self.dependent.insert((pair.0.to_owned(), pair.1.to_owned()));
    }

    /// Returns whether a person may decide at all now: an account in use and, once there is a constitution, a decider who
    /// is not suspended.
    pub(super) fn may_decide(&self, person: &str) -> bool {
        self.people
            .get(person)
            .is_some_and(|facts| facts.active && !facts.suspended && (facts.is_decider || !self.constituted))
    }

    /// Returns whether a person has a role now: by the role of the server and, once there is a constitution, by enrolment.
    pub(super) fn has_role(&self, person: &str, role: QuorumRole) -> bool {
        self.people
            .get(person)
            .is_some_and(|facts| facts.held.contains(&role) && (!self.constituted || facts.enrolled.contains(&role)))
    }

    /// Returns whether a delegation of a role is in force.
    pub(super) fn is_delegated(&self, from: &str, to: &str, role: QuorumRole, now: Millis) -> bool {
        self.in_force(now).any(|one| one.from == from && one.to == to && one.role == role)
    }

    /// Returns the delegations in force.
    pub(super) fn in_force(&self, now: Millis) -> impl Iterator<Item = &DelegationFact> {
        self.delegations.iter().filter(move |one| now < one.until)
    }
}
