//! `muster backup` and `muster restore`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use muster_seal::{Passphrase, SealError, SealWriter};
use muster_store::{DataFolder, Inspection, ReplacePolicy, inspect_backup};
use serde_json::{Value, json};

use crate::connection::TlsArgs;
use crate::progress::Progress;
use crate::sealed::{PassphraseArgs, Plain, SealedFile};
use crate::{Environment, LocalServer, MissingFiles, Settings, block_on, connection, fail, locked};

#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    #[command(flatten)]
    settings: Settings,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// URL of a running server, called with the API key in MUSTER_API_KEY [default: use the data directory].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    #[command(flatten)]
    settings: Settings,
    /// Backup file to restore.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Accept a backup of an earlier version, which is not encrypted and which anybody could have changed.
    #[arg(long)]
    unencrypted: bool,
    /// Move an existing store aside instead of refusing. It is not deleted.
    #[arg(long)]
    force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn backup(args: &BackupArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = check_target(args).and_then(|()| args.passphrase.of_new_backup(environment));
    let result = result.and_then(|passphrase| match &args.server {
        Some(url) => block_on(remote(url, args, &passphrase, environment)),
        None => local(args, &passphrase, server),
    });
    let inspection = match result {
        Ok(inspection) => inspection,
        Err(error) => return fail(&error),
    };
    let records: u64 = inspection.trees.iter().map(|tree| tree.records).sum();
    let bytes = fs::metadata(&args.to).map_or(0, |meta| meta.len());
    if args.json {
        println!("{}", json!({ "file": args.to, "records": records, "bytes": bytes, "journals": inspection.journals }));
    } else {
        println!("{}: {records} records, {bytes} bytes, encrypted, read back and verified", args.to.display());
        for journal in &inspection.journals {
            println!(
                "includes the journal {} ({} bytes): the first start after a restore applies it",
                journal.name, journal.bytes
            );
        }
    }
    ExitCode::SUCCESS
}

fn local(args: &BackupArgs, passphrase: &Passphrase, server: &impl LocalServer) -> Result<Inspection, String> {
    let options = server.store_options(&args.settings)?;
    let through = "back it up through the server: --server http://127.0.0.1:8080, with the key of a super_admin in MUSTER_API_KEY";
    let folder = DataFolder::lock(options).map_err(|error| locked(&error, through))?;
    let mut file = PendingFile::new(args)?;
    let mut progress = Progress::new("backup", "records");
    let sealed = |error: SealError| error.to_string();
    let mut out = SealWriter::new(&mut file.out, passphrase).map_err(sealed)?;
    folder.backup(&mut out, &mut |records| progress.update(records)).map_err(|error| error.to_string())?;
    out.finish().map_err(sealed)?;
    file.commit(args, passphrase)
}

async fn remote(
    server: &str,
    args: &BackupArgs,
    passphrase: &Passphrase,
    environment: &Environment,
) -> Result<Inspection, String> {
    let key = environment.require_api_key()?;
    let mut file = PendingFile::new(args)?;
    let client = connection::client(args.tls.ca.as_ref(), || {
        reqwest::Client::builder().read_timeout(Duration::from_secs(600)).connect_timeout(Duration::from_secs(10))
    })?;
    let url = format!("{}/api/v1/admin/backup", server.trim_end_matches('/'));
    let body = json!({ "passphrase": passphrase.reveal() }).to_string();
    let request = client.post(url).bearer_auth(key).header("Content-Type", "application/json").body(body);
    let mut response = request.send().await.map_err(|error| connection::unreachable(server, &error))?;
    if !response.status().is_success() {
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        let body =
            serde_json::from_str(&text).ok().and_then(|body: Value| Some(body.get("detail")?.as_str()?.to_owned()));
        return Err(body.unwrap_or_else(|| format!("{server} is not a Muster server: {status} {text}")));
    }
    let (mut progress, mut bytes) = (Progress::new("backup", "bytes"), 0);
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| format!("the connection to {server} was interrupted: {}", connection::causes(&error)))?
    {
        file.out.write_all(&chunk).map_err(|error| file.error(&error))?;
        bytes += chunk.len() as u64;
        progress.update(bytes);
    }
    file.commit(args, passphrase)
}

/// A file that appears under its name only once it is complete. Until then it is a temporary file beside it.
struct PendingFile {
    temporary: PathBuf,
    out: BufWriter<File>,
}

impl PendingFile {
    fn new(args: &BackupArgs) -> Result<Self, String> {
        check_target(args)?;
        let mut name = args.to.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        let out = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let out = out.map_err(|error| format!("{}: {error}", temporary.display()))?;
        Ok(Self { temporary, out: BufWriter::with_capacity(64 << 10, out) })
    }

    fn error(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.temporary.display())
    }

    /// Syncs the file, reads it back and renames it.
    fn commit(mut self, args: &BackupArgs, passphrase: &Passphrase) -> Result<Inspection, String> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|error| self.error(&error))?;
        let sealed = SealedFile::new(&self.temporary, passphrase.clone());
        let inspection = inspect_backup(&sealed, &[]).map_err(|error| error.to_string())?;
        if let Some(why) = inspection.problems.first() {
            return Err(format!("the backup cannot be read back ({why}): the file was removed"));
        }
        check_target(args)?;
        fs::rename(&self.temporary, &args.to).map_err(|error| format!("{}: {error}", args.to.display()))?;
        let folder = args.to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(inspection)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After `commit` the temporary file no longer exists.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn check_target(args: &BackupArgs) -> Result<(), String> {
    if args.to.exists() && !args.force {
        return Err(format!("{} already exists: choose another name, or use --force", args.to.display()));
    }
    Ok(())
}

pub(super) fn restore(args: &RestoreArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let (restored, data, missing) = match restore_store(args, environment, server) {
        Ok(restored) => restored,
        Err(error) => return fail(&error),
    };
    if args.json {
        let body =
            json!({ "data": data, "records": restored.records, "set_aside": restored.set_aside, "lacks": missing });
        println!("{body}");
    } else {
        println!("{}: {} records restored", data.display(), restored.records);
        if let Some(aside) = &restored.set_aside {
            println!("the previous store is in {}: remove it when you no longer need it", aside.display());
        }
        print_missing(&missing, &data);
    }
    ExitCode::SUCCESS
}

fn restore_store(
    args: &RestoreArgs,
    environment: &Environment,
    server: &impl LocalServer,
) -> Result<(muster_store::RestoreReport, PathBuf, MissingFiles), String> {
    let options = server.store_options(&args.settings)?;
    let data = options.path.clone();
    let plain = if args.unencrypted { Plain::Accepted } else { Plain::Refused };
    let source = args.passphrase.source(&args.from, plain, environment)?;
    let folder = DataFolder::lock_or_create(options);
    let folder = folder.map_err(|error| locked(&error, "stop the server first (SIGTERM), then restore"))?;
    let replace = if args.force { ReplacePolicy::SetAside } else { ReplacePolicy::Never };
    let mut progress = Progress::new("restore", "records");
    let restored = folder.restore(&*source, replace, &mut |records| progress.update(records));
    drop(folder);
    let restored = restored.map_err(|error| error.to_string())?;
    let missing = server.missing_files(&args.settings)?;
    Ok((restored, data, missing))
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
