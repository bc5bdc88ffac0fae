//! The rows of the matrix: every way to break, when it shows, and what it means.

use super::house::First;
use super::support::upstream::Act;
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

/// When a fault shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Another provider can still answer.
    BeforeContent,
    /// The client has ten deltas.
    AfterTen,
}

/// How the breaker takes a fault: the class it notes, its state, and why it is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lesson {
    pub class: &'static str,
    pub state: &'static str,
    pub reason: &'static str,
}

/// Seconds that the throttled provider asks for.
pub const RETRY_AFTER: u64 = 7;

const BROKEN: &str = r#"{"error": {"message": "upstream is unwell"}}"#;

impl Fault {
    pub fn first(self, wire: Wire) -> First {
        First::Does(match self {
            Self::Status500 => Act::Status(500, "", BROKEN),
            Self::Throttled => Act::Status(429, "retry-after: 7\r\n", wire.throttled()),
            Self::KeyRefused => Act::Status(401, "", wire.bad_key()),
            Self::ConnectionRefused => return First::RefusesConnections,
            Self::HangsBeforeHeaders => Act::HangBeforeHeaders,
            Self::HangsBeforeContent => Act::HangBeforeContent,
            Self::HangsBetweenDeltas => Act::HangAfter(10),
            Self::CutBeforeContent => Act::CutAfter(0),
            Self::CutAfterTen => Act::CutAfter(10),
            Self::Malformed => Act::Malformed,
            Self::MalformedAfterTen => Act::MalformedAfter(10),
            Self::ErrorAtOnce => Act::ErrorAfter(0),
            Self::ErrorAfterTen => Act::ErrorAfter(10),
        })
    }

    /// A whole answer breaks before anything of it is passed on.
    pub fn shows(self, streamed: bool) -> Shows {
        match self {
            Self::HangsBetweenDeltas | Self::CutAfterTen | Self::MalformedAfterTen | Self::ErrorAfterTen
                if streamed =>
            {
                Shows::AfterTen
            }
            _ => Shows::BeforeContent,
        }
    }

    pub fn lesson(self) -> Lesson {
        let (class, state, reason) = match self {
            Self::Throttled => ("throttled", "open", "throttled"),
            Self::KeyRefused => ("hard", "open", "rejected"),
            // One failure is none too many.
            _ => ("transient", "closed", "started"),
        };
        Lesson { class, state, reason }
    }

    /// Only the bound that is to be run into is short: a busy machine runs into no other. Each provider is tried once.
    pub fn chain(self) -> String {
        let bound = |of: &[Self]| if of.contains(&self) { 500 } else { 10_000 };
        format!(
            "retries = 0\nbreaker_min_calls = 1000\nconnect_timeout_ms = 10000\nheaders_timeout_ms = {}\n\
             first_delta_timeout_ms = {}\nbetween_deltas_timeout_ms = {}\ndeadline_ms = {}\n",
            bound(&[Self::HangsBeforeHeaders]),
            // Of a whole answer it bounds the body.
            bound(&[Self::HangsBeforeContent, Self::HangsBetweenDeltas]),
            bound(&[Self::HangsBetweenDeltas]),
            30_000,
        )
    }
}
