//! What a client is told of its limits.

use serde::Serialize;

use super::rule::{Rule, Unit};

/// One rule as it stands for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RuleView {
    pub rule: Rule,
    /// How much may still be admitted now.
    pub remaining: u64,
    /// Unix seconds, rounded up, at which the window is full again if nothing more is admitted; now where it is.
    pub reset: u64,
    /// Seconds, rounded up, until more becomes available; 0 where all of it is.
    pub more_in: u64,
}

/// Every rule that a request was judged by. Empty where the subject is unlimited: then no header is due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LimitView {
    pub rules: Vec<RuleView>,
}

impl LimitView {
    /// The tightest rule for requests, for the `X-RateLimit-*` headers.
    pub fn requests(&self) -> Option<&RuleView> {
        self.tightest(Unit::Requests)
    }

    /// The tightest rule for tokens.
    pub fn tokens(&self) -> Option<&RuleView> {
        self.tightest(Unit::Tokens)
    }

    /// The one with the least remaining; of equals the one that takes longest to be full again.
    fn tightest(&self, unit: Unit) -> Option<&RuleView> {
        let of_unit = self.rules.iter().filter(|view| view.rule.unit == unit);
        of_unit.min_by_key(|view| (view.remaining, std::cmp::Reverse(view.reset)))
    }
}
