//! Kinds of indicators: pattern, what belongs to a match, and its value without the marks that disarm it.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use muster_engine::prelude::*;
use regex::Regex;
use sha2_11::{Digest, Sha256};

use crate::address::Block;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Words)]
pub(super) enum Kind {
    Url,
    Email,
    RegistryKey,
    FilePath,
    Cve,
    Attack,
    Bitcoin,
    Ethereum,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Ipv6,
    Ipv4,
    Domain,
}

/// How a kind is found. `trim` takes off what only follows it; `value` checks and normalises, given the character before
/// and the text after.
pub(super) struct Rule {
    pub kind: Kind,
    text: &'static str,
    pub trim: fn(&str) -> Option<&str>,
    pub value: fn(&str, Option<char>, &str) -> Option<String>,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    const fn new(
        kind: Kind,
        text: &'static str,
        trim: fn(&str) -> Option<&str>,
        value: fn(&str, Option<char>, &str) -> Option<String>,
    ) -> Self {
        Self { kind, text, trim, value, regex: OnceLock::new() }
    }

    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&crate::decode::ascii_classes(self.text)).ok()).as_ref()
    }
}

/// A dot, also a disarmed one.
macro_rules! dot {
    () => {
        r"(?:\.|\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\)|\{dot\})"
    };
}

/// A host name.
macro_rules! host {
    () => {
        concat!(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?", dot!(), r"){1,30}[a-z][a-z0-9-]{0,61}[a-z0-9]")
    };
}

/// In the order of precedence.
pub(super) static KINDS: [Rule; 16] = [
    Rule::new(
        Kind::Url,
        r#"(?i)(?:h(?:tt|xx)ps?|ftp|fxp)(?::|\[:\])(?://|\[//\]|\[/\]\[/\])[^\s<>"'`|\\^]{1,2000}"#,
        url_end,
        |raw, before, _| if before.is_some_and(char::is_alphanumeric) { None } else { url(raw) },
    ),
    Rule::new(
        Kind::Email,
        concat!(r"(?i)[a-z0-9._%+-]{1,64}(?:@|\[at\]|\(at\)|\[@\]|\(@\))", host!()),
        whole,
        |raw, _, _| {
            let value = refanged(raw);
            let (local, host) = value.rsplit_once('@')?;
            (!local.starts_with('.') && !local.ends_with('.')).then(|| format!("{local}@{}", host.to_lowercase()))
        },
    ),
    Rule::new(
        Kind::RegistryKey,
        r#"\b(?:HKEY_(?:LOCAL_MACHINE|CURRENT_USER|CLASSES_ROOT|USERS|CURRENT_CONFIG)|HKLM|HKCU|HKCR)\\[^\s"'<>|*?]{1,500}"#,
        words_end,
        |raw, _, _| Some(raw.to_owned()),
    ),
    Rule::new(
        Kind::FilePath,
        r#"\b[A-Za-z]:\\(?:[^\\/:*?"<>|\r\n\t]{1,100}\\){0,20}[^\\/:*?"<>|\s]{1,100}"#,
        words_end,
        |raw, _, _| Some(raw.to_owned()),
    ),
    Rule::new(Kind::Cve, r"(?i)\bCVE-(?:1999|20[0-9]{2})-[0-9]{4,19}\b", whole, |raw, _, _| Some(raw.to_uppercase())),
    Rule::new(Kind::Attack, r"\bT(?:A[0-9]{4}|[0-9]{4}(?:\.[0-9]{3})?)\b", whole, |raw, _, _| Some(raw.to_owned())),
    Rule::new(Kind::Bitcoin, r"\b[13][1-9A-HJ-NP-Za-km-z]{25,34}\b", whole, |raw, _, _| {
        base58check(raw).then(|| raw.to_owned())
    }),
    Rule::new(Kind::Bitcoin, r"(?i)\bbc1[02-9ac-hj-np-z]{11,71}\b", whole, |raw, _, _| {
        bech32(raw).then(|| raw.to_lowercase())
    }),
    Rule::new(Kind::Ethereum, r"\b0x[0-9a-fA-F]{40}\b", whole, |raw, _, _| Some(raw.to_owned())),
    Rule::new(Kind::Sha512, r"(?i)\b[0-9a-f]{128}\b", whole, hash),
    Rule::new(Kind::Sha256, r"(?i)\b[0-9a-f]{64}\b", whole, hash),
    Rule::new(Kind::Sha1, r"(?i)\b[0-9a-f]{40}\b", whole, hash),
    Rule::new(Kind::Md5, r"(?i)\b[0-9a-f]{32}\b", whole, hash),
    Rule::new(
        Kind::Ipv6,
        r"(?i)(?:[0-9a-f]{0,4}(?::|\[:\])){2,8}(?:[0-9a-f]{0,4}(?:[0-9]{0,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})?)",
        whole,
        ipv6,
    ),
    Rule::new(
        Kind::Ipv4,
        concat!("(?i)[0-9]{1,3}", dot!(), "[0-9]{1,3}", dot!(), "[0-9]{1,3}", dot!(), "[0-9]{1,3}"),
        whole,
        ipv4,
    ),
    Rule::new(Kind::Domain, concat!("(?i)", host!()), whole, domain),
];

/// Takes the marks off that keep readers from following an address.
pub(super) fn refanged(raw: &str) -> String {
    static MARK: OnceLock<Option<Regex>> = OnceLock::new();
    let mark = MARK.get_or_init(|| Regex::new(r"(?i)[\[({](?:\.|dot|at|@|:|/{1,2})[\])}]").ok());
    let Some(mark) = mark else { return raw.to_owned() };
    mark.replace_all(raw, |found: &regex::Captures<'_>| {
        let inner = found.get(0).map_or("", |found| found.as_str().trim_matches(['[', ']', '(', ')', '{', '}']));
        match inner.to_ascii_lowercase().as_str() {
            "dot" => ".".to_owned(),
            "at" => "@".to_owned(),
            other => other.to_owned(),
        }
    })
    .into_owned()
}

/// Takes off closing marks that the sentence has, not the address; a bracket stays if it was opened within.
fn url_end(raw: &str) -> Option<&str> {
    let mut end = raw;
    loop {
        let opened = |open: char, close: char| end.matches(open).count() >= end.matches(close).count();
        let closing = match end.chars().next_back()? {
            '.' | ',' | ';' | ':' | '!' | '?' | '*' | '_' => true,
            ')' => !opened('(', ')'),
            ']' => !opened('[', ']'),
            '}' => !opened('{', '}'),
            _ => false,
        };
        if !closing {
            return Some(end);
        }
        end = end.get(..end.len() - 1)?;
    }
}

/// A match that ends where it should.
fn whole(raw: &str) -> Option<&str> {
    Some(raw)
}

fn words_end(raw: &str) -> Option<&str> {
    Some(raw.trim_end_matches(['.', ',', ';', ':', '!', ')', ']']))
}

fn url(raw: &str) -> Option<String> {
    let plain = refanged(raw);
    let (scheme, rest) = plain.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase().replace("hxxp", "http").replace("fxp", "ftp");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = authority.rsplit('@').next()?;
    let name =
        if host.starts_with('[') { host.split(']').next()?.trim_start_matches('[') } else { host.split(':').next()? };
    let address = name.parse::<Ipv4Addr>().is_ok() || name.parse::<Ipv6Addr>().is_ok();
    let written = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '%'));
    (address || written).then(|| format!("{scheme}://{}{path}", authority.to_lowercase()))
}

fn hash(raw: &str, _: Option<char>, _: &str) -> Option<String> {
    let lower = raw.to_ascii_lowercase();
    let first = lower.chars().next()?;
    let digits = lower.chars().all(|c| c.is_ascii_digit());
    (!digits && lower.chars().any(|c| c != first)).then_some(lower)
}

fn ipv4(raw: &str, before: Option<char>, after: &str) -> Option<String> {
    let value = refanged(raw);
    let mut next = after.chars();
    let longer = match next.next() {
        Some('.') => next.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_alphanumeric(),
        None => false,
    };
    let within = before.is_some_and(|c| c.is_alphanumeric() || c == '.' || c == '-');
    (!longer && !within && value.parse::<Ipv4Addr>().is_ok()).then_some(value)
}

fn ipv6(raw: &str, before: Option<char>, after: &str) -> Option<String> {
    let value = refanged(raw);
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == ':');
    if edge(before) || edge(after.chars().next()) || value.matches(|c: char| c.is_ascii_hexdigit()).count() < 3 {
        return None;
    }
    let address = value.parse::<Ipv6Addr>().ok()?;
    // Outside of 2000::/3 only reserved blocks are in use: the rest are ratios and times.
    let used = address.segments().first().is_some_and(|first| first >> 13 == 1);
    let reserved = Block::read(&value).is_ok_and(|(block, _)| block.class() != "global");
    (used || reserved).then(|| address.to_string())
}

/// Endings of file names that are also top-level domains.
const EXTENSIONS: [&str; 24] = [
    "rs", "py", "sh", "pl", "md", "zip", "mov", "cc", "so", "ps", "st", "ml", "mm", "pm", "app", "gz", "java", "js",
    "in", "do", "ai", "name", "id", "as",
];

/// A bare name needs a known suffix, and no ending of a file; a disarmed one is meant as a name.
fn domain(raw: &str, before: Option<char>, after: &str) -> Option<String> {
    if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '@' | '/' | '\\' | '$')) {
        return None;
    }
    if after.starts_with(['(', '_', '\\', '@']) || after.starts_with("::") {
        return None;
    }
    let value = refanged(raw).to_lowercase();
    let disarmed = value.len() != raw.len();
    let last = value.rsplit('.').next()?;
    if value.len() > 253 || last.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    if disarmed {
        return Some(value);
    }
    let known = psl::suffix(value.as_bytes()).is_some_and(|suffix| suffix.is_known());
    (known && psl::domain(value.as_bytes()).is_some() && !EXTENSIONS.contains(&last)).then_some(value)
}

/// Base58Check: the last four bytes are the first of a double SHA-256.
fn base58check(text: &str) -> bool {
    const DIGITS: &str = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut bytes = [0_u8; 25];
    for letter in text.chars() {
        let Some(mut carry) = DIGITS.find(letter) else { return false };
        for byte in bytes.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    let (payload, checksum) = bytes.split_at(21);
    Sha256::digest(Sha256::digest(payload)).starts_with(checksum)
}

/// Bech32 (BIP 173) or Bech32m (BIP 350) of the prefix `bc`.
fn bech32(text: &str) -> bool {
    const DIGITS: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let mixed = text.chars().any(char::is_lowercase) && text.chars().any(char::is_uppercase);
    let lower = text.to_ascii_lowercase();
    let Some(data) = lower.strip_prefix("bc1") else { return false };
    let mut sum = 1_u32;
    let mut take = |value: u32| {
        let top = sum >> 25;
        sum = ((sum & 0x1ff_ffff) << 5) ^ value;
        for (bit, generator) in GENERATORS.iter().enumerate() {
            if (top >> bit) & 1 == 1 {
                sum ^= generator;
            }
        }
    };
    [3, 3, 0, 2, 3].into_iter().for_each(&mut take);
    for letter in data.chars() {
        let Some(value) = DIGITS.find(letter) else { return false };
        take(value as u32);
    }
    !mixed && (sum == 1 || sum == 0x2bc8_30a3)
}

/// Whether an address, or the host of a URL, is reachable in one network only.
pub(super) fn is_private(kind: Kind, value: &str) -> bool {
    let not_global =
        |text: &str| Block::read(text).is_ok_and(|(block, _)| block.class() != "global" && !block.is_global());
    match kind {
        Kind::Ipv4 | Kind::Ipv6 => not_global(value),
        Kind::Url => {
            let authority =
                value.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
            let host = authority.rsplit('@').next().unwrap_or_default();
            let bracketed = host.strip_prefix('[').and_then(|host| host.split(']').next());
            let host = bracketed.unwrap_or_else(|| host.split(':').next().unwrap_or_default());
            host == "localhost" || not_global(host)
        }
        _ => false,
    }
}
