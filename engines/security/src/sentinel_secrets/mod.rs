//! q141: exposed secrets.

mod rules;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::rules::{Check, RULES, Rule};
use super::verdict::{Finding, Verdict, place, score, verdict};
use muster_engine::prelude::*;

/// Maximum number of reported findings; all secrets are redacted.
const MAX_FINDINGS: usize = 500;

#[derive(Input)]
pub struct Input {
    text: String,
    filename: Option<String>,
    /// Known harmless values, or names of rules to skip.
    allow: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    redacted: String,
}

/// A secret and its position.
struct Hit {
    span: Range<usize>,
    rule: &'static Rule,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let Input { text, filename, allow } = input;
    let hits = hits(&text, &allow);
    if hits.len() > MAX_FINDINGS {
        context.warn(format!("truncated: only the first {MAX_FINDINGS} of {} findings are reported", hits.len()));
    }
    let reported = |hit: &Hit| Finding {
        rule: hit.rule.id.to_owned(),
        severity: hit.rule.severity,
        message: format!("{}: revoke it, then take it out of the text", hit.rule.name),
        location: Some(match &filename {
            Some(file) => format!("{file}:{}", place(&text, hit.span.start)),
            None => place(&text, hit.span.start),
        }),
        evidence: text.get(hit.span.clone()).map(hinted),
    };
    let findings: Vec<Finding> = hits.iter().take(MAX_FINDINGS).map(reported).collect();
    let redacted = redacted(&text, &hits);
    Ok(Output { verdict: verdict(&findings), score: score(&findings), findings, redacted })
}

/// Returns a text without the secrets that this engine finds.
pub(crate) fn without_secrets(text: &str, instead: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for hit in hits(text, &[]) {
        out.push_str(text.get(at..hit.span.start).unwrap_or_default());
        out.push_str(instead);
        at = hit.span.end;
    }
    out + text.get(at..).unwrap_or_default()
}

pub(crate) use rules::entropy;

/// Finds secrets from left to right; of overlapping ones that of the earlier, more specific rule.
fn hits(text: &str, allow: &[String]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for rule in RULES.iter().filter(|rule| !allow.iter().any(|allowed| allowed == rule.id)) {
        for found in rule.pattern().into_iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let Some(secret) = found.name("secret").or_else(|| found.get(0)) else { continue };
            let value = secret.as_str();
            let allowed = allow.iter().any(|allowed| !allowed.is_empty() && value.contains(allowed.as_str()));
            let span = secret.range();
            let overlaps = |hit: &Hit| span.start < hit.span.end && hit.span.start < span.end;
            if !allowed && rule.holds(value) && !hits.iter().any(overlaps) {
                hits.push(Hit { span, rule });
            }
        }
    }
    hits.sort_by_key(|hit| hit.span.start);
    hits
}

/// The first characters, so that the owner can identify it.
fn hinted(secret: &str) -> String {
    let prefix = secret.chars().take((secret.chars().count() / 5).min(6)).collect::<String>();
    format!("{}… ({} characters)", prefix.lines().next().unwrap_or_default(), secret.chars().count())
}

fn redacted(text: &str, hits: &[Hit]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for hit in hits {
        out.push_str(text.get(at..hit.span.start).unwrap_or_default());
        out.push_str(&format!("[REDACTED:{}]", hit.rule.id));
        at = hit.span.end;
    }
    out + text.get(at..).unwrap_or_default()
}

impl Rule {
    /// Verifies a pattern match.
    fn holds(&self, value: &str) -> bool {
        match self.check {
            Check::Pattern => true,
            Check::Entropy(least) => rules::entropy(value) >= least && !rules::placeholder(value),
            Check::Mixed(least) => {
                let mixed = value.chars().any(|c| c.is_ascii_digit() || "!@#$%^&*+=~".contains(c));
                mixed && rules::entropy(value) >= least && !rules::placeholder(value)
            }
            Check::GitHub => rules::github_checksum(value),
            Check::Jwt => rules::is_jwt(value),
        }
    }
}
