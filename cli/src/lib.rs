//! The `muster` command line: arguments, help texts, presentation, and every command that calls a running server.
//!
//! What needs the server's own parts (its configuration, its store, its actors) is behind [`LocalServer`], which the
//! `muster` package implements. The environment is read there too and comes in as an [`Environment`].

#![warn(missing_docs)]

mod approvals;
mod arguments;
mod audit;
mod backup;
mod connection;
mod digest;
mod doctor;
mod engine;
mod firmware;
mod keys;
mod local;
mod login;
mod medical;
mod models;
mod monitor;
mod progress;
mod prompt;
mod restore;
mod sealed;
mod service_accounts;
mod session;
mod signing;
mod simulate;
mod teams;
mod terminal;
mod users;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use muster_store::StoreError;
use rustix::fs::Mode;

use arguments::{Cli, Command};

pub use arguments::{EngineWorkerArgs, OfflineArgs, ServeArgs, Settings};
pub use doctor::Finding;
pub use engine::{EngineDescribeArgs, EngineListArgs, EngineRunArgs, EngineSampleArgs};
pub use keys::KeysCommand;
pub use local::{BackupSetup, CheckedManifest, KnownInstance, LocalServer, MissingFiles};
pub use prompt::read_password;
pub use service_accounts::{CreateServiceAccountArgs, ServiceAccountsCommand};
pub use signing::SigningCommand;
pub use teams::TeamsCommand;
pub use users::{CreateUserArgs, UsersCommand};

/// What commands take from the environment of the process.
#[derive(Clone, Default)]
pub struct Environment {
    /// API key that servers are called with (`MUSTER_API_KEY`).
    pub api_key: Option<String>,
    /// Passphrase of backups (`MUSTER_BACKUP_PASSPHRASE`).
    pub backup_passphrase: Option<String>,
    /// Access token of a user that servers are called with (`MUSTER_TOKEN`).
    pub token: Option<String>,
    /// Folder in which programs keep their settings for this user (XDG Base Directory Specification).
    pub config_home: Option<PathBuf>,
    /// Folder for temporary files.
    pub temporary: PathBuf,
}

// Without the secrets.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("config_home", &self.config_home).finish_non_exhaustive()
    }
}

impl Environment {
    fn require_api_key(&self) -> Result<&str, String> {
        self.api_key.as_deref().ok_or_else(|| "set MUSTER_API_KEY to a key with the scope admin".to_owned())
    }
}

/// Parses the arguments of the process and runs the command. Wrong arguments end the process with exit code 2.
pub fn run(environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let command = Cli::parse().command;
    // Models may be shared by several users; whatever else a command writes is for its user only.
    if !matches!(command, Command::Models(_)) {
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    match command {
        Command::Serve(args) => exit(server.serve(&args)),
        Command::Keys(args) => keys::run(args, environment, server),
        Command::Teams(args) => teams::run(args, environment, server),
        Command::Users(args) => users::run(args, environment, server),
        Command::ServiceAccounts(args) => service_accounts::run(args, environment, server),
        Command::Firmware(args) => firmware::run(args, server),
        Command::Signing(args) => signing::run(&args, environment, server),
        Command::Login(args) => login::login(&args, environment),
        Command::Logout(args) => login::logout(&args, environment),
        Command::Models(args) => exit(models::run(args, environment, server)),
        Command::Medical(args) => medical::run(args, server),
        Command::Engine(args) => exit(engine::run(args, server)),
        Command::Doctor(args) => doctor::run(&args, server),
        Command::Backup(args) => backup::backup(&args, environment, server),
        Command::Restore(args) => restore::restore(&args, environment, server),
        Command::Audit(args) => audit::run(args, environment, server),
        Command::Verify(args) => verify::verify(&args, environment, server),
        Command::Compact(args) => verify::compact(&args, server),
        Command::Approvals(args) => approvals::run(args, environment),
        Command::Monitor(args) => exit(monitor::run(&args, environment)),
        Command::Simulate(args) => simulate::run(args, environment),
        Command::EngineWorker(args) => exit(server.run_engines(args)),
        Command::Offline(args) => exit(server.run_offline(&args)),
    }
}

/// Prints an error on standard error and returns exit code 1.
fn fail(message: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("muster: {message}");
    ExitCode::FAILURE
}

fn exit(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

/// Formats why a data folder cannot be opened; says what to do where a running server holds it.
fn locked(error: &StoreError, remedy: &str) -> String {
    match error {
        StoreError::Locked(_) => format!("{error}: {remedy}"),
        _ => error.to_string(),
    }
}

/// Runs a future to its end on this thread.
fn block_on<T>(future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(future)
}

/// Installs the cryptography of TLS for the process. Must run before the first HTTP client is built.
fn install_tls() {
    // Fails only if a provider is installed already, and then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
