//! Secrets that stand in the source, and quotes without them.

use std::sync::LazyLock;

use regex::Regex;

use super::literals::{Language, Masked};

/// A secret, and its byte in the text.
pub(super) struct Secret {
    pub at: usize,
    pub value: String,
}

/// Formats that issuers publish, keys in PEM, and addresses with a password.
static KNOWN: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"\b((?:AKIA|ASIA)[A-Z2-7]{16})\b",
        r"\b(gh[pousr]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{60,})\b",
        r"\b(gl(?:pat|ptt|dt|rt)-[0-9A-Za-z_-]{20,})\b",
        r"\b(xox[abeprs]-[0-9A-Za-z-]{16,})\b",
        r"\b((?:sk|rk)_live_[0-9A-Za-z]{16,})\b",
        r"\b(sk-(?:ant-|proj-)?[0-9A-Za-z_-]{32,})",
        r"\b(AIza[0-9A-Za-z_-]{35})\b",
        r"\b(npm_[0-9A-Za-z]{36}|hf_[A-Za-z]{34}|pypi-AgEI[0-9A-Za-z_-]{50,})\b",
        r"\b(eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{2,}\.[0-9A-Za-z_-]{10,})",
        r"-----BEGIN (?:[A-Z0-9]+ )*(PRIVATE KEY)",
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>${}]+:([^\s/:@"'<>${}]{3,})@"#,
    ]
    .into_iter()
    .filter_map(|pattern| Regex::new(pattern).ok())
    .collect()
});
/// `name: value` and `NAME=value` without quotes.
static PLAIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?m)^\s*(?:export\s+|ENV\s+|ARG\s+|-\s+)?["']?([\w.-]+)["']?\s*[:=]\s*([^\s"'$<{(\[#][^\s"'#]{5,})\s*$"#,
    )
    .ok()
});
/// The name before a literal: of a variable, a member, or a key that is a literal itself.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"([\w.-]*)["'`]{0,2}\]?\s*(?::\s*[\w<>\[\]&' ]+)?\s*(?:=>|:=|={1,3}|!=|:)\s*(?:\w+\(\s*)?$"#).ok()
});

pub(super) fn find(masked: &Masked, raw: &str, language: Language) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = KNOWN
        .iter()
        .flat_map(|pattern| pattern.captures_iter(raw))
        .filter_map(|found| found.get(1))
        .filter(|value| !is_placeholder(value.as_str()))
        .map(|value| Secret { at: value.start(), value: value.as_str().to_owned() })
        .collect();
    let mut from = 0;
    for (index, literal) in masked.literals.iter().enumerate() {
        let at = raw.get(from..).and_then(|rest| rest.find(&literal.text)).map_or(from, |found| from + found);
        from = at + literal.text.len();
        let before = masked.code.get(..literal.start).unwrap_or_default();
        let Some(found) = NAME.as_ref().and_then(|name| name.captures(before)) else { continue };
        let mut name = found.get(1).map_or("", |name| name.as_str()).to_owned();
        if name.is_empty() {
            let key = index.checked_sub(1).and_then(|previous| masked.literals.get(previous));
            name = key.map(|key| key.text.clone()).unwrap_or_default();
        }
        if !literal.filled && names_secret(&name) && is_value(&literal.text) {
            secrets.push(Secret { at, value: literal.text.clone() });
        }
    }
    if matches!(language, Language::Shell | Language::Yaml | Language::Other) {
        let lines = PLAIN.iter().flat_map(|plain| plain.captures_iter(raw));
        secrets.extend(lines.filter_map(|found| {
            let (name, value) = (found.get(1)?, found.get(2)?);
            (names_secret(name.as_str()) && is_value(value.as_str()))
                .then(|| Secret { at: value.start(), value: value.as_str().to_owned() })
        }));
    }
    secrets.sort_by_key(|secret| secret.at);
    secrets
}

/// A line without the secrets of its statement.
pub(super) fn hidden(line: &str, secrets: &[Secret]) -> String {
    secrets.iter().fold(line.to_owned(), |line, secret| line.replace(&secret.value, "…"))
}

fn names_secret(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name).to_lowercase().replace('-', "_");
    let words = [
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "api_key",
        "apikey",
        "access_key",
        "accesskey",
        "private_key",
        "privatekey",
        "credential",
        "auth_key",
        "signing_key",
        "encryption_key",
    ];
    // Where it is kept, what it is called and how long it lasts is not the secret.
    let about = [
        "_file",
        "_path",
        "_name",
        "_url",
        "_uri",
        "_env",
        "_header",
        "_type",
        "_field",
        "_length",
        "_ttl",
        "_id",
        "_regex",
        "_pattern",
        "_label",
        "_hint",
        "_policy",
        "_prefix",
        "tokenizer",
        "token_count",
        "max_token",
    ];
    words.iter().any(|word| name.contains(word)) && !about.iter().any(|word| name.contains(word))
}

/// Passwords that everybody tries first.
const COMMON: [&str; 10] =
    ["changeme", "letmein", "admin", "password1", "qwerty", "welcome", "root", "toor", "default", "iloveyou"];

/// A value of its own, not a word, a path, a variable or a sample.
fn is_value(text: &str) -> bool {
    let has = |is: fn(char) -> bool| text.chars().any(is);
    let shaped = has(|c| c.is_ascii_digit()) || has(|c| "!@#$%^&*+=~".contains(c));
    let long = text.chars().count() >= 6 && !text.contains(char::is_whitespace);
    let elsewhere = text.starts_with(['/', '.', '$', '%', '<', '{']) || text.contains("://") || text.contains('(');
    COMMON.contains(&text.to_lowercase().as_str())
        || (long && shaped && has(char::is_alphabetic) && !elsewhere && !is_placeholder(text))
}

fn is_placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "example",
        "placeholder",
        "your_",
        "your-",
        "yourkey",
        "<",
        "{{",
        "${",
        "xxxx",
        "****",
        "redacted",
        "dummy",
        "process.env",
        "os.environ",
        "todo",
    ]
    .iter()
    .any(|word| lower.contains(word))
}
