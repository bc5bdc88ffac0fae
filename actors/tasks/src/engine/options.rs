//! Options of the pool.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_store::StoreHandle;

use muster_core::Clock;
use muster_engines::Nature;

use super::effects::Effects;
use super::sandbox::SandboxMode;

/// The program that runs engines, by calling [`run_worker`](super::run_worker).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments with which it serves calls.
    pub args: Vec<OsString>,
    /// The folder that `workspace` engines may read, if any: for these, `--workspace` and the folder follow the
    /// arguments.
    pub workspace: Option<PathBuf>,
}

impl Worker {
    /// Returns the arguments of a process for engines of this nature.
    pub(super) fn args(&self, nature: Nature) -> Vec<OsString> {
        let workspace = self.workspace.as_ref().filter(|_| nature == Nature::Workspace);
        let workspace =
            workspace.into_iter().flat_map(|folder| ["--workspace".into(), folder.clone().into_os_string()]);
        self.args.iter().cloned().chain(workspace).collect()
    }
}

/// How engines are run.
#[derive(Clone)]
pub struct EngineOptions {
    /// Program of the processes.
    pub worker: Worker,
    /// Maximum number of processes.
    pub workers: usize,
    /// Maximum number of calls of one principal that run at a time; 0 for all but one of the processes.
    pub per_key: usize,
    /// Maximum number of calls that wait for a process.
    pub queue: usize,
    /// Maximum number of waiting calls of one principal.
    pub queue_per_key: usize,
    /// Time limit of a call, from when a process starts it.
    pub time: Duration,
    /// Memory limit of a call, as configured in the process; used in error messages.
    pub memory_mib: u64,
    /// Whether processes must be restricted.
    pub sandbox: SandboxMode,
    /// Idle time after which a process is ended.
    pub idle: Duration,
    /// Store for audit entries about paths that leave the workspace folder.
    pub store: StoreHandle,
    /// Source of the times in audit entries.
    pub clock: Clock,
    /// Performs what `model` and `state` engines need.
    pub effects: Arc<dyn Effects>,
}

impl EngineOptions {
    /// Returns how many calls of one principal may run at a time.
    pub(super) fn running_per_principal(&self) -> usize {
        let most = self.workers.max(1);
        match self.per_key {
            0 => most.saturating_sub(1).max(1),
            per_key => per_key.min(most),
        }
    }
}

impl std::fmt::Debug for EngineOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineOptions")
            .field("worker", &self.worker)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}
