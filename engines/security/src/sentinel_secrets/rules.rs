//! Rules: the pattern of each kind of secret, and its verification.
//!
//! Formats are those published by the issuers; if one has a checksum or a structure, that decides.

use std::collections::HashMap;
use std::sync::OnceLock;

use base64::Engine as _;
use regex::Regex;

use crate::decode::ascii_classes;
use crate::verdict::Severity;

/// Verification of a match.
#[derive(Debug, Clone, Copy)]
pub(super) enum Check {
    /// The pattern is sufficient.
    Pattern,
    /// At least this many bits per character, and no placeholder.
    Entropy(f64),
    /// As `Entropy`, and with a digit or a special character, as a name of a variable has none.
    Mixed(f64),
    /// CRC32 in the last six characters.
    GitHub,
    /// A JSON header with `alg`.
    Jwt,
}

/// One kind of secret. The group `secret`, else the whole match, is redacted.
#[derive(Debug)]
pub(super) struct Rule {
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    pub check: Check,
    text: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(id: &'static str, name: &'static str, severity: Severity, check: Check, text: &'static str) -> Self {
        Self { id, name, severity, check, text, regex: OnceLock::new() }
    }

    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&ascii_classes(self.text)).ok()).as_ref()
    }
}

use Check::{Entropy, GitHub, Jwt, Mixed, Pattern};
use Severity::{Critical, High, Medium};

/// In matching order: more specific rules first.
pub(super) static RULES: [Rule; 30] = [
    Rule::new(
        "private-key",
        "private key",
        Critical,
        Pattern,
        r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    ),
    Rule::new(
        "aws-access-key-id",
        "AWS access key",
        Critical,
        Pattern,
        r"\b(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}|AKIAIOSFODNN7EXAMPLE)\b",
    ),
    Rule::new(
        "aws-secret-access-key",
        "AWS secret access key",
        Critical,
        Entropy(3.5),
        r#"(?i)aws.{0,20}(?:secret|sk).{0,20}?[=:]\s*["']?(?P<secret>[A-Za-z0-9/+]{40})(?:["'\s,;]|$)"#,
    ),
    Rule::new("github-token", "GitHub token", Critical, GitHub, r"\b(?:ghp|gho|ghu|ghs|ghr)_[0-9A-Za-z]{36}\b"),
    Rule::new(
        "github-fine-grained-token",
        "GitHub token",
        Critical,
        Pattern,
        r"\bgithub_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}\b",
    ),
    Rule::new("npm-token", "npm token", Critical, GitHub, r"\bnpm_[0-9A-Za-z]{36}\b"),
    Rule::new(
        "gitlab-token",
        "GitLab token",
        Critical,
        Pattern,
        r"\bgl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt)-[0-9A-Za-z_-]{20,64}\b",
    ),
    Rule::new(
        "slack-token",
        "Slack token",
        Critical,
        Pattern,
        r"\bxox[abeprs]-(?:[0-9]{10,13}-){1,3}[0-9A-Za-z-]{16,64}\b",
    ),
    Rule::new(
        "slack-webhook",
        "Slack webhook",
        High,
        Pattern,
        r"https://hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9+/]{30,80})",
    ),
    Rule::new("stripe-key", "Stripe key", Critical, Pattern, r"\b(?:sk|rk)_(?:live|prod)_[0-9A-Za-z]{16,99}\b"),
    Rule::new("google-api-key", "Google API key", Critical, Entropy(3.0), r"\bAIza[0-9A-Za-z_-]{35}\b"),
    Rule::new(
        "anthropic-api-key",
        "Anthropic API key",
        Critical,
        Pattern,
        r"\bsk-ant-(?:api|admin)[0-9]{2}-[0-9A-Za-z_-]{80,}",
    ),
    Rule::new(
        "openai-api-key",
        "OpenAI API key",
        Critical,
        Entropy(3.0),
        r"\bsk-(?:(?:proj|svcacct|admin)-[0-9A-Za-z_-]{40,}|[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20})",
    ),
    Rule::new("hugging-face-token", "Hugging Face token", Critical, Entropy(2.5), r"\bhf_[A-Za-z]{34}\b"),
    Rule::new("pypi-token", "PyPI token", Critical, Pattern, r"\bpypi-AgEIcHlwaS5vcmc[0-9A-Za-z_-]{50,}"),
    Rule::new("sendgrid-key", "SendGrid key", Critical, Pattern, r"\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}\b"),
    Rule::new("twilio-key", "Twilio key", High, Entropy(3.0), r"\bSK[0-9a-f]{32}\b"),
    Rule::new("telegram-bot-token", "Telegram bot token", High, Entropy(3.0), r"\b[0-9]{8,10}:A[0-9A-Za-z_-]{34}\b"),
    Rule::new("digitalocean-token", "DigitalOcean token", Critical, Pattern, r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    Rule::new("shopify-token", "Shopify token", Critical, Pattern, r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    Rule::new(
        "azure-storage-key",
        "Azure storage key",
        Critical,
        Pattern,
        r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    Rule::new(
        "age-secret-key",
        "age secret key",
        Critical,
        Pattern,
        r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b",
    ),
    Rule::new("muster-key", "Muster key", Critical, Pattern, r"\bmst_[0-9A-Za-z]{12}_[0-9A-Za-z_-]{43}"),
    Rule::new("jwt", "JSON Web Token", High, Jwt, r"\bey[0-9A-Za-z_-]{10,}\.ey[0-9A-Za-z_-]{2,}\.[0-9A-Za-z_-]{10,}"),
    Rule::new(
        "url-credentials",
        "password within an address",
        High,
        Entropy(1.5),
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'<>]+:(?P<secret>[^\s/:@"'<>]{3,})@"#,
    ),
    Rule::new(
        "authorization-header",
        "credential of a request",
        High,
        Entropy(3.0),
        r"(?i)\bauthorization\s*[:=]\s*(?:basic|bearer|token)\s+(?P<secret>[0-9A-Za-z._~+/=-]{16,})",
    ),
    Rule::new(
        "generic-secret",
        "secret of a setting",
        High,
        Entropy(3.5),
        r#"(?i)(?:api[_-]?key|secret|token|access[_-]?key|client[_-]?secret|credential)[0-9A-Za-z_.-]{0,20}["']?\s*(?::=|=>|[=:])\s*["'`]?(?P<secret>[0-9A-Za-z_./+=~-]{16,150})["'`]?(?:[\s,;)\]}]|$)"#,
    ),
    Rule::new(
        "password",
        "password of a setting",
        Medium,
        Entropy(2.3),
        r#"(?i)(?:password|passwd|passphrase|pwd)["']?\s*(?::=|=>|[=:])\s*["'`](?P<secret>[^\s"'`]{6,150})["'`]"#,
    ),
    Rule::new(
        "password-line",
        "password or secret of a setting without quotes",
        Medium,
        Mixed(2.3),
        r#"(?im)^[ \t]*(?:-[ \t]+|export[ \t]+|set[ \t]+|ENV[ \t]+|ARG[ \t]+)?[0-9A-Za-z_.-]*?(?:password|passwd|passphrase|pwd|secret(?:[_-]?key)?|api[_-]?key|(?:access|auth)[_-]?token)[ \t]*[:=][ \t]*(?P<secret>[^\s"'`#$<{(\[][^\s"'`()\[\]{},;]{5,149})[ \t]*$"#,
    ),
    Rule::new(
        "short-secret",
        "secret of a setting",
        Medium,
        Mixed(2.3),
        r#"(?i)(?:secret(?:[_-]?key)?|api[_-]?key|(?:access|auth)[_-]?token)["']?\s*(?::=|=>|[=:])\s*["'`](?P<secret>[^\s"'`]{6,150})["'`]"#,
    ),
];

/// Shannon entropy in bits per character.
pub(crate) fn entropy(text: &str) -> f64 {
    let mut counts: HashMap<char, usize> = HashMap::new();
    text.chars().for_each(|c| *counts.entry(c).or_default() += 1);
    let all = text.chars().count().max(1) as f64;
    let mut shares: Vec<usize> = counts.into_values().collect();
    // Sorted, so that rounding is reproducible.
    shares.sort_unstable();
    shares.into_iter().map(|count| count as f64 / all).map(|share| -share * share.log2()).sum()
}

/// An example, a variable or a mask instead of a secret.
pub(super) fn placeholder(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words =
        ["example", "changeme", "placeholder", "your_", "your-", "yourkey", "insert", "dummy", "redacted", "xxxx"];
    let variable = ["${", "{{", "<", "$(", "%(", "process.env", "os.environ", "env."];
    words.iter().any(|word| lower.contains(word))
        || variable.iter().any(|start| lower.starts_with(start))
        || lower.contains("****")
}

/// GitHub (and npm, which adopted its format): the last six characters are the CRC32 of the part between prefix and
/// checksum, in base 62.
pub(super) fn github_checksum(token: &str) -> bool {
    let Some((_, body)) = token.split_once('_') else { return false };
    let Some((random, checksum)) = body.len().checked_sub(6).and_then(|at| body.split_at_checked(at)) else {
        return false;
    };
    base62(crc32fast::hash(random.as_bytes())) == checksum
}

fn base62(mut number: u32) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

/// RFC 7519: three parts, the first a JSON object with `alg`, the second a JSON object.
pub(super) fn is_jwt(text: &str) -> bool {
    let object = |part: Option<&str>| {
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part?).ok()?;
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&bytes).ok()
    };
    let mut parts = text.split('.');
    object(parts.next()).is_some_and(|header| header.contains_key("alg")) && object(parts.next()).is_some()
}
