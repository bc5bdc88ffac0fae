//! Version order of each ecosystem.

use std::cmp::Ordering;

use super::Ecosystem;
use muster_kernel_words::versions::{Scheme, Version};

/// A version of one ecosystem; versions of different ecosystems are never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ordered {
    Schemed(Version),
    Debian(String),
    Maven(Vec<Part>),
}

/// A part of a Maven version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Without leading zeros, with any number of digits.
    Number(String),
    Word(String),
}

impl Ordered {
    pub(super) fn parse(ecosystem: Ecosystem, text: &str) -> Result<Self, String> {
        let schemed = |scheme| Version::parse(scheme, text.trim()).map(Self::Schemed);
        match ecosystem {
            Ecosystem::Cargo => schemed(Scheme::Semver),
            Ecosystem::Npm | Ecosystem::Go => schemed(Scheme::Npm),
            Ecosystem::PyPI => schemed(Scheme::Pep440),
            Ecosystem::Debian if text.len() <= 256 && !text.trim().is_empty() => {
                Ok(Self::Debian(text.trim().to_owned()))
            }
            Ecosystem::Maven if text.len() <= 256 && !text.trim().is_empty() => Ok(Self::Maven(maven(text.trim()))),
            Ecosystem::Debian | Ecosystem::Maven => Err("is not a version".to_owned()),
        }
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Schemed(a), Self::Schemed(b)) => a.cmp(b),
            (Self::Debian(a), Self::Debian(b)) => debian(a, b),
            (Self::Maven(a), Self::Maven(b)) => compare_maven(a, b),
            (Self::Schemed(_), _) | (Self::Debian(_), Self::Maven(_)) => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Debian Policy 4.7, section 5.6.12: epoch, upstream version, revision.
fn debian(a: &str, b: &str) -> Ordering {
    let split = |text: &str| {
        let (epoch, rest) = text.split_once(':').unwrap_or(("0", text));
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
        (epoch.parse::<u64>().unwrap_or(0), upstream.to_owned(), revision.to_owned())
    };
    let (a, b) = (split(a), split(b));
    a.0.cmp(&b.0).then_with(|| debian_part(&a.1, &b.1)).then_with(|| debian_part(&a.2, &b.2))
}

/// Non-digits with letters first and `~` before the end, then digits as numbers, alternating.
fn debian_part(mut a: &str, mut b: &str) -> Ordering {
    while !(a.is_empty() && b.is_empty()) {
        let words = (head(a, |byte| !byte.is_ascii_digit()), head(b, |byte| !byte.is_ascii_digit()));
        let weight = |byte: Option<u8>| match byte {
            Some(b'~') => -1,
            None => 0,
            Some(letter) if letter.is_ascii_alphabetic() => i32::from(letter),
            Some(other) => i32::from(other) + 256,
        };
        for at in 0..words.0.len().max(words.1.len()) {
            let byte = |word: &str| word.as_bytes().get(at).copied();
            match weight(byte(words.0)).cmp(&weight(byte(words.1))) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        (a, b) = (a.get(words.0.len()..).unwrap_or(""), b.get(words.1.len()..).unwrap_or(""));
        let numbers = (head(a, |byte| byte.is_ascii_digit()), head(b, |byte| byte.is_ascii_digit()));
        match number(numbers.0, numbers.1) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
        (a, b) = (a.get(numbers.0.len()..).unwrap_or(""), b.get(numbers.1.len()..).unwrap_or(""));
    }
    Ordering::Equal
}

fn head(text: &str, of: impl Fn(u8) -> bool) -> &str {
    let end = text.bytes().position(|byte| !of(byte)).unwrap_or(text.len());
    text.get(..end).unwrap_or(text)
}

/// Compares numbers of any length.
fn number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Maven's parts: split at dots, hyphens, and between letters and digits; trailing zeros and empty words of a run are
/// dropped.
fn maven(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for piece in text.to_ascii_lowercase().split(['.', '-', '_']) {
        let mut rest = piece;
        while !rest.is_empty() {
            let digits = head(rest, |byte| byte.is_ascii_digit());
            let word = head(rest, |byte| !byte.is_ascii_digit());
            if digits.is_empty() {
                parts.push(Part::Word(word.to_owned()));
                rest = rest.get(word.len()..).unwrap_or("");
            } else {
                parts.push(Part::Number(digits.trim_start_matches('0').to_owned()));
                rest = rest.get(digits.len()..).unwrap_or("");
            }
        }
    }
    let null = |part: &Part| match part {
        Part::Number(digits) => digits.is_empty(),
        Part::Word(word) => matches!(word.as_str(), "ga" | "final" | "release"),
    };
    while parts.last().is_some_and(null) {
        parts.pop();
    }
    parts
}

/// Apache Maven, "POM Reference", Version Order Specification: known qualifiers sort before or after the release.
fn compare_maven(a: &[Part], b: &[Part]) -> Ordering {
    let rank = |part: Option<&Part>| match part {
        None => (7, String::new()),
        Some(Part::Number(digits)) if digits.is_empty() => (7, String::new()),
        Some(Part::Number(_)) => (10, String::new()),
        Some(Part::Word(word)) => match word.as_str() {
            "alpha" | "a" => (1, String::new()),
            "beta" | "b" => (2, String::new()),
            "milestone" | "m" => (3, String::new()),
            "rc" | "cr" => (4, String::new()),
            "snapshot" => (5, String::new()),
            "" | "ga" | "final" | "release" => (7, String::new()),
            "sp" => (8, String::new()),
            other => (9, other.to_owned()),
        },
    };
    for at in 0..a.len().max(b.len()) {
        let (left, right) = (a.get(at), b.get(at));
        let order = match (left, right) {
            (Some(Part::Number(left)), Some(Part::Number(right))) => number(left, right),
            (left, right) => rank(left).cmp(&rank(right)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
