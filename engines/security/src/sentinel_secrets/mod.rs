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
/// Longest text, in bytes: a second of work for each million.
const MAX_TEXT: usize = 4_000_000;
/// Least number of printable characters in a row that are searched in a file that is no text, as of strings(1).
const MIN_RUN: usize = 4;

#[derive(Input)]
pub struct Input {
    text: String,
    /// A file that may be no text.
    content: Option<Bytes>,
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
    let Input { text, content, filename, allow } = input;
    if text.is_empty() && content.is_none() {
        return Err(Failure::invalid(&["text"], "is needed, or content"));
    }
    if !text.is_empty() && content.is_some() {
        return Err(Failure::invalid(&["content"], "is in place of text: one of them is searched"));
    }
    let (text, is_binary) = match content.map(|content| String::from_utf8(content.0)) {
        None => (text, false),
        Some(Ok(text)) if !text.contains('\0') => (text, false),
        Some(Ok(text)) => (printable(text.as_bytes()), true),
        Some(Err(bytes)) => (printable(bytes.as_bytes()), true),
    };
    if text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!(
            "text has {} bytes, at most {MAX_TEXT} are allowed: send it in parts",
            text.len()
        )));
    }
    let hits = hits(&text, &allow);
    if hits.len() > MAX_FINDINGS {
        context.warn(format!("truncated: only the first {MAX_FINDINGS} of {} findings are reported", hits.len()));
    }
    let reported = |hit: &Hit| Finding {
        rule: hit.rule.id.to_owned(),
        severity: hit.rule.severity,
        message: format!("{}: revoke it, then take it out of the text", hit.rule.name),
        location: Some(match (&filename, is_binary) {
            (Some(file), true) => format!("{file}:{:#x}", hit.span.start),
            (None, true) => format!("offset {:#x}", hit.span.start),
            (Some(file), false) => format!("{file}:{}", place(&text, hit.span.start)),
            (None, false) => place(&text, hit.span.start),
        }),
        evidence: text.get(hit.span.clone()).map(hinted),
    };
    let findings: Vec<Finding> = hits.iter().take(MAX_FINDINGS).map(reported).collect();
    let redacted = if is_binary { String::new() } else { redacted(&text, &hits) };
    Ok(Output { verdict: verdict(&findings), score: score(&findings), findings, redacted })
}

/// Returns the runs of printable characters of a file, each where it stands, with line breaks in place of other bytes.
fn printable(bytes: &[u8]) -> String {
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let length = rest.iter().take_while(|byte| is_printable(**byte) == is_printable(first)).count().max(1);
        let (run, after) = rest.split_at(length);
        if is_printable(first) && length >= MIN_RUN {
            text.extend(run.iter().map(|byte| char::from(*byte)));
        } else {
            text.extend(std::iter::repeat_n('\n', length));
        }
        rest = after;
    }
    text
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
