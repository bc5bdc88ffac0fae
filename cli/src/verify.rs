//! `muster verify` and `muster compact`.

use std::path::PathBuf;
use std::process::ExitCode;

use muster_backup::{Header, Trust};
use muster_store::{CompactReport, DataFolder, Inspection, inspect_backup};
use serde_json::json;

use crate::progress::Progress;
use crate::sealed::OpenArgs;
use crate::{Environment, LocalServer, Settings, fail, locked};

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    settings: Settings,
    /// Backup file to check [default: the data directory].
    file: Option<PathBuf>,
    #[command(flatten)]
    open: OpenArgs,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    settings: Settings,
    /// Also replace the server's snapshots, which contain what was erased since, by one of the compacted store.
    #[arg(long)]
    snapshots: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn verify(args: &VerifyArgs, environment: &Environment, server: &impl LocalServer) -> ExitCode {
    match inspect(args, environment, server) {
        Ok(verified) => {
            print(&verified, args.json);
            if verified.inspection.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => fail(&error),
    }
}

/// What was verified, and the result.
struct Verified {
    subject: PathBuf,
    inspection: Inspection,
    /// Header of a signed backup.
    header: Option<Header>,
}

fn inspect(args: &VerifyArgs, environment: &Environment, server: &impl LocalServer) -> Result<Verified, String> {
    let options = server.store_options(&args.settings)?;
    if let Some(file) = &args.file {
        let backup = args.open.open(file, Trust::Anybody, environment)?;
        let mut inspection = inspect_backup(&backup, &options.migrations).map_err(|error| error.to_string())?;
        // A damaged file may have no header that can be read.
        let header = backup.header().ok().flatten();
        if let (Some(header), []) = (&header, inspection.problems.as_slice()) {
            inspection.problems = server.check_backup(&backup, header)?;
        }
        return Ok(Verified { subject: file.clone(), inspection, header });
    }
    let data = options.path.clone();
    let folder = DataFolder::lock(options).map_err(|error| {
        locked(
            &error,
            "stop the server first (SIGTERM), or verify a backup of it; a running server reports its state at GET /api/health",
        )
    })?;
    let inspection = folder.inspect().map_err(|error| error.to_string())?;
    Ok(Verified { subject: data, inspection, header: None })
}

fn print(verified: &Verified, as_json: bool) {
    let Verified { subject, inspection, header } = verified;
    let ok = inspection.problems.is_empty();
    if as_json {
        let Inspection { trees, journals, problems } = inspection;
        println!(
            "{}",
            json!({
                "what": subject,
                "ok": ok,
                "trees": trees,
                "journals": journals,
                "problems": problems,
                "backup": header,
            })
        );
        return;
    }
    for tree in &inspection.trees {
        println!(
            "{:8} {:>10} records {:>12} bytes  schema {}",
            tree.tree, tree.records, tree.bytes, tree.newest_schema
        );
    }
    for journal in &inspection.journals {
        println!("{}: {} bytes that are not yet applied to the records", journal.name, journal.bytes);
    }
    for problem in &inspection.problems {
        println!("BAD  {problem}");
    }
    if let Some(header) = header {
        println!("backup of {} at {}, signed by {}", header.origin, header.at, header.vkeys.join(", "));
    }
    if ok {
        println!("{}: all checksums are correct", subject.display());
    }
}

pub(super) fn compact(args: &CompactArgs, server: &impl LocalServer) -> ExitCode {
    let result = server.store_options(&args.settings).and_then(|options| {
        let folder = DataFolder::lock(options);
        let folder = folder.map_err(|error| locked(&error, "stop the server first (SIGTERM), then compact"))?;
        let mut progress = Progress::new("compact", "records");
        let result = folder.compact(&mut |records| progress.update(records)).map_err(|error| error.to_string())?;
        if args.snapshots {
            folder.replace_snapshots().map_err(|error| error.to_string())?;
        }
        Ok((result, folder.copies()))
    });
    match result {
        Ok((CompactReport { records, bytes_before, bytes_after }, copies)) if args.json => println!(
            "{}",
            json!({
                "records": records,
                "bytes_before": bytes_before,
                "bytes_after": bytes_after,
                "copies": copies,
            })
        ),
        Ok((report, copies)) => print_compaction(args, &report, &copies),
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

fn print_compaction(args: &CompactArgs, report: &CompactReport, copies: &[String]) {
    println!("{} records; {} bytes before, {} bytes after", report.records, report.bytes_before, report.bytes_after);
    println!(
        "erased records are no longer in the store: every record that it has was written to new files, the old ones are gone"
    );
    let old = |name: &&String| !args.snapshots || !name.starts_with("snapshots/");
    let old: Vec<&str> = copies.iter().filter(old).map(String::as_str).collect();
    if !old.is_empty() {
        println!(
            "these files are from before and may still contain them: {}; --snapshots replaces the snapshots, remove stores \
             that were set aside when you no longer need them",
            old.join(", ")
        );
    }
}
