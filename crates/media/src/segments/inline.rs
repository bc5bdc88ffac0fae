//! The inline content of a block: plain text with a character for each mark, and the tags and line ends in it.

use std::ops::Range;

use super::blocks::Block;
use crate::marks::markdown::{self, Pair};
use crate::marks::tags::{TagSide, parse};
use crate::marks::{self, Glossary, Mark, MarkKind, TextFormat};

/// What stands for a mark in plain text: the first character of private use. Those of the text itself are marks.
pub(super) const MARK: char = '\u{e000}';

/// One of two delimiters that enclose text, at a byte of the plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) at: usize,
    /// The same for both delimiters.
    pub(super) pair: usize,
    pub(super) opens: bool,
    pub(super) text: String,
}

/// A line end at a byte of the plain text, where a space stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Break {
    pub(super) at: usize,
    pub(super) text: String,
}

/// Plain text with what was taken out of it, all in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inline {
    pub(super) plain: String,
    /// What each [`MARK`] stands for.
    pub(super) marks: Vec<String>,
    pub(super) tags: Vec<Tag>,
    pub(super) breaks: Vec<Break>,
}

enum Token {
    Text(String),
    Mark(String),
    Open(usize, String),
    Close(usize, String),
    Break(String),
}

/// Reads a block. Delimiters without text between them, and marks beside one another, become one mark.
pub(super) fn read(text: &str, block: &Block, format: TextFormat, glossary: &Glossary) -> Inline {
    let content = text.get(block.range.clone()).unwrap_or_default();
    let mut found = marks::find(content, format, glossary);
    let mut pairs = tag_pairs(content, &found);
    found.retain(|mark| !pairs.iter().any(|pair| pair.open == mark.range || pair.close == mark.range));
    if format == TextFormat::Markdown {
        let more = markdown::pairs(content, &marks::find(content, format, glossary));
        let more: Vec<Pair> =
            more.into_iter().filter(|pair| pairs.iter().all(|other| markdown::nests(other, pair))).collect();
        give_way(&mut found, &more);
        pairs.extend(more);
    }
    let breaks = block.breaks.iter().map(|it| it.start - block.range.start..it.end - block.range.start);
    flatten(reduce(tokens(content, &found, &pairs, breaks)))
}

/// Pairs of tags of the same name, nested properly.
fn tag_pairs(content: &str, marks: &[Mark]) -> Vec<Pair> {
    let (mut pairs, mut stack) = (Vec::new(), Vec::<(String, Range<usize>)>::new());
    for mark in marks.iter().filter(|mark| mark.kind == MarkKind::Tag) {
        let tag = content.get(mark.range.clone()).unwrap_or_default();
        let (name, side) = parse(tag);
        // An element of code is one mark, which begins like a tag.
        match side {
            TagSide::Open if !tag.contains("</") && stack.len() < 256 => stack.push((name, mark.range.clone())),
            TagSide::Close => {
                if let Some(at) = stack.iter().rposition(|(open, _)| *open == name) {
                    let open = stack.get(at).map(|(_, range)| range.clone()).unwrap_or_default();
                    stack.truncate(at);
                    pairs.push(Pair { open, close: mark.range.clone() });
                }
            }
            TagSide::Open | TagSide::Alone => {}
        }
    }
    pairs
}

/// Marks inside a delimiter go, and those that reach into one end before it.
fn give_way(marks: &mut Vec<Mark>, pairs: &[Pair]) {
    let mut delimiters: Vec<&Range<usize>> = pairs.iter().flat_map(|pair| [&pair.open, &pair.close]).collect();
    delimiters.sort_by_key(|range| range.start);
    marks.retain_mut(|mark| {
        let first = delimiters.partition_point(|range| range.end <= mark.range.start);
        match delimiters.get(first) {
            Some(range) if range.start <= mark.range.start => false,
            Some(range) if range.start < mark.range.end => {
                mark.range.end = range.start;
                true
            }
            _ => true,
        }
    });
}

fn tokens(content: &str, marks: &[Mark], pairs: &[Pair], breaks: impl Iterator<Item = Range<usize>>) -> Vec<Token> {
    let of = |range: &Range<usize>| content.get(range.clone()).unwrap_or_default().to_owned();
    let mut events: Vec<(Range<usize>, Token)> = Vec::new();
    let is_replaced =
        |at: usize| marks.iter().any(|mark| mark.replacement.is_some() && mark.range.start < at && at < mark.range.end);
    for mark in marks {
        events.push((mark.range.clone(), Token::Mark(mark.replacement.clone().unwrap_or_else(|| of(&mark.range)))));
    }
    for (index, pair) in pairs.iter().enumerate() {
        events.push((pair.open.clone(), Token::Open(index, of(&pair.open))));
        events.push((pair.close.clone(), Token::Close(index, of(&pair.close))));
    }
    events.extend(breaks.map(|range| (range.clone(), Token::Break(of(&range)))));
    events.sort_by_key(|(range, _)| range.start);
    let (mut tokens, mut at) = (Vec::new(), 0);
    for (range, token) in events {
        if range.start < at {
            // Of a term of the glossary over a line end the translation stands here, which has none. Other marks, such
            // as code over two lines, have theirs.
            if let (Token::Break(text), Some(Token::Mark(mark))) = (token, tokens.last_mut())
                && is_replaced(range.start)
            {
                mark.push_str(&text);
            }
            continue;
        }
        if at < range.start {
            tokens.push(Token::Text(of(&(at..range.start))));
        }
        at = range.end;
        tokens.push(token);
    }
    tokens.push(Token::Text(of(&(at..content.len()))));
    tokens
}

/// Joins delimiters that enclose no words with what they enclose, then marks beside one another.
fn reduce(tokens: Vec<Token>) -> Vec<Token> {
    let mut reduced: Vec<Token> = Vec::new();
    for token in tokens {
        let Token::Close(pair, text) = token else {
            reduced.push(token);
            continue;
        };
        let open = reduced.iter().rposition(|it| matches!(it, Token::Open(other, _) if *other == pair));
        let inner = open.and_then(|open| reduced.get(open + 1..)).unwrap_or_default();
        let wordless = inner.iter().all(|it| match it {
            Token::Text(text) => !text.contains(char::is_alphanumeric),
            Token::Mark(_) => true,
            Token::Open(..) | Token::Close(..) | Token::Break(_) => false,
        });
        match open.filter(|_| wordless) {
            Some(open) => {
                let mut whole: String = reduced.drain(open..).map(into_text).collect();
                whole.push_str(&text);
                reduced.push(Token::Mark(whole));
            }
            None => reduced.push(Token::Close(pair, text)),
        }
    }
    let mut joined: Vec<Token> = Vec::new();
    for token in reduced {
        match (joined.last_mut(), token) {
            (_, Token::Text(text)) if text.is_empty() => {}
            (Some(Token::Mark(last)), Token::Mark(text)) => last.push_str(&text),
            (_, token) => joined.push(token),
        }
    }
    joined
}

fn into_text(token: Token) -> String {
    match token {
        Token::Text(text) | Token::Mark(text) | Token::Open(_, text) | Token::Close(_, text) | Token::Break(text) => {
            text
        }
    }
}

fn flatten(tokens: Vec<Token>) -> Inline {
    let mut inline = Inline::default();
    for token in tokens {
        let at = inline.plain.len();
        match token {
            Token::Text(text) => inline.plain.push_str(&text),
            Token::Mark(text) => {
                inline.plain.push(MARK);
                inline.marks.push(text);
            }
            Token::Open(pair, text) => inline.tags.push(Tag { at, pair, opens: true, text }),
            Token::Close(pair, text) => inline.tags.push(Tag { at, pair, opens: false, text }),
            Token::Break(text) => {
                inline.plain.push(' ');
                inline.breaks.push(Break { at, text });
            }
        }
    }
    inline
}
