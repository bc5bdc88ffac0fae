//! q145: phishing and scams.

mod address;
mod brands;
mod lures;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use muster_engine::prelude::*;
use regex::Regex;

use self::address::Address;
use self::brands::Brands;
use crate::decode::unescaped;
use crate::verdict::{Verdict, listed};

/// Maximum length of a text and of a URL, in bytes.
const MAX_TEXT: usize = 262_144;
const MAX_URL: usize = 16_384;
/// Addresses of a text that are judged.
const MAX_URLS: usize = 500;
/// Bytes of an address, and of the content of a link, that are read.
const MAX_JUDGED: usize = 2_000;
const MAX_CONTENT: usize = 1_200;
/// Weight at which a message is as likely a fraud as not.
const EVEN: f64 = 2.2;

#[derive(Debug, Input)]
pub struct Input {
    url: Option<String>,
    text: Option<String>,
    brands: Vec<String>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    urls: Vec<Judged>,
    lookalike_of: Option<String>,
}

#[derive(Debug, Output)]
struct Judged {
    url: String,
    host: String,
    registrable: String,
    score: f64,
}

/// A reason with its weight: the natural logarithm of odds.
#[derive(Debug, Clone)]
struct Sign {
    rule: &'static str,
    weight: f64,
    message: String,
}

impl Sign {
    fn new(rule: &'static str, weight: f64, message: impl Into<String>) -> Self {
        Self { rule, weight, message: message.into() }
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { url, text, brands } = input;
    if url.is_none() && text.is_none() {
        return Err(Failure::invalid(&["url"], "or `text` must be given"));
    }
    if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) || url.as_ref().is_some_and(|url| url.len() > MAX_URL) {
        return Err(Failure::too_large(format!("text may have {MAX_TEXT} bytes, url {MAX_URL}")));
    }
    if brands.len() > 500 {
        return Err(Failure::too_large("at most 500 brands are allowed"));
    }
    let brands = Brands::new(&brands)?;
    let text = text.map(|text| unescaped(&text)).unwrap_or_default();
    let mut addresses: Vec<Address> = Vec::new();
    if let Some(url) = &url {
        let address = Address::read(url);
        addresses.push(address.ok_or_else(|| {
            Failure::invalid(&["url"], "must be an address with a host, such as https://example.org/")
        })?);
    }
    let found = urls(&text);
    if found.len() > MAX_URLS {
        cx.warn(format!("truncated: only the first {MAX_URLS} of {} addresses are judged", found.len()));
    }
    addresses.extend(found.iter().take(MAX_URLS).filter_map(|url| Address::read(url)));
    let mut lookalike_of = None;
    let (mut signs, mut worst, mut urls) = (BTreeMap::<&'static str, Sign>::new(), 0.0_f64, Vec::new());
    for address in &addresses {
        let (found, brand) = address.signs(&brands);
        lookalike_of = lookalike_of.or(brand);
        let weight: f64 = found.iter().map(|sign| sign.weight).sum();
        worst = worst.max(weight);
        for sign in found {
            keep(&mut signs, sign);
        }
        if !urls.iter().any(|judged: &Judged| judged.url == address.url) {
            urls.push(Judged {
                url: address.url.clone(),
                host: address.host.clone(),
                registrable: address.registrable.clone(),
                score: likelihood(weight),
            });
        }
    }
    let mut weight = worst;
    for sign in lures::signs(&text, !addresses.is_empty()) {
        weight += sign.weight;
        keep(&mut signs, sign);
    }
    if let Some(sign) = anchors(&text) {
        weight += sign.weight;
        keep(&mut signs, sign);
    }
    cx.step("weight", weight, "");
    let score = if signs.is_empty() { 0.0 } else { likelihood(weight) };
    let findings: Vec<Finding> = signs.into_values().map(finding).collect();
    Ok(Output { verdict: verdict(score), score, findings: listed(findings, 100, cx), urls, lookalike_of })
}

/// Keeps the heaviest sign of each rule.
fn keep(signs: &mut BTreeMap<&'static str, Sign>, sign: Sign) {
    match signs.get(sign.rule) {
        Some(known) if known.weight >= sign.weight => {}
        _ => {
            signs.insert(sign.rule, sign);
        }
    }
}

fn likelihood(weight: f64) -> f64 {
    (1e4 / (1.0 + (EVEN - weight).exp())).round() / 1e4
}

fn verdict(score: f64) -> Verdict {
    match score {
        0.96.. => Verdict::Critical,
        0.5.. => Verdict::Warn,
        0.1.. => Verdict::Notice,
        _ => Verdict::Clear,
    }
}

fn finding(sign: Sign) -> Finding {
    let severity = match sign.weight {
        weight if weight >= 2.5 => Severity::High,
        weight if weight >= 1.2 => Severity::Medium,
        weight if weight >= 0.6 => Severity::Low,
        _ => Severity::Info,
    };
    Finding { rule: sign.rule.to_owned(), severity, message: sign.message, location: None, evidence: None }
}

/// Addresses within a text, also without a scheme and disarmed ones.
fn urls(text: &str) -> Vec<String> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    // Lengths are bounded afterwards: an automaton that counts them has thousands of states.
    let pattern =
        r#"(?i-u:h(?:tt|xx)ps?://|www\.)[^\s<>"'`|\\^]{3,}|(?i-u:(?:[a-z0-9-]+\.)+[a-z]{2,12}/)[^\s<>"'`|\\^]+"#;
    let Some(pattern) = PATTERN.get_or_init(|| Regex::new(pattern).ok()) else { return Vec::new() };
    let plain = text.replace("[.]", ".").replace("(.)", ".").replace("[:]", ":");
    pattern
        .find_iter(&plain)
        .map(|found| {
            cut(found.as_str()).trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '*']).to_owned()
        })
        .collect()
}

/// The beginning of an address, as far as it is judged.
fn cut(url: &str) -> &str {
    url.get(..url.floor_char_boundary(MAX_JUDGED)).unwrap_or(url)
}

/// The content of an element `a`, up to its end; `None` if that is far.
fn content(after: &str) -> Option<&str> {
    let near = after.get(..after.floor_char_boundary(MAX_CONTENT)).unwrap_or(after);
    let end = near.char_indices().find(|(at, c)| {
        *c == '<' && near.get(*at..at + "</a>".len()).is_some_and(|tag| tag.eq_ignore_ascii_case("</a>"))
    });
    near.get(..end?.0)
}

/// A link whose text names another site than its address.
fn anchors(text: &str) -> Option<Sign> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = r#"(?is)<a(?-u:\b)[^>]*?(?-u:\b)href\s*=\s*["']?([^"'\s>]{4,})["']?[^>]*>|\[([^\]\[]{4,})\]\((https?://[^)\s]{4,})\)"#;
    let pattern = PATTERN.get_or_init(|| Regex::new(pattern).ok()).as_ref()?;
    pattern.captures_iter(text).take(MAX_URLS).find_map(|found| {
        let (target, shown) = match (found.get(0), found.get(1), found.get(2), found.get(3)) {
            (Some(tag), Some(target), ..) => (target, content(text.get(tag.end()..)?)?),
            (.., Some(shown), Some(target)) => (target, shown.as_str()),
            _ => return None,
        };
        let target = Address::read(cut(target.as_str()))?;
        let shown = urls(&format!("{} ", shown.trim())).first().and_then(|url| Address::read(url)).or_else(|| {
            let text = shown.trim();
            let is_host = text.contains('.')
                && !text.contains(char::is_whitespace)
                && psl::suffix(text.as_bytes()).is_some_and(|suffix| suffix.is_known());
            is_host.then(|| Address::read(text))?
        })?;
        (shown.registrable != target.registrable)
            .then(|| Sign::new("link-mismatch", 2.8, "a link shows one site and leads to another: open neither"))
    })
}
