//! `muster verify` and `muster compact`.

use std::path::PathBuf;
use std::process::ExitCode;

use muster_store::{DataFolder, Inspection, inspect_file};
use serde_json::json;

use super::{Reporter, Settings, fail, stopped};
use crate::app;

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

pub(super) fn verify(args: &VerifyArgs) -> ExitCode {
    match inspected(args) {
        Ok((what, found)) => {
            tell(&what, &found, args.json);
            if found.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => fail(&error),
    }
}

fn inspected(args: &VerifyArgs) -> Result<(PathBuf, Inspection), String> {
    let (config, _) = args.settings.load().map_err(|error| error.to_string())?;
    let options = app::store_options(&config);
    if let Some(file) = &args.file {
        let found = inspect_file(file, &options.migrations).map_err(|error| error.to_string())?;
        return Ok((file.clone(), found));
    }
    let folder = DataFolder::lock(options).map_err(|error| {
        stopped(
            &error,
            "stop the server first (SIGTERM), or verify a backup of it; GET /api/health tells of a running one",
        )
    })?;
    Ok((config.store.path, folder.inspect().map_err(|error| error.to_string())?))
}

fn tell(what: &std::path::Path, found: &Inspection, as_json: bool) {
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

pub(super) fn compact(args: &CompactArgs) -> ExitCode {
    let done = args.settings.load().map_err(|error| error.to_string()).and_then(|(config, _)| {
        let folder = DataFolder::lock(app::store_options(&config));
        let folder = folder.map_err(|error| stopped(&error, "stop the server first (SIGTERM), then compact"))?;
        let mut said = Reporter::new("compact", "records");
        folder.compact(&mut |records| said.at(records)).map_err(|error| error.to_string())
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
