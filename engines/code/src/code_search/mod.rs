//! q188: code search.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};

use crate::workspace::{Entry, Hidden, Kind, MAX_DEPTH, Traversal, Workspace};
use muster_engine::prelude::*;

/// Maximum length of a reported line, in bytes.
const MAX_LINE: usize = 1_000;
/// Maximum size of all reported lines, in bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 4 * 1024 * 1024;
const MAX_GLOBS: usize = 100;
/// In bytes.
const MAX_GLOB: usize = 1_000;

#[derive(Input)]
pub struct Input {
    pattern: String,
    path: String,
    literal: bool,
    glob: Vec<String>,
    context: f64,
    max_results: f64,
    ignore_case: bool,
}

#[derive(Output)]
pub struct Output {
    matches: Vec<MatchingLine>,
    /// Number of files with a match.
    files: usize,
    truncated: bool,
    /// Number of matching lines by file, in addition to the declared fields.
    #[wire(extra)]
    counts: BTreeMap<String, usize>,
}

/// A matching line.
#[derive(Output)]
struct MatchingLine {
    path: String,
    /// From 1.
    line: usize,
    /// Start of the first match, in bytes from 1 (as ripgrep's `--column`).
    column: usize,
    text: String,
    before: Vec<String>,
    after: Vec<String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let workspace = Workspace::open(context)?;
    let from = workspace.find(&input.path)?;
    let matcher = matcher(&input)?;
    let mut traversal = Traversal::new(&workspace, &from, MAX_DEPTH, Hidden::Skip).with_overrides(globs(&input.glob)?);
    let (around, most) = (input.context as usize, input.max_results as usize);
    let mut output = Output { matches: Vec::new(), files: 0, truncated: false, counts: BTreeMap::new() };
    let mut text_left = MAX_TEXT;
    for entry in traversal.by_ref().filter(|entry| entry.kind == Kind::File) {
        let Some(text) = workspace.read_or_warn(&entry).and_then(text) else { continue };
        // One more than the limit, to detect truncation.
        let mut lines = lines_that_match(&matcher, &text, (most - output.matches.len()).saturating_add(1))?;
        if output.matches.len() + lines.len() > most {
            lines.truncate(most - output.matches.len());
            output.truncated = true;
        }
        add(&mut output, &entry, &text, &lines, around, &mut text_left);
        if output.truncated {
            context.warn("there are more matches: narrow the pattern, the path or the globs, or raise max_results");
            break;
        }
    }
    if traversal.unentered > 0 {
        context.warn(format!("{} folders more than {MAX_DEPTH} deep were not searched", traversal.unentered));
    }
    output.truncated |= traversal.stopped || traversal.unentered > 0;
    Ok(output)
}

fn matcher(input: &Input) -> Result<RegexMatcher, Failure> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .fixed_strings(input.literal)
        .case_insensitive(input.ignore_case)
        .crlf(true)
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .build(&input.pattern)
        .map_err(|error| Failure::invalid(&["pattern"], format!("cannot be searched for, line by line: {error}")))
}

fn globs(globs: &[String]) -> Result<Override, Failure> {
    if globs.len() > MAX_GLOBS {
        return Err(Failure::too_large(format!("a search takes at most {MAX_GLOBS} globs")));
    }
    let mut builder = OverrideBuilder::new("/");
    for (at, glob) in globs.iter().enumerate() {
        let invalid = |message: String| Failure::invalid(&["glob", &at.to_string()], message);
        if glob.len() > MAX_GLOB {
            return Err(invalid(format!("is longer than {MAX_GLOB} bytes")));
        }
        builder.add(glob).map_err(|error| invalid(format!("is not a glob: {error}")))?;
    }
    builder.build().map_err(|error| Failure::invalid(&["glob"], error.to_string()))
}

/// Returns the bytes of a text file in UTF-8 or a compatible encoding; `None` for binary files, which contain a NUL
/// byte.
fn text(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let wide = |order: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|&pair| order(pair)).collect();
        Some(String::from_utf16_lossy(&units).into_bytes())
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => wide(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] if !rest.contains(&0) => Some(rest.to_vec()),
        all if all.contains(&0) => None,
        _ => Some(bytes),
    }
}

/// Returns the first `most` matching lines: number and column, both from 1.
fn lines_that_match(matcher: &RegexMatcher, text: &[u8], most: usize) -> Result<Vec<(usize, usize)>, Failure> {
    let mut builder = SearcherBuilder::new();
    builder.line_number(true).bom_sniffing(false).binary_detection(BinaryDetection::none());
    if let Some(terminator) = matcher.line_terminator() {
        builder.line_terminator(terminator);
    }
    let mut lines = Lines { matcher, found: Vec::new(), most };
    builder.build().search_slice(matcher, text, &mut lines).map_err(Failure::internal)?;
    Ok(lines.found)
}

struct Lines<'m> {
    matcher: &'m RegexMatcher,
    found: Vec<(usize, usize)>,
    most: usize,
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        let line = found.line_number().and_then(|line| usize::try_from(line).ok()).unwrap_or_default();
        let at = self.matcher.find(found.bytes())?.map_or(0, |at| at.start());
        self.found.push((line, at + 1));
        Ok(self.found.len() < self.most)
    }
}

fn add(
    output: &mut Output,
    entry: &Entry,
    text: &[u8],
    found: &[(usize, usize)],
    around: usize,
    text_left: &mut usize,
) {
    if found.is_empty() {
        return;
    }
    output.files += 1;
    let path = entry.display_path();
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let context =
        |from: usize, to: usize| lines.get(from..to.min(lines.len())).into_iter().flatten().map(|line| display(line));
    for &(line, column) in found {
        let at = line.saturating_sub(1);
        let before: Vec<_> = context(at.saturating_sub(around), at).collect();
        let after: Vec<_> = context(line, line + around).collect();
        let text = lines.get(at).map(|line| display(line)).unwrap_or_default();
        let size = before.iter().chain(&after).map(String::len).sum::<usize>() + text.len();
        let Some(left) = text_left.checked_sub(size) else {
            output.truncated = true;
            return;
        };
        *text_left = left;
        *output.counts.entry(path.clone()).or_default() += 1;
        output.matches.push(MatchingLine { path: path.clone(), line, column, text, before, after });
    }
}

/// Returns a line without its line break, truncated if long.
fn display(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.get(..MAX_LINE) {
        Some(start) if line.len() > MAX_LINE => format!("{}…", String::from_utf8_lossy(start)),
        _ => String::from_utf8_lossy(line).into_owned(),
    }
}
