//! Sentences of plain text, and parts of those that are too long.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::inline::MARK;

/// Abbreviations after which no sentence begins, in lower case and without the last full stop.
const ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "dra", "prof", "sr", "sra", "srta", "st", "jr", "vs", "e.g", "i.e", "cf", "fig", "nº",
    "vol", "pp", "p.ex", "approx", "aprox", "dept", "lt", "sgt", "pág", "núm", "z.b", "d.h", "bzw", "mme", "mlle",
];
/// What stands for a mark while sentences are looked for: an upper-case letter of as many bytes.
const LETTER: &str = "\u{ff21}";

/// Sentences by the Unicode rules, without the white space around them; not after abbreviations, but also at tabulators
/// and wide gaps, as between columns.
pub(super) fn split(plain: &str) -> Vec<Range<usize>> {
    let text = plain.replace(MARK, LETTER);
    let mut sentences: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (at, part) in text.split_sentence_bound_indices() {
        let range = at..at + part.len();
        match sentences.last_mut().filter(|_| open) {
            Some(last) => last.end = range.end,
            None => sentences.push(range),
        }
        open = is_abbreviation(part);
    }
    let columns = sentences.into_iter().flat_map(|range| columns(plain, range));
    columns.filter_map(|range| trimmed(plain, range)).collect()
}

fn is_abbreviation(sentence: &str) -> bool {
    let Some(stripped) = sentence.trim_end().strip_suffix('.') else { return false };
    let word = stripped.rsplit(|it: char| it.is_whitespace() || "([\"“".contains(it)).next().unwrap_or_default();
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != LETTER;
    initial || ABBREVIATIONS.contains(&word.to_lowercase().as_str())
}

fn columns(plain: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let text = plain.get(range.clone()).unwrap_or_default();
    let (mut parts, mut start, mut spaces) = (Vec::new(), 0, 0);
    for (at, character) in text.char_indices() {
        spaces = if character.is_whitespace() { spaces + 1 } else { 0 };
        if character == '\t' || spaces == 3 {
            parts.push(range.start + start..range.start + at);
            start = at;
        }
    }
    parts.push(range.start + start..range.end);
    parts
}

fn trimmed(plain: &str, range: Range<usize>) -> Option<Range<usize>> {
    let text = plain.get(range.clone())?;
    let start = range.start + (text.len() - text.trim_start().len());
    let end = start + text.trim().len();
    (start < end).then_some(start..end)
}

/// Cuts a range until `fits` holds for each part: after punctuation near the middle, else at white space, else between
/// characters. One character always fits.
pub(super) fn fit(plain: &str, range: Range<usize>, fits: &dyn Fn(&str) -> bool) -> Vec<Range<usize>> {
    let (mut parts, mut todo) = (Vec::new(), vec![range]);
    while let Some(range) = todo.pop() {
        let text = plain.get(range.clone()).unwrap_or_default();
        let cut = if fits(text) { None } else { cut(text) };
        match cut {
            Some(at) => {
                // The first half is looked at first.
                todo.extend(trimmed(plain, range.start + at..range.end));
                todo.extend(trimmed(plain, range.start..range.start + at));
            }
            None => parts.push(range),
        }
    }
    parts
}

fn cut(text: &str) -> Option<usize> {
    let distance = |at: &usize| at.abs_diff(text.len() / 2);
    let central = |at: &usize| distance(at) <= text.len() / 4;
    let spaces = || text.char_indices().filter(|(_, it)| it.is_whitespace()).map(|(at, _)| at).filter(|at| *at > 0);
    let clause = |at: &usize| text.get(..*at).is_some_and(|it| it.ends_with([',', ';', ':', '—', '–', ')', '،', '؛']));
    let wide = |(at, it): (usize, char)| "，、；：。".contains(it).then_some(at + it.len_utf8());
    let after_clause = spaces().filter(clause).chain(text.char_indices().filter_map(wide));
    let best = after_clause.filter(|at| central(at) && *at < text.len()).min_by_key(distance);
    let best = best.or_else(|| spaces().min_by_key(distance));
    best.or_else(|| text.grapheme_indices(true).map(|(at, _)| at).skip(1).min_by_key(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn sentences_end_at_their_punctuation() {
        assert_eq!(shown("One two. Three? \u{e000} is four!"), ["One two.", "Three?", "\u{e000} is four!"]);
        assert_eq!(shown("火事です。逃げて。"), ["火事です。", "逃げて。"]);
    }

    #[test]
    fn abbreviations_and_initials_end_no_sentence() {
        assert_eq!(
            shown("Call Dr. Silva or J. Smith, e.g. Monday. Now."),
            ["Call Dr. Silva or J. Smith, e.g. Monday.", "Now."]
        );
    }

    #[test]
    fn columns_are_apart() {
        assert_eq!(shown("Name\tThe age    Town"), ["Name", "The age", "Town"]);
    }

    #[test]
    fn a_long_text_is_cut_at_clauses_then_words_then_characters() {
        let parts = |text: &'static str, limit: usize| -> Vec<&str> {
            let ranges = fit(text, 0..text.len(), &|part| part.chars().count() <= limit);
            ranges.into_iter().map(|range| &text[range]).collect()
        };
        assert_eq!(parts("one two three, four five six", 20), ["one two three,", "four five six"]);
        assert_eq!(parts("one two three four", 10), ["one two", "three four"]);
        assert_eq!(parts("çççççç", 2), ["ç", "çç", "ç", "çç"]);
    }
}
