//! q142: personal data.

mod checksums;
mod kinds;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use muster_engine::prelude::*;
use sha2_11::{Digest, Sha256};

use self::kinds::{KINDS, Kind};
use crate::decode::is_invisible;
use crate::verdict::{Verdict, place, score, verdict};

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 655_360;
/// Findings that are listed; all are masked.
const MAX_FINDINGS: usize = 500;
/// Characters before and after a match in which words of its context count.
const CONTEXT: usize = 48;
/// Likelihood from which a match counts.
const ACCEPTED: f64 = 0.5;
/// Numbers of persons from which a text is a collection of them.
const COLLECTION: usize = 20;

#[derive(Debug, Input)]
pub struct Input {
    text: String,
    entities: Vec<String>,
    mask: Mask,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Mask {
    None,
    Redact,
    Hash,
    Partial,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    redacted: String,
    counts: BTreeMap<&'static str, usize>,
}

/// A match and its likelihood.
struct Hit {
    kind: &'static Kind,
    span: Range<usize>,
    likelihood: f64,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { text, entities, mask } = input;
    if text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!(
            "text has {} bytes, at most {MAX_TEXT} are allowed: send it in parts",
            text.len()
        )));
    }
    let known = |name: &String| KINDS.iter().any(|kind| kind.name == name.as_str());
    if let Some(at) = entities.iter().position(|name| !known(name)) {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(Failure::invalid(&["entities", &at.to_string()], format!("must be one of {}", names.join(", "))));
    }
    // Invisible characters between digits or letters would hide them: positions lead back to the text.
    let (clean, positions) = cleaned(&text);
    let hits = hits(&clean, &entities);
    let mut counts = BTreeMap::new();
    for hit in &hits {
        *counts.entry(hit.kind.name).or_default() += 1;
    }
    let whole = |span: &Range<usize>| {
        let start = positions.get(span.start).copied().unwrap_or(text.len());
        let end = span.end.checked_sub(1).and_then(|last| positions.get(last)).map_or(text.len(), |last| {
            last + text.get(*last..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
        });
        start..end
    };
    let mut findings: Vec<Finding> = hits
        .iter()
        .map(|hit| found(hit, clean.get(hit.span.clone()).unwrap_or_default(), place(&text, whole(&hit.span).start)))
        .collect();
    let ids = hits.iter().filter(|hit| hit.kind.severity >= Severity::High).count();
    if ids >= COLLECTION {
        let message =
            format!("{ids} numbers of persons or accounts: treat the text as a data breach if it left its place");
        findings.push(Finding {
            rule: "collection".to_owned(),
            severity: Severity::Critical,
            message,
            location: None,
            evidence: None,
        });
    }
    let (verdict, score) = (verdict(&findings), score(&findings));
    if mask == Mask::Hash && !hits.is_empty() {
        cx.warn("reversible: hashes of short numbers can be found by trying all; use `redact` for texts that leave");
    }
    let spans: Vec<(Range<usize>, String)> = hits
        .iter()
        .map(|hit| {
            let value = clean.get(hit.span.clone()).unwrap_or_default();
            (whole(&hit.span), masked(hit.kind, value, mask))
        })
        .collect();
    let redacted = if mask == Mask::None { text } else { replaced(&text, &spans) };
    if findings.len() > MAX_FINDINGS {
        cx.warn(format!(
            "truncated: only the first {MAX_FINDINGS} of {} findings are listed; all are masked",
            findings.len()
        ));
        findings.truncate(MAX_FINDINGS);
    }
    Ok(Output { verdict, score, findings, redacted, counts })
}

/// The text without invisible characters, and the position in the text of each of its bytes.
fn cleaned(text: &str) -> (String, Vec<usize>) {
    let (mut clean, mut positions) = (String::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, letter) in text.char_indices().filter(|(_, letter)| !is_invisible(*letter)) {
        // Digits of other scripts and wide forms are read as such; no-break spaces as spaces.
        let letter = match letter {
            '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
            '\u{2010}'..='\u{2015}' => '-',
            '\u{ff10}'..='\u{ff19}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
            '\u{ff20}' => '@',
            other => other,
        };
        clean.push(letter);
        positions.extend(std::iter::repeat_n(at, letter.len_utf8()));
    }
    (clean, positions)
}

/// Matches that are likely enough; of overlapping ones the likelier, then the longer.
fn hits(text: &str, entities: &[String]) -> Vec<Hit> {
    let lower_before = |at: usize| window(text, at, true);
    let mut all = Vec::new();
    for kind in KINDS.iter().filter(|kind| entities.is_empty() || entities.iter().any(|name| name == kind.name)) {
        let Some(pattern) = kind.pattern() else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(found) = captures.name("it").or_else(|| captures.get(0)) else { continue };
            // A hyphen with a letter or digit beyond it: the match is a part of something longer, such as a UUID.
            let beyond = |letters: &mut dyn Iterator<Item = char>| match letters.next() {
                Some('-') => letters.next(),
                other => other,
            };
            let before = text.get(..found.start()).and_then(|before| beyond(&mut before.chars().rev()));
            let after = text.get(found.end()..).and_then(|after| beyond(&mut after.chars()));
            let within = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
            if within(before) || within(after) || !(kind.valid)(found.as_str()) {
                continue;
            }
            let named = kind.context.iter().any(|word| {
                lower_before(found.start()).contains(word) || window(text, found.end(), false).contains(word)
            });
            let likelihood = kind.likelihood + if named { 0.4 } else { 0.0 };
            if likelihood >= ACCEPTED {
                all.push(Hit { kind, span: found.range(), likelihood });
            }
        }
    }
    all.sort_by(|a, b| {
        b.likelihood
            .total_cmp(&a.likelihood)
            .then(b.span.len().cmp(&a.span.len()))
            .then(a.span.start.cmp(&b.span.start))
    });
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut kept: Vec<Hit> = Vec::new();
    for hit in all {
        if taken.range(..hit.span.end).next_back().is_none_or(|(_, end)| *end <= hit.span.start) {
            taken.insert(hit.span.start, hit.span.end);
            kept.push(hit);
        }
    }
    kept.sort_by_key(|hit| hit.span.start);
    kept
}

/// Lower case of the characters before or after a place.
fn window(text: &str, at: usize, before: bool) -> String {
    let part = if before { text.get(..at) } else { text.get(at..) }.unwrap_or_default();
    let mut letters: Vec<char> =
        if before { part.chars().rev().take(CONTEXT).collect() } else { part.chars().take(CONTEXT / 2).collect() };
    if before {
        letters.reverse();
    }
    letters.into_iter().flat_map(char::to_lowercase).collect()
}

fn found(hit: &Hit, value: &str, location: String) -> Finding {
    Finding {
        rule: hit.kind.name.to_owned(),
        severity: hit.kind.severity,
        message: format!("{}: mask it, or keep it only where there is a reason", hit.kind.title),
        location: Some(location),
        evidence: Some(format!("{} characters", value.chars().count())),
    }
}

fn masked(kind: &Kind, value: &str, mask: Mask) -> String {
    let label = kind.name.to_uppercase();
    match mask {
        Mask::None => value.to_owned(),
        Mask::Redact => format!("[{label}]"),
        Mask::Hash => {
            let digest = Sha256::digest(
                value.chars().filter(|c| c.is_alphanumeric() || *c == '@' || *c == '.').collect::<String>(),
            );
            let hex: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
            format!("[{label}:{hex}]")
        }
        Mask::Partial => {
            let count = value.chars().filter(|c| c.is_alphanumeric()).count();
            // A third, at most four characters.
            let kept = (count / 3).min(4);
            let mut left = count;
            let hide = |letter: char| {
                if !letter.is_alphanumeric() {
                    return letter;
                }
                left -= 1;
                if left < kept { letter } else { '*' }
            };
            value.chars().map(hide).collect()
        }
    }
}

fn replaced(text: &str, spans: &[(Range<usize>, String)]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (span, with) in spans {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        out.push_str(with);
        at = span.end;
    }
    out + text.get(at..).unwrap_or_default()
}
