//! Texts without the secrets in them: what a finding shows of a configuration.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::sentinel_secrets;

/// What stands in the place of a secret.
const HIDDEN: &str = "…";
/// Minimum length and bits per character of a token that is hidden whatever it is called.
const TOKEN: usize = 24;
const TOKEN_BITS: f64 = 3.8;

struct Masks {
    /// Keys in PEM, whole or cut.
    pem: Regex,
    /// The part before the `@` of an address, with its password.
    user: Regex,
    /// A setting, option, header or variable whose name is one of a secret, and its value.
    named: Regex,
    /// A run of characters that may be a token.
    token: Regex,
}

static MASKS: LazyLock<Option<Masks>> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).ok();
    Some(Masks {
        pem: regex(
            r"(?s)-----BEGIN ([A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z ]*)-----.*?(?:-----END [A-Z0-9 ]+-----|$)",
        )?,
        user: regex(r#"(?P<scheme>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://)(?P<user>[^\s/:@"'<>]*):[^\s@"'<>]+@"#)?,
        named: regex(
            r#"(?i)(?P<name>["']?-{0,2}[\w.-]{0,60}(?:passwor[dt]|passwd|passphrase|pwd|secret|token|api[_-]?key|apikey|(?:private|access|signing|encryption|account)[_-]?key|credential|authorization|cookie)[\w.-]{0,20}["']?(?:\s*(?::=|=>|[:=])\s*|\s+))(?:(?P<scheme>(?:basic|bearer|token)\s+))?(?P<value>"[^"]*"|'[^']*'|[^\s,;"'}\]]+)"#,
        )?,
        token: regex(r"[0-9A-Za-z+/_-]{24,}={0,2}")?,
    })
});

/// Hides keys in PEM, passwords in addresses, values of settings with a secret's name, tokens of known formats and of
/// high entropy. References to where a secret is kept stay.
pub fn masked(text: &str) -> String {
    let Some(masks) = MASKS.as_ref() else { return HIDDEN.to_owned() };
    let text = masks.pem.replace_all(text, |found: &Captures<'_>| {
        format!("-----BEGIN {}----- {HIDDEN}", found.get(1).map_or("", |kind| kind.as_str()))
    });
    let text = masks.user.replace_all(&text, format!("${{scheme}}${{user}}:{HIDDEN}@"));
    let text = masks.named.replace_all(&text, |found: &Captures<'_>| {
        let of = |name: &str| found.name(name).map_or("", |part| part.as_str());
        let (name, value) = (of("name"), of("value"));
        let shown = is_reference(value) || about(name) || value == HIDDEN;
        if shown { of_whole(found) } else { format!("{name}{}{HIDDEN}", of("scheme")) }
    });
    let text = sentinel_secrets::without_secrets(&text, HIDDEN);
    masks
        .token
        .replace_all(&text, |found: &Captures<'_>| {
            let whole = of_whole(found);
            let before = found.get(0).and_then(|token| text.get(..token.start())).unwrap_or_default();
            // Digests of images and files are public.
            let digest = before.ends_with("sha256:") || before.ends_with("sha512:");
            if digest || !is_token(&whole) { whole } else { HIDDEN.to_owned() }
        })
        .into_owned()
}

fn of_whole(found: &Captures<'_>) -> String {
    found.get(0).map_or("", |whole| whole.as_str()).to_owned()
}

/// Whether a value only says where the secret is, or that there is none.
fn is_reference(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']);
    let starts = ["$", "{{", "<", "/run/secrets", "vault:", "env:", "file:", "secret://", "arn:"];
    value.is_empty()
        || starts.iter().any(|start| value.starts_with(start))
        || matches!(
            value.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "none" | "yes" | "no" | "on" | "off"
        )
}

/// Whether a name is of what is said about a secret.
fn about(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let words = ["_file", "_path", "_ttl", "_seconds", "_length", "_policy", "_expiry", "tokenizer", "authentication"];
    words.iter().any(|word| name.contains(word))
}

/// Whether a run of characters looks random: letters and digits mixed, and no word with separators.
fn is_token(text: &str) -> bool {
    let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
    let hex = text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let least = if hex { 3.0 } else { TOKEN_BITS };
    let longest = text.split(['/', '_', '-', '.']).map(str::len).max().unwrap_or(0);
    has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && longest >= TOKEN.min(16)
        && sentinel_secrets::entropy(text) >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_each_kind_are_hidden() {
        for (text, secret, kept) in [
            ("password = \"hunter2\"", "hunter2", "password = …"),
            ("DB_PASSWORD=hunter2 other=1", "hunter2", "other=1"),
            ("mysql --password hunter2 --host db", "hunter2", "--host db"),
            ("url = \"postgres://app:hunter2@db:5432/x\"", "hunter2", "postgres://app:…@db:5432/x"),
            ("redis://:hunter2@cache/0", "hunter2", "redis://:…@cache/0"),
            ("amqp://u:p/a:ss@h", "p/a:ss", "amqp://u:…@h"),
            ("-----BEGIN PRIVATE KEY-----\nMIIEvAIBADANBg\n-----END PRIVATE KEY-----\nx", "MIIEvAIBADANBg", "x"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIEvAIBADANBg", "MIIEvAIBADANBg", "BEGIN RSA PRIVATE KEY"),
            ("curl -H 'Authorization: Bearer abc.def.ghi' https://e.org", "abc.def.ghi", "https://e.org"),
            ("{\"apiKey\": \"a1b2\"}", "a1b2", "apiKey"),
            ("run --key Zk3vQ9xT1mB7cN5pL8wR2yD6 now", "Zk3vQ9xT1mB7cN5pL8wR2yD6", "now"),
            ("x 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b y", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "y"),
            ("aws AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", "aws"),
        ] {
            let masked = masked(text);
            assert!(!masked.contains(secret), "{masked}");
            assert!(masked.contains(kept), "{masked}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "FROM debian@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "password: ${DB_PASSWORD}",
            "password_file: /run/secrets/db",
            "http://example.org/a/b?c=d",
            "USER root",
            "ALTER: /usr/share/nginx/html/images-of-the-year-2026/index",
            "git@github.com:a/b.git",
            "PasswordAuthentication yes",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
