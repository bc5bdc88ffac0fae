//! Tags around words of a translation, by the alignment of words.

use std::ops::Range;

use super::inline::{Inline, MARK};

/// A delimiter and the byte of the translation before which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) at: usize,
    pub(super) text: String,
}

struct Pair<'a> {
    open: &'a str,
    close: &'a str,
    /// Words of the source.
    words: Range<usize>,
    /// Position of the opening delimiter in the order of all, by which pairs nest.
    order: (usize, usize),
    /// Punctuation of the first and the last word is outside.
    trims: (bool, bool),
}

/// Places the tags of a segment in its translation, in order of position; `None` where the alignment does not say.
/// `source`
/// is what the engine was sent, whose words are those of the plain text.
pub(super) fn place(core: &Inline, output: &str, alignment: &[Option<usize>]) -> Option<Vec<Placed>> {
    let words = words(output);
    if words.len() != alignment.len() {
        return None;
    }
    let pairs = pairs(core)?;
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (index, pair) in pairs.iter().enumerate() {
        let outer = pairs.iter().zip(&spans).take(index).filter(|(it, _)| it.order.1 > pair.order.1);
        let window = outer.map(|(_, span)| span.clone()).next_back().unwrap_or(0..words.len());
        let siblings = pairs.iter().zip(&spans).take(index).filter(|(it, _)| it.order.1 < pair.order.1);
        let taken: Vec<Range<usize>> = siblings.map(|(_, span)| span.clone()).collect();
        spans.push(best_span(alignment, window, &pair.words, &taken)?);
    }
    insertions(&pairs, &spans, &words, output)
}

fn words(text: &str) -> Vec<Range<usize>> {
    let (mut words, mut start) = (Vec::new(), None);
    for (at, character) in text.char_indices() {
        match (character.is_whitespace(), start) {
            (true, Some(from)) => {
                words.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    words.extend(start.map(|from| from..text.len()));
    words
}

/// Pairs in the order of their opening delimiters, each before those inside it. `None` for one inside a word.
fn pairs(core: &Inline) -> Option<Vec<Pair<'_>>> {
    let words = words(&core.plain);
    let is_word = |it: char| it.is_alphanumeric() || it == MARK;
    let mut pairs = Vec::new();
    for (first, open) in core.tags.iter().enumerate().filter(|(_, tag)| tag.opens) {
        let (last, close) = core.tags.iter().enumerate().find(|(_, tag)| !tag.opens && tag.pair == open.pair)?;
        let start = words.iter().position(|word| word.end > open.at)?;
        let end = words.iter().rposition(|word| word.start < close.at)?;
        let (from, to) = (words.get(start)?, words.get(end)?);
        let cuts = |range: Range<usize>| core.plain.get(range).is_some_and(|it| it.contains(is_word));
        // Only punctuation may be between a delimiter and the edge of its word.
        if start > end || cuts(from.start..open.at.max(from.start)) || cuts(close.at.min(to.end)..to.end) {
            return None;
        }
        pairs.push(Pair {
            open: &open.text,
            close: &close.text,
            words: start..end + 1,
            order: (first, last),
            trims: (open.at > from.start, close.at < to.end),
        });
    }
    Some(pairs)
}

/// The run of words in a window in which most words stand for the source words and fewest do not.
fn best_span(
    alignment: &[Option<usize>],
    window: Range<usize>,
    source: &Range<usize>,
    taken: &[Range<usize>],
) -> Option<Range<usize>> {
    let mut best: Option<(i32, Range<usize>)> = None;
    let (mut start, mut sum) = (window.start, 0_i32);
    for word in window {
        if taken.iter().any(|range| range.contains(&word)) {
            (start, sum) = (word + 1, 0);
            continue;
        }
        let inside = alignment.get(word).copied().flatten().is_some_and(|it| source.contains(&it));
        sum += if inside { 1 } else { -1 };
        if sum <= 0 {
            (start, sum) = (word + 1, 0);
        } else if best.as_ref().is_none_or(|(most, _)| sum > *most) {
            best = Some((sum, start..word + 1));
        }
    }
    best.map(|(_, range)| range)
}

fn insertions(pairs: &[Pair<'_>], spans: &[Range<usize>], words: &[Range<usize>], output: &str) -> Option<Vec<Placed>> {
    let mut placed: Vec<(usize, Rank, &str)> = Vec::new();
    for (pair, span) in pairs.iter().zip(spans) {
        let (first, last) = (words.get(span.start)?, words.get(span.end.checked_sub(1)?)?);
        let (mut start, mut end) = (first.start, last.end);
        if pair.trims.0 {
            let text = output.get(first.clone())?;
            start += text.find(char::is_alphanumeric)?;
        }
        if pair.trims.1 {
            let text = output.get(last.clone())?;
            let (at, character) = text.char_indices().rfind(|(_, it)| it.is_alphanumeric())?;
            end = last.start + at + character.len_utf8();
        }
        if start >= end {
            return None;
        }
        placed.push((start, Rank::Open(pair.order.0), pair.open));
        placed.push((end, Rank::Close(pair.order.1), pair.close));
    }
    // At one place those that end come first, inner before outer, then those that begin, outer before inner.
    placed.sort();
    let mut depth: Vec<&str> = Vec::new();
    for (_, rank, text) in &placed {
        match rank {
            Rank::Open(order) => depth.push(pairs.iter().find(|pair| pair.order.0 == *order)?.close),
            Rank::Close(_) => {
                if depth.pop() != Some(*text) {
                    return None;
                }
            }
        }
    }
    Some(placed.into_iter().map(|(at, _, text)| Placed { at, text: text.to_owned() }).collect())
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Close(usize),
    Open(usize),
}

#[cfg(test)]
mod tests {
    use super::super::inline::Tag;
    use super::*;

    fn core(plain: &str, tags: &[(usize, usize, bool, &str)]) -> Inline {
        let tag = |(at, pair, opens, text): &(usize, usize, bool, &str)| Tag {
            at: *at,
            pair: *pair,
            opens: *opens,
            text: (*text).to_owned(),
        };
        Inline { plain: plain.to_owned(), tags: tags.iter().map(tag).collect(), ..Inline::default() }
    }

    fn shown(core: &Inline, output: &str, alignment: &[usize]) -> Option<String> {
        let alignment: Vec<Option<usize>> = alignment.iter().copied().map(Some).collect();
        let mut text = output.to_owned();
        for placed in place(core, output, &alignment)?.iter().rev() {
            text.insert_str(placed.at, &placed.text);
        }
        Some(text)
    }

    #[test]
    fn a_tag_moves_with_its_word_and_leaves_punctuation_outside() {
        let core = core("The red house, now", &[(4, 0, true, "<b>"), (7, 0, false, "</b>")]);
        assert_eq!(shown(&core, "A casa vermelha, agora", &[0, 2, 1, 3]).unwrap(), "A casa <b>vermelha,</b> agora");
        let core = self::core("The red house, now", &[(8, 0, true, "<b>"), (13, 0, false, "</b>")]);
        assert_eq!(shown(&core, "A casa, agora", &[0, 2, 3]).unwrap(), "A <b>casa</b>, agora");
    }

    #[test]
    fn tags_inside_tags_stay_inside() {
        let tags = [(0, 0, true, "<a>"), (4, 1, true, "<b>"), (7, 1, false, "</b>"), (13, 0, false, "</a>")];
        let core = core("The red house stands", &tags);
        assert_eq!(shown(&core, "A casa vermelha fica", &[0, 2, 1, 3]).unwrap(), "<a>A casa <b>vermelha</b></a> fica");
    }

    #[test]
    fn without_an_aligned_word_nothing_is_placed() {
        let core = core("The red house", &[(4, 0, true, "<b>"), (7, 0, false, "</b>")]);
        assert_eq!(shown(&core, "A casa", &[0, 2]), None);
        assert_eq!(shown(&core, "A casa", &[0]), None);
    }

    #[test]
    fn a_tag_inside_a_word_is_not_placed() {
        let core = core("unbelievable", &[(2, 0, true, "<b>"), (9, 0, false, "</b>")]);
        assert_eq!(shown(&core, "inacreditável", &[0]), None);
    }
}
