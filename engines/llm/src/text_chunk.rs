//! q166: text chunking.

use std::ops::Range;

use muster_kernel_words::tokens::{sentences, words};
use unicode_segmentation::UnicodeSegmentation;

use muster_engine::prelude::*;

use crate::tokens::Encoding;

/// Bytes of the longest text.
const MAX_BYTES: usize = 1_000_000;
/// Bytes of all chunks, which overlap.
const MAX_OUTPUT: usize = 8 << 20;

#[derive(Input)]
pub struct Input {
    text: String,
    kind: Kind,
    max_tokens: usize,
    overlap: usize,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Kind {
    Text,
    Markdown,
    Code,
}

#[derive(Output)]
pub struct Output {
    chunks: Vec<Chunk>,
    count: usize,
}

#[derive(Output)]
struct Chunk {
    index: usize,
    start: usize,
    end: usize,
    tokens: usize,
    heading: String,
    text: String,
}

/// How finely a text is split; the coarsest level whose parts fit is taken.
#[derive(Clone, Copy)]
enum Level {
    /// Before headings, or definitions at the margin.
    Section,
    /// After empty lines.
    Paragraph,
    Line,
    Sentence,
    Word,
    Character,
}

const LEVELS: [Level; 6] =
    [Level::Section, Level::Paragraph, Level::Line, Level::Sentence, Level::Word, Level::Character];

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.text.len() > MAX_BYTES {
        return Err(Failure::too_large(format!("text is longer than {MAX_BYTES} bytes: split it before")));
    }
    if input.overlap >= input.max_tokens {
        return Err(Failure::invalid(&["overlap"], "must be less than max_tokens: chunks would not advance"));
    }
    let text = input.text.as_str();
    let mut parts = Vec::new();
    split(text, 0..text.len(), &LEVELS, input.kind, input.max_tokens - input.overlap, &mut parts);
    let starts = sections(text, input.kind);
    let mut chunks = Vec::new();
    let mut bytes = 0;
    for core in packed(text, &parts, &starts, input.max_tokens - input.overlap) {
        let chunk = chunk(text, core, &parts, &starts, &input, chunks.len());
        bytes += chunk.text.len();
        if bytes > MAX_OUTPUT {
            return Err(Failure::too_large(format!("the chunks have over {MAX_OUTPUT} bytes: lower overlap")));
        }
        if chunk.tokens > input.max_tokens {
            context.warn(format!(
                "oversized: chunk {} has {} tokens: it cannot be split further",
                chunk.index, chunk.tokens
            ));
        }
        chunks.push(chunk);
    }
    Ok(Output { count: chunks.len(), chunks })
}

fn count(text: &str, range: &Range<usize>) -> usize {
    Encoding::O200k.count(text.get(range.clone()).unwrap_or_default())
}

/// Splits a range into parts of at most `most` tokens, each at the coarsest level that gives such parts. The parts follow
/// each other without a gap.
fn split(text: &str, range: Range<usize>, levels: &[Level], kind: Kind, most: usize, parts: &mut Vec<Range<usize>>) {
    // A token has at most a few dozen bytes: a long range is not counted only to be found too long.
    let long = range.len() > most.saturating_mul(64);
    if range.is_empty() {
        return;
    }
    if !long && count(text, &range) <= most {
        parts.push(range);
        return;
    }
    let Some((level, finer)) = levels.split_first() else {
        parts.push(range);
        return;
    };
    let inner = text.get(range.clone()).unwrap_or_default();
    let mut begin = range.start;
    for end in cuts(inner, *level, kind).into_iter().map(|cut| range.start + cut).chain([range.end]) {
        if end > begin {
            split(text, begin..end, finer, kind, most, parts);
            begin = end;
        }
    }
}

/// Places within a text where a part of this level begins, in order.
fn cuts(text: &str, level: Level, kind: Kind) -> Vec<usize> {
    match level {
        Level::Section => sections(text, kind).into_iter().map(|(start, _)| start).collect(),
        Level::Paragraph => {
            let mut found = Vec::new();
            let (mut at, mut empty) = (0, false);
            for line in text.split_inclusive('\n') {
                let blank = line.trim().is_empty();
                if empty && !blank {
                    found.push(at);
                }
                empty = blank;
                at += line.len();
            }
            found
        }
        Level::Line => text.match_indices('\n').map(|(at, _)| at + 1).collect(),
        Level::Sentence => sentences(text).into_iter().map(|range| range.start).collect(),
        Level::Word => words(text).map(|(at, _)| at).collect(),
        Level::Character => text.grapheme_indices(true).map(|(at, _)| at).collect(),
    }
}

/// Places where sections begin, with their headings: ATX headings outside of fences, or lines of code that begin at the
/// margin after an indented or empty one. None in plain text.
fn sections(text: &str, kind: Kind) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut at, mut fence, mut open) = (0, None::<&str>, true);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        match kind {
            Kind::Text => {}
            Kind::Markdown => {
                let mark = ["```", "~~~"].into_iter().find(|mark| bare.trim_start().starts_with(mark));
                match (fence, mark) {
                    (None, Some(mark)) => fence = Some(mark),
                    (Some(open), Some(mark)) if open == mark => fence = None,
                    (None, None) => {
                        let level = bare.bytes().take_while(|byte| *byte == b'#').count();
                        let title = bare.get(level..).unwrap_or_default();
                        if (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t'])) {
                            found.push((at, title.trim().trim_end_matches('#').trim().to_owned()));
                        }
                    }
                    _ => {}
                }
            }
            Kind::Code => {
                let margin =
                    bare.starts_with(|first: char| first.is_alphabetic() || matches!(first, '#' | '@' | '/' | '_'));
                if margin && open {
                    found.push((at, bare.trim_end_matches(['{', ':', ' ']).chars().take(120).collect()));
                }
                open = !margin || bare.ends_with(['}', ';']);
            }
        }
        at += line.len();
    }
    found
}

/// Joins neighbouring parts as long as they fit; a section begins a chunk of its own.
fn packed(text: &str, parts: &[Range<usize>], starts: &[(usize, String)], most: usize) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut size = 0;
    for part in parts {
        let tokens = count(text, part);
        let begins = starts.binary_search_by_key(&part.start, |(start, _)| *start).is_ok();
        match found.last_mut() {
            // Tokens of the whole are hardly ever more than the sum of its parts' (merges only join).
            Some(last) if size + tokens <= most && !begins => {
                last.end = part.end;
                size += tokens;
            }
            _ => {
                found.push(part.clone());
                size = tokens;
            }
        }
    }
    found
}

/// A chunk with as many whole parts before it as the overlap takes.
fn chunk(
    text: &str,
    core: Range<usize>,
    parts: &[Range<usize>],
    starts: &[(usize, String)],
    input: &Input,
    index: usize,
) -> Chunk {
    let mut start = core.start;
    let mut left = input.overlap;
    let first = parts.partition_point(|part| part.start < core.start);
    for part in parts.iter().take(first).rev() {
        let tokens = count(text, part);
        if tokens > left {
            // A part that is longer than the overlap gives its last words.
            let inner = text.get(part.clone()).unwrap_or_default();
            let begins: Vec<usize> = words(inner).map(|(at, _)| part.start + at).collect();
            let fits = |at: &&usize| count(text, &(**at..start)) <= left;
            let tail = begins.iter().rev().take(left).take_while(fits).last();
            start = tail.copied().unwrap_or(start);
            break;
        }
        left -= tokens;
        start = part.start;
    }
    let range = start..core.end;
    let heading = starts.partition_point(|(at, _)| *at <= core.start).checked_sub(1).and_then(|at| starts.get(at));
    Chunk {
        index,
        start,
        end: core.end,
        tokens: count(text, &range),
        heading: heading.map(|(_, heading)| heading.clone()).unwrap_or_default(),
        text: text.get(range).unwrap_or_default().to_owned(),
    }
}
