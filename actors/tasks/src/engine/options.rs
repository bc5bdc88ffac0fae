//! What the pool is given.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use muster_store::StoreHandle;

use muster_core::Clock;

/// The program that runs engines: it calls [`work`](super::work).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// How engines are run.
#[derive(Clone)]
pub struct EngineOptions {
    pub worker: Worker,
    /// Processes at a time.
    pub workers: usize,
    /// Calls that may wait for one.
    pub queue: usize,
    /// For one call, from when a process has it.
    pub time: Duration,
    /// For one call, as the process was told: what a refusal names.
    pub memory_mib: u64,
    /// A process that had nothing to do for so long ends.
    pub idle: Duration,
    /// Where paths that leave the workspace folder are written down.
    pub store: StoreHandle,
    pub clock: Clock,
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineOptions")
            .field("worker", &self.worker)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
