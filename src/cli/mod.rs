//! The command line.

mod backup;
mod doctor;
mod engine_worker;
mod keys;
mod lacks;
mod login;
mod models;
mod monitor;
mod prompt;
mod serve;
mod session;
mod signing;
mod simulate;
mod users;
mod verify;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use muster_store::StoreError;

use crate::config::{self, Config, Source};

/// One server for a disaster network, an AI platform and an agent platform.
#[derive(Debug, Parser)]
#[command(
    name = "muster",
    version,
    after_help = "Examples:\n  muster serve\n  muster keys create --name dashboard --scope chat\n  muster doctor"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server.
    #[command(
        after_help = "Examples:\n  muster serve\n  muster serve --config config.toml --listen 127.0.0.1:0 --data ./data\n  MUSTER__LLM__MODEL=small muster serve"
    )]
    Serve(ServeArgs),
    /// Make, list and end API keys: in the data folder while the server is stopped, or through a running one.
    #[command(
        after_help = "Examples:\n  muster keys create --name dashboard --scope chat --plan-b pro\n  muster keys list --json\n  MUSTER_API_KEY=mst_… muster keys --server http://127.0.0.1:8080 revoke key_01…"
    )]
    Keys(keys::KeysArgs),
    /// Make, list, change and remove people: in the data folder while the server is stopped, or through a running one.
    #[command(
        after_help = "Examples:\n  muster users create --email ann@example.org --role operator\n  muster users list --json\n  muster users --remote disable ann@example.org"
    )]
    Users(users::UsersArgs),
    /// The keys that sign the tokens of logins.
    #[command(after_help = "Examples:\n  muster signing list\n  muster signing rotate --json")]
    Signing(signing::SigningArgs),
    /// Log in to a server, with tokens that only this device can use.
    #[command(
        after_help = "Examples:\n  muster login --server http://127.0.0.1:8080\n  muster login --server https://muster.example.org --email ann@example.org < password.txt\n  muster login --status --json"
    )]
    Login(login::LoginArgs),
    /// End the login of this device.
    #[command(after_help = "Example:\n  muster logout")]
    Logout(login::LogoutArgs),
    /// List and fetch embedded models.
    #[command(after_help = "Examples:\n  muster models list\n  muster models pull better")]
    Models(models::ModelsArgs),
    /// Check settings, store, model and providers, and say how to mend each.
    #[command(after_help = "Examples:\n  muster doctor\n  muster doctor --config config.toml --json")]
    Doctor(doctor::DoctorArgs),
    /// Write everything that is stored into one checked file: of a stopped server's data folder, or of a running server.
    #[command(
        after_help = "Examples:\n  muster backup --to muster.backup\n  MUSTER_API_KEY=mst_… muster backup --server http://127.0.0.1:8080 --to muster.backup"
    )]
    Backup(backup::BackupArgs),
    /// Put a backup into a data folder while no server runs there. The whole file is checked first.
    #[command(
        after_help = "Examples:\n  muster restore --from muster.backup --data ./data\n  muster restore --from muster.backup --force --json"
    )]
    Restore(backup::RestoreArgs),
    /// Read every record of a stopped server's data folder, or of a backup, and compare checksums and versions.
    #[command(after_help = "Examples:\n  muster verify --data ./data\n  muster verify muster.backup --json")]
    Verify(verify::VerifyArgs),
    /// Write a stopped server's store anew, in less space.
    #[command(after_help = "Example:\n  muster compact --data ./data")]
    Compact(verify::CompactArgs),
    /// Watch the tasks of agents live, and pause, resume, redirect or kill them.
    #[command(after_help = monitor::EXAMPLES)]
    Monitor(monitor::MonitorArgs),
    /// Drive a server with simulated devices, over real HTTP and sockets.
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::SimulateArgs),
    /// Run engines for a server, over standard input and output.
    #[command(hide = true)]
    EngineWorker(engine_worker::EngineWorkerArgs),
}

/// Where the settings are.
#[derive(Debug, Clone, clap::Args)]
struct Settings {
    /// The settings file; without it `config.toml` of this folder, where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data folder, in place of `store.path`.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct ServeArgs {
    #[command(flatten)]
    settings: Settings,
    /// The address to serve, in place of `server.listen`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
}

impl Settings {
    fn load(&self) -> Result<(Config, Source), config::ConfigError> {
        self.load_for(None)
    }

    /// The settings of a server that is to listen there.
    fn load_for(&self, listen: Option<SocketAddr>) -> Result<(Config, Source), config::ConfigError> {
        let default = PathBuf::from("config.toml");
        let path = self.config.clone().or_else(|| default.exists().then_some(default));
        config::load(path.as_deref(), config::Flags { listen, data: self.data.clone() })
    }
}

/// Failed: said on standard error, exit code 1. Wrong use is clap's, exit code 2.
fn fail(message: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("muster: {message}");
    ExitCode::FAILURE
}

/// A store's refusal, and what to do where a server holds the folder.
fn stopped(error: &StoreError, mend: &str) -> String {
    match error {
        StoreError::Locked(_) => format!("{error}: {mend}"),
        _ => error.to_string(),
    }
}

/// Tells on standard error how far long work has come.
struct Reporter {
    what: &'static str,
    unit: &'static str,
    told: Instant,
}

impl Reporter {
    fn new(what: &'static str, unit: &'static str) -> Self {
        Self { what, unit, told: Instant::now() }
    }

    fn at(&mut self, done: u64) {
        if self.told.elapsed() >= Duration::from_secs(2) {
            self.told = Instant::now();
            eprintln!("muster: {}: {done} {}", self.what, self.unit);
        }
    }
}

/// Runs the program's command.
pub fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Keys(args) => keys::run(args),
        Command::Users(args) => users::run(args),
        Command::Signing(args) => signing::run(&args),
        Command::Login(args) => login::login(&args),
        Command::Logout(args) => login::logout(&args),
        Command::Models(args) => models::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Compact(args) => verify::compact(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Simulate(args) => simulate::run(args),
        Command::EngineWorker(args) => engine_worker::run(args),
    }
}
