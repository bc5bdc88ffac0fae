//! Runs engines in separate processes, which are bounded in number, time and memory, and can be killed.
//!
//! The pool starts the server's own program with another command ([`Worker`]) and exchanges frames with it over
//! standard input and output (`wire`). A process serves one call at a time, and the calls of one principal only. It
//! restricts itself before it reads the first one (`sandbox`), and exits when its input closes, so that not even a
//! `kill -9` of the server leaves one behind. Waiting calls are served fairly by principal (`state`).

mod actor;
mod effects;
mod engines;
mod exit;
mod job;
mod options;
mod process;
mod runner;
mod sandbox;
mod state;
mod wire;
mod work;
mod worker;
mod workspace;

pub use effects::{Effects, NoEffects, Provided};
pub use engines::{EngineStats, Engines};
pub use job::{Job, JobCall};
pub use options::{EngineOptions, Worker};
pub(crate) use runner::refusal;
pub use runner::{EngineAnswer, EngineCall, EngineCaller, EngineProgress, EngineRunner};
pub use sandbox::{SandboxMode, SandboxStatus};
pub(crate) use state::FairQueue;
pub use worker::{LanguageFiles, Programs, WorkerLimits, run_worker};
