//! The endpoints of live connections. Pure.

use super::Subject;

/// An endpoint: the protocol is the same, the permitted clients differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `GET /api/v1/realtime`
    Feed,
    /// `GET /api/q62/dashboard/agents`
    Agents,
    /// No route: each text is sent back to its client, for conformance tests of the transport (`examples/ws_echo.rs`).
    Echo,
}

impl Endpoint {
    /// Returns whether a client is permitted at this endpoint.
    pub fn admits(self, subject: &Subject) -> bool {
        match self {
            Self::Feed => subject.may_listen(),
            Self::Agents => subject.may_watch_agents(),
            Self::Echo => true,
        }
    }

    /// Returns the channel that the server subscribes every client of this endpoint to, with a snapshot.
    pub const fn channel(self) -> Option<&'static str> {
        match self {
            Self::Feed | Self::Echo => None,
            Self::Agents => Some("agents"),
        }
    }
}
