//! One segment: what an engine is asked about, and the text around it that stands as it is.

use std::collections::HashMap;
use std::ops::Range;

use super::inline::{Break, Inline, MARK, Tag};
use crate::marks;

/// How marks are written for an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    First,
    Second,
}

impl Spelling {
    pub(super) fn letters(self) -> &'static str {
        match self {
            Self::First => "XQ",
            Self::Second => "QZX",
        }
    }
}

/// Text, or a part that stands as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// A mark or a line end.
    Kept(String),
    /// A delimiter, which may be inside a sentence without being a word of it.
    Tag(String),
}

impl Piece {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Kept(text) | Self::Tag(text) => text,
        }
    }
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Section {
    Kept(String),
    Segment(Inline),
}

/// Cuts the inline content of a block into segments by the ranges of its sentences.
pub(super) fn sections(inline: &Inline, ranges: &[Range<usize>]) -> Vec<Section> {
    let mut ends: HashMap<usize, (usize, usize)> = HashMap::new();
    for tag in &inline.tags {
        let (open, close) = ends.entry(tag.pair).or_insert((tag.at, tag.at));
        *(if tag.opens { open } else { close }) = tag.at;
    }
    let used = vec![false; inline.tags.len()];
    let mut cutter = Cutter { inline, ends, used, at: 0, mark: 0, sections: Vec::new() };
    for range in ranges {
        let text = inline.plain.get(range.clone()).unwrap_or_default();
        if text.contains(char::is_alphabetic) {
            cutter.segment(range);
        }
    }
    // No tag is left for a later segment.
    cutter.keep(inline.plain.len(), &(0..0));
    cutter.sections
}

struct Cutter<'a> {
    inline: &'a Inline,
    /// Where each pair opens and closes.
    ends: HashMap<usize, (usize, usize)>,
    used: Vec<bool>,
    /// How far the block is cut, in bytes and in marks.
    at: usize,
    mark: usize,
    sections: Vec<Section>,
}

impl<'a> Cutter<'a> {
    /// Whether both delimiters of a tag are in a range without enclosing all of it.
    fn is_internal(&self, tag: &Tag, range: &Range<usize>) -> bool {
        let ends = self.ends.get(&tag.pair);
        ends.is_some_and(|ends| range.start <= ends.0 && ends.1 <= range.end && *ends != (range.start, range.end))
    }

    fn line_at(&self, at: usize) -> Option<&'a Break> {
        let found = self.inline.breaks.binary_search_by_key(&at, |line| line.at).ok()?;
        self.inline.breaks.get(found)
    }

    /// Tags at a byte that stand nowhere yet.
    fn unused_at(&self, at: usize) -> Vec<(usize, &'a Tag)> {
        let first = self.inline.tags.partition_point(|tag| tag.at < at);
        let tags = self.inline.tags.iter().enumerate().skip(first).take_while(|(_, tag)| tag.at == at);
        tags.filter(|(index, _)| self.used.get(*index) == Some(&false)).collect()
    }

    fn set_used(&mut self, index: usize) {
        if let Some(used) = self.used.get_mut(index) {
            *used = true;
        }
    }

    fn segment(&mut self, range: &Range<usize>) {
        self.keep(range.start, range);
        let mut core = Inline::default();
        let text = self.inline.plain.get(range.clone()).unwrap_or_default();
        for (offset, character) in text.char_indices() {
            self.tags_at(range.start + offset, range, &mut core);
            if let Some(line) = self.line_at(range.start + offset) {
                core.breaks.push(Break { at: core.plain.len(), text: line.text.clone() });
            }
            core.plain.push(character);
            if character == MARK {
                core.marks.extend(self.inline.marks.get(self.mark).cloned());
                self.mark += 1;
            }
        }
        self.tags_at(range.end, range, &mut core);
        self.at = range.end;
        self.sections.push(Section::Segment(core));
    }

    /// Tags of a segment; one whose partner is elsewhere becomes a mark.
    fn tags_at(&mut self, at: usize, range: &Range<usize>, core: &mut Inline) {
        for (index, tag) in self.unused_at(at) {
            if self.is_internal(tag, range) {
                core.tags.push(Tag { at: core.plain.len(), ..tag.clone() });
                self.set_used(index);
            } else if at > range.start && at < range.end {
                core.plain.push(MARK);
                core.marks.push(tag.text.clone());
                self.set_used(index);
            }
        }
    }

    /// Keeps the text up to `end` with its marks, line ends and tags, save those inside the segment `next`.
    fn keep(&mut self, end: usize, next: &Range<usize>) {
        let mut kept = String::new();
        let text = self.inline.plain.get(self.at..end).unwrap_or_default();
        for (offset, character) in text.char_indices() {
            let at = self.at + offset;
            self.kept_tags(at, &(0..0), &mut kept);
            match (self.line_at(at), character) {
                (Some(line), _) => kept.push_str(&line.text),
                (None, MARK) => {
                    kept.push_str(self.inline.marks.get(self.mark).map_or("", String::as_str));
                    self.mark += 1;
                }
                (None, character) => kept.push(character),
            }
        }
        self.kept_tags(end, next, &mut kept);
        self.at = end;
        self.sections.push(Section::Kept(kept));
    }

    fn kept_tags(&mut self, at: usize, next: &Range<usize>, kept: &mut String) {
        for (index, tag) in self.unused_at(at) {
            if next.is_empty() || !self.is_internal(tag, next) {
                kept.push_str(&tag.text);
                self.set_used(index);
            }
        }
    }
}

/// The plain text with its marks spelled out.
pub(super) fn masked(plain: &str, spelling: Spelling) -> String {
    let mut text = String::with_capacity(plain.len() + 8);
    let mut index = 0_usize;
    for character in plain.chars() {
        if character == MARK {
            text.push_str(spelling.letters());
            text.push_str(&index.to_string());
            index += 1;
        } else {
            text.push(character);
        }
    }
    text
}

/// Whether marks can be spelled out: not before a digit, which would be read as a part of their number.
pub(super) fn can_mask(plain: &str) -> bool {
    let next = plain.chars().skip(1);
    !plain.chars().zip(next).any(|(mark, next)| mark == MARK && (next.is_ascii_digit() || next == MARK))
}

/// The segment as it is in the source.
pub(super) fn source(core: &Inline) -> String {
    pieces(core).into_iter().map(Piece::into_text).collect()
}

/// The segment cut at its marks, tags and line ends.
pub(super) fn pieces(core: &Inline) -> Vec<Piece> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut keep = |text: &mut String, kept: Piece| {
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(text)));
        }
        pieces.push(kept);
    };
    let (mut marks, mut tags, mut lines) =
        (core.marks.iter(), core.tags.iter().peekable(), core.breaks.iter().peekable());
    for (at, character) in core.plain.char_indices() {
        while let Some(tag) = tags.next_if(|tag| tag.at <= at) {
            keep(&mut text, Piece::Tag(tag.text.clone()));
        }
        if let Some(line) = lines.next_if(|line| line.at == at) {
            keep(&mut text, Piece::Kept(line.text.clone()));
        } else if character == MARK {
            keep(&mut text, Piece::Kept(marks.next().cloned().unwrap_or_default()));
        } else {
            text.push(character);
        }
    }
    for tag in tags {
        keep(&mut text, Piece::Tag(tag.text.clone()));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The segment with its numbers as marks too. A number beside a mark joins it.
pub(super) fn with_numbers_marked(core: &Inline) -> Inline {
    let numbers = marks::find_numbers(&core.plain);
    let mut marked = Inline::default();
    let (mut sources, mut numbers) = (core.marks.iter(), numbers.into_iter().peekable());
    let (mut tags, mut lines) = (core.tags.iter().peekable(), core.breaks.iter().peekable());
    let mut inside = 0;
    for (at, character) in core.plain.char_indices() {
        if at >= inside {
            // A tag inside a number stands before it.
            let end = numbers.peek().filter(|number| number.start == at).map_or(at, |number| number.end - 1);
            while let Some(tag) = tags.next_if(|tag| tag.at <= end) {
                marked.tags.push(Tag { at: marked.plain.len(), ..tag.clone() });
            }
        }
        if let Some(line) = lines.next_if(|line| line.at == at) {
            marked.breaks.push(Break { at: marked.plain.len(), text: line.text.clone() });
        }
        let number = numbers.next_if(|number| number.start == at);
        if at < inside {
            continue;
        }
        let mark = match (character, number) {
            (MARK, _) => sources.next().cloned(),
            (_, Some(number)) => {
                inside = number.end;
                core.plain.get(number).map(str::to_owned)
            }
            (_, None) => None,
        };
        let Some(mark) = mark else {
            marked.plain.push(character);
            continue;
        };
        let apart = marked.tags.last().is_some_and(|tag| tag.at == marked.plain.len());
        match marked.marks.last_mut().filter(|_| marked.plain.ends_with(MARK) && !apart) {
            Some(last) => last.push_str(&mark),
            None => {
                marked.plain.push(MARK);
                marked.marks.push(mark);
            }
        }
    }
    marked.tags.extend(tags.map(|tag| Tag { at: marked.plain.len(), ..tag.clone() }));
    marked
}
