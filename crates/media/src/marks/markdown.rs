//! Inline Markdown that encloses text: emphasis and links.

use std::ops::Range;

use super::{Mark, after, before, is_word};

/// Two delimiters and what they enclose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) open: Range<usize>,
    pub(crate) close: Range<usize>,
}

/// Finds the pairs of one block, nested properly. Delimiters inside marks are none, and those without a partner are
/// text.
pub(crate) fn pairs(text: &str, marks: &[Mark]) -> Vec<Pair> {
    let mut pairs = links(text, marks);
    let taken: Vec<Range<usize>> = pairs.iter().map(|pair| pair.close.clone()).collect();
    let mut stack: Vec<Range<usize>> = Vec::new();
    for run in runs(text, marks) {
        if taken.iter().any(|range| range.contains(&run.start)) {
            continue;
        }
        let delimiter = text.get(run.clone()).unwrap_or_default();
        let partner = stack.iter().rposition(|open| text.get(open.clone()) == Some(delimiter));
        match partner.filter(|_| can_close(text, &run)) {
            Some(partner) => {
                let open = stack.get(partner).cloned().unwrap_or_default();
                stack.truncate(partner);
                let pair = Pair { open, close: run };
                if pairs.iter().all(|other| nests(other, &pair)) {
                    pairs.push(pair);
                }
            }
            None if can_open(text, &run) && stack.len() < 64 => stack.push(run),
            None => {}
        }
    }
    pairs
}

/// Whether two pairs are apart or one encloses the other.
pub(crate) fn nests(one: &Pair, other: &Pair) -> bool {
    let inside =
        |inner: &Pair, outer: &Pair| inner.open.start >= outer.open.end && inner.close.end <= outer.close.start;
    inside(one, other) || inside(other, one) || one.close.end <= other.open.start || other.close.end <= one.open.start
}

fn in_mark(marks: &[Mark], at: usize) -> Option<usize> {
    let index = marks.partition_point(|mark| mark.range.end <= at);
    marks.get(index).filter(|mark| mark.range.start <= at).map(|mark| mark.range.end)
}

/// Runs of `*`, `_` and `~~` outside marks.
fn runs(text: &str, marks: &[Mark]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut runs, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at).copied() {
        if let Some(end) = in_mark(marks, at) {
            at = end;
            continue;
        }
        let length = bytes.get(at..).unwrap_or_default().iter().take_while(|it| **it == byte).count();
        let longest = if byte == b'~' { 2..=2 } else { 1..=3 };
        if matches!(byte, b'*' | b'_' | b'~') {
            if longest.contains(&length) {
                runs.push(at..at + length);
            }
            at += length;
        } else {
            at += 1;
        }
    }
    runs
}

fn can_open(text: &str, run: &Range<usize>) -> bool {
    let inside_word =
        text.get(run.clone()).is_some_and(|it| it.starts_with('_')) && before(text, run.start).is_some_and(is_word);
    after(text, run.end).is_some_and(|it| !it.is_whitespace()) && !inside_word
}

fn can_close(text: &str, run: &Range<usize>) -> bool {
    let inside_word =
        text.get(run.clone()).is_some_and(|it| it.starts_with('_')) && after(text, run.end).is_some_and(is_word);
    before(text, run.start).is_some_and(|it| !it.is_whitespace()) && !inside_word
}

/// `[text](target)`, `![text](target)` and `[text][reference]`.
fn links(text: &str, marks: &[Mark]) -> Vec<Pair> {
    let bytes = text.as_bytes();
    let (mut found, mut open, mut at) = (Vec::new(), Vec::<Range<usize>>::new(), 0);
    while let Some(byte) = bytes.get(at).copied() {
        // A mark that holds the bracket of a target is no obstacle: only those that begin before it are passed over.
        if let Some(end) = in_mark(marks, at).filter(|_| byte != b']') {
            at = end;
            continue;
        }
        match byte {
            b'[' if open.len() < 64 => {
                let image = at > 0 && bytes.get(at - 1) == Some(&b'!');
                open.push(at - usize::from(image)..at + 1);
            }
            b']' => {
                let target = text.get(at + 1..).and_then(target_length);
                if let (Some(start), Some(length)) = (open.pop(), target) {
                    let close = at..at + 1 + length;
                    if start.end < at {
                        at = close.end - 1;
                        found.push(Pair { open: start, close });
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Length of `(target)` or `[reference]`, of at most 2,048 characters.
fn target_length(rest: &str) -> Option<usize> {
    let (open, close) = match rest.chars().next()? {
        '(' => ('(', ')'),
        '[' => ('[', ']'),
        _ => return None,
    };
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices().take(2_048) {
        match character {
            '\n' => return None,
            _ if character == open => depth += 1,
            _ if character == close => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
