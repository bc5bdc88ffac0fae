//! Agents and their execution: the pool of engine processes, the agent catalogue, and durable tasks.

pub mod agent;
pub mod engine;
pub mod task;
