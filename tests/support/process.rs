//! The program as an operator starts it.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use super::client::Client;
use super::{KEY, PASSWORD};

/// `muster serve` before it is started: in a folder, whose `config.toml` it reads, with no embedded model.
pub struct Launch {
    command: Command,
    log: PathBuf,
}

/// A running `muster serve`; it is killed on drop.
pub struct Process {
    pub child: Child,
    pub url: String,
    log: PathBuf,
    stdout: BufReader<ChildStdout>,
}

/// Starts a server with these settings. Returns it with a client that has the tests' key.
pub fn start(folder: &Path, settings: &str) -> (Process, Client) {
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    let server = Launch::new(folder).start();
    let client = Client::new(&server.url).with(KEY);
    (server, client)
}

impl Launch {
    /// A launch on a data folder, with the tests' first key and administrator.
    pub fn new(folder: &Path) -> Self {
        Self::bare(folder).with("MUSTER_BOOTSTRAP_KEY", KEY).with("MUSTER_ADMIN_PASSWORD", PASSWORD)
    }

    /// A launch without a key configured by the operator.
    pub fn bare(folder: &Path) -> Self {
        let mut command = program(folder);
        command.args(["serve", "--data"]).arg(folder.join("store")).stdout(Stdio::piped());
        command.env("MUSTER__LLM__MODEL", "none").env("MUSTER__SERVER__LISTEN", "127.0.0.1:0");
        Self { command, log: folder.join("stderr.log") }
    }

    pub fn with(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self
    }

    pub fn with_args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// Starts the server and waits until it is listening.
    pub fn start(mut self) -> Process {
        let mut child = self.command.stderr(File::create(&self.log).unwrap()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(url) = line.strip_prefix("listening on ") else {
            panic!("it printed {line:?}; log: {}", std::fs::read_to_string(&self.log).unwrap())
        };
        Process { child, url: url.trim().to_owned(), log: self.log, stdout }
    }

    /// Starts the server where the start must fail. Returns the exit code and standard error.
    pub fn fail(mut self) -> (Option<i32>, String) {
        // A running server of this folder may still write to the usual log.
        self.log.set_extension("refused");
        let mut child = self.command.stderr(File::create(&self.log).unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if !line.is_empty() {
            child.kill().unwrap();
        }
        let code = child.wait().unwrap().code();
        assert_eq!(line, "", "it was expected to give up");
        (code, std::fs::read_to_string(&self.log).unwrap())
    }
}

impl Process {
    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Reads one more line of standard output; empty at the end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Reads the rest of standard output, up to its end.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        rest
    }

    /// The log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the process has ended.
    pub fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Kills the process with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program in an otherwise empty folder, without this machine's `MUSTER` variables.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.current_dir(folder);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("MUSTER")) {
        command.env_remove(name);
    }
    command
}
