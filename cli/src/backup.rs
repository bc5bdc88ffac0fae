//! `muster backup`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use muster_backup::{Header, SignedWriter};
use muster_seal::{AgeRecipient, AgeWriter, Passphrase, SealWriter, is_age};
use muster_store::{DataFolder, Inspection, inspect_backup};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::connection::TlsArgs;
use crate::local::BackupSetup;
use crate::progress::Progress;
use crate::sealed::{BackupFile, PassphraseArgs, ask_twice};
use crate::{Environment, LocalServer, Settings, block_on, connection, digest, fail, locked};

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
    /// Public key of age (`age1…`) whose owner alone can read the backup, from the data directory. Can be repeated
    /// [default: `[backup] recipients` of the settings, else a passphrase].
    #[arg(long, value_name = "RECIPIENT", conflicts_with = "server")]
    recipient: Vec<AgeRecipient>,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A backup that was written.
struct Written {
    sha256: [u8; 32],
    /// What was read back. `None` for a backup to recipients: only they can read it.
    read_back: Option<ReadBack>,
    /// Number of records, where it is known.
    records: Option<u64>,
}

struct ReadBack {
    inspection: Inspection,
    header: Option<Header>,
}

pub(super) fn backup(args: &BackupArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    let result = check_target(args).and_then(|()| match &args.server {
        Some(url) => block_on(remote(url, args, environment)),
        None => local(args, environment, server),
    });
    match result {
        Ok(written) if args.json => print_json(args, &written),
        Ok(written) => print(args, &written),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

fn print_json(args: &BackupArgs, written: &Written) {
    let read_back = written.read_back.as_ref();
    let header = read_back.and_then(|read| read.header.as_ref());
    println!(
        "{}",
        json!({
            "file": args.to,
            "records": written.records,
            "bytes": size(&args.to),
            "sha256": digest::hex(&written.sha256),
            "read_back": read_back.is_some(),
            "journals": read_back.map(|read| &read.inspection.journals),
            "vkeys": header.map(|header| &header.vkeys),
            "origin": header.map(|header| &header.origin),
        })
    );
}

fn print(args: &BackupArgs, written: &Written) {
    let (file, bytes) = (args.to.display(), size(&args.to));
    let records = written.records.map(|records| format!("{records} records, ")).unwrap_or_default();
    let Some(read) = &written.read_back else {
        println!("{file}: {records}{bytes} bytes, encrypted to recipients, who alone can read it");
        println!("SHA-256 {}, as it was written", digest::hex(&written.sha256));
        return;
    };
    println!("{file}: {records}{bytes} bytes, encrypted, read back and verified");
    if let Some(header) = &read.header {
        println!("signed by {}", header.vkeys.join(", "));
        println!("keep this line apart from the file: `muster restore --vkey` needs the key on another machine");
    }
    for journal in &read.inspection.journals {
        println!(
            "includes the journal {} ({} bytes): the first start after a restore applies it",
            journal.name, journal.bytes
        );
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |meta| meta.len())
}

/// How a backup is encrypted.
enum Protection {
    Recipients(Vec<AgeRecipient>),
    Passphrase(Passphrase),
}

fn local(args: &BackupArgs, environment: &Environment, server: &impl LocalServer) -> Result<Written, String> {
    let options = server.store_options(&args.settings)?;
    let recipients =
        if args.recipient.is_empty() { server.backup_recipients(&args.settings)? } else { args.recipient.clone() };
    let protection = if recipients.is_empty() {
        Protection::Passphrase(args.passphrase.of_new_backup(environment)?)
    } else {
        Protection::Recipients(recipients)
    };
    let through = "back it up through the server: --server http://127.0.0.1:8080, with the key of a super_admin in MUSTER_API_KEY";
    let folder = DataFolder::lock(options).map_err(|error| locked(&error, through))?;
    let setup = server.backup_setup(&args.settings, &folder)?;
    let mut file = PendingFile::new(args)?;
    let records = match &protection {
        Protection::Recipients(recipients) => {
            let writer = AgeWriter::new(&mut file.out, recipients).map_err(|error| error.to_string())?;
            let (records, writer) = write_signed(&folder, writer, setup)?;
            writer.finish().map_err(|error| error.to_string())?;
            records
        }
        Protection::Passphrase(passphrase) => {
            let writer = SealWriter::new(&mut file.out, passphrase).map_err(|error| error.to_string())?;
            let (records, writer) = write_signed(&folder, writer, setup)?;
            writer.finish().map_err(|error| error.to_string())?;
            records
        }
    };
    let passphrase = match protection {
        Protection::Recipients(_) => None,
        Protection::Passphrase(passphrase) => Some(passphrase),
    };
    let written = file.commit(args, passphrase)?;
    Ok(Written { records: Some(records), ..written })
}

/// Writes the signed content. Returns the number of records and the writer below.
fn write_signed<W: Write>(folder: &DataFolder, to: W, setup: BackupSetup) -> Result<(u64, W), String> {
    let mut progress = Progress::new("backup", "records");
    let mut out = SignedWriter::new(to, setup.header, setup.signers).map_err(|error| error.to_string())?;
    let records =
        folder.backup(&mut out, &mut |records| progress.update(records)).map_err(|error| error.to_string())?;
    Ok((records, out.finish().map_err(|error| error.to_string())?))
}

async fn remote(server: &str, args: &BackupArgs, environment: &Environment) -> Result<Written, String> {
    let key = environment.require_api_key()?;
    let mut file = PendingFile::new(args)?;
    let client = connection::client(args.tls.ca.as_ref(), || {
        reqwest::Client::builder().read_timeout(Duration::from_secs(600)).connect_timeout(Duration::from_secs(10))
    })?;
    let url = format!("{}/api/v1/admin/backup", server.trim_end_matches('/'));
    let call = async |passphrase: Option<&Passphrase>| {
        let body = passphrase.map_or_else(|| json!({}), |passphrase| json!({ "passphrase": passphrase.reveal() }));
        let request = client.post(&url).bearer_auth(key).header("Content-Type", "application/json");
        let response = request.body(body.to_string()).send().await;
        response.map_err(|error| connection::unreachable(server, &error))
    };
    let mut passphrase = args.passphrase.given(environment)?;
    let mut response = call(passphrase.as_ref()).await?;
    // A server without recipients needs a passphrase.
    if response.status() == StatusCode::UNPROCESSABLE_ENTITY && passphrase.is_none() {
        let given = tokio::task::spawn_blocking(ask_twice).await.map_err(|error| error.to_string())??;
        response = call(Some(&given)).await?;
        passphrase = Some(given);
    }
    if !response.status().is_success() {
        return Err(refusal(server, response).await);
    }
    let promised = response.headers().get("Repr-Digest").and_then(|value| digest::parse(value.to_str().ok()?));
    receive(server, &mut file, &mut response).await?;
    let sha256 = file.out.get_ref().digest();
    if promised.is_some_and(|promised| promised != sha256) {
        return Err(format!("what {server} sent is not what it announced: the file was removed"));
    }
    if passphrase.is_none() && promised.is_none() {
        return Err(format!(
            "{server} announced no Repr-Digest of a backup that cannot be read back: the file was removed"
        ));
    }
    file.commit(args, passphrase)
}

async fn receive(server: &str, file: &mut PendingFile, response: &mut Response) -> Result<(), String> {
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
    file.out.flush().map_err(|error| file.error(&error))
}

/// Formats why a server refused: its `detail`, which is a text or a list of what is wrong with the request.
async fn refusal(server: &str, response: Response) -> String {
    let status = response.status();
    let text = response.text().await.unwrap_or_default();
    let detail = serde_json::from_str(&text).ok().and_then(|body: Value| match body.get("detail")? {
        Value::String(detail) => Some(detail.clone()),
        Value::Array(failures) => {
            let messages: Vec<&str> = failures.iter().filter_map(|failure| failure.get("msg")?.as_str()).collect();
            Some(messages.join("; "))
        }
        _ => None,
    });
    detail.unwrap_or_else(|| format!("{server} is not a Muster server: {status} {text}"))
}

/// Hashes what is written to a file.
struct HashedFile {
    file: File,
    sha256: Sha256,
}

impl HashedFile {
    fn digest(&self) -> [u8; 32] {
        self.sha256.clone().finalize().into()
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sha256.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that appears under its name only once it is complete. Until then it is a temporary file beside it.
struct PendingFile {
    temporary: PathBuf,
    out: BufWriter<HashedFile>,
}

impl PendingFile {
    fn new(args: &BackupArgs) -> Result<Self, String> {
        check_target(args)?;
        let mut name = args.to.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let file = file.map_err(|error| format!("{}: {error}", temporary.display()))?;
        let out = BufWriter::with_capacity(64 << 10, HashedFile { file, sha256: Sha256::new() });
        Ok(Self { temporary, out })
    }

    fn error(&self, error: &dyn std::fmt::Display) -> String {
        format!("{}: {error}", self.temporary.display())
    }

    /// Syncs the file, reads it back if it was encrypted with a passphrase, and renames it.
    fn commit(mut self, args: &BackupArgs, passphrase: Option<Passphrase>) -> Result<Written, String> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().file.sync_all());
        synced.map_err(|error| self.error(&error))?;
        let read_back = match passphrase {
            Some(passphrase) => Some(read_back(&BackupFile::written(&self.temporary, passphrase))?),
            None => {
                let mut beginning = Vec::new();
                let read = File::open(&self.temporary)
                    .and_then(|file| io::Read::read_to_end(&mut io::Read::take(file, 64), &mut beginning));
                read.map_err(|error| self.error(&error))?;
                if !is_age(&beginning) {
                    return Err("the backup is not encrypted to recipients: the file was removed".to_owned());
                }
                None
            }
        };
        let records = read_back.as_ref().map(|read| read.inspection.trees.iter().map(|tree| tree.records).sum());
        check_target(args)?;
        fs::rename(&self.temporary, &args.to).map_err(|error| format!("{}: {error}", args.to.display()))?;
        let folder = args.to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Written { sha256: self.out.get_ref().digest(), read_back, records })
    }
}

fn read_back(file: &BackupFile) -> Result<ReadBack, String> {
    let inspection = inspect_backup(file, &[]).map_err(|error| error.to_string())?;
    if let Some(why) = inspection.problems.first() {
        return Err(format!("the backup cannot be read back ({why}): the file was removed"));
    }
    Ok(ReadBack { inspection, header: file.header().map_err(|error| error.to_string())? })
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
