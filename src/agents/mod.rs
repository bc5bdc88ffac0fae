//! Agents' tasks, as the feed commands them.

mod commands;

pub use commands::{AgentCommands, Controls};
