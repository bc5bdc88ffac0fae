//! The circuit breaker as a pure state machine: time (since any fixed origin) and jitter are arguments.
//!
//! Closed: every call is admitted, and failures are counted. Open: no call is admitted until the cool-down is over.
//! Half-open: exactly one call, the probe, is admitted, and its outcome decides. Each reopening doubles the cool-down
//! until the breaker has stayed closed for a whole window.

use std::time::Duration;

use super::window::{Tally, Window};

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerOptions {
    /// Period over which the share of failures is computed.
    pub window: Duration,
    /// Opens at this share of failures, 0 to 1, ...
    pub failure_share: f64,
    /// ... once the window holds this many calls, ...
    pub min_calls: u32,
    /// ... and after this many consecutive failures, so that a rarely called provider can open too.
    pub consecutive_failures: u32,
    /// Cool-down of the first opening, before jitter.
    pub first_cooldown: Duration,
    /// Upper bound of the doubled cool-down.
    pub max_cooldown: Duration,
    /// Cool-down after a rejected key or an unpaid bill, which only an operator can fix.
    pub hard_cooldown: Duration,
    /// Time after which an unreported probe is abandoned and another is admitted.
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

/// Lower bound of a cool-down, even if `Retry-After` is shorter.
pub const MIN_COOLDOWN: Duration = Duration::from_secs(1);
/// Upper bound of a cool-down, even if `Retry-After` is longer.
pub const MAX_COOLDOWN: Duration = Duration::from_secs(24 * 3600);
/// Retry time returned to callers while a probe is in progress.
pub const PROBE_WAIT: Duration = Duration::from_secs(1);
/// Where no other provider could answer, one of this many refused calls is made although the breaker is open.
pub const PANIC_EVERY: u32 = 10;

/// State of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerState {
    /// Every call is admitted.
    Closed,
    /// No call is admitted until the cool-down is over.
    Open,
    /// One probe is admitted.
    HalfOpen,
}

/// Reason of the current state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The breaker has not changed state since it was created.
    Started,
    /// The share of failures in the window reached its limit.
    FailureShare,
    /// Too many consecutive failures.
    ConsecutiveFailures,
    /// The provider returned 429.
    Throttled,
    /// The provider rejected our key or account.
    Rejected,
    /// The probe failed.
    ProbeFailed,
    /// The cool-down is over; the breaker is half-open.
    CooldownOver,
    /// The probe succeeded.
    ProbeSucceeded,
}

/// Admission of one call. Its outcome is reported once; a probe may be reported `Alive` before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Number of the call; it identifies a probe.
    pub number: u64,
    /// Number of openings before this call: reports from an earlier epoch do not count.
    epoch: u64,
    /// Whether this call is the probe of a half-open breaker.
    pub probe: bool,
    /// Whether this call is made although the breaker is open.
    pub forced: bool,
}

impl Grant {
    /// A call under a breaker that has never opened.
    pub fn first() -> Self {
        Self { number: 0, epoch: 0, probe: false, forced: false }
    }
}

/// Decision about one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The call may be made.
    Granted(Grant),
    /// The call must not be made.
    Refused {
        /// When to try again.
        retry_in: Duration,
    },
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The provider has begun to answer; the end of the call is reported later.
    Alive,
    /// The call succeeded.
    Success,
    /// A transient failure.
    Failure {
        /// Wait requested by the provider.
        retry_after: Option<Duration>,
    },
    /// The provider returned 429.
    Throttled {
        /// Wait requested by the provider.
        retry_after: Option<Duration>,
    },
    /// The provider rejected our key or account.
    Hard,
    /// The request was at fault; the provider is healthy.
    ClientFault,
    /// No information: the caller left, or the provider was not called.
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

/// A circuit breaker. Small and of constant size: copying it takes a snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Breaker {
    options: BreakerOptions,
    phase: Phase,
    reason: Reason,
    window: Window,
    consecutive: u32,
    /// Openings since it last stayed closed for a whole window.
    streak: u32,
    opened_count: u64,
    granted: u64,
    /// Calls refused since it last opened, of those that nothing else could answer.
    refused: u32,
}

impl Breaker {
    /// Creates a closed breaker.
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
            refused: 0,
        }
    }

    /// Returns the current state.
    pub fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Returns the reason of the current state.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns how often the breaker has opened.
    pub fn opened_count(&self) -> u64 {
        self.opened_count
    }

    /// Returns the calls and failures of the current window.
    pub fn tally(&self, now: Duration) -> Tally {
        self.window.tally(now)
    }

    /// Returns when an open breaker admits its probe.
    pub fn cooldown_until(&self) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } => Some(until),
            Phase::Closed { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// Returns how long a caller has to wait; `None` if a call would be admitted now.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } if now < until => Some(until - now),
            Phase::HalfOpen { probe: Some(probe) } if now < probe.lease_until => Some(PROBE_WAIT),
            Phase::Closed { .. } | Phase::Open { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// Admits a call without a state change, which only a closed breaker allows; `None` if [`admit`](Self::admit) must
    /// decide.
    pub fn admit_closed(&self) -> Option<Grant> {
        let closed = matches!(self.phase, Phase::Closed { .. });
        // Numbers identify probes; no probe has number 0.
        closed.then_some(Grant { number: 0, epoch: self.opened_count, probe: false, forced: false })
    }

    /// Decides whether a call may be made.
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
        Admission::Granted(Grant { number, epoch: self.opened_count, probe, forced: false })
    }

    /// Admits one of [`PANIC_EVERY`] calls although the breaker is open, for a provider that alone could answer; every
    /// call if it is closed. `None` refuses the call: always while the provider's own `Retry-After` lasts.
    pub fn admit_despite_open(&mut self, now: Duration) -> Option<Grant> {
        if self.wait(now).is_none() {
            return match self.admit(now) {
                Admission::Granted(grant) => Some(grant),
                Admission::Refused { .. } => None,
            };
        }
        self.refused = self.refused.saturating_add(1);
        // While a probe is in progress, its outcome is waited for.
        let open = matches!(self.phase, Phase::Open { .. });
        let passes = open && self.reason != Reason::Throttled && self.refused.is_multiple_of(PANIC_EVERY);
        passes.then_some(Grant { number: 0, epoch: self.opened_count, probe: false, forced: true })
    }

    /// Applies the outcome of a call. `jitter` in `0..1` spreads the cool-downs of several servers.
    pub fn report(&mut self, now: Duration, grant: Grant, outcome: Outcome, jitter: f64) {
        match self.phase {
            Phase::HalfOpen { probe: Some(probe) } if probe.number == grant.number => {
                self.apply_probe_outcome(now, outcome, jitter);
            }
            // A probe that outlasted its lease, or a call made although the breaker was open: an answer is good news.
            Phase::HalfOpen { .. } | Phase::Open { .. }
                if (grant.probe || grant.forced) && grant.epoch == self.opened_count && answers(outcome) =>
            {
                self.apply_probe_outcome(now, outcome, jitter);
            }
            Phase::Closed { .. } if grant.epoch == self.opened_count => self.count(now, outcome, jitter),
            Phase::Open { until } => self.prolong(now, until, outcome),
            // Admitted before the breaker last opened: the report is outdated.
            Phase::Closed { .. } | Phase::HalfOpen { .. } => {}
        }
    }

    fn apply_probe_outcome(&mut self, now: Duration, outcome: Outcome, jitter: f64) {
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

    /// Opens after throttling. The first time the provider's `Retry-After` is used as it is; after that the growing
    /// cool-down applies if it is longer.
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

    /// Extends an open breaker's cool-down on the report of a call that was in progress when it opened.
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
        // 16 doublings of a second are 18 hours, beyond any cap.
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
        self.refused = 0;
        self.consecutive = 0;
    }

    fn settle_streak(&mut self, now: Duration) {
        if matches!(self.phase, Phase::Closed { since } if now.saturating_sub(since) >= self.options.window) {
            self.streak = 0;
        }
    }
}

/// Whether the provider answered.
fn answers(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Alive | Outcome::Success | Outcome::ClientFault)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
