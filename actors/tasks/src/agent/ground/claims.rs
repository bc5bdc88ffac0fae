//! Verifiable claims of prose: numbers, and values that must occur literally. Pure.

use super::figures::{self, Figure};

/// A claim.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Claim {
    Number {
        words: String,
        figure: Figure,
    },
    /// Code, an identifier, a path, a date, a quotation.
    Value {
        words: String,
    },
}

/// A heading or a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) text: &'a str,
    pub(super) heading: bool,
}

/// Words with inner capitals that are not identifiers.
const KNOWN: &[&str] = &[
    "javascript",
    "typescript",
    "github",
    "gitlab",
    "openapi",
    "asyncapi",
    "postgresql",
    "mysql",
    "sqlite",
    "graphql",
    "websocket",
    "websockets",
    "mongodb",
    "yaml",
    "json",
    "apis",
    "urls",
    "ids",
    "devops",
    "macos",
    "ios",
    "pytest",
    "junit",
    "pypi",
    "utf-8",
    "sha-256",
    "sha256",
    "base64",
    "ipv4",
    "ipv6",
    "http/2",
    "http/1.1",
    "ci/cd",
    "i/o",
    "and/or",
    "n/a",
    "yes/no",
    "read/write",
    "input/output",
    "pass/fail",
    "either/or",
    "client/server",
    "km/h",
    "e.g",
    "i.e",
    "etc",
    "vs",
    "node.js",
];
/// Words before a number that mark it as approximate.
const ABOUT: &[&str] = &["about", "around", "approximately", "roughly", "nearly", "almost", "circa", "ca", "some"];

/// Splits at headings and at empty lines.
pub(super) fn blocks(prose: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let (mut begin, mut at) = (0, 0);
    let mut push = |begin: usize, end: usize, heading: bool| {
        let text = prose.get(begin..end).unwrap_or_default();
        if !text.trim().is_empty() {
            blocks.push(Block { text, heading });
        }
    };
    for line in prose.split_inclusive('\n') {
        let end = at + line.len();
        let heading = line.trim_start().starts_with('#');
        if heading || line.trim().is_empty() {
            push(begin, at, false);
            begin = end;
        }
        if heading {
            push(at, end, true);
        }
        at = end;
    }
    push(begin, at, false);
    blocks
}

/// Returns the claims of a block in order.
pub(super) fn read(text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    for line in text.lines() {
        let rest = spans(unmarked(line), &mut claims);
        words(&rest, &mut claims);
    }
    claims
}

/// Removes the markup of headings, quotations and list items.
fn unmarked(line: &str) -> &str {
    let line = line.trim_start_matches([' ', '\t', '>', '#']);
    let line = line.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with(' ')).unwrap_or(line).trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..).unwrap_or_default();
    match rest.strip_prefix(['.', ')']) {
        Some(rest) if (1..=2).contains(&digits) && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

/// Extracts code and quotations as claims; returns the rest, which is read word by word.
fn spans(line: &str, claims: &mut Vec<Claim>) -> String {
    let mut rest = String::with_capacity(line.len());
    let mut left = line;
    while let Some(at) = left.find(['`', '"', '“']) {
        let (before, from) = left.split_at(at);
        rest.push_str(before);
        rest.push(' ');
        let Some(open) = from.chars().next() else { break };
        let close = if open == '“' { '”' } else { open };
        let inner = from.trim_start_matches(open);
        // Several backticks open and close as one; a single mark, such as that of inches, opens nothing.
        let Some(end) = inner.find(close) else {
            left = inner;
            continue;
        };
        let (span, after) = inner.split_at(end);
        if !span.trim().is_empty() {
            claims.push(Claim::Value { words: span.trim().to_owned() });
        }
        left = after.trim_start_matches(close);
    }
    rest.push_str(left);
    rest
}

fn words(line: &str, claims: &mut Vec<Claim>) {
    let tokens: Vec<&str> = line.split_whitespace().map(trimmed).filter(|token| !token.is_empty()).collect();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at)).copied().unwrap_or_default();
        let after = tokens.get(at + 1).copied().unwrap_or_default();
        token_claims(token, before, after, claims);
    }
}

fn token_claims(token: &str, before: &str, after: &str, claims: &mut Vec<Claim>) {
    if KNOWN.contains(&token.to_lowercase().as_str()) || figures::is_ordinal(token) {
        return;
    }
    let qualified = |figure: Figure| {
        let figure = figures::factor(after).map_or(figure, |factor| figure.times(factor));
        let percent = after.starts_with('%') || matches!(after, "percent" | "per" | "pc");
        let figure = Figure { percent: figure.percent || percent, ..figure };
        let near = ABOUT.iter().any(|word| before.eq_ignore_ascii_case(word)) || token.starts_with(['~', '≈']);
        if near { figure.about() } else { figure }
    };
    let number = |figure: Figure| Claim::Number { words: token.to_owned(), figure: qualified(figure) };
    if let Some(figure) = figures::figure(token).or_else(|| figures::word(token)) {
        claims.push(number(figure));
        return;
    }
    // `3/10`, `3–5`, `3-5`: two figures.
    let parts: Vec<&str> = token.split(['/', '–', '-']).collect();
    if let [first, second] = parts.as_slice()
        && let (Some(first), Some(second)) = (figures::figure(first), figures::figure(second))
    {
        claims.extend([number(first), number(second)]);
        return;
    }
    if is_value(token) {
        claims.push(Claim::Value { words: token.to_owned() });
    }
}

/// Removes surrounding punctuation, except what belongs to a path, a sign or a unit.
fn trimmed(token: &str) -> &str {
    let ends =
        |c: char| matches!(c, ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '*' | '\'' | '’' | '…' | '.' | '|');
    let token = token.trim_start_matches(['(', '[', '{', '*', '\'', '‘', '|']);
    token.trim_end_matches(ends)
}

/// Returns whether a token can only be a specific value: a path, a name of code, a version, a date.
fn is_value(token: &str) -> bool {
    let has = |test: fn(&char) -> bool| token.chars().any(|c| test(&c));
    let (letters, digits) = (has(|c| c.is_alphabetic()), has(char::is_ascii_digit));
    if !letters && !digits {
        return false;
    }
    token.contains('/')
        || token.contains('_')
        || token.contains("::")
        || token.contains('@')
        || digits
        || is_dotted(token)
        || has_humps(token)
}

/// Recognizes `main.rs`, `a.b`: a point between letters.
fn is_dotted(token: &str) -> bool {
    let inner = token.trim_matches('.');
    inner.split('.').count() > 1 && inner.split('.').all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

/// Recognizes `fooBar` and `FooBar`: a capital after a lower-case letter.
fn has_humps(token: &str) -> bool {
    token.chars().zip(token.chars().skip(1)).any(|(first, second)| first.is_lowercase() && second.is_uppercase())
}
