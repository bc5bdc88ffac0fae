//! `muster doctor`: checks an installation and reports how to fix each problem.

use std::process::ExitCode;

use serde::Serialize;

use crate::{LocalServer, Settings};

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    settings: Settings,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What was checked.
    pub subject: String,
    /// Whether the check passed.
    pub ok: bool,
    /// What was found.
    pub message: String,
    /// How to fix the problem; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Finding {
    /// Returns the result of a check that passed.
    pub fn good(subject: &str, message: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), ok: true, message: message.into(), remedy: None }
    }

    /// Returns the result of a check that failed, with how to fix the problem.
    pub fn bad(subject: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), ok: false, message: message.into(), remedy: Some(remedy.into()) }
    }
}

pub(super) fn run(args: &DoctorArgs, server: &impl LocalServer) -> ExitCode {
    let findings = server.diagnose(&args.settings);
    if args.json {
        println!("{}", serde_json::json!({ "findings": findings }));
    } else {
        for finding in &findings {
            println!("{} {}: {}", if finding.ok { "ok  " } else { "BAD " }, finding.subject, finding.message);
            if let Some(remedy) = &finding.remedy {
                println!("     mend: {remedy}");
            }
        }
    }
    if findings.iter().all(|finding| finding.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
