//! `muster backup` and `muster restore`: of a stopped server's data folder, or a backup through a running server.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use muster_store::{DataFolder, Inspection, ReplacePolicy, inspect_file};
use serde_json::{Value, json};

use crate::progress::Progress;
use crate::{Environment, LocalServer, MissingFiles, Settings, block_on, fail, install_tls, locked};

#[derive(Debug, clap::Args)]
pub(super) struct BackupArgs {
    #[command(flatten)]
    settings: Settings,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// A running server, asked with the key in MUSTER_API_KEY; without it the data folder itself.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Write over a file that is there.
    #[arg(long)]
    force: bool,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    #[command(flatten)]
    settings: Settings,
    /// The backup.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Set a store that is there aside; it is not deleted.
    #[arg(long)]
    force: bool,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn backup(args: &BackupArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let written = match &args.server {
        Some(url) => block_on(remote(url, args, environment)),
        None => local(args, server),
    };
    let found = match written {
        Ok(found) => found,
        Err(error) => return fail(&error),
    };
    let records: u64 = found.trees.iter().map(|tree| tree.records).sum();
    let bytes = fs::metadata(&args.to).map_or(0, |meta| meta.len());
    if args.json {
        println!("{}", json!({ "file": args.to, "records": records, "bytes": bytes, "journals": found.journals }));
    } else {
        println!("{}: {records} records, {bytes} bytes, read back whole", args.to.display());
        for journal in &found.journals {
            println!(
                "with the journal {}, {} bytes: the first start after a restore takes it in",
                journal.name, journal.bytes
            );
        }
    }
    ExitCode::SUCCESS
}

fn local(args: &BackupArgs, server: &impl LocalServer) -> Result<Inspection, String> {
    let options = server.store_options(&args.settings)?;
    let through = "back it up through the server: --server http://127.0.0.1:8080, with an admin key in MUSTER_API_KEY";
    let folder = DataFolder::lock(options).map_err(|error| locked(&error, through))?;
    let mut landing = Landing::new(args)?;
    let mut progress = Progress::new("backup", "records");
    folder.backup(&mut landing.out, &mut |records| progress.update(records)).map_err(|error| error.to_string())?;
    landing.land(args)
}

async fn remote(server: &str, args: &BackupArgs, environment: &Environment) -> Result<Inspection, String> {
    let key = environment.require_api_key()?;
    let mut landing = Landing::new(args)?;
    install_tls();
    let client =
        reqwest::Client::builder().read_timeout(Duration::from_secs(600)).connect_timeout(Duration::from_secs(10));
    let client = client.build().map_err(|error| error.to_string())?;
    let url = format!("{}/api/v1/admin/backup", server.trim_end_matches('/'));
    let silent = |error: reqwest::Error| format!("{server} does not answer: {error}");
    let mut answer = client.post(url).bearer_auth(key).send().await.map_err(silent)?;
    if !answer.status().is_success() {
        let status = answer.status();
        let text = answer.text().await.unwrap_or_default();
        let said =
            serde_json::from_str(&text).ok().and_then(|said: Value| Some(said.get("detail")?.as_str()?.to_owned()));
        return Err(said.unwrap_or_else(|| format!("{server} is no Muster server: {status} {text}")));
    }
    let (mut progress, mut bytes) = (Progress::new("backup", "bytes"), 0);
    while let Some(piece) = answer.chunk().await.map_err(|error| format!("{server} broke off: {error}"))? {
        landing.out.write_all(&piece).map_err(|error| landing.at(&error))?;
        bytes += piece.len() as u64;
        progress.update(bytes);
    }
    landing.land(args)
}

/// A file that is there whole, or not at all.
struct Landing {
    temporary: PathBuf,
    out: BufWriter<File>,
}

impl Landing {
    fn new(args: &BackupArgs) -> Result<Self, String> {
        free(args)?;
        let mut name = args.to.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        let file = File::create(&temporary).map_err(|error| format!("{}: {error}", temporary.display()))?;
        Ok(Self { temporary, out: BufWriter::with_capacity(64 << 10, file) })
    }

    fn at(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.temporary.display())
    }

    /// Syncs it, reads it back, and gives it its name.
    fn land(mut self, args: &BackupArgs) -> Result<Inspection, String> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|error| self.at(&error))?;
        let found = inspect_file(&self.temporary, &[]).map_err(|error| error.to_string())?;
        if let Some(why) = found.problems.first() {
            return Err(format!("the backup does not read back: {why}: nothing was kept"));
        }
        free(args)?;
        fs::rename(&self.temporary, &args.to).map_err(|error| format!("{}: {error}", args.to.display()))?;
        let folder = args.to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(found)
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // It is gone already where it was given its name.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn free(args: &BackupArgs) -> Result<(), String> {
    if args.to.exists() && !args.force {
        return Err(format!("{} is there already: give another name, or --force", args.to.display()));
    }
    Ok(())
}

pub(super) fn restore(args: &RestoreArgs, server: &impl LocalServer) -> ExitCode {
    let (restored, data, missing) = match restored(args, server) {
        Ok(restored) => restored,
        Err(error) => return fail(&error),
    };
    if args.json {
        let said =
            json!({ "data": data, "records": restored.records, "set_aside": restored.set_aside, "lacks": missing });
        println!("{said}");
    } else {
        println!("{}: {} records restored", data.display(), restored.records);
        if let Some(aside) = &restored.set_aside {
            println!("the store before is in {}: remove it once it is not missed", aside.display());
        }
        print_missing(&missing, &data);
    }
    ExitCode::SUCCESS
}

fn restored(
    args: &RestoreArgs,
    server: &impl LocalServer,
) -> Result<(muster_store::RestoreReport, PathBuf, MissingFiles), String> {
    let options = server.store_options(&args.settings)?;
    let data = options.path.clone();
    let folder = DataFolder::lock_or_create(options);
    let folder = folder.map_err(|error| locked(&error, "stop the server first (SIGTERM), then restore"))?;
    let replace = if args.force { ReplacePolicy::SetAside } else { ReplacePolicy::Never };
    let mut progress = Progress::new("restore", "records");
    let restored = folder.restore(&args.from, replace, &mut |records| progress.update(records));
    drop(folder);
    let restored = restored.map_err(|error| error.to_string())?;
    let missing = server.missing_files(&args.settings)?;
    Ok((restored, data, missing))
}

fn print_missing(missing: &MissingFiles, data: &Path) {
    if !missing.images.is_empty() {
        println!(
            "{} firmware images are not here: copy firmware/ from where the backup was made into {}, or no job with \
                 them starts: {}",
            missing.images.len(),
            data.display(),
            missing.images.join(", ")
        );
    }
    if missing.signing_keys {
        println!("signing/ is not here: the first start makes new keys, and everybody logs in again");
    }
}
