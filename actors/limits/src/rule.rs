//! Rules: limits of requests or tokens over a rolling window.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Unit that a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitUnit {
    /// Calls, each counted once.
    Requests,
    /// Prompt and completion tokens.
    Tokens,
}

/// Length of a rolling window: the last minute, hour or day before any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// 60 s.
    Minute,
    /// 3,600 s.
    Hour,
    /// 86,400 s.
    Day,
}

impl Window {
    /// All windows, shortest first.
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// Returns the length in milliseconds.
    pub const fn millis(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }

    /// Returns the length.
    pub const fn length(self) -> Duration {
        Duration::from_millis(self.millis())
    }
}

/// At most `limit` of `unit` in any span of the window's length. A limit of 0 rejects everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Rule {
    /// Unit that is counted.
    pub unit: LimitUnit,
    /// Length of the rolling window.
    pub window: Window,
    /// Maximum amount in any span of the window's length.
    pub limit: u64,
}

impl Rule {
    /// Creates a rule that counts requests.
    pub const fn requests(limit: u64, window: Window) -> Self {
        Self { unit: LimitUnit::Requests, window, limit }
    }

    /// Creates a rule that counts tokens.
    pub const fn tokens(limit: u64, window: Window) -> Self {
        Self { unit: LimitUnit::Tokens, window, limit }
    }

    /// Returns a name for headers and messages, such as the policy names of `RateLimit-Policy`.
    pub const fn name(&self) -> &'static str {
        match (self.unit, self.window) {
            (LimitUnit::Requests, Window::Minute) => "minute",
            (LimitUnit::Requests, Window::Hour) => "hour",
            (LimitUnit::Requests, Window::Day) => "day",
            (LimitUnit::Tokens, Window::Minute) => "tokens-minute",
            (LimitUnit::Tokens, Window::Hour) => "tokens-hour",
            (LimitUnit::Tokens, Window::Day) => "tokens-day",
        }
    }
}

/// The bucket of a subject in which a request counts. The name is part of stored keys and must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Health, status, reads of agents, tasks, keys and governance, WebSocket handshakes.
    Health,
    /// Chat completions of the agent platform.
    Chat,
    /// Users of the disaster network.
    Person,
    /// Devices of the disaster network.
    Device,
    /// Runs of agents.
    Agents,
    /// Semantic memory.
    Memory,
    /// Direct calls of engines.
    Engines,
    /// The medical interface.
    Medical,
    /// Login attempts.
    Login,
    /// Interface A, by plan.
    PlanA,
    /// Interface B, by plan.
    PlanB,
    /// Control of agents' tasks, over HTTP and over sockets.
    Control,
}

impl Category {
    /// All categories.
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

    /// Returns the name used in stored keys, configuration and metrics.
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
