//! A process that runs engines.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::death::Death;
use super::options::Worker;
use super::wire::{self, Head};

/// Number of bytes kept from the end of a process's standard error.
const LAST_WORDS: usize = 4 << 10;
/// Time limit for a failed process to exit, and for reading the end of its standard error.
const BURIAL: Duration = Duration::from_secs(1);

/// A running process, which is killed on drop.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    words: JoinHandle<String>,
    pub(super) idle_since: Instant,
}

impl Process {
    /// Starts a process. It does not inherit the environment, which contains provider keys. It has its own process
    /// group, so that Ctrl-C in a terminal does not reach it while the server drains. A single allocator arena serves
    /// all its threads: glibc would reserve 64 MiB of address space for each, which counts towards the memory limit.
    pub(super) fn start(worker: &Worker) -> io::Result<Self> {
        let mut command = Command::new(&worker.program);
        command
            .args(&worker.args)
            .env_clear()
            .env("MALLOC_ARENA_MAX", "1")
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let words = actix_rt::spawn(listen(child.stderr.take().ok_or_else(missing)?));
        Ok(Self { child, input, output, words, idle_since: Instant::now() })
    }

    /// Returns whether the process is running.
    pub(super) fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs a call.
    pub(super) async fn call(&mut self, number: u16, input: &[u8]) -> io::Result<(Head, Vec<u8>)> {
        wire::send(&mut self.input, &number.to_be_bytes()).await?;
        wire::send(&mut self.input, input).await?;
        self.input.flush().await?;
        let head = serde_json::from_slice(&wire::receive(&mut self.output).await?)?;
        Ok((head, wire::receive(&mut self.output).await?))
    }

    /// Kills the process and waits until it is gone.
    pub(super) async fn kill(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::warn!(%error, "an engine's process could not be killed");
        }
    }

    /// Collects how a failed process ended.
    pub(super) async fn bury(mut self) -> Death {
        drop(self.input);
        let status = match timeout(BURIAL, self.child.wait()).await {
            Ok(status) => status.ok(),
            Err(_) => {
                let _ = self.child.kill().await;
                None
            }
        };
        let last_words = timeout(BURIAL, self.words).await.ok().and_then(Result::ok).unwrap_or_default();
        Death { status, last_words }
    }
}

/// Reads standard error until it closes; returns its end.
async fn listen(mut from: ChildStderr) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        kept.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if kept.len() > 2 * LAST_WORDS {
            kept.drain(..kept.len() - LAST_WORDS);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
