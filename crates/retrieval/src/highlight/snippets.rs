use std::collections::VecDeque;
use std::ops::Range;

use super::marks::Mark;
use super::{Highlight, MAX_LENGTH, MAX_SNIPPETS};

/// The best ranges, each with words that the previous ones lack; in text order.
pub(super) fn snippets(value: &str, marks: &[Mark], words: usize) -> Vec<Highlight> {
    let mut chosen: Vec<Highlight> = Vec::new();
    let mut covered = vec![false; words];
    while chosen.len() < MAX_SNIPPETS {
        let free = |mark: &&Mark| {
            chosen.iter().all(|other| mark.end <= other.snippet.start || mark.start >= other.snippet.end)
        };
        let left: Vec<Mark> = marks.iter().filter(free).copied().collect();
        let Some(window) = best(&left, &covered) else { break };
        let within = left.get(window).unwrap_or_default();
        let snippet = widen(value, within, &chosen);
        for mark in within {
            if let Some(covered) = covered.get_mut(mark.word) {
                *covered = true;
            }
        }
        let inside = |mark: &&Mark| mark.start >= snippet.start && mark.end <= snippet.end;
        let words = join(marks.iter().filter(inside));
        chosen.push(Highlight { snippet, words });
    }
    chosen.sort_by_key(|highlight| highlight.snippet.start);
    chosen
}

/// Marks of the best window: most new words, then most words, then most marks.
fn best(marks: &[Mark], covered: &[bool]) -> Option<Range<usize>> {
    let mut within: VecDeque<&Mark> = VecDeque::new();
    let mut counts = vec![0_u32; covered.len()];
    let (mut fresh, mut distinct) = (0_u32, 0_u32);
    let mut best: Option<((u32, u32, usize), Range<usize>)> = None;
    let is_fresh = |word: usize| u32::from(covered.get(word) == Some(&false));
    for (nth, mark) in marks.iter().enumerate() {
        within.push_back(mark);
        if let Some(count) = counts.get_mut(mark.word) {
            *count += 1;
            distinct += u32::from(*count == 1);
            fresh += u32::from(*count == 1) * is_fresh(mark.word);
        }
        while let Some(first) = within.front().filter(|first| mark.end - first.start > MAX_LENGTH && within.len() > 1) {
            if let Some(count) = counts.get_mut(first.word) {
                *count -= 1;
                distinct -= u32::from(*count == 0);
                fresh -= u32::from(*count == 0) * is_fresh(first.word);
            }
            within.pop_front();
        }
        let worth = (fresh, distinct, within.len());
        // A snippet without new words adds nothing.
        if fresh > 0 && best.as_ref().is_none_or(|(other, _)| worth > *other) {
            best = Some((worth, nth + 1 - within.len()..nth + 1));
        }
    }
    best.map(|(_, range)| range)
}

/// Extends marks to a snippet, evenly on both sides, without overlapping others.
fn widen(value: &str, marks: &[Mark], others: &[Highlight]) -> Range<usize> {
    let start = marks.first().map_or(0, |mark| mark.start);
    let end = marks.iter().map(|mark| mark.end).max().unwrap_or(start);
    let low = others.iter().map(|other| other.snippet.end).filter(|end| *end <= start).max().unwrap_or(0);
    let high =
        others.iter().map(|other| other.snippet.start).filter(|first| *first >= end).min().unwrap_or(value.len());
    let core = value.get(start..end).unwrap_or_default();
    // One word may be longer than a snippet.
    if let Some((cut, _)) = core.char_indices().nth(MAX_LENGTH) {
        return start..start + cut;
    }
    let available = MAX_LENGTH - core.chars().count();
    let before = value.get(low..start).unwrap_or_default();
    let after = value.get(end..high).unwrap_or_default();
    let ahead = after.chars().take(available).count();
    let behind = before.chars().rev().take((available / 2).max(available - ahead)).count();
    let first = back(before, behind, low);
    let last = end + forth(after, available - behind);
    first..last
}

/// Start of a snippet with `available` characters before its first mark: at the beginning of a word if possible.
fn back(before: &str, available: usize, low: usize) -> usize {
    let Some((at, _)) = before.char_indices().rev().take(available).last() else { return low + before.len() };
    let taken = before.get(at..).unwrap_or_default();
    let starts = at == 0 || before.get(..at).is_some_and(|rest| rest.ends_with(char::is_whitespace));
    match taken.char_indices().find(|(_, c)| c.is_whitespace()) {
        Some((space, c)) if !starts => low + at + space + c.len_utf8(),
        _ => low + at,
    }
}

/// Bytes after the last mark, for at most `available` characters.
fn forth(after: &str, available: usize) -> usize {
    let Some((cut, next)) = after.char_indices().nth(available) else { return after.len() };
    let taken = after.get(..cut).unwrap_or_default();
    match taken.char_indices().rev().find(|(_, c)| c.is_whitespace()) {
        Some((space, _)) if !next.is_whitespace() => space,
        _ => cut,
    }
}

/// Merges overlapping marks.
fn join<'a>(marks: impl Iterator<Item = &'a Mark>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for mark in marks {
        match joined.last_mut() {
            Some(last) if mark.start < last.end => last.end = last.end.max(mark.end),
            _ => joined.push(mark.start..mark.end),
        }
    }
    joined
}
