//! Content-Security-Policy: parsing as of CSP Level 3, grading as of the HTTP Observatory.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use super::{Audit, Kind};

const HEADER: &str = "content-security-policy";
const FIX: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'";
/// Sources that are no restriction.
const BROAD: [&str; 8] = ["ftp:", "http:", "https:", "*", "http://*", "http://*.*", "https://*", "https://*.*"];

/// Directives of one policy with their sources.
pub(super) type Policy = BTreeMap<String, Vec<String>>;

/// Reads all policies: several headers and the parts between commas apply each for itself. Of a directive that stands
/// twice the first counts (CSP Level 3, 2.2.1).
pub(super) fn policies(audit: &Audit) -> Vec<Policy> {
    let texts = audit.all(HEADER).flat_map(|value| value.split(','));
    let read = |text: &str| {
        let mut policy = Policy::new();
        for directive in text.split(';') {
            let mut words = directive.split_ascii_whitespace();
            let Some(name) = words.next() else { continue };
            let keyword = |word: &str| {
                let lower = word.to_ascii_lowercase();
                // Nonces and hashes are case-sensitive.
                if lower.starts_with("'nonce-") || lower.starts_with("'sha") { word.to_owned() } else { lower }
            };
            policy.entry(name.to_ascii_lowercase()).or_insert_with(|| words.map(keyword).collect());
        }
        policy
    };
    texts.map(read).filter(|policy| !policy.is_empty()).collect()
}

pub(super) fn merged(policies: Vec<Policy>) -> Policy {
    let mut merged = Policy::new();
    for (name, sources) in policies.into_iter().flatten() {
        let entry = merged.entry(name).or_default();
        let new: Vec<String> = sources.into_iter().filter(|source| !entry.contains(source)).collect();
        entry.extend(new);
    }
    merged
}

/// Grades the strictest policy, because each applies. Returns whether framing is restricted.
pub(super) fn grade(audit: &mut Audit, policies: &[Policy]) -> bool {
    let https = audit.https;
    let best = policies.iter().map(|policy| judged(policy, https)).max_by_key(|judged| judged.modifier);
    match best {
        Some(judged) => {
            audit.modify(judged.modifier);
            if let Some(message) = judged.message {
                let severity = match judged.modifier {
                    ..=-20 => Severity::High,
                    -19..=-1 => Severity::Medium,
                    _ => Severity::Low,
                };
                audit.note(HEADER, severity, message, judged.fix);
            }
        }
        None if audit.kind == Kind::Api => audit.note(
            HEADER,
            Severity::Info,
            "is absent",
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'",
        ),
        None => {
            audit.modify(-25);
            let reports = audit.last("content-security-policy-report-only").is_some();
            let message = if reports { "only reports: nothing is blocked" } else { "is absent: injected scripts run" };
            audit.note(HEADER, Severity::High, message, FIX);
        }
    }
    for (name, message) in [
        ("base-uri", "base-uri is not set: an injected <base> redirects relative scripts"),
        ("form-action", "form-action is not set: injected forms may send anywhere"),
    ] {
        if !policies.is_empty() && !policies.iter().any(|policy| policy.contains_key(name)) {
            audit.note(HEADER, Severity::Low, message, format!("{name} 'self'"));
        }
    }
    let restricts = |policy: &Policy| policy.get("frame-ancestors").is_some_and(|sources| !any(sources, &BROAD));
    policies.iter().any(restricts)
}

struct Judged {
    modifier: i64,
    message: Option<&'static str>,
    fix: &'static str,
}

fn any(sources: &[String], of: &[&str]) -> bool {
    sources.iter().any(|source| of.contains(&source.as_str()))
}

fn judged(policy: &Policy, https: bool) -> Judged {
    let everything = vec!["*".to_owned()];
    let of = |name: &str| policy.get(name).or_else(|| policy.get("default-src")).unwrap_or(&everything).clone();
    let (mut script, mut style, object) = (of("script-src"), of("style-src"), of("object-src"));
    let signed = |sources: &[String]| {
        sources
            .iter()
            .any(|source| ["'sha256-", "'sha384-", "'sha512-", "'nonce-"].iter().any(|start| source.starts_with(start)))
    };
    for sources in [&mut script, &mut style] {
        if signed(sources) {
            sources.retain(|source| source != "'unsafe-inline'");
        }
    }
    let dynamic = any(&script, &["'strict-dynamic'"]);
    if dynamic && signed(&script) {
        script.retain(|source| source != "'self'" && !BROAD.iter().any(|broad| source.starts_with(broad)));
    } else if dynamic {
        return Judged {
            modifier: -25,
            message: Some("'strict-dynamic' without a nonce or hash blocks or opens all scripts"),
            fix: "add a nonce to script-src",
        };
    }
    let inline = ["'unsafe-inline'", "data:"];
    if any(&script, &BROAD) || any(&script, &inline) || any(&object, &BROAD) {
        return Judged {
            modifier: -20,
            message: Some("scripts or plug-ins are not restricted: 'unsafe-inline', data: or a broad source"),
            fix: "use nonces or hashes, and object-src 'none'",
        };
    }
    let insecure = |source: &String| source.starts_with("http:") || source.starts_with("ftp:");
    let passive = ["img-src", "media-src"];
    let active = policy
        .iter()
        .filter(|(name, _)| !passive.contains(&name.as_str()) && *name != "script-src")
        .flat_map(|(_, sources)| sources);
    if https && (active.into_iter().any(insecure) || script.iter().any(insecure)) {
        return Judged {
            modifier: -20,
            message: Some("resources may come over HTTP"),
            fix: "name https: sources only",
        };
    }
    if any(&script, &["'unsafe-eval'"]) || any(&style, &["'unsafe-eval'"]) {
        return Judged {
            modifier: -10,
            message: Some("'unsafe-eval' lets text become code"),
            fix: "take 'unsafe-eval' out of script-src",
        };
    }
    if https
        && passive.iter().any(|name| {
            policy.get(*name).or_else(|| policy.get("default-src")).is_some_and(|sources| sources.iter().any(insecure))
        })
    {
        return Judged {
            modifier: -10,
            message: Some("images or media may come over HTTP"),
            fix: "name https: sources only",
        };
    }
    if any(&style, &BROAD) || any(&style, &inline) {
        return Judged {
            modifier: 0,
            message: Some("styles are not restricted"),
            fix: "take 'unsafe-inline' out of style-src",
        };
    }
    let none = policy.get("default-src").is_some_and(|sources| sources.as_slice() == ["'none'"]);
    Judged { modifier: if none { 10 } else { 5 }, message: None, fix: "" }
}
