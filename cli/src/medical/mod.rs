//! `muster medical`: verifies the knowledge base, and changes the review state of its records.

mod edit;
mod records;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::{LocalServer, fail};
use edit::{Review, ReviewChange};

#[derive(Debug, clap::Args)]
pub(super) struct MedicalArgs {
    #[command(subcommand)]
    command: MedicalCommand,
}

#[derive(Debug, clap::Subcommand)]
enum MedicalCommand {
    /// Verify the knowledge base of this program: hash of the data, all scores, all rules' examples, completeness.
    #[command(
        after_help = "Examples:\n  muster medical verify\n  muster medical verify --json\n  muster medical verify --ruleset 0123456789abcdef"
    )]
    Verify(VerifyArgs),
    /// Mark a record of the source tree's data as reviewed by a clinician. The program must be built again to have it.
    #[command(
        after_help = "Examples:\n  muster medical review dvt --by \"Dr A. Example\"\n  muster medical review dvt --by \"Dr A. Example\" --on 2027-01-15 --due 2028-01-15\n  muster medical review en --file crates/medical/data/phrases/en.toml --by \"Dr A. Example\"\n  muster medical review dvt --withdraw"
    )]
    Review(ReviewArgs),
}

#[derive(Debug, clap::Args)]
struct VerifyArgs {
    /// Hash that the data must have, as `X-Muster-Ruleset` and the status show it.
    #[arg(long, value_name = "HASH")]
    ruleset: Option<String>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct ReviewArgs {
    /// Identifier of a protocol or a rule, or the name of a data file without its ending.
    id: String,
    /// Who has reviewed it.
    #[arg(long, value_name = "NAME", required_unless_present = "withdraw", conflicts_with = "withdraw")]
    by: Option<String>,
    /// Day of the review [default: today, UTC].
    #[arg(long, value_name = "DATE", conflicts_with = "withdraw")]
    on: Option<String>,
    /// Day on which it is to be reviewed again [default: as it is].
    #[arg(long, value_name = "DATE")]
    due: Option<String>,
    /// Mark it as not reviewed again.
    #[arg(long)]
    withdraw: bool,
    /// Folder of the data in the source tree.
    #[arg(long, value_name = "DIR", default_value = "crates/medical/data")]
    data: PathBuf,
    /// The data file, if the folder has several records of that identifier.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: MedicalArgs, server: &impl LocalServer) -> ExitCode {
    match args.command {
        MedicalCommand::Verify(args) => verify(&args, server),
        MedicalCommand::Review(args) => review(&args, server),
    }
}

fn verify(args: &VerifyArgs, server: &impl LocalServer) -> ExitCode {
    let report = match server.verify_medical() {
        Ok(report) => report,
        Err(error) => return fail(&error),
    };
    let mut problems: Vec<Value> = report.get("problems").and_then(Value::as_array).cloned().unwrap_or_default();
    let ruleset = report.get("ruleset").and_then(Value::as_str).unwrap_or_default();
    if let Some(expected) = &args.ruleset
        && expected != ruleset
    {
        problems.push(json!({ "check": "hash", "what": format!("the ruleset is {ruleset} instead of {expected}") }));
    }
    let ok = problems.is_empty();
    if args.json {
        let mut report = report.clone();
        if let Some(members) = report.as_object_mut() {
            members.insert("ok".to_owned(), ok.into());
            members.insert("problems".to_owned(), problems.into());
        }
        println!("{report}");
    } else {
        let count = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or_default();
        println!(
            "ruleset {ruleset}: {} protocols, {} red flags, {} scores, {} specialties",
            count("protocols"),
            count("rules"),
            count("scores"),
            count("specialties")
        );
        for problem in &problems {
            let text = |name: &str| problem[name].as_str().unwrap_or_default();
            println!("BAD  {}: {}", text("check"), text("what"));
        }
        if ok {
            println!("hash, scores, examples and completeness are as they should be");
        }
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn review(args: &ReviewArgs, server: &impl LocalServer) -> ExitCode {
    match reviewed(args, &server.today()) {
        Ok((file, before, after)) => {
            if args.json {
                println!("{}", json!({ "id": args.id, "file": file, "before": before, "after": after }));
            } else {
                println!("{}: {before}, now {after}", file.display());
                println!("build the program again, then run `muster medical verify`");
            }
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

/// Changes the record. Returns the file, and its state before and after.
fn reviewed(args: &ReviewArgs, today: &str) -> Result<(PathBuf, Review, Review), String> {
    let on = args.on.as_deref().unwrap_or(today);
    for (name, date) in [("--on", Some(on)), ("--due", args.due.as_deref())] {
        if let Some(date) = date
            && !edit::is_date(date)
        {
            return Err(format!("{name}: {date:?} is no day: write it as 2027-01-31"));
        }
    }
    let by = args.by.as_deref().map(str::trim);
    if let Some(by) = by
        && (!(2..=120).contains(&by.chars().count()) || by.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')))
    {
        return Err("--by: takes a name of 2 to 120 characters without quotation marks".to_owned());
    }
    let record = records::find(&args.data, args.file.as_deref(), &args.id)?;
    let text = std::fs::read_to_string(&record.file).map_err(|error| format!("{}: {error}", record.file.display()))?;
    let change = match by {
        Some(by) => ReviewChange::Reviewed { by, on, due: args.due.as_deref() },
        None => ReviewChange::Withdrawn { due: args.due.as_deref() },
    };
    let edited =
        edit::change(&text, record.line, &change).map_err(|error| format!("{}: {error}", record.file.display()))?;
    write(&record.file, &edited.text)?;
    Ok((record.file, edited.before, edited.after))
}

/// Replaces a file as a whole: a crash leaves either the old or the new one.
fn write(file: &std::path::Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    let new = file.with_extension("toml.new");
    let permissions = std::fs::metadata(file).map_err(failed)?.permissions();
    std::fs::write(&new, text).map_err(failed)?;
    std::fs::set_permissions(&new, permissions).map_err(failed)?;
    std::fs::rename(&new, file).map_err(failed)
}
