//! Dangerous constructs in the lines that a patch adds.
//!
//! Rules look at one statement at a time: the lines of a hunk as they are after the patch, from one line to the end of
//! its brackets. What only moves, or stands in a comment or in prose, is not reported.

mod literals;
mod rules;
mod secrets;
mod sql;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use diffy::Line;
use diffy::patch_set::FilePatch;

use self::literals::{Language, Masked};
use super::paths;

/// Maximum number of lines of a statement.
const MAX_LINES: usize = 12;
/// Maximum bytes of a statement; minified code has longer ones.
const MAX_STATEMENT: usize = 4_000;
/// Maximum characters of a quoted line.
const MAX_QUOTE: usize = 120;
/// Maximum number of added lines that are examined.
pub(super) const MAX_EXAMINED: usize = 200_000;

/// How likely a finding is a hole; each is the share of the rating that a single one fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Low,
    Medium,
    High,
    Critical,
}

impl Grade {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Lower bound of the rating of a patch with one such finding.
    pub(super) const fn weight(self) -> f64 {
        match self {
            Self::Low => 0.1,
            Self::Medium => 0.4,
            Self::High => 0.75,
            Self::Critical => 0.9,
        }
    }

    const fn lower(self) -> Self {
        match self {
            Self::Critical => Self::High,
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}

/// A dangerous construct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Danger {
    pub grade: Grade,
    pub rule: &'static str,
    pub path: String,
    pub line: usize,
    pub advice: &'static str,
    pub quote: String,
}

impl Danger {
    pub(super) fn reason(&self) -> String {
        let Self { grade, rule, path, line, advice, quote } = self;
        format!("{}: {rule} at {path}:{line}: `{quote}`: {advice}", grade.name())
    }
}

/// A line of the file after the patch.
struct NewLine<'p> {
    number: usize,
    text: &'p str,
    added: bool,
}

/// Returns what is dangerous in the added lines of all files, worst first, and how many lines were not examined.
pub(super) fn find(patches: &[FilePatch<'_, str>]) -> (Vec<Danger>, usize) {
    let (mut found, mut examined, mut skipped) = (Vec::new(), 0_usize, 0_usize);
    for patch in patches {
        let path = paths(patch).1;
        let Some(text) = patch.patch().as_text() else { continue };
        let Some(language) = literals::language(path) else { continue };
        let lines = || text.hunks().iter().flat_map(|hunk| hunk.lines());
        let trimmed = |wanted: fn(&Line<'_, str>) -> bool| -> HashSet<String> {
            lines().filter(|line| wanted(line)).map(|line| squeezed(content(line))).collect()
        };
        let (gone, come) =
            (trimmed(|line| matches!(line, Line::Delete(_))), trimmed(|line| matches!(line, Line::Insert(_))));
        let mut of_file = Vec::new();
        for hunk in text.hunks() {
            let mut number = hunk.new_range().start();
            let mut after: Vec<NewLine<'_>> = Vec::new();
            for line in hunk.lines() {
                match line {
                    Line::Delete(old) => {
                        let lost = !come.contains(&squeezed(old));
                        of_file.extend(rules::guard(old, language).filter(|_| lost).map(|(rule, grade, advice)| {
                            Danger { grade, rule, path: path.to_owned(), line: number, advice, quote: quoted(old) }
                        }));
                    }
                    Line::Context(text) | Line::Insert(text) => {
                        after.push(NewLine { number, text, added: matches!(line, Line::Insert(_)) });
                        number += 1;
                    }
                }
            }
            let added = after.iter().filter(|line| line.added).count();
            if examined + added > MAX_EXAMINED {
                skipped += added;
                continue;
            }
            examined += added;
            of_file.extend(of_hunk(&after, language, path, &gone));
        }
        let mut seen = BTreeSet::new();
        of_file.retain(|danger| seen.insert((danger.line, danger.rule)));
        found.extend(of_file);
    }
    found.sort_by(|a, b| b.grade.cmp(&a.grade).then_with(|| (&a.path, a.line).cmp(&(&b.path, b.line))));
    (found, skipped)
}

fn of_hunk(lines: &[NewLine<'_>], language: Language, path: &str, gone: &HashSet<String>) -> Vec<Danger> {
    let (mut found, mut block) = (Vec::new(), false);
    for (at, first) in lines.iter().enumerate() {
        if in_comment(first.text, language, &mut block) {
            continue;
        }
        let (count, masked, raw) = statement(lines.get(at..).unwrap_or_default(), language);
        let statement = lines.get(at..at + count).unwrap_or_default();
        // A line that was only moved or indented anew is not of this patch.
        let own = |line: &&NewLine<'_>| line.added && !gone.contains(&squeezed(line.text));
        if !statement.iter().any(|line| own(&line)) {
            continue;
        }
        let kept = secrets::find(&masked, &raw, language);
        for hit in rules::hits(&masked, &raw, language) {
            // What begins on a later line is found when that line is the first.
            if hit.row > 0 {
                continue;
            }
            let grade = if is_test(path) { hit.grade.lower() } else { hit.grade };
            found.push(Danger {
                // An old call with a new argument.
                grade: if first.added { grade } else { grade.lower() },
                rule: hit.rule,
                path: path.to_owned(),
                line: first.number,
                advice: hit.advice,
                quote: quoted(&secrets::hidden(first.text, &kept)),
            });
        }
    }
    found
}

/// The lines from the first to the one that closes its brackets, as code and as text.
fn statement(lines: &[NewLine<'_>], language: Language) -> (usize, Masked, String) {
    let mut raw = String::new();
    let mut count = 0;
    let mut code = Masked::default();
    for line in lines.iter().take(MAX_LINES) {
        if raw.len() + line.text.len() > MAX_STATEMENT {
            if count == 0 {
                raw = line.text.chars().take(MAX_STATEMENT).collect();
                code = literals::masked(&raw, language);
                count = 1;
            }
            break;
        }
        // A chain of calls goes on below: `.arg("-c")`.
        let chained = line.text.trim_start().starts_with('.');
        if count > 0 && depth(&code.code) <= 0 && !chained {
            break;
        }
        raw.push_str(line.text);
        if !line.text.ends_with('\n') {
            raw.push('\n');
        }
        code = literals::masked(&raw, language);
        count += 1;
    }
    (count.max(1), code, raw)
}

/// Brackets that are open at the end; braces open blocks, not statements, and do not count.
fn depth(code: &str) -> i64 {
    code.chars().map(|c| i64::from(matches!(c, '(' | '[')) - i64::from(matches!(c, ')' | ']'))).sum()
}

/// Whether a line stands in a comment that began before, or is one as a whole.
fn in_comment(line: &str, language: Language, block: &mut bool) -> bool {
    let line = line.trim();
    let starred = matches!(
        language,
        Language::JavaScript | Language::Go | Language::Java | Language::C | Language::Rust | Language::Php
    );
    if *block {
        *block = !line.contains("*/");
        return true;
    }
    if starred && line.starts_with("/*") && !line.contains("*/") {
        *block = true;
        return true;
    }
    starred && (line.starts_with("* ") || line == "*" || line.starts_with("//"))
}

fn is_test(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    ["test/", "tests/", "__tests__/", "spec/", "testdata/", "fixtures/"]
        .iter()
        .any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")))
        || name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "_spec."].iter().any(|part| name.contains(part))
}

fn content<'l>(line: &Line<'l, str>) -> &'l str {
    match line {
        Line::Context(text) | Line::Delete(text) | Line::Insert(text) => text,
    }
}

/// Without white space at both ends, and with single spaces.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(line: &str) -> String {
    let line = squeezed(line);
    let cut: String = line.chars().take(MAX_QUOTE).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}
