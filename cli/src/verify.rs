//! `muster verify` and `muster compact`.

use std::path::PathBuf;
use std::process::ExitCode;

use muster_store::{DataFolder, Inspection, inspect_file};
use serde_json::json;

use crate::progress::Progress;
use crate::{LocalServer, Settings, fail, locked};

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    settings: Settings,
    /// A backup; without it the data folder of a stopped server.
    file: Option<PathBuf>,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    settings: Settings,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn verify(args: &VerifyArgs, server: &impl LocalServer) -> ExitCode {
    match inspected(args, server) {
        Ok((what, found)) => {
            print(&what, &found, args.json);
            if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => fail(&error),
    }
}

fn inspected(args: &VerifyArgs, server: &impl LocalServer) -> Result<(PathBuf, Inspection), String> {
    let options = server.store_options(&args.settings)?;
    if let Some(file) = &args.file {
        let found = inspect_file(file, &options.migrations).map_err(|error| error.to_string())?;
        return Ok((file.clone(), found));
    }
    let data = options.path.clone();
    let folder = DataFolder::lock(options).map_err(|error| {
        locked(
            &error,
            "stop the server first (SIGTERM), or verify a backup of it; GET /api/health tells of a running one",
        )
    })?;
    Ok((data, folder.inspect().map_err(|error| error.to_string())?))
}

fn print(what: &std::path::Path, found: &Inspection, as_json: bool) {
    let ok = found.problems.is_empty();
    if as_json {
        let Inspection { trees, journals, problems } = found;
        println!("{}", json!({ "what": what, "ok": ok, "trees": trees, "journals": journals, "problems": problems }));
        return;
    }
    for tree in &found.trees {
        println!(
            "{:8} {:>10} records {:>12} bytes  schema {}",
            tree.tree, tree.records, tree.bytes, tree.newest_schema
        );
    }
    for journal in &found.journals {
        println!("{}: {} bytes not in the records yet", journal.name, journal.bytes);
    }
    for problem in &found.problems {
        println!("BAD  {problem}");
    }
    if ok {
        println!("{}: every checksum holds", what.display());
    }
}

pub(super) fn compact(args: &CompactArgs, server: &impl LocalServer) -> ExitCode {
    let done = server.store_options(&args.settings).and_then(|options| {
        let folder = DataFolder::lock(options);
        let folder = folder.map_err(|error| locked(&error, "stop the server first (SIGTERM), then compact"))?;
        let mut progress = Progress::new("compact", "records");
        folder.compact(&mut |records| progress.update(records)).map_err(|error| error.to_string())
    });
    match done {
        Ok(done) if args.json => println!("{}", json!(done)),
        Ok(done) => {
            println!("{} records; {} bytes before, {} bytes after", done.records, done.bytes_before, done.bytes_after);
        }
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}
