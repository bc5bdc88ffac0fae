//! `muster audit`: verifies the audit log, watches that of a server, rotates its key.

mod watch;

use std::fs::File;
use std::io::{BufReader, stdin};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use muster_audit::{Verdict, VerifyOptions, verify_export};
use muster_tlog::VerifierKey;
use serde_json::{Value, json};

use crate::{Environment, LocalServer, Settings, block_on, fail};

pub(super) const EXAMPLES: &str = "Examples:\n  muster audit verify export.ndjson --vkey muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X\n  muster audit verify --data ./data --against checkpoint-of-may.txt\n  MUSTER_API_KEY=mst_… muster audit watch --server http://127.0.0.1:8080 --keep checkpoint.txt\n  muster audit rotate-key --data ./data";

#[derive(Debug, clap::Args)]
pub(super) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Verify an export of the audit log, or that of the data directory of a stopped server with its records.
    ///
    /// Prints one line: `ok`, `altered at N`, `tail missing`, `root mismatch`, `bad signature`, `fork`, or `record differs from
    /// its entry`, and why. The exit code is 0 for `ok`, else 1.
    Verify(VerifyArgs),
    /// Watch the log of a running server: each checkpoint must be signed, and continue the one before.
    Watch(watch::WatchArgs),
    /// Announce a further key of the log. It signs once the server was started or reloaded; the present one signs for 30 more
    /// days.
    RotateKey(RotateArgs),
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    #[command(flatten)]
    settings: Settings,
    /// Export to verify, or - for standard input [default: the log in the data directory].
    file: Option<PathBuf>,
    /// Key of the log; can be repeated after a rotation. It must come by another way than the export.
    #[arg(long, value_name = "VKEY")]
    vkey: Vec<VerifierKey>,
    /// Check no signature of an export, only that it agrees with itself.
    #[arg(long)]
    unsigned: bool,
    /// The log that it must be [default: the name of the first key].
    #[arg(long)]
    origin: Option<String>,
    /// Number of the first entry of an export of a part.
    #[arg(long, value_name = "N", default_value_t = 0)]
    first: u64,
    /// Accept that entries follow which are not in the export.
    #[arg(long)]
    part: bool,
    /// File with an earlier checkpoint that was kept; can be repeated.
    #[arg(long, value_name = "NOTE")]
    against: Vec<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct RotateArgs {
    #[command(flatten)]
    settings: Settings,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: AuditArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    match args.command {
        AuditCommand::Verify(args) if args.file.is_some() && args.vkey.is_empty() != args.unsigned => {
            eprintln!("muster: give the key of the log with --vkey, or --unsigned");
            ExitCode::from(2)
        }
        AuditCommand::Verify(args) => match verify(&args, server) {
            Ok(verdict) => print(&verdict, args.json),
            Err(error) => fail(&error),
        },
        AuditCommand::Watch(args) => match block_on(watch::run(&args, environment)) {
            Ok(code) => code,
            Err(error) => fail(&error),
        },
        AuditCommand::RotateKey(args) => rotate(&args, server),
    }
}

fn verify(args: &VerifyArgs, server: &impl LocalServer) -> Result<Verdict, String> {
    let read = |path: &PathBuf| {
        let note = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((path.display().to_string(), note))
    };
    let options = VerifyOptions {
        keys: args.vkey.clone(),
        origin: args.origin.clone(),
        first: args.first,
        part: args.part,
        against: args.against.iter().map(read).collect::<Result<_, String>>()?,
    };
    let Some(file) = &args.file else {
        return server.verify_audit(&args.settings, options);
    };
    let unreadable = |error: std::io::Error| format!("{}: {error}", file.display());
    if file.as_os_str() == "-" {
        return verify_export(stdin().lock(), &options).map_err(unreadable);
    }
    let export = BufReader::with_capacity(1 << 20, File::open(file).map_err(unreadable)?);
    verify_export(export, &options).map_err(unreadable)
}

fn print(verdict: &Verdict, as_json: bool) -> ExitCode {
    if as_json {
        let text = verdict.to_string();
        let (word, why) = text.split_once(": ").unwrap_or((&text, ""));
        println!("{}", json!({ "ok": verdict.is_ok(), "verdict": word, "why": why }));
    } else {
        println!("{verdict}");
    }
    if verdict.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn rotate(args: &RotateArgs, server: &impl LocalServer) -> ExitCode {
    match server.rotate_log_key(&args.settings) {
        Ok(response) if args.json => println!("{response}"),
        Ok(response) => {
            let key = response.get("public_key").and_then(Value::as_str).unwrap_or_default();
            println!("{key}");
            eprintln!("start the server, or reload it (SIGHUP): the log then names this key, and it signs");
        }
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}
