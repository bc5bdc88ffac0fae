//! The rows of the matrix: each fault, when it occurs, and how the breaker classifies it.

use super::fixture::FirstProvider;
use super::support::upstream::UpstreamAction;
use super::support::wire::Wire;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Status500,
    Throttled,
    KeyRefused,
    ConnectionRefused,
    HangsBeforeHeaders,
    HangsBeforeContent,
    HangsBetweenDeltas,
    CutBeforeContent,
    CutAfterTen,
    Malformed,
    MalformedAfterTen,
    ErrorAtOnce,
    ErrorAfterTen,
}

/// When a fault occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTiming {
    /// Another provider can still answer.
    BeforeContent,
    /// The client has received ten deltas.
    AfterTen,
}

/// How the breaker records a fault: its class, the breaker's state, and the reason of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerExpectation {
    pub class: &'static str,
    pub state: &'static str,
    pub reason: &'static str,
}

/// Retry-After value of the throttled provider, in seconds.
pub const RETRY_AFTER: u64 = 7;

const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;

impl Fault {
    pub fn first(self, wire: Wire) -> FirstProvider {
        FirstProvider::Acts(match self {
            Self::Status500 => UpstreamAction::Status(500, "", BROKEN),
            Self::Throttled => UpstreamAction::Status(429, "retry-after: 7\r\n", wire.throttled()),
            Self::KeyRefused => UpstreamAction::Status(401, "", wire.bad_key()),
            Self::ConnectionRefused => return FirstProvider::Unreachable,
            Self::HangsBeforeHeaders => UpstreamAction::HangBeforeHeaders,
            Self::HangsBeforeContent => UpstreamAction::HangBeforeContent,
            Self::HangsBetweenDeltas => UpstreamAction::HangAfter(10),
            Self::CutBeforeContent => UpstreamAction::CutAfter(0),
            Self::CutAfterTen => UpstreamAction::CutAfter(10),
            Self::Malformed => UpstreamAction::Malformed,
            Self::MalformedAfterTen => UpstreamAction::MalformedAfter(10),
            Self::ErrorAtOnce => UpstreamAction::ErrorAfter(0),
            Self::ErrorAfterTen => UpstreamAction::ErrorAfter(10),
        })
    }

    /// A whole answer fails before anything of it is passed on.
    pub fn timing(self, streamed: bool) -> FaultTiming {
        match self {
            Self::HangsBetweenDeltas | Self::CutAfterTen | Self::MalformedAfterTen | Self::ErrorAfterTen
                if streamed =>
            {
                FaultTiming::AfterTen
            }
            _ => FaultTiming::BeforeContent,
        }
    }

    /// Whether the provider may have processed the request: it got it, and did not report an error.
    pub fn may_have_run(self) -> bool {
        !matches!(
            self,
            Self::Status500
                | Self::Throttled
                | Self::KeyRefused
                | Self::ConnectionRefused
                | Self::ErrorAtOnce
                | Self::ErrorAfterTen
        )
    }

    pub fn expected_breaker(self) -> BreakerExpectation {
        let (class, state, reason) = match self {
            Self::Throttled => ("throttled", "open", "throttled"),
            Self::KeyRefused => ("hard", "open", "rejected"),
            // One failure does not open the breaker.
            _ => ("transient", "closed", "started"),
        };
        BreakerExpectation { class, state, reason }
    }

    /// Only the bound under test is short, so that a busy machine exceeds no other. Each provider is tried once.
    pub fn chain(self) -> String {
        let bound = |of: &[Self]| if of.contains(&self) { 500 } else { 10_000 };
        format!(
            "retries = 0\nbreaker_min_calls = 1000\nconnect_timeout_ms = 10000\nheaders_timeout_ms = {}\n\
             first_delta_timeout_ms = {}\nbetween_deltas_timeout_ms = {}\ndeadline_ms = {}\n",
            bound(&[Self::HangsBeforeHeaders]),
            // For a whole answer it bounds the body.
            bound(&[Self::HangsBeforeContent, Self::HangsBetweenDeltas]),
            bound(&[Self::HangsBetweenDeltas]),
            30_000,
        )
    }
}
