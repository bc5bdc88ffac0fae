//! The circuit breaker as a pure state machine: time (since any fixed origin) and chance are arguments.
//!
//! Closed: every call passes, failures are counted. Open: none passes before the cool-down is over. Half-open: exactly
//! one passes, the probe; what becomes of it decides. Each reopening doubles the cool-down, until the breaker has held
//! closed for a whole window.

use std::time::Duration;

use super::window::{Tally, Window};

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerOptions {
    /// Over which time the failure share is taken.
    pub window: Duration,
    /// Opens at this share of failures, 0 to 1, ...
    pub failure_share: f64,
    /// ... once the window holds this many calls ...
    pub min_calls: u32,
    /// ... and at this many failures in a row, so that a provider that is seldom asked can open too.
    pub consecutive_failures: u32,
    pub first_cooldown: Duration,
    pub max_cooldown: Duration,
    /// After a refused key or an unpaid bill: only an operator mends that.
    pub hard_cooldown: Duration,
    /// A probe that was not reported by then is given up, and another is let through.
    pub probe_lease: Duration,
}

impl Default for BreakerOptions {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(60),
            failure_share: 0.5,
            min_calls: 10,
            consecutive_failures: 5,
            first_cooldown: Duration::from_secs(5),
            max_cooldown: Duration::from_secs(120),
            hard_cooldown: Duration::from_secs(300),
            probe_lease: Duration::from_secs(75),
        }
    }
}

/// The shortest cool-down, however short a `Retry-After` is.
pub const MIN_COOLDOWN: Duration = Duration::from_secs(1);
/// The longest, however long a `Retry-After` is.
pub const MAX_COOLDOWN: Duration = Duration::from_secs(24 * 3600);
/// What a caller is told while a probe is in flight.
pub const PROBE_WAIT: Duration = Duration::from_secs(1);

/// What a breaker lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

/// Why the state is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Started,
    FailureShare,
    ConsecutiveFailures,
    Throttled,
    /// Its key or its account was refused.
    Rejected,
    ProbeFailed,
    CooldownOver,
    ProbeSucceeded,
}

/// Leave for one call. To be reported once; a probe may be reported `Alive` before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub number: u64,
    /// How often the breaker had opened by then: news of an earlier time does not count.
    epoch: u64,
    pub probe: bool,
}

/// The answer to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Granted(Grant),
    Refused { retry_in: Duration },
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has begun to answer; the call's end is reported later.
    Alive,
    Success,
    Failure {
        retry_after: Option<Duration>,
    },
    Throttled {
        retry_after: Option<Duration>,
    },
    Hard,
    /// The client's fault: the provider is well.
    ClientFault,
    /// Nothing was learned: the caller went away, or nothing was asked of the provider.
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Closed { since: Duration },
    Open { until: Duration },
    HalfOpen { probe: Option<Probe> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    number: u64,
    lease_until: Duration,
}

/// A breaker. Small and of constant size: a copy of it is its snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breaker {
    options: BreakerOptions,
    phase: Phase,
    reason: Reason,
    window: Window,
    consecutive: u32,
    /// Openings since it last held for a whole window.
    streak: u32,
    opened_count: u64,
    granted: u64,
}

impl Breaker {
    pub fn new(options: BreakerOptions) -> Self {
        Self {
            options,
            phase: Phase::Closed { since: Duration::ZERO },
            reason: Reason::Started,
            window: Window::new(options.window),
            consecutive: 0,
            streak: 0,
            opened_count: 0,
            granted: 0,
        }
    }

    pub fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    pub fn reason(&self) -> Reason {
        self.reason
    }

    pub fn opened_count(&self) -> u64 {
        self.opened_count
    }

    pub fn tally(&self, now: Duration) -> Tally {
        self.window.tally(now)
    }

    /// When an open breaker lets its probe through.
    pub fn cooldown_until(&self) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } => Some(until),
            Phase::Closed { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// How long a caller would have to wait: `None` where it would be let through now.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } if now < until => Some(until - now),
            Phase::HalfOpen { probe: Some(probe) } if now < probe.lease_until => Some(PROBE_WAIT),
            Phase::Closed { .. } | Phase::Open { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// Leave that needs no decision: a closed breaker lets everyone through. `None` where one has to ask.
    pub fn open_door(&self) -> Option<Grant> {
        let closed = matches!(self.phase, Phase::Closed { .. });
        // Numbers tell probes apart, and no probe has this one.
        closed.then_some(Grant { number: 0, epoch: self.opened_count, probe: false })
    }

    /// Asks for leave to call.
    pub fn admit(&mut self, now: Duration) -> Admission {
        if let Some(retry_in) = self.wait(now) {
            return Admission::Refused { retry_in };
        }
        self.granted += 1;
        let number = self.granted;
        let probe = !matches!(self.phase, Phase::Closed { .. });
        if probe {
            if matches!(self.phase, Phase::Open { .. }) {
                self.reason = Reason::CooldownOver;
            }
            let lease_until = now.saturating_add(self.options.probe_lease);
            self.phase = Phase::HalfOpen { probe: Some(Probe { number, lease_until }) };
        }
        Admission::Granted(Grant { number, epoch: self.opened_count, probe })
    }

    /// Learns what became of a call. `jitter` in 0..1 spreads the cool-downs of several servers.
    pub fn report(&mut self, now: Duration, grant: Grant, outcome: Outcome, jitter: f64) {
        match self.phase {
            Phase::HalfOpen { probe: Some(probe) } if probe.number == grant.number => {
                self.judge_probe(now, outcome, jitter);
            }
            Phase::Closed { .. } if grant.epoch == self.opened_count => self.count(now, outcome, jitter),
            Phase::Open { until } => self.prolong(now, until, outcome),
            // Granted before it last opened: its news is old.
            Phase::Closed { .. } | Phase::HalfOpen { .. } => {}
        }
    }

    fn judge_probe(&mut self, now: Duration, outcome: Outcome, jitter: f64) {
        match outcome {
            Outcome::Alive | Outcome::Success | Outcome::ClientFault => {
                self.phase = Phase::Closed { since: now };
                self.reason = Reason::ProbeSucceeded;
                self.window.clear();
                self.consecutive = 0;
                if outcome == Outcome::Success {
                    self.window.record(now, 0);
                }
            }
            Outcome::Cancelled => self.phase = Phase::HalfOpen { probe: None },
            Outcome::Failure { retry_after } => {
                self.window.record(now, 1);
                self.open(now, Reason::ProbeFailed, retry_after.unwrap_or_default(), jitter);
            }
            Outcome::Throttled { retry_after } => self.throttle(now, retry_after, jitter),
            Outcome::Hard => self.reject(now, jitter),
        }
    }

    fn count(&mut self, now: Duration, outcome: Outcome, jitter: f64) {
        match outcome {
            Outcome::Success => {
                self.window.record(now, 0);
                self.consecutive = 0;
            }
            Outcome::Failure { retry_after } => {
                self.window.record(now, 1);
                self.consecutive = self.consecutive.saturating_add(1);
                let tally = self.tally(now);
                let floor = retry_after.unwrap_or_default();
                if self.consecutive >= self.options.consecutive_failures {
                    self.open(now, Reason::ConsecutiveFailures, floor, jitter);
                } else if tally.calls >= self.options.min_calls && tally.failure_share() >= self.options.failure_share {
                    self.open(now, Reason::FailureShare, floor, jitter);
                }
            }
            Outcome::Throttled { retry_after } => self.throttle(now, retry_after, jitter),
            Outcome::Hard => self.reject(now, jitter),
            Outcome::Alive | Outcome::ClientFault | Outcome::Cancelled => {}
        }
    }

    /// The provider says when it wants to be asked again: the first time it is taken at its word, then the growing
    /// cool-down applies where that is longer.
    fn throttle(&mut self, now: Duration, retry_after: Option<Duration>, jitter: f64) {
        self.window.record(now, 1);
        self.settle_streak(now);
        match retry_after {
            Some(wait) if self.streak == 0 => self.open_for(now, Reason::Throttled, wait),
            wait => self.open(now, Reason::Throttled, wait.unwrap_or_default(), jitter),
        }
    }

    fn reject(&mut self, now: Duration, jitter: f64) {
        self.window.record(now, 1);
        self.open(now, Reason::Rejected, self.options.hard_cooldown, jitter);
    }

    /// A call that was still out when the breaker opened may say that it is to stay so for longer.
    fn prolong(&mut self, now: Duration, until: Duration, outcome: Outcome) {
        let wait = match outcome {
            Outcome::Throttled { retry_after } => retry_after.unwrap_or_default(),
            Outcome::Hard => self.options.hard_cooldown,
            Outcome::Alive | Outcome::Success | Outcome::Failure { .. } | Outcome::ClientFault | Outcome::Cancelled => {
                return;
            }
        };
        self.phase = Phase::Open { until: until.max(now.saturating_add(wait.min(MAX_COOLDOWN))) };
    }

    fn open(&mut self, now: Duration, reason: Reason, floor: Duration, jitter: f64) {
        self.settle_streak(now);
        // 16 doublings of a second are 18 hours: past any cap.
        let doubled = self.options.first_cooldown.saturating_mul(1 << self.streak.min(16));
        let spread = 0.8 + 0.4 * jitter.clamp(0.0, 1.0);
        let longest = self.options.max_cooldown.min(MAX_COOLDOWN);
        let cooldown = doubled.min(longest).mul_f64(spread).min(longest);
        self.open_for(now, reason, cooldown.max(floor));
    }

    fn open_for(&mut self, now: Duration, reason: Reason, cooldown: Duration) {
        let until = now.saturating_add(cooldown.clamp(MIN_COOLDOWN, MAX_COOLDOWN));
        self.phase = Phase::Open { until };
        self.reason = reason;
        self.streak = self.streak.saturating_add(1);
        self.opened_count += 1;
        self.consecutive = 0;
    }

    fn settle_streak(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Closed { since } if now.saturating_sub(since) >= self.options.window) {
            self.streak = 0;
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
