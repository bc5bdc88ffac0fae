//! Agents and their execution: the pool of engine processes, the agent catalogue, and durable tasks.
//!
//! [`task::Tasks`] accepts, runs and controls tasks. Their steps are planned and executed by an implementation of
//! [`task::TaskExecutor`], which is [`agent::AgentExecutor`] in the server; its engine calls run in the processes of
//! [`engine::Engines`]. So do the sentinels of [`sentinel::Sentinels`].

#![warn(missing_docs)]

pub mod agent;
pub mod engine;
pub mod sentinel;
pub mod task;
