//! Marks by regular expressions, which take linear time.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Mark, MarkKind, TextFormat, after, before, is_word};

/// A condition on a match that a regular expression cannot state.
type Condition = fn(text: &str, range: &Range<usize>) -> bool;

struct Pattern {
    kind: MarkKind,
    text: &'static str,
    condition: Condition,
}

const fn pattern(kind: MarkKind, text: &'static str, condition: Condition) -> Pattern {
    Pattern { kind, text, condition }
}

const PATTERNS: &[Pattern] = &[
    // Backticks that enclose something: a key named ` is none.
    pattern(MarkKind::Code, r"``[^\n]+?``|`[^`\s](?:[^`\n]*[^`\s])?`", free),
    // Identifiers, options of a command, paths of a file system.
    pattern(MarkKind::Code, r"[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+(?:\(\))?", apart),
    pattern(MarkKind::Code, r"--[a-z][a-z0-9]+(?:-[a-z0-9]+)*(?:=\S*[A-Za-z0-9])?", apart),
    pattern(
        MarkKind::Code,
        r"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.+\-]*[A-Za-z0-9_])(?:/[A-Za-z0-9_.+\-]*[A-Za-z0-9_])+/?",
        after_space,
    ),
    pattern(MarkKind::Code, r"[A-Za-z]:\\(?:[^\s\\]+\\)*[^\s\\]*[A-Za-z0-9]", apart),
    pattern(MarkKind::Tag, r"(?s)<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!(?i:doctype)[^<>]*>|<%.*?%>", always),
    pattern(
        MarkKind::Tag,
        r#"<[A-Za-z][A-Za-z0-9:_.\-]*(?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>`]+))?)*\s*/?>|</[A-Za-z][A-Za-z0-9:_.\-]*\s*>"#,
        always,
    ),
    pattern(MarkKind::Entity, r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", always),
    pattern(MarkKind::Url, r#"<(?i:[a-z][a-z0-9+.\-]{1,30}:[^\s<>"]+)>"#, always),
    pattern(
        MarkKind::Url,
        r#"(?i)(?:(?:https?|ftps?|sftp|wss?|file|git|ssh|irc|ldaps?)://|(?:mailto|tel|sms|magnet|urn|geo):|www\.)[^\s<>"“”‘’«»`|\\^]+"#,
        apart_before,
    ),
    pattern(
        MarkKind::Url,
        r"(?:[a-z0-9](?:[a-z0-9\-]*[a-z0-9])?\.)+(?:com|org|net|edu|gov|int|mil|info|io|dev|app|ai|eu|uk|us|de|fr|es|it|pt|br|nl|pl|ru|cn|jp|in|au|ca|ch|at|se|no|fi|dk)(?::[0-9]{2,5})?(?:/[^\s<>\x22“”‘’«»`|\\^]*)?",
        apart,
    ),
    pattern(MarkKind::Url, r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?:/[0-9]{1,2}|:[0-9]{2,5})?", apart),
    pattern(MarkKind::Email, r"[\w.%+\-]+@[\w\-]+(?:\.[\w\-]+)+", apart),
    // Braces first: they enclose the rest. ICU's plural and select are found by their braces, below.
    pattern(MarkKind::Placeholder, r"\{\{\{[^{}\n]*\}\}\}|\{\{[^{}\n]*\}\}|\{%[^\n]*?%\}|\{#[^\n{}]*#\}", always),
    pattern(MarkKind::Placeholder, r"[$#%]\{[^{}\n]+\}|%<\w+>[0-9.\-+]*[A-Za-z]?", always),
    pattern(
        MarkKind::Placeholder,
        r"\{[\w$.\-\[\]]*(?:![rsa])?(?::[^{}\s]*)?\}|\{\s*\w+\s*,\s*\w+(?:\s*,[^{}]*)?\}",
        always,
    ),
    pattern(MarkKind::Placeholder, r"%\([\w.\-]+\)[#0\- +]*[0-9]*(?:\.[0-9]+)?[diouxXeEfFgGcrsa]", always),
    pattern(
        MarkKind::Placeholder,
        r"%(?:[0-9]+\$)?[\-+0#']*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?(?:hh|h|ll|l|q|L|j|z|t)?[diouxXeEfFgGaAcCsSpn@]|%%|%[0-9]+",
        not_a_percentage,
    ),
    pattern(MarkKind::Placeholder, r"\$[A-Za-z_]\w*|\$[0-9]\$?[sd]", apart_before),
    pattern(MarkKind::Placeholder, r":[a-z][a-z0-9_+\-]*:|:[A-Za-z_][A-Za-z0-9_]*", apart),
    pattern(MarkKind::Placeholder, r"__\w+?__|\[\[[^\[\]\n]+\]\]", apart),
    pattern(MarkKind::Mention, r"@[\w](?:[\w.\-]*\w)?", apart_before),
    pattern(MarkKind::Hashtag, r"#[\p{L}\p{N}_]*[\p{L}_][\p{L}\p{N}\p{M}_]*", apart_before),
    pattern(
        MarkKind::Emoji,
        r"\p{Regional_Indicator}{2}|[0-9#*]\x{FE0F}?\x{20E3}|\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\x{FE0F})?(?:\x{200D}\p{Extended_Pictographic}(?:\p{Emoji_Modifier}|\x{FE0F})?)*[\x{E0020}-\x{E007F}]*",
        always,
    ),
    // What marks are written as on their way through an engine, private use and control characters.
    pattern(MarkKind::Other, r"(?i)(?:XQ|QZX)[0-9]+|[\x{E000}-\x{F8FF}]+|[\x00-\x08\x0E-\x1F\x7F]+", always),
    // Hashes, identifiers, base64: runs that no language has as a word.
    pattern(
        MarkKind::Other,
        r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[A-Za-z0-9+/=_\-]{40,}|[0-9a-f]{16,39}",
        apart,
    ),
];

/// Only in Markdown: escapes, footnotes, images of references.
const MARKDOWN: &[Pattern] = &[pattern(MarkKind::Other, r"\\[!-/:-@\[-`{-~]|\[\^[^\]\s]+\]", always)];
/// Only in HTML: characters that would be markup.
const HTML: &[Pattern] = &[pattern(MarkKind::Entity, r"[<>&]", always)];
const NUMBER: &str = r"\p{Nd}+(?:[.,:/'’\x{A0}\x{202F}\-]\p{Nd}+)*";

fn always(_: &str, _: &Range<usize>) -> bool {
    true
}

fn apart_before(text: &str, range: &Range<usize>) -> bool {
    !before(text, range.start).is_some_and(|character| is_word(character) || character == '&')
}

/// Not a part of a longer word.
fn apart(text: &str, range: &Range<usize>) -> bool {
    apart_before(text, range) && !after(text, range.end).is_some_and(is_word)
}

/// Not beside a further backtick.
fn free(text: &str, range: &Range<usize>) -> bool {
    apart(text, range) && before(text, range.start) != Some('`') && after(text, range.end) != Some('`')
}

fn after_space(text: &str, range: &Range<usize>) -> bool {
    before(text, range.start).is_none_or(|character| character.is_whitespace() || "([{\"'“‘:=".contains(character))
}

/// `50%discount` holds no placeholder.
fn not_a_percentage(text: &str, range: &Range<usize>) -> bool {
    !before(text, range.start).is_some_and(char::is_numeric)
}

type Compiled = (MarkKind, Regex, Condition);

fn compiled(patterns: &[Pattern]) -> Vec<Compiled> {
    patterns.iter().filter_map(|it| Some((it.kind, Regex::new(it.text).ok()?, it.condition))).collect()
}

static ALL: LazyLock<Vec<Compiled>> = LazyLock::new(|| compiled(PATTERNS));
static IN_MARKDOWN: LazyLock<Vec<Compiled>> = LazyLock::new(|| compiled(MARKDOWN));
static IN_HTML: LazyLock<Vec<Compiled>> = LazyLock::new(|| compiled(HTML));
static NUMBERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(NUMBER).ok());
static ICU: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,").ok());

pub(super) fn find(text: &str, format: TextFormat) -> Vec<Mark> {
    let more: &[Compiled] = match format {
        TextFormat::Text => &[],
        TextFormat::Markdown => &IN_MARKDOWN,
        TextFormat::Html => &IN_HTML,
    };
    let mut marks: Vec<Mark> = icu_choices(text);
    for (kind, regex, condition) in ALL.iter().chain(more) {
        for found in regex.find_iter(text) {
            let mut range = found.range();
            if *kind == MarkKind::Url {
                range.end = url_end(text, &range);
            }
            if condition(text, &range) {
                marks.push(Mark { range, kind: *kind, replacement: None });
            }
        }
    }
    marks
}

pub(super) fn numbers(text: &str) -> Vec<Range<usize>> {
    NUMBERS.as_ref().map(|regex| regex.find_iter(text).map(|found| found.range()).collect()).unwrap_or_default()
}

/// The end of a URL without the punctuation of the sentence around it; a bracket belongs to it if it was opened in it.
fn url_end(text: &str, range: &Range<usize>) -> usize {
    let mut url = text.get(range.clone()).unwrap_or_default();
    while let Some(last) = url.chars().next_back() {
        // Brackets are counted anew for each: not in what is no URL.
        let unopened = |open: char| url.len() < 4_096 && url.matches(open).count() < url.matches(last).count();
        let outside = match last {
            ')' => unopened('('),
            ']' => unopened('['),
            '}' => unopened('{'),
            _ => ".,;:!?'*_~…。，！？）」".contains(last),
        };
        if !outside {
            break;
        }
        url = url.strip_suffix(last).unwrap_or_default();
    }
    range.start + url.len()
}

/// `{n, plural, one {# file} other {# files}}`, to the brace that closes it.
fn icu_choices(text: &str) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    for found in ICU.iter().flat_map(|regex| regex.find_iter(text)) {
        if marks.last().is_some_and(|mark| mark.range.end > found.start()) {
            continue;
        }
        let mut depth = 0_usize;
        for (at, character) in text.get(found.start()..).unwrap_or_default().char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                let range = found.start()..found.start() + at + 1;
                marks.push(Mark { range, kind: MarkKind::Placeholder, replacement: None });
                break;
            }
        }
        // Without its end no later one has an end either.
        if depth > 0 {
            break;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for list in [PATTERNS, MARKDOWN, HTML] {
            for pattern in list {
                Regex::new(pattern.text).unwrap();
            }
        }
        assert!(NUMBERS.is_some() && ICU.is_some());
    }

    #[test]
    fn a_url_ends_before_the_punctuation_of_its_sentence() {
        let ends = |text: &str| url_end(text, &(0..text.len()));
        assert_eq!(ends("http://a.b/c."), 12);
        assert_eq!(ends("http://a.b/c(d)"), 15);
        assert_eq!(ends("http://a.b/c)."), 12);
    }
}
