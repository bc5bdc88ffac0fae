//! Rust text without what only looks like code: comments and literals are blanked, every byte keeps its place.

use std::ops::Range;

/// A source text taken apart. `code` is as long as the text, line breaks and all.
#[derive(Debug, Default)]
pub(crate) struct Stripped {
    pub(crate) code: String,
    /// String literals as they are written, escapes unresolved, with the place of the opening quote.
    pub(crate) literals: Vec<(usize, String)>,
}

/// An identifier or keyword, a `::`, or one character of punctuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl Token<'_> {
    pub(crate) fn is_ident(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The leading `//!` lines, without their marks.
pub(crate) fn header(text: &str) -> String {
    text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The line of a place, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
}

pub(crate) fn strip(text: &str) -> Stripped {
    let mut code = text.as_bytes().to_vec();
    let mut literals = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            at + rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            at + block_comment(rest)
        } else if let Some(hashes) = raw_string(text, at) {
            let end = at + rest.find('"').unwrap_or(0) + raw_body(rest, hashes);
            literals.push((at, text[at..end].to_owned()));
            end
        } else if rest.starts_with('"') {
            let end = at + quoted(rest, '"');
            literals.push((at, text[at..end].to_owned()));
            end
        } else if let Some(length) = character(rest) {
            at + length
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        blank(&mut code[at..end]);
        at = end;
    }
    Stripped { code: String::from_utf8_lossy(&code).into_owned(), literals }
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The number of `#` where a raw string starts here (`r"`, `br#"`), and not a raw identifier (`r#type`).
fn raw_string(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let rest = &text[at..];
    let marked = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let unhashed = marked.trim_start_matches('#');
    unhashed.starts_with('"').then_some(marked.len() - unhashed.len())
}

/// From the opening quote of a raw string to behind its last mark.
fn raw_body(rest: &str, hashes: usize) -> usize {
    let open = rest.find('"').unwrap_or(0) + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    rest[open..].find(&close).map_or(rest.len() - open + 1, |found| found + close.len() + 1)
}

/// From the opening quote to behind the closing one.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal; none for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    let first = inner.chars().next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    inner[first.len_utf8()..].starts_with('\'').then_some(first.len_utf8() + 2)
}

pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = code[at..].chars().next() {
        let rest = &code[at..];
        let length = if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            found.push(Token { text: &rest[..length], at });
        }
        at += length;
    }
    found
}

/// What `#[cfg(test)]` keeps out of the product: the places, and the names of the modules in other files among them.
#[derive(Debug, Default)]
pub(crate) struct TestParts {
    pub(crate) ranges: Vec<Range<usize>>,
    pub(crate) modules: Vec<String>,
}

pub(crate) fn test_parts(code: &str, tokens: &[Token<'_>]) -> TestParts {
    let mut parts = TestParts::default();
    let mut at = 0;
    while at < tokens.len() {
        let Some(attribute) = attribute(tokens, at) else {
            at += 1;
            continue;
        };
        let inner = tokens[at + 1].text == "!";
        if !is_cfg_test(&tokens[attribute.clone()]) {
            at = attribute.end + 1;
        } else if inner {
            parts.ranges.push(0..code.len());
            return parts;
        } else {
            let end = item_end(tokens, attribute.end + 1);
            if let Some(name) = module_elsewhere(&tokens[attribute.end + 1..end]) {
                parts.modules.push(name.to_owned());
            }
            parts.ranges.push(tokens[at].at..tokens.get(end).map_or(code.len(), |token| token.at));
            at = end;
        }
    }
    parts
}

/// The tokens between the brackets of an attribute that starts here; `end` is the closing bracket.
fn attribute(tokens: &[Token<'_>], at: usize) -> Option<Range<usize>> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let open = if is(at + 1, "!") { at + 2 } else { at + 1 };
    if !(is(at, "#") && is(open, "[")) {
        return None;
    }
    let mut depth = 0_usize;
    for (offset, token) in tokens[open..].iter().enumerate() {
        match token.text {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..open + offset);
        }
    }
    None
}

fn is_cfg_test(inside: &[Token<'_>]) -> bool {
    let has = |text: &str| inside.iter().any(|token| token.text == text);
    inside.first().is_some_and(|first| first.text == "cfg") && has("test") && !has("not") && !has("any")
}

/// Behind the item that starts here: its closing brace, its semicolon, or a field's comma.
fn item_end(tokens: &[Token<'_>], from: usize) -> usize {
    let mut at = from;
    while let Some(next) = attribute(tokens, at) {
        at = next.end + 1;
    }
    let (mut round, mut angle, mut curly) = (0_i32, 0_i32, 0_i32);
    while let Some(token) = tokens.get(at) {
        let arrow = at > 0 && matches!(tokens[at - 1].text, "-" | "=");
        match token.text {
            "(" | "[" => round += 1,
            ")" | "]" => round -= 1,
            "<" => angle += 1,
            ">" if !arrow => angle -= 1,
            "{" => curly += 1,
            "}" => curly -= 1,
            _ => {}
        }
        let outside = round <= 0 && curly == 0;
        match token.text {
            "}" if curly < 0 => return at,
            "}" | ";" if outside => return at + 1,
            "," if outside && angle <= 0 => return at + 1,
            _ => at += 1,
        }
    }
    tokens.len()
}

fn module_elsewhere<'a>(item: &[Token<'a>]) -> Option<&'a str> {
    let place = item.iter().position(|token| token.text == "mod")?;
    let (name, after) = (item.get(place + 1)?, item.get(place + 2)?);
    (after.text == ";").then_some(name.text)
}
