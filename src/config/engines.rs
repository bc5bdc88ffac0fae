//! Settings of engines: their worker processes and the folder that some of them read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use muster_core::Clock;
use muster_models::MediaManifest;
use muster_store::StoreHandle;
use muster_tasks::engine::{Effects, EngineOptions, SandboxMode, Worker};
use serde::{Deserialize, Serialize};

use super::ConfigError;

/// Time after which an idle worker process ends.
const IDLE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Engines {
    /// Number of worker processes, each with one call at a time; 0 means one per core and one more.
    pub workers: usize,
    /// Largest number of running calls of one API key or user; 0 means all but one of the processes.
    pub per_key: usize,
    /// Time limit of one call, in seconds.
    pub time_seconds: u64,
    /// Memory limit of one call, in MiB.
    pub memory_mib: u64,
    /// Largest number of waiting calls.
    pub queue: usize,
    /// Largest number of waiting calls of one API key or user.
    pub queue_per_key: usize,
    /// Whether worker processes must be restricted.
    pub sandbox: SandboxMode,
    /// Program of the worker processes: this one.
    #[serde(skip)]
    pub program: PathBuf,
}

impl Default for Engines {
    fn default() -> Self {
        Self {
            workers: 0,
            per_key: 0,
            time_seconds: 10,
            memory_mib: 256,
            queue: 256,
            queue_per_key: 64,
            sandbox: SandboxMode::default(),
            program: own_program(),
        }
    }
}

/// Returns the running program itself, even if its file was replaced by a newer version.
fn own_program() -> PathBuf {
    let running = Path::new("/proc/self/exe");
    if running.exists() { running.to_owned() } else { std::env::current_exe().unwrap_or_else(|_| "muster".into()) }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The folder that engines and agents may read.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workspace {
    /// Path of the folder. Empty: none.
    pub path: PathBuf,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { path: PathBuf::from("./workspace") }
    }
}

/// Arguments of a worker process with the files of languages in this folder, by absolute path: a worker process has a
/// working directory of its own.
fn language_files(models: &Path) -> Vec<String> {
    let Ok(manifest) = MediaManifest::embedded() else { return Vec::new() };
    let argument = |(flag, id, role): (&str, &str, &str)| {
        let path = std::path::absolute(manifest.get(id)?.path(models, role).ok()?).ok()?;
        Some(format!("--{flag}={}", path.to_str()?))
    };
    let files = [("language-table", "languages", "table"), ("picture-names", "names", "names")];
    files.into_iter().filter_map(argument).collect()
}

impl Engines {
    /// Returns how worker processes are started. `models` is the folder of models' files.
    pub fn worker(&self, workspace: &Workspace, models: &Path) -> Worker {
        // Four calls that keep every core busy until their time limit.
        let cpu_seconds = self.time_seconds.saturating_mul(4).saturating_mul(cores() as u64);
        let args = [
            "engine-worker".to_owned(),
            format!("--memory-mib={}", self.memory_mib),
            format!("--cpu-seconds={cpu_seconds}"),
            format!("--sandbox={}", self.sandbox.name()),
        ];
        Worker {
            program: self.program.clone(),
            args: args.into_iter().chain(language_files(models)).map(Into::into).collect(),
            // A worker process has a working directory of its own, so the path must be absolute.
            workspace: std::path::absolute(&workspace.path).ok(),
        }
    }

    /// Returns the options of the worker pool.
    pub fn options(
        &self,
        workspace: &Workspace,
        models: &Path,
        store: &StoreHandle,
        clock: &Clock,
        effects: Arc<dyn Effects>,
    ) -> EngineOptions {
        EngineOptions {
            worker: self.worker(workspace, models),
            workers: if self.workers > 0 { self.workers } else { cores() + 1 },
            per_key: self.per_key,
            queue: self.queue,
            queue_per_key: self.queue_per_key,
            sandbox: self.sandbox,
            time: Duration::from_secs(self.time_seconds),
            memory_mib: self.memory_mib,
            idle: IDLE,
            store: StoreHandle::clone(store),
            clock: clock.clone(),
            effects,
        }
    }

    /// # Errors
    /// A value is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let bad = |name: &str, why: &str| Err(ConfigError::Bad { setting: name.to_owned(), why: why.to_owned() });
        if self.workers > 256 {
            return bad("engines.workers", "takes 0 to 256");
        }
        if self.per_key > 256 {
            return bad("engines.per_key", "takes 0 to 256");
        }
        if !(1..=300).contains(&self.time_seconds) {
            return bad("engines.time_seconds", "takes 1 to 300");
        }
        if !(16..=65_536).contains(&self.memory_mib) {
            return bad("engines.memory_mib", "takes 16 to 65536");
        }
        if !(1..=100_000).contains(&self.queue) {
            return bad("engines.queue", "takes 1 to 100000");
        }
        if !(1..=100_000).contains(&self.queue_per_key) {
            return bad("engines.queue_per_key", "takes 1 to 100000");
        }
        Ok(())
    }
}
