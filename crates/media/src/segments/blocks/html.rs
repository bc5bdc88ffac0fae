//! Blocks of HTML: what is between tags that end a sentence.

use std::ops::Range;

use super::Block;
use crate::marks::tags::{is_inline, parse};
use crate::marks::{Mark, MarkKind};

pub(super) fn blocks(text: &str, marks: &[Mark]) -> Vec<Block> {
    let (mut blocks, mut start) = (Vec::new(), 0);
    let mut inside: Vec<Range<usize>> = Vec::new();
    for mark in marks.iter().filter(|mark| mark.kind == MarkKind::Tag) {
        let (name, _) = parse(text.get(mark.range.clone()).unwrap_or_default());
        if is_inline(&name) {
            inside.push(mark.range.clone());
            continue;
        }
        blocks.extend(block(text, start..mark.range.start, &inside));
        start = mark.range.end;
        inside.clear();
    }
    blocks.extend(block(text, start..text.len(), &inside));
    blocks
}

/// The block of a range, if there is more than white space in it.
fn block(text: &str, range: Range<usize>, tags: &[Range<usize>]) -> Option<Block> {
    let content = text.get(range.clone())?;
    let start = range.start + (content.len() - content.trim_start().len());
    let end = start + content.trim().len();
    if start == end {
        return None;
    }
    let mut breaks = Vec::new();
    let (mut at, mut tags) = (start, tags.iter().peekable());
    while at < end {
        if let Some(tag) = tags.next_if(|tag| tag.start <= at) {
            at = at.max(tag.end);
            continue;
        }
        let limit = tags.peek().map_or(end, |tag| tag.start.min(end));
        let Some(run) = next_space(text, at..limit) else {
            at = limit;
            continue;
        };
        at = run.end;
        if text.get(run.clone()).is_some_and(|space| space.contains(['\n', '\r', '\u{2028}', '\u{2029}'])) {
            breaks.push(run);
        }
    }
    Some(Block { range: start..end, breaks })
}

fn next_space(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let from = part.find(char::is_whitespace)?;
    let rest = part.get(from..)?;
    let length = rest.find(|it: char| !it.is_whitespace()).unwrap_or(rest.len());
    Some(range.start + from..range.start + from + length)
}
