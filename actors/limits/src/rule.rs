//! Rules: limits of requests or tokens over a rolling window.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Requests,
    Tokens,
}

/// Length of a rolling window: the last minute, hour or day before any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    Minute,
    Hour,
    Day,
}

impl Window {
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    pub const fn millis(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }

    pub const fn length(self) -> Duration {
        Duration::from_millis(self.millis())
    }
}

/// At most `limit` of `unit` in any span of the window's length. A limit of 0 rejects everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Rule {
    pub unit: Unit,
    pub window: Window,
    pub limit: u64,
}

impl Rule {
    pub const fn requests(limit: u64, window: Window) -> Self {
        Self { unit: Unit::Requests, window, limit }
    }

    pub const fn tokens(limit: u64, window: Window) -> Self {
        Self { unit: Unit::Tokens, window, limit }
    }

    /// Returns a name for headers and messages, such as the policy names of `RateLimit-Policy`.
    pub const fn name(&self) -> &'static str {
        match (self.unit, self.window) {
            (Unit::Requests, Window::Minute) => "minute",
            (Unit::Requests, Window::Hour) => "hour",
            (Unit::Requests, Window::Day) => "day",
            (Unit::Tokens, Window::Minute) => "tokens-minute",
            (Unit::Tokens, Window::Hour) => "tokens-hour",
            (Unit::Tokens, Window::Day) => "tokens-day",
        }
    }
}

/// The bucket of a subject in which a request counts. The name is part of stored keys and must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Health, status, reads of agents, tasks, keys and governance, WebSocket handshakes.
    Health,
    Chat,
    /// Users of the disaster network.
    Person,
    /// Devices of the disaster network.
    Device,
    Agents,
    Memory,
    Engines,
    Medical,
    Login,
    /// Interface A, by plan.
    PlanA,
    /// Interface B, by plan.
    PlanB,
    /// Control of agents' tasks, over HTTP and over sockets.
    Control,
}

impl Category {
    pub const ALL: [Self; 12] = [
        Self::Health,
        Self::Chat,
        Self::Person,
        Self::Device,
        Self::Agents,
        Self::Memory,
        Self::Engines,
        Self::Medical,
        Self::Login,
        Self::PlanA,
        Self::PlanB,
        Self::Control,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Chat => "chat",
            Self::Person => "person",
            Self::Device => "device",
            Self::Agents => "agents",
            Self::Memory => "memory",
            Self::Engines => "engines",
            Self::Medical => "medical",
            Self::Login => "login",
            Self::PlanA => "plan_a",
            Self::PlanB => "plan_b",
            Self::Control => "control",
        }
    }
}
