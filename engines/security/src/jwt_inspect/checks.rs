//! Weaknesses of headers, secrets and claims.

use jsonwebtoken::Algorithm;
use muster_engine::prelude::*;

use super::{Input, Problems};

/// Lifetime from which a token is called long-lived, in seconds.
const LONG: f64 = 30.0 * 86_400.0;
/// Secrets of examples.
const COMMON: [&str; 12] = [
    "secret",
    "password",
    "your-256-bit-secret",
    "your-384-bit-secret",
    "your-512-bit-secret",
    "changeme",
    "jwt",
    "key",
    "test",
    "admin",
    "123456",
    "mysecret",
];
/// Names of claims that a token, which anyone may read, must not have.
const SENSITIVE: [&str; 8] =
    ["password", "passwd", "pwd", "secret", "ssn", "credit_card", "card_number", "private_key"];

pub(super) fn header(header: &Map<String, Value>, problems: &mut Problems) {
    for (name, what) in [
        ("jku", "an address of keys"),
        ("x5u", "an address of certificates"),
        ("jwk", "a key"),
        ("x5c", "certificates"),
    ] {
        if header.contains_key(name) {
            let message = format!("the header brings {what} (`{name}`): never take a key from the token itself");
            problems.add(Severity::High, "key-in-header", message);
        }
    }
    if let Some(crit) = header.get("crit") {
        let names = crit.as_array().map(|names| names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "));
        let message =
            format!("extensions that must be understood (`crit`): {}", names.unwrap_or_else(|| "malformed".to_owned()));
        problems.add(Severity::Medium, "crit", message);
    }
    if let Some(kid) = header.get("kid") {
        let odd = |kid: &str| {
            kid.contains("..") || kid.contains(['\'', '"', ';', '|', '\0', '`', '$']) || kid.starts_with('/')
        };
        if kid.as_str().is_none_or(odd) {
            problems.add(
                Severity::High,
                "kid-injection",
                "`kid` has characters of paths, queries or commands: look it up in a table only",
            );
        }
    }
    if header.get("b64").and_then(Value::as_bool) == Some(false) {
        problems.add(Severity::Medium, "b64", "`b64` is false: a JWT must be encoded (RFC 7797, 7)");
    }
    if !header.contains_key("typ") {
        problems.add(
            Severity::Info,
            "no-typ",
            "the header has no `typ`: name it, so that kinds of tokens cannot be confused (RFC 8725, 3.11)",
        );
    }
}

/// RFC 7518, 3.2: a secret is at least as long as the digest.
pub(super) fn secret(secret: &[u8], algorithm: Algorithm, problems: &mut Problems) {
    let least = match algorithm {
        Algorithm::HS384 => 48,
        Algorithm::HS512 => 64,
        _ => 32,
    };
    if COMMON.iter().any(|common| common.as_bytes().eq_ignore_ascii_case(secret)) {
        problems.add(
            Severity::Critical,
            "secret-common",
            "the secret is that of an example: replace it by random bytes",
        );
    } else if secret.len() < least {
        let message =
            format!("the secret has {} bytes, this `alg` needs {least} random bytes (RFC 7518, 3.2)", secret.len());
        problems.add(Severity::High, "secret-short", message);
    }
}

/// Checks the claims and returns the seconds to the expiry.
pub(super) fn claims(claims: &Map<String, Value>, input: &Input, problems: &mut Problems) -> Option<f64> {
    let now = input.now.map(|now| now.as_duration().as_secs_f64());
    let mut time = |name: &'static str| {
        let value = claims.get(name)?;
        let seconds = value.as_f64();
        if seconds.is_none() {
            problems.add(
                Severity::Medium,
                "time-malformed",
                format!("`{name}` must be a number of seconds since 1970 (RFC 7519, 2)"),
            );
        }
        seconds
    };
    let (expires, from, issued) = (time("exp"), time("nbf"), time("iat"));
    match (expires, now) {
        (None, _) => problems.add(Severity::Medium, "no-expiry", "the token has no `exp`: it is valid for ever"),
        (Some(expires), Some(now)) if expires <= now => {
            problems.add(Severity::High, "expired", format!("the token expired {} s ago", (now - expires).round()));
        }
        _ => {}
    }
    if from.zip(now).is_some_and(|(from, now)| from > now) {
        problems.add(Severity::Medium, "not-yet-valid", "`nbf` is in the future");
    }
    if issued.zip(now).is_some_and(|(issued, now)| issued > now) {
        problems.add(Severity::Medium, "issued-in-future", "`iat` is in the future: compare the clocks");
    }
    if expires.zip(issued.or(from)).is_some_and(|(expires, issued)| expires - issued > LONG) {
        problems.add(Severity::Low, "long-lived", "the token is valid for more than 30 days: shorten it");
    }
    named(claims, "iss", input.issuer.as_deref(), ["issuer-missing", "issuer-mismatch"], problems);
    named(claims, "aud", input.audience.as_deref(), ["audience-missing", "audience-mismatch"], problems);
    for name in claims.keys().filter(|name| SENSITIVE.contains(&name.to_ascii_lowercase().as_str())) {
        problems.add(Severity::Medium, "sensitive-claim", format!("`{name}` can be read by anyone who has the token"));
    }
    expires.zip(now).map(|(expires, now)| expires - now).filter(|seconds| seconds.is_finite())
}

/// Compares a claim with what the caller expects; it may be a text or a list of texts.
fn named(
    claims: &Map<String, Value>,
    name: &str,
    expected: Option<&str>,
    codes: [&'static str; 2],
    problems: &mut Problems,
) {
    let [missing, mismatch] = codes;
    let has = |expected: &str| match claims.get(name) {
        Some(Value::String(text)) => text == expected,
        Some(Value::Array(items)) => items.iter().any(|item| item.as_str() == Some(expected)),
        _ => false,
    };
    match (claims.contains_key(name), expected) {
        (false, None) => problems.add(
            Severity::Low,
            missing,
            format!("the token has no `{name}`: others could accept it (RFC 8725, 3.8 and 3.9)"),
        ),
        (false, Some(_)) => {
            problems.add(Severity::High, missing, format!("the token has no `{name}`, and one is expected"))
        }
        (true, Some(expected)) if !has(expected) => {
            problems.add(Severity::High, mismatch, format!("`{name}` is not the expected one"))
        }
        (true, _) => {}
    }
}
