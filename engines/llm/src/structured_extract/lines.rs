//! Lines of a form, `label: value`.

use std::ops::Range;

use super::fields::{Field, folded};

/// Bytes and words of the longest label.
const MAX_LABEL: usize = 80;
const MAX_WORDS: usize = 8;

/// A line with a label.
#[derive(Debug)]
pub(super) struct Line {
    /// The label as folded words.
    label: Vec<String>,
    /// Bytes of the value.
    pub(super) value: Range<usize>,
}

/// Returns the lines with a label and a value; several may stand in one line with `;` or `|` between them.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in text.split_inclusive(['\n', ';', '|']) {
        let begin = at;
        at += part.len();
        let part = part.trim_end_matches(['\n', '\r', ';', '|']);
        let Some(end) = part.find([':', '=']).or_else(|| part.find(" - ").map(|end| end + 1)) else { continue };
        let (Some(label), Some(value)) = (part.get(..end), part.get(end + 1..)) else { continue };
        let words = folded(label);
        let start = begin + end + 1 + (value.len() - value.trim_start().len());
        let value = value.trim();
        if label.len() <= MAX_LABEL && (1..=MAX_WORDS).contains(&words.len()) && !value.is_empty() {
            found.push(Line { label: words, value: start..start + value.len() });
        }
    }
    found
}

/// The first line whose label is a name of a field, else the first of whose label's words one of its names is a part.
pub(super) fn labelled<'a>(lines: &'a [Line], field: &Field) -> Option<&'a Line> {
    let exact = |line: &&Line| field.names.contains(&line.label);
    let holds = |line: &&Line| {
        field.names.iter().any(|name| line.label.windows(name.len().max(1)).any(|part| part == name.as_slice()))
    };
    lines.iter().find(exact).or_else(|| lines.iter().find(holds))
}
