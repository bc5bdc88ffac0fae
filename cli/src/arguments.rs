//! The commands with their help texts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{
    approvals, audit, backup, doctor, engine, firmware, keys, login, medical, models, monitor, restore,
    service_accounts, signing, simulate, teams, users, verify,
};

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
    /// Run the server.
    #[command(
        after_help = "Examples:\n  muster serve\n  muster serve --config config.toml --listen 127.0.0.1:0 --data ./data\n  MUSTER__LLM__MODEL=small muster serve"
    )]
    Serve(ServeArgs),
    /// Manage API keys, in the data directory of a stopped server or on a running one (--server).
    #[command(
        after_help = "Examples:\n  muster keys create --name dashboard --scope chat --plan-b pro\n  muster keys list --json\n  MUSTER_API_KEY=mst_… muster keys --server http://127.0.0.1:8080 revoke key_01…"
    )]
    Keys(keys::KeysArgs),
    /// Manage teams of API keys, in the data directory of a stopped server or on a running one (--server).
    #[command(
        after_help = "Examples:\n  muster teams create --name research --budget 200\n  muster keys edit key_01… --team team_01…"
    )]
    Teams(teams::TeamsArgs),
    /// Manage users, in the data directory of a stopped server or on a running one (--remote).
    #[command(
        after_help = "Examples:\n  muster users create --email ann@example.org --role operator\n  muster users list --json\n  muster users --remote disable ann@example.org"
    )]
    Users(users::UsersArgs),
    /// Manage service accounts of dashboards and integrations, in the data directory or on a running server (--remote).
    #[command(
        after_help = "Examples:\n  muster service-accounts create --name wall-dashboard --role viewer\n  muster service-accounts --remote list --json\n  muster service-accounts --remote revoke svc_01…"
    )]
    ServiceAccounts(service_accounts::ServiceAccountsArgs),
    /// Generate keys that sign firmware, and sign the manifests of images.
    #[command(
        after_help = "Examples:\n  muster firmware keygen --key release.jwk\n  muster firmware sign siren.img --key release.jwk --name siren --version 2.0.0 --sequence 2 --vendor acme --hw-class siren-2"
    )]
    Firmware(firmware::FirmwareArgs),
    /// List and rotate the keys that sign access tokens, in the data directory or on a running server (--remote).
    #[command(after_help = "Examples:\n  muster signing list\n  muster signing rotate --json")]
    Signing(signing::SigningArgs),
    /// Log in to a server. The tokens are bound to a key of this device.
    #[command(
        after_help = "Examples:\n  muster login --server http://127.0.0.1:8080\n  muster login --server https://muster.example.org --email ann@example.org < password.txt\n  muster login --status --json"
    )]
    Login(login::LoginArgs),
    /// End the login of this device, on the server and here.
    #[command(after_help = "Example:\n  muster logout")]
    Logout(login::LogoutArgs),
    /// List and fetch embedded models.
    #[command(after_help = "Examples:\n  muster models list\n  muster models pull better")]
    Models(models::ModelsArgs),
    /// Verify the medical knowledge base, and mark its records as reviewed.
    #[command(
        after_help = "Examples:\n  muster medical verify\n  muster medical review dvt --by \"Dr A. Example\" --on 2027-01-15"
    )]
    Medical(medical::MedicalArgs),
    /// List and describe engines, and run them without a server, on JSON lines.
    #[command(
        visible_alias = "engines",
        after_help = "Examples:\n  muster engine list --family hazard wind\n  muster engine describe cold-stress\n  echo '{\"schema\": {}, \"document\": 1}' | muster engine run q109\n  muster engine sample q109 --count 3 | muster engine run q109 --explain"
    )]
    Engine(engine::EngineArgs),
    /// Check settings, store, model and providers, and print how to fix each problem. The server must be stopped.
    #[command(after_help = "Examples:\n  muster doctor\n  muster doctor --config config.toml --json")]
    Doctor(doctor::DoctorArgs),
    /// Write the store to one encrypted, signed and verified file, from the data directory of a stopped server or from a running one (--server).
    #[command(
        after_help = "Examples:\n  muster backup --to muster.backup\n  muster backup --to muster.backup --key-file ~/backup.key\n  muster backup --to muster.backup.age --recipient age1…\n  MUSTER_API_KEY=mst_… muster backup --server http://127.0.0.1:8080 --to muster.backup"
    )]
    Backup(backup::BackupArgs),
    /// Restore a backup into the data directory of a stopped server.
    ///
    /// The file is verified first: its encryption, its signature, its audit log, and that its keys, people and trust
    /// anchors are those of their newest entries in the log. All sessions end. Nothing is changed if something is amiss.
    #[command(
        after_help = "Examples:\n  muster restore --from muster.backup --data ./data\n  muster restore --from muster.backup --vkey 'muster.example.org/audit/1+76bd6027+ASms…'\n  muster restore --from muster.backup.age --identity ~/backup-identity.txt --force --json\n  muster restore --from old.backup --unsigned muster.example.org"
    )]
    Restore(restore::RestoreArgs),
    /// Check every record of a backup or of the data directory of a stopped server.
    #[command(after_help = "Examples:\n  muster verify --data ./data\n  muster verify muster.backup --json")]
    Verify(verify::VerifyArgs),
    /// Verify the audit log, watch that of a running server, rotate its key.
    #[command(after_help = audit::EXAMPLES)]
    Audit(audit::AuditArgs),
    /// Rewrite the store of a stopped server in less space, without what was erased from it.
    ///
    /// The engine never returns the space of a record that was replaced or erased. All records are copied into a new engine
    /// beside the old one, which takes its place; the old files are removed. Needs as much free space as the records take.
    #[command(after_help = "Examples:\n  muster compact --data ./data\n  muster compact --snapshots --json")]
    Compact(verify::CompactArgs),
    /// List, show, approve and reject approvals, signed with the key of `muster login`.
    #[command(after_help = approvals::EXAMPLES)]
    Approvals(approvals::ApprovalsArgs),
    /// Show the tasks of agents live, and pause, resume, redirect or kill them.
    #[command(after_help = monitor::EXAMPLES)]
    Monitor(monitor::MonitorArgs),
    /// Drive a server with simulated devices.
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::SimulateArgs),
    /// Run engines for a server over standard input and output. Started by the server itself.
    #[command(hide = true)]
    EngineWorker(EngineWorkerArgs),
    /// Run another program without network. Started by the server itself.
    #[command(hide = true)]
    Offline(OfflineArgs),
}

/// Arguments of the hidden command that runs a program without network.
#[derive(Debug, clap::Args)]
pub struct OfflineArgs {
    /// CPU time of each process, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub cpu_seconds: u64,
    /// The program and its arguments.
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    pub command: Vec<std::ffi::OsString>,
}

/// The settings file and the data directory.
#[derive(Debug, Clone, clap::Args)]
pub struct Settings {
    /// Settings file [default: config.toml in the working directory, if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Data directory; overrides `store.path`.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

/// Arguments of `muster serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Settings file and data directory.
    #[command(flatten)]
    pub settings: Settings,
    /// Address to listen on; overrides `server.listen`. Port 0 selects a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Start although the audit log does not continue what was signed last, and say why: the next generation of the log
    /// begins.
    #[arg(long, value_name = "REASON")]
    pub accept_rollback: Option<String>,
}

/// Arguments of `muster engine-worker`.
#[derive(Debug, clap::Args)]
pub struct EngineWorkerArgs {
    /// Memory limit of one call, in MiB.
    #[arg(long, value_name = "MIB")]
    pub memory_mib: u64,
    /// CPU time of the process, in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub cpu_seconds: u64,
    /// Whether the process restricts itself.
    #[arg(long, value_name = "MODE", value_parser = ["require", "prefer", "off"])]
    pub sandbox: String,
    /// Directory that engines may read.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Table of language detection.
    #[arg(long, value_name = "FILE")]
    pub language_table: Option<PathBuf>,
    /// Names of things in many languages.
    #[arg(long, value_name = "FILE")]
    pub picture_names: Option<PathBuf>,
}
