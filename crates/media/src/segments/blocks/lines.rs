//! Blocks of plain text and Markdown, line by line.

use std::ops::Range;

use super::Block;
use crate::marks::{Mark, TextFormat};

/// Characters that a line of plain text has at least, if the sentence goes on in the next.
const WRAPPED: usize = 45;

pub(super) fn blocks(text: &str, format: TextFormat, marks: &[Mark]) -> Vec<Block> {
    let lines = lines(text, marks);
    let mut reader = Reader { text, format, blocks: Vec::new(), open: false, listed: false, table: false };
    let mut at = reader.front_matter(&lines);
    while let Some(line) = lines.get(at) {
        if let Some(end) = reader.fence(&lines, at) {
            reader.open = false;
            at = end + 1;
            continue;
        }
        let next = lines.get(at + 1).cloned().unwrap_or_default();
        let blank = at == 0 || lines.get(at - 1).is_some_and(|line| reader.of(line).trim().is_empty());
        reader.line(line, &next, blank);
        at += 1;
    }
    reader.blocks
}

/// Contents of lines, without their ends. A line end inside a mark, such as a tag over two lines, is none.
fn lines(text: &str, marks: &[Mark]) -> Vec<Range<usize>> {
    let (mut lines, mut start) = (Vec::new(), 0);
    let mut marks = marks.iter().peekable();
    for (at, character) in text.char_indices() {
        if !matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}') {
            continue;
        }
        while marks.next_if(|mark| mark.range.end <= at).is_some() {}
        if marks.peek().is_some_and(|mark| mark.range.start <= at) {
            continue;
        }
        // The line feed after a carriage return ends an empty rest, which holds nothing.
        if !(character == '\n' && start == at && text.get(..at).is_some_and(|text| text.ends_with('\r'))) {
            lines.push(start..at);
        }
        start = at + character.len_utf8();
    }
    lines.push(start..text.len());
    lines
}

/// How a line begins.
struct Prefix {
    length: usize,
    /// A list item, heading or footnote begins: it does not go on from the line before.
    starts: bool,
    heading: bool,
}

struct Reader<'a> {
    text: &'a str,
    format: TextFormat,
    blocks: Vec<Block>,
    /// The last block may go on in the next line.
    open: bool,
    /// Inside a list, where indented text is no code.
    listed: bool,
    table: bool,
}

impl Reader<'_> {
    fn of(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    /// The line after the front matter of Markdown.
    fn front_matter(&self, lines: &[Range<usize>]) -> usize {
        if self.format != TextFormat::Markdown || lines.first().is_none_or(|line| self.of(line).trim_end() != "---") {
            return 0;
        }
        let end = lines.iter().skip(1).position(|line| self.of(line).trim_end() == "---");
        end.map_or(0, |end| end + 2)
    }

    /// The last line of the code that begins here. In plain text it must have an end.
    fn fence(&self, lines: &[Range<usize>], at: usize) -> Option<usize> {
        let marker = |line: &Range<usize>| {
            let line = self.of(line).trim_start_matches([' ', '\t', '>']);
            let first = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
            let length = line.chars().take_while(|it| *it == first).count();
            Some((first, length, line.trim_end().len() == length)).filter(|_| length >= 3)
        };
        let (first, length, _) = marker(lines.get(at)?)?;
        let closes = |line: &Range<usize>| {
            marker(line).is_some_and(|(other, count, alone)| other == first && count >= length && alone)
        };
        let end = lines.iter().skip(at + 1).position(closes).map(|after| at + 1 + after);
        end.or_else(|| (self.format == TextFormat::Markdown).then(|| lines.len().saturating_sub(1)))
    }

    fn line(&mut self, line: &Range<usize>, next: &Range<usize>, after_blank: bool) {
        let content = self.of(line).to_owned();
        let prefix = prefix(&content, self.format);
        let rest = content.get(prefix.length..).unwrap_or_default();
        let markdown = self.format == TextFormat::Markdown;
        let indented = content.starts_with("    ") || content.starts_with('\t');
        if !indented && !rest.trim().is_empty() {
            self.listed = prefix.starts && !prefix.heading;
        }
        self.table =
            markdown && rest.contains('|') && (self.table || is_delimiter(self.of(next)) || rest.starts_with('|'));
        let code = markdown && indented && after_blank && !self.listed;
        if code || !rest.contains(char::is_alphanumeric) || (markdown && is_definition(rest)) {
            self.open = false;
            return;
        }
        let start = line.start + prefix.length;
        if self.table {
            self.open = false;
            self.cells(start, rest);
            return;
        }
        let mut kept = rest.trim_end();
        if prefix.heading {
            kept = kept.trim_end_matches('#').trim_end();
        }
        let hard = markdown && (rest.ends_with("  ") || kept.ends_with('\\'));
        if hard {
            kept = kept.trim_end_matches('\\').trim_end();
        }
        self.add(start..start + kept.len(), &prefix);
        self.open = !hard && !prefix.heading;
    }

    /// A new block, or the next line of the last one.
    fn add(&mut self, range: Range<usize>, prefix: &Prefix) {
        let (text, format, open) = (self.text, self.format, self.open);
        if let Some(last) = self.blocks.last_mut().filter(|_| open && !prefix.starts) {
            let before = text.get(last.breaks.last().map_or(last.range.start, |it| it.end)..last.range.end);
            let line = text.get(range.clone()).unwrap_or_default();
            if format == TextFormat::Markdown || is_wrapped(before.unwrap_or_default(), line) {
                last.breaks.push(last.range.end..range.start);
                last.range.end = range.end;
                return;
            }
        }
        self.blocks.push(Block { range, breaks: Vec::new() });
    }

    /// The cells of a row: separated by `|` outside code, unless escaped.
    fn cells(&mut self, start: usize, row: &str) {
        let (mut from, mut code, mut escaped) = (0, false, false);
        let mut cell = |range: Range<usize>| {
            let cell = row.get(range.clone()).unwrap_or_default();
            let begin = start + range.start + (cell.len() - cell.trim_start().len());
            if !cell.trim().is_empty() {
                self.blocks.push(Block { range: begin..begin + cell.trim().len(), breaks: Vec::new() });
            }
        };
        for (at, character) in row.char_indices() {
            match character {
                '`' => code = !code,
                '|' if !code && !escaped => {
                    cell(from..at);
                    from = at + 1;
                }
                _ => {}
            }
            escaped = character == '\\' && !escaped;
        }
        cell(from..row.len());
    }
}

/// Whether a sentence of plain text goes on in the next line.
fn is_wrapped(line: &str, next: &str) -> bool {
    let ended = line.ends_with(['.', '!', '?', ':', ';', '…', '。', '|']);
    line.chars().count() >= WRAPPED && !ended && next.starts_with(char::is_lowercase)
}

/// `|---|:-:|`
fn is_delimiter(line: &str) -> bool {
    line.contains('|') && line.contains('-') && line.trim().chars().all(|it| "|:- \t".contains(it))
}

/// `[name]: target`
fn is_definition(line: &str) -> bool {
    line.starts_with('[') && !line.starts_with("[^") && line.find("]:").is_some_and(|at| at > 1)
}

/// White space, quotation marks, one list marker with its box, and the signs of a heading.
fn prefix(line: &str, format: TextFormat) -> Prefix {
    let rest = line.trim_start_matches(|it: char| it.is_whitespace() || it == '>');
    let mut prefix = Prefix { length: line.len() - rest.len(), starts: false, heading: false };
    let marker = marker(rest);
    let mut rest = rest.get(marker..).unwrap_or_default();
    prefix.length += marker;
    prefix.starts = marker > 0;
    if let Some(after) = ["[ ] ", "[x] ", "[X] "].iter().find_map(|it| rest.strip_prefix(it)).filter(|_| prefix.starts)
    {
        prefix.length += 4;
        rest = after;
    }
    if format == TextFormat::Markdown {
        let signs = rest.chars().take_while(|it| *it == '#').count();
        let after = rest.get(signs..).unwrap_or_default();
        if (1..=6).contains(&signs) && after.starts_with([' ', '\t']) {
            prefix.length += signs + (after.len() - after.trim_start().len());
            (prefix.starts, prefix.heading) = (true, true);
        } else if let Some(end) = rest.strip_prefix("[^").and_then(|it| it.find("]:")) {
            let after = rest.get(end + 4..).unwrap_or_default();
            prefix.length += end + 4 + (after.len() - after.trim_start().len());
            prefix.starts = true;
        }
    }
    prefix
}

/// Length of a list marker with the white space after it: a bullet, a number or a letter.
fn marker(rest: &str) -> usize {
    let sign = if rest.starts_with(['-', '*', '+', '•', '–', '—', '·', '▪', '◦', '‣']) {
        rest.chars().next().map_or(0, char::len_utf8)
    } else {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let letter = usize::from(rest.starts_with(|it: char| it.is_ascii_alphabetic()));
        let label = if (1..=9).contains(&digits) { digits } else { letter };
        let closed = rest.get(label..).is_some_and(|it| it.starts_with(')') || (digits > 0 && it.starts_with('.')));
        if label > 0 && closed { label + 1 } else { 0 }
    };
    let after = rest.get(sign..).unwrap_or_default();
    let space = after.len() - after.trim_start().len();
    if sign > 0 && space > 0 { sign + space } else { 0 }
}
