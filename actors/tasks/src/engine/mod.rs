//! Engines run in processes of their own: bounded in number, in time and in memory, and stopped for good when told to.
//!
//! The pool starts the server's own program with another command ([`Worker`]) and speaks frames with it over its
//! standard input and output (`wire`). A process serves one call at a time. It ends by itself when its input closes:
//! not even a `kill -9` of the server leaves one behind.

mod actor;
mod death;
mod engines;
mod options;
mod process;
mod runner;
mod wire;
mod worker;

pub use actor::PoolActor;
pub use engines::{EngineStats, Engines};
pub use options::{EngineOptions, Worker};
pub use runner::{Behalf, EngineAnswer, EngineCall, EngineRunner, InProcess, refusal};
pub use worker::{Bounds, work};
