//! The notation of patterns: words in a row; `a|b*` alternatives and stems;
//! `~n` up to n words between; `<>n` the same in any order. Words that are
//! joined without `<>` form a segment.

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
