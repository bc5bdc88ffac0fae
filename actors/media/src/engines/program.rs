//! A program outside of the server: run without network, its input and output are pipes.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// Folders of programs that are named without a folder.
const FOLDERS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Bounds of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    /// Time until the program must have ended, and its CPU time.
    pub time: Duration,
    /// Bytes of its output.
    pub output: u64,
}

/// Why a run gave no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It took too long and was killed.
    #[error("{name} took longer than {seconds} s")]
    TimedOut {
        /// Name of the program.
        name: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// It could not be started, failed, or its output is too long.
    #[error("{name} failed: {why}")]
    Failed {
        /// Name of the program.
        name: &'static str,
        /// What failed.
        why: String,
    },
}

/// A program with the launcher that takes the network from it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OfflineProgram {
    name: &'static str,
    path: Arc<Path>,
    launcher: Arc<Path>,
}

impl OfflineProgram {
    /// Finds a program: one without a folder in the usual ones. `None` if it is not installed. `launcher` is this
    /// server's own program, whose command `offline` takes the network from itself before it becomes the other.
    pub fn find(name: &'static str, program: &Path, launcher: &Path) -> Option<Self> {
        Some(Self { name, path: installed(program)?.into(), launcher: launcher.into() })
    }

    /// Runs the program and returns its output. It is killed when the future is dropped, or after the time limit.
    ///
    /// # Errors
    /// It cannot be started, took too long, failed, or its output is too long.
    pub async fn run(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
        input: &[u8],
        limits: RunLimits,
    ) -> Result<Vec<u8>, RunError> {
        let name = self.name;
        let failed = |why: String| RunError::Failed { name, why };
        let seconds = limits.time.as_secs().max(1);
        let mut command = Command::new(&*self.launcher);
        command.arg("offline").arg(format!("--cpu-seconds={seconds}")).arg("--").arg(&*self.path).args(arguments);
        command.env_clear().env("LC_ALL", "C.UTF-8").env("PATH", FOLDERS.join(":")).current_dir("/");
        command.envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        // Its own programs are its children: the group ends when the pipes close.
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| failed(format!("it cannot be started: {error}")))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input ends without output.
                drop(stdin.write_all(input).await);
            }
        };
        let read = async {
            let mut output = Vec::new();
            if let Some(stdout) = stdout {
                // One byte more than is permitted shows that there is more.
                stdout.take(limits.output.saturating_add(1)).read_to_end(&mut output).await?;
            }
            Ok::<_, std::io::Error>(output)
        };
        let ended = async {
            let ((), output) = tokio::join!(write, read);
            let output = output.map_err(|error| failed(format!("its output cannot be read: {error}")))?;
            if u64::try_from(output.len()).map_or(true, |length| length > limits.output) {
                return Err(failed(format!("its output is longer than {} bytes", limits.output)));
            }
            let status = child.wait().await.map_err(|error| failed(error.to_string()))?;
            if status.success() { Ok(output) } else { Err(failed(status.to_string())) }
        };
        timeout(limits.time, ended).await.unwrap_or(Err(RunError::TimedOut { name, seconds }))
    }
}

/// Returns the absolute path of a program.
fn installed(program: &Path) -> Option<PathBuf> {
    if program.as_os_str().is_empty() {
        return None;
    }
    if program.components().count() > 1 {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    FOLDERS.into_iter().map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}
