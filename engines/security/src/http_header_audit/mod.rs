//! q135: HTTP security headers.

mod cookies;
mod csp;

use std::collections::BTreeMap;

use muster_engine::prelude::*;

/// Maximum length of all names and values, in bytes.
const MAX_HEADERS: usize = 262_144;
/// Six months in seconds, from which the Observatory takes Strict-Transport-Security as complete.
const SIX_MONTHS: u64 = 15_768_000;
/// Score from which bonuses count.
const BONUS_FROM: i64 = 90;

#[derive(Debug, Input)]
pub struct Input {
    headers: BTreeMap<String, Vec<String>>,
    url: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Kind {
    Page,
    Api,
}

#[derive(Debug, Output)]
pub struct Output {
    score: i64,
    grade: &'static str,
    findings: Vec<Note>,
    csp: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Output)]
struct Note {
    header: &'static str,
    severity: Severity,
    message: String,
    fix: String,
}

/// What is graded, and the result so far.
struct Audit {
    headers: BTreeMap<String, Vec<String>>,
    https: bool,
    kind: Kind,
    penalty: i64,
    bonus: i64,
    notes: Vec<Note>,
}

impl Audit {
    /// Values of a header in all spellings of its name.
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.get(name).into_iter().flatten().map(String::as_str)
    }

    /// The last value, which browsers use of headers that may stand once.
    fn last(&self, name: &str) -> Option<String> {
        self.all(name).last().map(|value| value.trim().to_owned())
    }

    /// Adds a modifier: negative ones are penalties with a note.
    fn modify(&mut self, modifier: i64) {
        if modifier < 0 { self.penalty += modifier } else { self.bonus += modifier }
    }

    fn note(&mut self, header: &'static str, severity: Severity, message: impl Into<String>, fix: impl Into<String>) {
        self.notes.push(Note { header, severity, message: message.into(), fix: fix.into() });
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let size: usize =
        input.headers.iter().map(|(name, values)| name.len() + values.iter().map(String::len).sum::<usize>()).sum();
    if size > MAX_HEADERS {
        return Err(Failure::too_large(format!("headers have {size} bytes, at most {MAX_HEADERS} are allowed")));
    }
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, values) in input.headers {
        headers.entry(name.trim().to_ascii_lowercase()).or_default().extend(values);
    }
    let https = input.url.as_deref().is_none_or(|url| !url.trim_start().to_ascii_lowercase().starts_with("http:"));
    if input.url.is_none() {
        cx.assume("the response came over HTTPS, as no url is given");
    }
    cx.assume("subresource integrity is not graded; a redirection to HTTPS counts as missing without transport security and https in url");
    let mut audit = Audit { headers, https, kind: input.kind, penalty: 0, bonus: 0, notes: Vec::new() };
    let policies = csp::policies(&audit);
    let framing = csp::grade(&mut audit, &policies);
    let protected = transport(&mut audit);
    // Headers do not show whether HTTP leads to HTTPS; with neither the address nor transport security it is not assumed.
    let secure_address =
        input.url.as_deref().is_some_and(|url| url.trim_start().to_ascii_lowercase().starts_with("https:"));
    if !secure_address && audit.last("strict-transport-security").is_none() {
        audit.modify(-20);
    }
    frames(&mut audit, framing);
    content_type(&mut audit);
    referrer(&mut audit);
    sharing(&mut audit);
    resource_policy(&mut audit);
    cookies::grade(&mut audit, protected);
    others(&mut audit);
    let reduced = 100 + audit.penalty;
    let score = if reduced >= BONUS_FROM { reduced + audit.bonus } else { reduced }.clamp(0, 145);
    audit.notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    Ok(Output { score, grade: grade(score), findings: audit.notes, csp: csp::merged(policies) })
}

/// The Observatory's chart.
fn grade(score: i64) -> &'static str {
    match score {
        100.. => "A+",
        90..100 => "A",
        85..90 => "A-",
        80..85 => "B+",
        70..80 => "B",
        65..70 => "B-",
        60..65 => "C+",
        50..60 => "C",
        45..50 => "C-",
        40..45 => "D+",
        30..40 => "D",
        25..30 => "D-",
        _ => "F",
    }
}

/// Strict-Transport-Security; returns whether it protects the cookies.
fn transport(audit: &mut Audit) -> bool {
    const HEADER: &str = "strict-transport-security";
    const FIX: &str = "Strict-Transport-Security: max-age=31536000; includeSubDomains";
    if !audit.https {
        audit.modify(-20);
        audit.note(
            HEADER,
            Severity::High,
            "the response came over HTTP, where the header has no effect",
            "serve over HTTPS and redirect to it",
        );
        return false;
    }
    let Some(value) = audit.last(HEADER) else {
        audit.modify(-20);
        audit.note(HEADER, Severity::High, "is absent: the first request may be intercepted", FIX);
        return false;
    };
    let age = value.split(';').find_map(|part| {
        let (name, age) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("max-age").then(|| age.trim().trim_matches('"').parse::<u64>().ok())?
    });
    match age {
        None => {
            audit.modify(-20);
            audit.note(HEADER, Severity::High, "has no valid max-age", FIX);
            false
        }
        Some(age) if age < SIX_MONTHS => {
            audit.modify(-10);
            audit.note(HEADER, Severity::Medium, format!("max-age is {age} s, less than six months"), FIX);
            false
        }
        Some(_) => true,
    }
}

fn frames(audit: &mut Audit, by_csp: bool) {
    const HEADER: &str = "x-frame-options";
    const FIX: &str = "Content-Security-Policy: frame-ancestors 'none'";
    if by_csp {
        audit.modify(5);
        return;
    }
    match audit.last(HEADER).map(|value| value.to_ascii_lowercase()) {
        Some(value) if value == "deny" || value == "sameorigin" => {}
        Some(value) if value.starts_with("allow-from ") => {
            audit.note(HEADER, Severity::Low, "ALLOW-FROM is ignored by browsers", FIX);
        }
        Some(_) => {
            audit.modify(-20);
            audit.note(HEADER, Severity::Medium, "is neither DENY nor SAMEORIGIN", FIX);
        }
        None if audit.kind == Kind::Api => audit.note(HEADER, Severity::Info, "is absent", FIX),
        None => {
            audit.modify(-20);
            audit.note(HEADER, Severity::Medium, "is absent: other sites may frame the page", FIX);
        }
    }
}

fn content_type(audit: &mut Audit) {
    const HEADER: &str = "x-content-type-options";
    match audit.last(HEADER) {
        Some(value) if value.eq_ignore_ascii_case("nosniff") => {}
        found => {
            audit.modify(-5);
            let message = if found.is_some() { "is not nosniff" } else { "is absent: browsers guess the type" };
            audit.note(HEADER, Severity::Medium, message, "X-Content-Type-Options: nosniff");
        }
    }
}

fn referrer(audit: &mut Audit) {
    const HEADER: &str = "referrer-policy";
    const PRIVATE: [&str; 4] = ["no-referrer", "same-origin", "strict-origin", "strict-origin-when-cross-origin"];
    const UNSAFE: [&str; 4] = ["origin", "origin-when-cross-origin", "unsafe-url", "no-referrer-when-downgrade"];
    const FIX: &str = "Referrer-Policy: strict-origin-when-cross-origin";
    let values: Vec<String> =
        audit.all(HEADER).flat_map(|value| value.split(',')).map(|value| value.trim().to_ascii_lowercase()).collect();
    if values.is_empty() {
        audit.note(HEADER, Severity::Info, "is absent: the browser's default applies", FIX);
        return;
    }
    // The last one that a browser understands applies.
    let known = values.iter().rev().find(|value| PRIVATE.contains(&value.as_str()) || UNSAFE.contains(&value.as_str()));
    match known {
        Some(value) if PRIVATE.contains(&value.as_str()) => audit.modify(5),
        Some(value) => {
            let message = format!("{value} sends addresses of pages to other sites");
            audit.modify(-5);
            audit.note(HEADER, Severity::Low, message, FIX);
        }
        None => {
            audit.modify(-5);
            audit.note(HEADER, Severity::Low, "has no known policy", FIX);
        }
    }
}

fn sharing(audit: &mut Audit) {
    const HEADER: &str = "access-control-allow-origin";
    let Some(origin) = audit.last(HEADER) else { return };
    let credentials =
        audit.last("access-control-allow-credentials").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    match origin.as_str() {
        "null" => {
            if credentials {
                audit.modify(-50);
            }
            let severity = if credentials { Severity::Critical } else { Severity::Medium };
            audit.note(
                HEADER,
                severity,
                "the origin `null` is that of every sandboxed frame",
                "name the origins that may read the response",
            );
        }
        "*" if credentials => {
            audit.note(
                HEADER,
                Severity::Medium,
                "`*` with credentials: browsers refuse it, and a later `reflected` origin would be open to all",
                "omit Access-Control-Allow-Credentials, or name the origins",
            );
        }
        "*" if audit.kind == Kind::Api => {
            audit.note(
                HEADER,
                Severity::Info,
                "every site may read the response",
                "name the origins if the response is not public",
            );
        }
        _ if credentials && audit.all("vary").all(|value| !value.to_ascii_lowercase().contains("origin")) => {
            audit.note(
                HEADER,
                Severity::Low,
                "an origin with credentials and no `Vary: Origin`: caches may mix responses",
                "Vary: Origin",
            );
        }
        _ => {}
    }
}

fn resource_policy(audit: &mut Audit) {
    const HEADER: &str = "cross-origin-resource-policy";
    match audit.last(HEADER).map(|value| value.to_ascii_lowercase()).as_deref() {
        Some("same-origin" | "same-site") => audit.modify(10),
        Some("cross-origin") => {}
        Some(_) => {
            audit.modify(-5);
            audit.note(
                HEADER,
                Severity::Low,
                "is none of same-origin, same-site and cross-origin",
                "Cross-Origin-Resource-Policy: same-origin",
            );
        }
        None => audit.note(
            HEADER,
            Severity::Info,
            "is absent: other sites may embed the response",
            "Cross-Origin-Resource-Policy: same-origin",
        ),
    }
}

/// Headers that are not graded.
fn others(audit: &mut Audit) {
    for header in ["server", "x-powered-by", "x-aspnet-version", "x-generator"] {
        if audit.all(header).any(|value| value.chars().any(|c| c.is_ascii_digit())) {
            audit.note(header, Severity::Low, "names a version", "leave the version out");
        }
    }
    if audit.last("x-xss-protection").is_some_and(|value| !value.starts_with('0')) {
        audit.note(
            "x-xss-protection",
            Severity::Info,
            "is obsolete, and has caused holes of its own",
            "X-XSS-Protection: 0, or leave it out",
        );
    }
    if audit.last("public-key-pins").is_some() {
        audit.note("public-key-pins", Severity::Info, "is obsolete", "leave it out");
    }
    if audit.kind == Kind::Page && audit.last("permissions-policy").is_none() {
        audit.note(
            "permissions-policy",
            Severity::Info,
            "is absent: frames may ask for camera, microphone and place",
            "Permissions-Policy: camera=(), microphone=(), geolocation=()",
        );
    }
    if audit.kind == Kind::Api
        && !audit.all("cache-control").any(|value| value.to_ascii_lowercase().contains("no-store"))
    {
        audit.note(
            "cache-control",
            Severity::Info,
            "does not forbid storing: caches may keep personal responses",
            "Cache-Control: no-store",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graded(headers: &[(&str, &str)]) -> Output {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
        run(Input { headers, url: None, kind: Kind::Page }, &Context::default()).unwrap()
    }

    #[test]
    fn removing_a_protection_never_raises_the_score() {
        let best = [
            ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
            ("Strict-Transport-Security", "max-age=63072000"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ];
        let all = graded(&best).score;
        assert_eq!((all, graded(&best).grade), (130, "A+"));
        for left_out in 0..best.len() {
            let kept: Vec<_> =
                best.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, header)| *header).collect();
            assert!(graded(&kept).score < all);
        }
    }

    #[test]
    fn grades_change_at_their_bounds() {
        assert_eq!([100, 99, 90, 89, 25, 24].map(grade), ["A+", "A", "A", "A-", "D-", "F"]);
    }
}
