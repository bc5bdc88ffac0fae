//! Agents and their execution: the pool of engine processes, the agent catalogue, and durable tasks.

#![warn(missing_docs)]

pub mod agent;
pub mod engine;
pub mod task;
