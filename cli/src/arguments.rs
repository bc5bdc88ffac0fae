//! The commands with their help texts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{backup, doctor, keys, login, models, monitor, signing, simulate, users, verify};

/// One server for a disaster network, an AI platform and an agent platform.
#[derive(Debug, Parser)]
#[command(
    name = "muster",
    version,
    after_help = "Examples:\n  muster serve\n  muster keys create --name dashboard --scope chat\n  muster doctor"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    EngineWorker(EngineWorkerArgs),
}

/// Where the settings and the data are.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// The settings file; without it `config.toml` of this folder, where there is one.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The data folder, in place of `store.path`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Arguments of `muster serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub settings: Settings,
    /// The address to serve, in place of `server.listen`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
}

/// Arguments of `muster engine-worker`.
#[derive(Debug, clap::Args)]
pub struct EngineWorkerArgs {
    /// For one call.
    #[arg(long, value_name = "MIB")]
    pub memory_mib: u64,
    /// The folder that engines may read.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}
