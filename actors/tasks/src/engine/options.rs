//! Options of the pool.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use muster_store::StoreHandle;

use muster_core::Clock;

/// The program that runs engines, by calling [`run_worker`](super::run_worker).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments with which it serves calls.
    pub args: Vec<OsString>,
}

/// How engines are run.
#[derive(Clone)]
pub struct EngineOptions {
    /// Program of the processes.
    pub worker: Worker,
    /// Maximum number of processes.
    pub workers: usize,
    /// Maximum number of calls that wait for a process.
    pub queue: usize,
    /// Time limit of a call, from when a process starts it.
    pub time: Duration,
    /// Memory limit of a call, as configured in the process; used in error messages.
    pub memory_mib: u64,
    /// Idle time after which a process is ended.
    pub idle: Duration,
    /// Store for audit entries about paths that leave the workspace folder.
    pub store: StoreHandle,
    /// Source of the times in audit entries.
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
