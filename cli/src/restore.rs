//! `muster restore`.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use muster_backup::{Header, SignatureError, Trust};
use muster_store::{BackupSource, DataFolder, ReplacePolicy, RestoreOptions, RestoreReport, Tree};
use muster_tlog::VerifierKey;
use serde_json::json;

use crate::progress::Progress;
use crate::sealed::{BackupFile, OpenArgs, OpenError};
use crate::{Environment, LocalServer, MissingFiles, Settings, fail, locked, prompt};

/// Name of the instance of a backup without a header, restored into a folder that has no instance.
const UNNAMED: &str = "muster";
/// Largest number of contradictions that are printed.
const NAMED: usize = 20;

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    #[command(flatten)]
    settings: Settings,
    /// Backup file to restore.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    open: OpenArgs,
    /// Key of the audit log whose signature is accepted, as `muster backup` printed it [default: the keys in signing/ of
    /// the data directory]. Can be repeated.
    #[arg(long, value_name = "VKEY")]
    vkey: Vec<VerifierKey>,
    /// Accept a backup that is not signed, or not by a known key. NAME is the name of the instance; without it, it is
    /// asked for.
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    unsigned: Option<String>,
    /// Keep the sessions of the backup instead of ending them all.
    #[arg(long)]
    keep_sessions: bool,
    /// Move an existing store aside instead of refusing. It is not deleted.
    #[arg(long)]
    force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What was restored.
struct Restored {
    report: RestoreReport,
    header: Option<Header>,
    missing: MissingFiles,
    data: PathBuf,
}

pub(super) fn restore(args: &RestoreArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let restored = match restore_store(args, environment, server) {
        Ok(restored) => restored,
        Err(error) => return fail(&error),
    };
    if args.json {
        print_json(&restored, args)
    } else {
        print(&restored, args)
    }
    ExitCode::SUCCESS
}

fn restore_store(args: &RestoreArgs, environment: &Environment, server: &impl LocalServer) -> Result<Restored, String> {
    let options = server.store_options(&args.settings)?;
    let data = options.path.clone();
    let known = server.known_instance(&args.settings)?;
    let trust = Trust::Keys(args.vkey.iter().chain(&known.keys).cloned().collect());
    let mut backup = args.open.open(&args.from, trust, environment)?;
    let header = match backup.header() {
        Ok(header) => header,
        Err(OpenError::Signature(refused @ (SignatureError::NotSigned | SignatureError::UnknownSigner(_)))) => {
            let Some(given) = &args.unsigned else { return Err(unknown_signer(&args.from, &refused)) };
            backup = backup.by_anybody();
            let header = backup.header().map_err(|error| format!("{}: {error}", args.from.display()))?;
            let name = header.as_ref().map_or_else(|| known.name.as_deref().unwrap_or(UNNAMED), Header::name);
            confirm(given, name)?;
            header
        }
        Err(error) => return Err(format!("{}: {error}", args.from.display())),
    };
    let folder = DataFolder::lock_or_create(options);
    let folder = folder.map_err(|error| locked(&error, "stop the server first (SIGTERM), then restore"))?;
    check(server, &backup, header.as_ref())?;
    let replace = if args.force { ReplacePolicy::SetAside } else { ReplacePolicy::Never };
    let without: &[Tree] = if args.keep_sessions { &[] } else { &[Tree::Sessions] };
    let mut progress = Progress::new("restore", "records");
    let how = RestoreOptions { replace, without };
    let report = folder.restore(&backup, how, &mut |records| progress.update(records));
    drop(folder);
    let report = report.map_err(|error| error.to_string())?;
    let missing = server.missing_files(&args.settings)?;
    Ok(Restored { report, header, missing, data })
}

/// Compares the records with the audit log, where the backup has a signed one.
fn check(server: &impl LocalServer, backup: &BackupFile, header: Option<&Header>) -> Result<(), String> {
    // A backup of an earlier version has no such log: its records become entries at the first start.
    let Some(header) = header else { return Ok(()) };
    let found = server.check_backup(backup, header)?;
    if found.is_empty() {
        return Ok(());
    }
    let more = found.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    let named: Vec<&str> = found.iter().take(NAMED).map(String::as_str).collect();
    Err(format!(
        "{}: its records contradict its audit log, so they were changed by other means than the server. Nothing was \
         restored; use an earlier backup.\n  {}{more}",
        backup.name(),
        named.join("\n  ")
    ))
}

fn unknown_signer(file: &Path, refused: &SignatureError) -> String {
    let anybody = "then whoever could write the file decided what it contains, keys and passwords included";
    match refused {
        SignatureError::UnknownSigner(keys) => {
            let flags: Vec<String> = keys.iter().map(|key| format!("--vkey '{key}'")).collect();
            format!(
                "{}: {refused}.\nIf this is the key that `muster backup` printed when the backup was made, restore it \
                 with\n  {}\nor copy signing/ from the machine of the backup into the data directory first. If nobody \
                 knows the key any more, --unsigned restores the backup all the same: {anybody}",
                file.display(),
                flags.join("\n  ")
            )
        }
        _ => format!(
            "{}: {refused}: it was made by an earlier version, or by somebody else. If you know that nobody changed it, \
             add --unsigned: {anybody}",
            file.display()
        ),
    }
}

/// Lets the user name the instance whose records are to be accepted without proof.
fn confirm(given: &str, expected: &str) -> Result<(), String> {
    let given = match given {
        "" if io::stdin().is_terminal() => {
            eprintln!("muster: nothing proves who made this backup. To restore it, type the name of its instance");
            prompt::line(&format!("name of the instance ({expected})"))?
        }
        "" => {
            return Err(format!(
                "to restore a backup that nobody vouches for, name its instance: --unsigned {expected}"
            ));
        }
        given => given.to_owned(),
    };
    if given.trim() == expected {
        return Ok(());
    }
    Err(format!("the instance of this backup is {expected}, not {:?}: nothing was restored", given.trim()))
}

fn print_json(restored: &Restored, args: &RestoreArgs) {
    let Restored { report, header, missing, data } = restored;
    println!(
        "{}",
        json!({
            "data": data,
            "records": report.records,
            "set_aside": report.set_aside,
            "lacks": missing,
            "sessions": if args.keep_sessions { "kept" } else { "ended" },
            "backup": header.as_ref().map(|header| json!({
                "instance": header.instance,
                "origin": header.origin,
                "at": header.at,
                "vkeys": header.vkeys,
                "approval": header.approval,
            })),
        })
    );
}

fn print(restored: &Restored, args: &RestoreArgs) {
    let Restored { report, header, missing, data } = restored;
    println!("{}: {} records restored", data.display(), report.records);
    match header {
        Some(header) => {
            println!("backup of {} at {}, signed by {}", header.origin, header.at, header.vkeys.join(", "));
            println!(
                "keys, roles and trust anchors that were revoked after {} are valid again: revoke them anew",
                header.at
            );
        }
        None => println!(
            "the backup was not signed; keys, roles and trust anchors that were revoked since it was made are valid \
             again: revoke them anew"
        ),
    }
    if args.keep_sessions {
        println!("its sessions are active again, also those that were ended since");
    } else {
        println!("all sessions were ended: every user logs in again");
    }
    println!(
        "the next start begins the next generation of the audit log, with an entry that names the last checkpoint"
    );
    if let Some(aside) = &report.set_aside {
        println!("the previous store is in {}: remove it when you no longer need it", aside.display());
    }
    print_missing(missing, data);
}

/// Prints which files beside the store are missing after a restore.
fn print_missing(missing: &MissingFiles, data: &Path) {
    if !missing.images.is_empty() {
        println!(
            "{} firmware images are missing, and jobs with them cannot start: copy firmware/ from the machine of the backup \
             into {}: {}",
            missing.images.len(),
            data.display(),
            missing.images.join(", ")
        );
    }
    if missing.signing_keys {
        println!("signing/ is missing: the next start creates new keys, and every user has to log in again");
    }
}
