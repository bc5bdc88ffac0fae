//! Facts with a form of their own: addresses of mail and web, telephone numbers, coordinates.

use std::sync::LazyLock;

use muster_kernel_earth::{LatLon, parse};
use regex::Regex;

use super::{Fact, Value};

/// Reads a hit of a pattern, which begins at a byte of the text: the bytes that it takes, and what it is.
type Read<'a> = &'a dyn Fn(&str, usize) -> Option<(usize, Value)>;

/// Longest of these facts, in bytes.
const MAX_BYTES: usize = 2_000;

struct Patterns {
    url: Option<Regex>,
    email: Option<Regex>,
    /// With degree signs or letters of the hemisphere.
    degrees: Option<Regex>,
    /// A pair of decimals.
    pair: Option<Regex>,
    grid: Option<Regex>,
    phone: Option<Regex>,
    moment: Option<Regex>,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let angle = r#"\d{1,3}(?:\.\d+)?\s?[°º](?:\s?\d{1,2}(?:\.\d+)?\s?['′’](?:\s?\d{1,2}(?:\.\d+)?\s?(?:"|″|”|''))?)?"#;
    let decimal = r"\d{1,3}(?:\.\d+)?\s?°?";
    Patterns {
        url: Regex::new(r#"(?i)\b(?:https?|ftp)://[^\s<>"\u{201c}\u{201d}]+|\bwww\.[^\s<>"\u{201c}\u{201d}]+\.[^\s<>"\u{201c}\u{201d}]+"#).ok(),
        email: Regex::new(r"(?i)[a-z0-9][a-z0-9.!#$%&'*+/=?^_`{|}~-]{0,63}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}").ok(),
        degrees: Regex::new(&format!(
            r"(?x) [NS]\s?(?:{decimal}|{angle})[,;\s]{{1,3}}[EW]\s?(?:{decimal}|{angle})
                 | (?:{angle}|{decimal})\s?[NS][,;\s]{{0,3}}(?:{angle}|{decimal})\s?[EW]\b
                 | [+\-−]?{angle}\s?,\s?[+\-−]?{angle}"
        ))
        .ok(),
        pair: Regex::new(r"[+\-−]?\d{1,2}\.\d{2,}\s?[,;]\s?[+\-−]?\d{1,3}\.\d{2,}").ok(),
        grid: Regex::new(r"\b\d{1,2}[C-HJ-NP-X]\s?[A-HJ-NP-Z]{2}\s?(?:\d{5}\s?\d{5}|\d{4}\s?\d{4}|\d{3}\s?\d{3})\b").ok(),
        phone: Regex::new(r"(?:\+|00)\d(?:[\s().\-/]{0,2}\d){6,14}|\(\d{2,5}\)\s?\d(?:[\s.\-]?\d){4,9}|\b\d{3}-\d{3}-\d{4}\b|\b0\d{2,4}[\s/-]\d(?:[\s-]?\d){4,8}\b").ok(),
        moment: Regex::new(r"\b\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2})").ok(),
    }
});

/// Returns these facts in order, none over another: those of an earlier pattern are taken first.
pub(super) fn find(text: &str) -> Vec<Fact> {
    let patterns = &*PATTERNS;
    let mut found = Vec::new();
    // What each pattern needs is looked for first, as most texts have none of it.
    let has = |signs: &[char]| text.contains(signs);
    let mut add = |needed: bool, pattern: &Option<Regex>, read: Read<'_>| {
        if !needed {
            return;
        }
        let mut more = Vec::new();
        let mut taken = 0;
        for hit in pattern.iter().flat_map(|pattern| pattern.find_iter(text)) {
            if hit.len() > MAX_BYTES {
                continue;
            }
            let Some((length, value)) = read(hit.as_str(), hit.start()) else { continue };
            let (start, end) = (hit.start(), hit.start() + length);
            taken = free(&found, taken, start);
            if found.get(taken).is_none_or(|next: &Fact| next.start >= end) {
                more.push(Fact { start, end, value, ambiguous: false });
            }
        }
        found.append(&mut more);
        found.sort_by_key(|fact: &Fact| fact.start);
    };
    add(text.contains("://") || text.contains("www.") || text.contains("WWW."), &patterns.url, &|hit, _| {
        let end = trimmed(hit);
        Some((end, Value::Url(hit.get(..end)?.to_owned())))
    });
    add(has(&['@']), &patterns.email, &|hit, _| {
        let end = hit.trim_end_matches(['.', '-']).len();
        let address = hit.get(..end)?;
        let (local, domain) = address.split_once('@')?;
        let top = domain.rsplit('.').next()?;
        let plain = !local.ends_with('.') && !local.contains("..") && top.len() > 1 && domain.contains('.');
        (plain && top.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| (end, Value::Email(address.to_owned())))
    });
    add(has(&[':']), &patterns.moment, &|hit, _| {
        let moment = hit.replacen(' ', "T", 1).to_ascii_uppercase().parse().ok()?;
        Some((hit.len(), Value::Moment(moment)))
    });
    let outside = |start: usize, length: usize| {
        let letter = |letter: char| letter.is_alphanumeric() || letter == '.';
        let before = text.get(..start).and_then(|text| text.chars().next_back()).is_some_and(letter);
        let after = text.get(start + length..).and_then(|text| text.chars().next()).is_some_and(char::is_alphanumeric);
        !before && !after
    };
    let place = |hit: &str, start: usize| {
        let hit = hit.trim_end();
        if !outside(start, hit.len()) {
            return None;
        }
        let LatLon { lat, lon } = parse(&hit.replace(['−'], "-").replace(';', ",")).ok()?.0;
        let inside = (-90.0..=90.0).contains(&lat) && (-180.0..=180.0).contains(&lon);
        inside.then_some((hit.len(), Value::Place(LatLon { lat, lon })))
    };
    add(has(&['°', 'º', 'N', 'S']), &patterns.degrees, &place);
    add(has(&['.']) && has(&[',', ';']), &patterns.pair, &place);
    add(text.contains(|letter: char| letter.is_ascii_uppercase()), &patterns.grid, &place);
    add(text.contains(|letter: char| letter.is_ascii_digit()), &patterns.phone, &|hit, start| {
        let digits: String = hit.chars().filter(char::is_ascii_digit).collect();
        if !(7..=15).contains(&digits.len()) || !outside(start, hit.len()) {
            return None;
        }
        let international = hit.starts_with('+') || hit.starts_with("00");
        let national = digits.strip_prefix("00").filter(|_| hit.starts_with("00")).unwrap_or(&digits);
        Some((hit.len(), Value::Phone(if international { format!("+{national}") } else { digits.clone() })))
    });
    found
}

/// First fact from `from` on that ends after `start`.
fn free(found: &[Fact], mut from: usize, start: usize) -> usize {
    while found.get(from).is_some_and(|fact| fact.end <= start) {
        from += 1;
    }
    from
}

/// Length of an address without the punctuation of its sentence; a closing bracket stays where it was opened.
fn trimmed(url: &str) -> usize {
    let mut end = url.len();
    while let Some(last) = url.get(..end).and_then(|url| url.chars().next_back()) {
        let opened = |open: char, close: char| {
            let count = |sign: char| url.get(..end).unwrap_or_default().matches(sign).count();
            count(open) >= count(close)
        };
        let ends = match last {
            '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '…' | '。' | '，' | '、' => true,
            ')' => !opened('(', ')'),
            ']' => !opened('[', ']'),
            _ => false,
        };
        if !ends {
            break;
        }
        end -= last.len_utf8();
    }
    end
}
