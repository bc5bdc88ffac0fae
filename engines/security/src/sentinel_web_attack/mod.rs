//! q146: web attack payloads.

mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use self::rules::{RULES, Rule, Weight};
use crate::decode::{embedded, unescaped, visible};
use crate::verdict::{Verdict, listed, score, verdict};

/// Maximum length of a request or line, in bytes.
const MAX_TEXT: usize = 262_144;

#[derive(Debug, Input)]
pub struct Input {
    request: Option<Request>,
    line: Option<String>,
    paranoia: u8,
}

#[derive(Debug, Input)]
struct Request {
    method: Option<String>,
    path: Option<String>,
    query: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    anomaly_score: i64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let mut parts: Vec<(String, String)> = Vec::new();
    if let Some(request) = input.request {
        let named =
            [("method", request.method), ("path", request.path), ("query", request.query), ("body", request.body)];
        parts.extend(named.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
        for (name, value) in request.headers.unwrap_or_default() {
            parts.push((
                format!(
                    "header {}",
                    name.to_ascii_lowercase().chars().filter(|c| !c.is_control()).take(40).collect::<String>()
                ),
                value,
            ));
        }
    }
    parts.extend(input.line.map(|line| ("line".to_owned(), line)));
    let size: usize = parts.iter().map(|(_, text)| text.len()).sum();
    if size > MAX_TEXT {
        return Err(Failure::too_large(format!(
            "the request has {size} bytes, at most {MAX_TEXT} are allowed: send its parts"
        )));
    }
    if parts.is_empty() {
        return Err(Failure::invalid(&["line"], "or `request` must be given"));
    }
    let rules: Vec<&Rule> = RULES.iter().filter(|rule| rule.paranoia <= input.paranoia).collect();
    let (mut findings, mut anomaly_score) = (Vec::new(), 0);
    for (place, text) in &parts {
        let forms = forms(text);
        let mut seen = BTreeSet::new();
        for rule in &rules {
            let fires = forms.iter().any(|form| rule.fires(form)) && rule.applies(place);
            // Several rules of one group in one place are one finding, with the weight of the worst.
            if fires && seen.insert(rule.group) {
                anomaly_score += rule.weight.points();
                findings.push(found(rule, place));
            } else if fires {
                anomaly_score += 1;
            }
        }
    }
    let (verdict, score) = (verdict(&findings), score(&findings));
    Ok(Output { verdict, score, findings: listed(findings, 200, cx), anomaly_score })
}

fn found(rule: &Rule, place: &str) -> Finding {
    let severity = match rule.weight {
        Weight::Critical => Severity::Critical,
        Weight::Error => Severity::High,
        Weight::Warning => Severity::Medium,
        Weight::Notice => Severity::Low,
    };
    Finding {
        rule: rule.group.to_owned(),
        severity,
        message: format!("{}: refuse the request, and check that the program treats it as data", rule.name),
        location: Some(place.to_owned()),
        // The name of the pattern: a payload may hold what was stolen.
        evidence: Some(rule.evidence.to_owned()),
    }
}

/// The text as programs may read it: as it is, decoded to the end, with `+` as space, without comments of SQL and
/// invisible characters; and what stands in it in Base64.
fn forms(text: &str) -> Vec<String> {
    let decoded = visible(&unescaped(text)).to_lowercase();
    let spaced = decoded.replace('+', " ");
    let uncommented = rules::without_comments(&spaced);
    let joined = uncommented.replace(['^', '`'], "").replace("''", "").replace("\"\"", "").replace("\\\n", "");
    let mut forms = vec![text.to_lowercase(), decoded, spaced, uncommented, joined];
    forms.extend(embedded(text).into_iter().take(20).map(|text| unescaped(&text).to_lowercase()));
    forms.sort();
    forms.dedup();
    forms
}
