//! A process that runs engines.

use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use muster_engines::Nature;
use muster_sandbox::Report;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::exit::ProcessExit;
use super::options::Worker;
use super::runner::EngineProgress;
use super::sandbox::SandboxMode;
use super::wire::{self, Greeting, Head};

/// Number of bytes kept from the end of a process's standard error.
const STDERR_TAIL: usize = 4 << 10;
/// Time limit for a process to start and to restrict itself.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Time limit for a failed process to exit, and for reading the end of its standard error.
const EXIT_LIMIT: Duration = Duration::from_secs(1);

/// For whom a process runs engines. It serves no other principal: what an engine left behind in its memory stays with
/// those whom it may concern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessUse {
    pub(super) principal: Arc<str>,
    /// Only a process for `workspace` engines can open files.
    pub(super) nature: Nature,
}

/// A running process, which is killed on drop.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) usage: ProcessUse,
    /// Which restrictions are in force in it; `None` if they are switched off.
    pub(super) sandbox: Option<Report>,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    stderr: JoinHandle<String>,
    pub(super) idle_since: Instant,
}

impl Process {
    /// Starts a process, and waits until it has restricted itself. It does not inherit the environment, which contains provider keys. It has its own process
    /// group, so that Ctrl-C in a terminal does not reach it while the server drains. A single allocator arena serves
    /// all its threads: glibc would reserve 64 MiB of address space for each, which counts towards the memory limit.
    ///
    /// # Errors
    ///
    /// It could not be started, or lacks restrictions that `mode` requires.
    pub(super) async fn start(worker: &Worker, usage: ProcessUse, mode: SandboxMode) -> io::Result<Self> {
        let mut command = Command::new(&worker.program);
        command
            .args(worker.args(usage.nature))
            .env_clear()
            .env("MALLOC_ARENA_MAX", "1")
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        muster_sandbox::close_on_exec();
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let stderr = actix_rt::spawn(read_tail(child.stderr.take().ok_or_else(missing)?));
        let mut process = Self { usage, sandbox: None, child, input, output, stderr, idle_since: Instant::now() };
        let greeting = match timeout(START_LIMIT, wire::receive(&mut process.output)).await {
            Ok(Ok(greeting)) => serde_json::from_slice(&greeting)?,
            Ok(Err(_)) | Err(_) => {
                let exit = process.collect_exit().await;
                return Err(io::Error::other(format!(
                    "it ended at its start ({:?}): {}",
                    exit.status, exit.stderr_tail
                )));
            }
        };
        let Greeting { sandbox } = greeting;
        mode.check(sandbox.as_ref()).map_err(io::Error::other)?;
        process.sandbox = sandbox;
        Ok(process)
    }

    /// Returns whether the process is running.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs a call. `on_progress` receives what it reports before its end.
    pub(super) async fn call(
        &mut self,
        number: u16,
        options: &[u8],
        input: &[u8],
        on_progress: impl Fn(EngineProgress),
    ) -> io::Result<(Head, Vec<u8>)> {
        wire::send(&mut self.input, &[&number.to_be_bytes(), options].concat()).await?;
        wire::send(&mut self.input, input).await?;
        self.input.flush().await?;
        loop {
            let mut head: Head = serde_json::from_slice(&wire::receive(&mut self.output).await?)?;
            match head.progress.take() {
                Some(progress) => on_progress(progress),
                None => return Ok((head, wire::receive(&mut self.output).await?)),
            }
        }
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn kill(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "an engine's process could not be killed");
        }
    }

    /// Collects how a failed process ended.
    pub(super) async fn collect_exit(mut self) -> ProcessExit {
        drop(self.input);
        let status = match timeout(EXIT_LIMIT, self.child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                let _ = self.child.kill().await;
                None
            }
        };
        let stderr_tail = timeout(EXIT_LIMIT, self.stderr).await.ok().and_then(Result::ok).unwrap_or_default();
        ProcessExit { status, stderr_tail }
    }
}

/// Reads standard error until it closes; returns its end.
async fn read_tail(mut from: ChildStderr) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        kept.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if kept.len() > 2 * STDERR_TAIL {
            kept.drain(..kept.len() - STDERR_TAIL);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
