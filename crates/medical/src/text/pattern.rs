//! The notation of patterns: words in a row; `a|b*` alternatives and stems;
//! `~n` up to n words between; `<>n` the same in any order. Words that are
//! joined without `<>` form a segment.

use super::normal::words;
use super::trie::ElementId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub first: ElementId,
    /// The most words between, and the element that follows.
    pub rest: Vec<(u8, ElementId)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    pub first: Segment,
    /// The most words between in any order, and the segment joined.
    pub joined: Vec<(u8, Segment)>,
}

impl Pattern {
    pub fn elements(&self) -> impl Iterator<Item = ElementId> + '_ {
        std::iter::once(&self.first)
            .chain(self.joined.iter().map(|(_, s)| s))
            .flat_map(|s| std::iter::once(s.first).chain(s.rest.iter().map(|&(_, e)| e)))
    }
}

/// Parses a pattern; `element` interns a set of alternatives.
pub fn parse(text: &str, mut element: impl FnMut(&str) -> Result<ElementId, String>) -> Result<Pattern, String> {
    enum Join {
        Start,
        InOrder(u8),
        AnyOrder(u8),
    }
    let mut segments: Vec<(u8, Segment)> = Vec::new();
    let mut join = Join::Start;
    let gap = |n: &str| n.parse::<u8>().map_err(|_| format!("{text}: a number after ~ or <>"));
    for part in text.split_whitespace() {
        if let Some(n) = part.strip_prefix("<>") {
            join = Join::AnyOrder(gap(n)?);
        } else if let Some(n) = part.strip_prefix('~') {
            join = Join::InOrder(gap(n)?);
        } else {
            let id = element(part)?;
            match std::mem::replace(&mut join, Join::InOrder(0)) {
                Join::Start => segments.push((0, Segment { first: id, rest: Vec::new() })),
                Join::AnyOrder(n) => segments.push((n, Segment { first: id, rest: Vec::new() })),
                Join::InOrder(n) => match segments.last_mut() {
                    Some((_, segment)) => segment.rest.push((n, id)),
                    None => return Err(format!("{text}: begins with a gap")),
                },
            }
        }
    }
    let mut segments = segments.into_iter();
    let (_, first) = segments.next().ok_or("an empty pattern")?;
    Ok(Pattern { first, joined: segments.collect() })
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
        all = all.iter().flat_map(|head| choices.iter().map(move |c| format!("{head} {c}"))).collect();
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
        let spelt = alternative.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue");
        let both = std::iter::once(alternative).chain((umlauts == Umlauts::FoldedOrSpelt).then_some(spelt.as_str()));
        for form in both {
            let star = if form.ends_with('*') { "*" } else { "" };
            let row = words(form.trim_end_matches('*'));
            match row.as_slice() {
                [] => return Err(format!("{part}: an empty alternative")),
                [word] if !single.contains(&format!("{word}{star}")) => single.push(format!("{word}{star}")),
                [_] => {}
                _ => rows.push(format!("{}{star}", row.join(" "))),
            }
        }
    }
    if !single.is_empty() {
        rows.push(single.join("|"));
    }
    Ok(rows)
}
