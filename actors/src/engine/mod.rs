//! Engines run in processes of their own: bounded in number, in time and in memory, and stopped for good when told to.

mod runner;

pub use runner::{EngineAnswer, EngineCall, EngineRunner, InProcess};
