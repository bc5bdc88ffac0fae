//! The notation of patterns: words in a row; `a|b*` alternatives and stems;
//! `~n` up to n words between; `<>n` the same in any order. Words that are
//! joined without `<>` form a segment.

use super::normal::words;
use super::trie::ElementId;

/// How a word of a pattern follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// After it, with at most so many words between.
    InOrder,
    /// Before or after the segment, with at most so many words between: a new segment begins.
    AnyOrder,
}

/// One word of a pattern; the join of the first means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub element: ElementId,
    pub gap: u8,
    pub join: Join,
}

/// Appends the steps of a pattern; `element` interns a set of alternatives.
pub fn parse(
    text: &str,
    steps: &mut Vec<Step>,
    mut element: impl FnMut(&str) -> Result<ElementId, String>,
) -> Result<(), String> {
    let begun = steps.len();
    let (mut join, mut gap) = (Join::InOrder, 0);
    let number = |n: &str| n.parse::<u8>().map_err(|_| format!("{text}: a number after ~ or <>"));
    for part in text.split_whitespace() {
        if let Some(n) = part.strip_prefix("<>") {
            (join, gap) = (Join::AnyOrder, number(n)?);
        } else if let Some(n) = part.strip_prefix('~') {
            (join, gap) = (Join::InOrder, number(n)?);
        } else {
            steps.push(Step { element: element(part)?, gap, join });
            (join, gap) = (Join::InOrder, 0);
        }
        if steps.len() == begun {
            return Err(format!("{text}: begins with a gap"));
        }
    }
    if steps.len() == begun { Err("an empty pattern".to_owned()) } else { Ok(()) }
}

/// The most patterns that one text may stand for.
const MOST_EXPANDED: usize = 400;

/// Writes a pattern of another language in normalised words. An alternative
/// that is several words (Chinese characters are words) makes a pattern of
/// its own; `umlauts` adds the spellings ae, oe, ue.
pub fn expand(text: &str, umlauts: Umlauts) -> Result<Vec<String>, String> {
    let mut all = vec![String::new()];
    for part in text.split_whitespace() {
        let choices = if part.starts_with('~') || part.starts_with("<>") {
            vec![part.to_owned()]
        } else {
            alternatives(part, umlauts)?
        };
        all = all.iter().flat_map(|head| choices.iter().map(move |c| [head, " ", c].concat())).collect();
        if all.len() > MOST_EXPANDED {
            return Err(format!("{text}: stands for more than {MOST_EXPANDED} patterns"));
        }
    }
    Ok(all)
}

/// How a language may write its umlauts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Umlauts {
    Folded,
    FoldedOrSpelt,
}

fn alternatives(part: &str, umlauts: Umlauts) -> Result<Vec<String>, String> {
    let (mut single, mut rows) = (Vec::new(), Vec::new());
    for alternative in part.split('|') {
        let spelt = (umlauts == Umlauts::FoldedOrSpelt && !alternative.is_ascii())
            .then(|| alternative.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue"));
        for form in std::iter::once(alternative).chain(spelt.as_deref()) {
            let mut row = words(form.trim_end_matches('*'));
            let Some(last) = row.last_mut() else { return Err(format!("{part}: an empty alternative")) };
            if form.ends_with('*') {
                last.push('*');
            }
            match <[String; 1]>::try_from(row) {
                Ok([word]) if single.contains(&word) => {}
                Ok([word]) => single.push(word),
                Err(row) => rows.push(row.join(" ")),
            }
        }
    }
    if !single.is_empty() {
        rows.push(single.join("|"));
    }
    Ok(rows)
}
