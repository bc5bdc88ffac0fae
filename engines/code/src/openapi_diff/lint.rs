//! Checks a document against OpenAPI's schema and lint rules.

mod rules;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use super::document::Document;
use muster_engine::prelude::*;

/// Maximum number of findings per document.
const MAX_FINDINGS: usize = 1_000;

#[derive(Debug, Output)]
pub(super) struct Finding {
    /// A JSON pointer.
    pub path: String,
    pub rule: &'static str,
    pub severity: &'static str,
    pub message: String,
}

impl Finding {
    /// Whether it makes the document an invalid OpenAPI document.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self.rule, "struct" | "no-unresolved-refs")
    }
}

/// The requested rules; `None` for all.
pub(super) fn wanted(names: &[String]) -> Result<Option<BTreeSet<&str>>, Failure> {
    for (at, name) in names.iter().enumerate() {
        if !rules::NAMES.contains(&name.as_str()) {
            let message = format!("is not a rule: the rules are {}", rules::NAMES.join(", "));
            return Err(Failure::invalid(&["rules", &at.to_string()], message));
        }
    }
    Ok((!names.is_empty()).then(|| names.iter().map(String::as_str).collect()))
}

pub(super) fn lint(document: &Document, wanted: Option<&BTreeSet<&str>>, context: &Context) -> Vec<Finding> {
    let mut findings = structure(&document.root);
    rules::check(document, &mut findings);
    findings.retain(|finding| finding.is_invalid() || wanted.is_none_or(|wanted| wanted.contains(finding.rule)));
    if findings.len() > MAX_FINDINGS {
        findings.truncate(MAX_FINDINGS);
        context.warn(format!("only the first {MAX_FINDINGS} findings are reported"));
    }
    findings
}

/// Validates against the schema of its version: 2021-09-28 for 3.0, 2022-10-07 for 3.1.
fn structure(root: &Value) -> Vec<Finding> {
    let wrong = |path: String, message: String| Finding { path, rule: "struct", severity: "error", message };
    let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
    let Some(validator) = validator(version) else {
        let message = format!("the version {version:?} is not known: write openapi: 3.0.x or 3.1.x");
        return vec![wrong("/openapi".to_owned(), message)];
    };
    let errors = validator.iter_errors(root).take(MAX_FINDINGS);
    errors.map(|error| wrong(error.instance_path().to_string(), shortened(&error.to_string()))).collect()
}

/// Messages repeat the invalid value, which may be the whole document.
fn shortened(message: &str) -> String {
    let short: String = message.chars().take(300).collect();
    if short.len() < message.len() { format!("{short}...") } else { short }
}

fn validator(version: &str) -> Option<&'static Validator> {
    static OLD: OnceLock<Option<Validator>> = OnceLock::new();
    static NEW: OnceLock<Option<Validator>> = OnceLock::new();
    let build = |text: &str| jsonschema::validator_for(&serde_json::from_str(text).ok()?).ok();
    if version.starts_with("3.0.") {
        OLD.get_or_init(|| build(include_str!("lint/openapi-3.0.json"))).as_ref()
    } else if version.starts_with("3.1.") {
        NEW.get_or_init(|| build(include_str!("lint/openapi-3.1.json"))).as_ref()
    } else {
        None
    }
}
