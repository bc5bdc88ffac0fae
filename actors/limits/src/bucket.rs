//! A bucket: evaluates a request against all its rules at once, and keeps token reservations. Pure.

use std::collections::HashMap;
use std::time::Duration;

use super::log::{EventLog, Spend};
use super::published::{LEAST_GRANTED, MOST_GRANTED};
use super::rule::{LimitUnit, Rule};
use super::shard::AdmissionPart;
use super::view::{LimitView, RuleView};

/// Maximum number of unsettled reservations of a bucket; beyond it, the one with the earliest deadline is treated as
/// settled.
const MAX_HELD: usize = 4_096;

/// The part of what is left of a rule that may be granted in advance.
const GRANTED_PART: u64 = 256;

/// Estimated token usage of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Prompt tokens, counted; consumed as soon as the call is made.
    pub prompt: u64,
    /// Upper bound of further tokens (`max_tokens`, or the model's limit). 0 for calls that generate nothing.
    pub completion: u64,
}

impl Estimate {
    /// Returns the least amount that must be available for the call to make sense: its prompt and one token of output.
    /// Token rules do not apply to a call without tokens.
    fn least(&self) -> u64 {
        self.prompt.saturating_add(self.completion.min(1))
    }

    pub(super) fn most(&self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }
}

/// The charge of an admitted request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) spend: Spend,
    /// The event that contains it.
    event: u64,
    /// The reservation, if tokens were charged.
    pub(super) hold: Option<u64>,
}

/// Why a request was rejected. Nothing was charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The rule with the longest wait.
    pub(super) rule: Rule,
    /// Milliseconds until all rules would admit the request, provided that nothing else is admitted; the window's
    /// length if they never will because the limit itself is too small.
    pub(super) wait: u64,
}

#[derive(Debug)]
struct Held {
    event: u64,
    tokens: u64,
    deadline: u64,
}

/// The counters of a subject and category.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    pub(super) log: EventLog,
    held: HashMap<u64, Held>,
    next_hold: u64,
    /// Admissions granted in advance and not reported as taken; they count as used.
    outstanding: Spend,
}

impl Bucket {
    /// Creates a bucket. `first_hold` must be greater than every reservation number of an earlier incarnation.
    pub(super) fn new(log: EventLog, first_hold: u64) -> Self {
        Self { log, held: HashMap::new(), next_hold: first_hold, outstanding: Spend::default() }
    }

    /// Charges all rules, or rejects the request without charging any. Tokens are reserved according to the estimate,
    /// limited to what is available.
    pub(super) fn admit(
        &mut self,
        rules: &[Rule],
        part: AdmissionPart,
        estimate: Estimate,
        hold_for: Duration,
        now: u64,
    ) -> Result<Charge, Refusal> {
        self.advance_windows(rules, now);
        let (mut requests, mut tokens) = (0, None);
        let mut refusal: Option<Refusal> = None;
        for rule in rules {
            let used = self.used(rule);
            let needed = match (rule.unit, part) {
                (LimitUnit::Requests, AdmissionPart::Tokens) => 0,
                (LimitUnit::Requests, _) | (LimitUnit::Tokens, AdmissionPart::Head) => 1,
                (LimitUnit::Tokens, _) => estimate.least(),
            };
            if needed > 0 && used.saturating_add(needed) > rule.limit {
                let wait = self.wait(rule, used.saturating_add(needed) - rule.limit, now);
                refusal = refusal.filter(|other| other.wait >= wait).or(Some(Refusal { rule: *rule, wait }));
            }
            match (rule.unit, part) {
                (LimitUnit::Requests, AdmissionPart::Tokens) | (LimitUnit::Tokens, AdmissionPart::Head) => {}
                (LimitUnit::Requests, _) => requests = 1,
                (LimitUnit::Tokens, _) => {
                    let most = tokens.unwrap_or(estimate.most());
                    tokens = Some(most.min(rule.limit.saturating_sub(used)));
                }
            }
        }
        match refusal {
            Some(refusal) => Err(refusal),
            None => Ok(self.charge(Spend { requests, tokens: tokens.unwrap_or(0) }, hold_for, now)),
        }
    }

    fn used(&self, rule: &Rule) -> u64 {
        self.log.used(rule.unit, rule.window).saturating_add(self.outstanding.of(rule.unit))
    }

    /// Sets admissions of `each` aside, at most [`MOST_GRANTED`] and a small part of what is left of every rule. Returns
    /// their number and the number of the first reservation; `None` if too little is left.
    pub(super) fn set_aside(&mut self, rules: &[Rule], each: Spend) -> Option<(u32, u64)> {
        let of_rule = |rule: &Rule| {
            let part = rule.limit.saturating_sub(self.used(rule)) / GRANTED_PART;
            part.checked_div(each.of(rule.unit)).unwrap_or(u64::MAX)
        };
        let count = rules.iter().map(of_rule).min()?.min(MOST_GRANTED);
        if count < LEAST_GRANTED {
            return None;
        }
        let first_hold = self.next_hold;
        self.next_hold += count;
        self.outstanding = self.outstanding.plus(each.times(count));
        Some((u32::try_from(count).ok()?, first_hold))
    }

    /// Returns admissions that were set aside and not taken.
    pub(super) fn give_back(&mut self, count: u32, each: Spend) {
        self.outstanding = self.outstanding.minus(each.times(count.into()));
    }

    /// Charges an admission that was set aside and taken at `at`.
    pub(super) fn take(&mut self, each: Spend, tokens: u64, hold: u64, hold_for: Duration, at: u64) {
        self.give_back(1, each);
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        // Another one may have been charged since, by a report that arrived first.
        let event = self.log.push(at.max(self.log.newest_at()), u32::from(each.requests > 0), tokens);
        if tokens > 0 {
            self.insert_hold(hold, event, tokens.into(), hold_for, at);
        }
    }

    pub(super) fn outstanding(&self) -> Spend {
        self.outstanding
    }

    fn advance_windows(&mut self, rules: &[Rule], now: u64) {
        self.log.advance(now);
        for rule in rules {
            self.log.watch(rule.window, now);
        }
    }

    fn wait(&self, rule: &Rule, excess: u64, now: u64) -> u64 {
        let at = self.log.frees(rule.unit, rule.window, excess);
        at.map_or(rule.window.millis(), |at| at.saturating_sub(now))
    }

    fn charge(&mut self, spend: Spend, hold_for: Duration, now: u64) -> Charge {
        // No call has four thousand million tokens: bodies are limited to a few MiB.
        let tokens = u32::try_from(spend.tokens).unwrap_or(u32::MAX);
        let spend = Spend { requests: spend.requests, tokens: tokens.into() };
        if spend == Spend::default() {
            return Charge { spend, event: self.log.next(), hold: None };
        }
        let event = self.log.push(now, u32::from(spend.requests > 0), tokens);
        let hold = (tokens > 0).then(|| self.hold(event, spend.tokens, hold_for, now));
        Charge { spend, event, hold }
    }

    fn hold(&mut self, event: u64, tokens: u64, hold_for: Duration, now: u64) -> u64 {
        let id = self.next_hold;
        self.next_hold += 1;
        self.insert_hold(id, event, tokens, hold_for, now);
        id
    }

    fn insert_hold(&mut self, id: u64, event: u64, tokens: u64, hold_for: Duration, now: u64) {
        if self.held.len() >= MAX_HELD {
            self.drop_past_holds(now);
        }
        if self.held.len() >= MAX_HELD
            && let Some(first) = self.held.iter().min_by_key(|(_, held)| held.deadline).map(|(&id, _)| id)
        {
            self.held.remove(&first);
        }
        let deadline = now.saturating_add(u64::try_from(hold_for.as_millis()).unwrap_or(u64::MAX));
        self.held.insert(id, Held { event, tokens, deadline });
    }

    /// After its deadline a reservation is treated as settled at its estimate.
    fn drop_past_holds(&mut self, now: u64) {
        self.held.retain(|_, held| held.deadline > now);
    }

    /// Reverts an admission that was never acknowledged.
    pub(super) fn undo(&mut self, charge: &Charge) {
        if let Some(hold) = charge.hold {
            self.held.remove(&hold);
        }
        self.log.refund(charge.event, charge.spend);
    }

    /// Replaces a reservation by the actual usage; returns the additional charge.
    ///
    /// If less was used, the difference is refunded where it was charged. If more was used, it is charged now, even if
    /// a window then exceeds its limit: the tokens have been consumed, and later requests wait for them. A reservation
    /// that was settled before or is past its deadline keeps its estimate.
    pub(super) fn settle(&mut self, hold: u64, spent: u64, now: u64) -> Spend {
        let Some(held) = self.held.remove(&hold).filter(|held| now < held.deadline) else { return Spend::default() };
        self.log.advance(now);
        if spent <= held.tokens {
            self.log.refund(held.event, Spend { requests: 0, tokens: held.tokens - spent });
            return Spend::default();
        }
        let more = u32::try_from(spent - held.tokens).unwrap_or(u32::MAX);
        self.log.push(now, 0, more);
        Spend { requests: 0, tokens: more.into() }
    }

    /// Returns the current state of the rules.
    pub(super) fn view(&mut self, rules: &[Rule], now: u64) -> LimitView {
        self.advance_windows(rules, now);
        LimitView { rules: rules.iter().map(|rule| self.rule_view(rule, now)).collect() }
    }

    fn rule_view(&self, rule: &Rule, now: u64) -> RuleView {
        let full_again = self.log.full_again(rule.unit, rule.window);
        let more_at = self.log.frees(rule.unit, rule.window, 1);
        RuleView {
            rule: *rule,
            remaining: rule.limit.saturating_sub(self.used(rule)),
            reset: full_again.unwrap_or(now).div_ceil(1000),
            more_in: more_at.map_or(0, |at| at.saturating_sub(now).div_ceil(1000)),
        }
    }

    /// Returns whether no reservation is open.
    pub(super) fn is_settled(&mut self, now: u64) -> bool {
        self.drop_past_holds(now);
        self.held.is_empty()
    }
}
