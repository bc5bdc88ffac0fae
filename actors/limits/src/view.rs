//! The state of limits as reported to clients.

use serde::Serialize;

use super::rule::{LimitUnit, Rule};

/// State of a rule for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuleView {
    /// The rule.
    pub rule: Rule,
    /// Amount that can still be admitted now.
    pub remaining: u64,
    /// Unix seconds, rounded up, at which the window is empty again if nothing more is admitted; now if it is empty.
    pub reset: u64,
    /// Seconds, rounded up, until more becomes available; 0 if everything is.
    pub more_in: u64,
}

/// State of every rule that applied to a request. Empty if the subject is unlimited: then no headers are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LimitView {
    /// State of each rule.
    pub rules: Vec<RuleView>,
}

impl LimitView {
    /// Returns the tightest rule for requests, for the `X-RateLimit-*` headers.
    pub fn requests(&self) -> Option<&RuleView> {
        self.tightest(LimitUnit::Requests)
    }

    /// Returns the tightest rule for tokens.
    pub fn tokens(&self) -> Option<&RuleView> {
        self.tightest(LimitUnit::Tokens)
    }

    /// Returns the rule with the least remaining amount; among equals, the one that takes longest to be empty again.
    fn tightest(&self, unit: LimitUnit) -> Option<&RuleView> {
        let of_unit = self.rules.iter().filter(|view| view.rule.unit == unit);
        of_unit.min_by_key(|view| (view.remaining, std::cmp::Reverse(view.reset)))
    }
}
