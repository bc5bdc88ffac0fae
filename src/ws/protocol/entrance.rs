//! Which door a session came through. Pure.

use super::Subject;

/// The endpoints of live sockets: one protocol, other guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entrance {
    /// `GET /api/v1/realtime`
    Feed,
    /// `GET /api/q62/dashboard/agents`
    Agents,
}

impl Entrance {
    /// Whether it is let in here.
    pub fn admits(self, subject: &Subject) -> bool {
        match self {
            Self::Feed => subject.may_listen(),
            Self::Agents => subject.may_watch_agents(),
        }
    }

    /// What the server subscribes whoever came this way to, with the channel's state.
    pub const fn channel(self) -> Option<&'static str> {
        match self {
            Self::Feed => None,
            Self::Agents => Some("agents"),
        }
    }
}
