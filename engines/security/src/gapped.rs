//! Patterns with gaps, such as `account[^.!?]{0,60}blocked`, matched piece by piece.
//!
//! An automaton of the whole pattern counts the characters since each place where the piece before the gap was found: in
//! a text full of such pieces nearly every character needs a state that no other had. Each piece alone is a small automaton.

use regex::Regex;

/// Bytes beyond a gap in which the piece after it must end.
const LONGEST_PIECE: usize = 200;

/// Alternatives, each with gaps or without.
#[derive(Debug)]
pub struct Gapped {
    /// All alternatives without a gap.
    plain: Option<Regex>,
    gapped: Vec<Alternative>,
}

#[derive(Debug)]
struct Alternative {
    first: Regex,
    rest: Vec<(Gap, Regex)>,
}

/// At most so many characters, none of them one of these.
#[derive(Debug, PartialEq, Eq)]
struct Gap {
    stops: String,
    most: usize,
}

impl Gapped {
    /// Compiles a pattern. Its gaps are the parts `.{0,N}` and `[^…]{0,N}` outside of groups.
    pub fn new(pattern: &str) -> Option<Self> {
        let (mut plain, mut gapped) = (Vec::new(), Vec::new());
        for alternative in alternatives(pattern) {
            let (first, rest) = pieces(alternative);
            if rest.is_empty() {
                plain.push(first);
            } else {
                let compiled = rest.into_iter().map(|(gap, piece)| Some((gap, Regex::new(piece).ok()?)));
                gapped.push(Alternative { first: Regex::new(first).ok()?, rest: compiled.collect::<Option<_>>()? });
            }
        }
        let plain = if plain.is_empty() { None } else { Some(Regex::new(&plain.join("|")).ok()?) };
        Some(Self { plain, gapped })
    }

    /// Whether `holds` for the start of a match.
    pub fn any(&self, text: &str, holds: impl Fn(usize) -> bool) -> bool {
        let plain = || self.plain.iter().flat_map(|plain| plain.find_iter(text)).any(|found| holds(found.start()));
        let gapped = |alternative: &Alternative| {
            let mut found = alternative.first.find_iter(text);
            found.any(|found| follows(text, found.end(), &alternative.rest) && holds(found.start()))
        };
        plain() || self.gapped.iter().any(gapped)
    }
}

/// Whether the pieces follow after this place, each behind its gap.
fn follows(text: &str, from: usize, rest: &[(Gap, Regex)]) -> bool {
    let [(gap, piece), rest @ ..] = rest else { return true };
    let last = gap.end(text, from);
    let window = text.get(..text.ceil_char_boundary(last.saturating_add(LONGEST_PIECE))).unwrap_or(text);
    let mut at = from;
    while let Some(found) = piece.find_at(window, at).filter(|found| found.start() <= last) {
        if follows(text, found.end(), rest) {
            return true;
        }
        at = text.ceil_char_boundary(found.start() + 1);
    }
    false
}

impl Gap {
    /// Returns the last place at which the next piece may begin.
    fn end(&self, text: &str, from: usize) -> usize {
        let after = text.get(from..).unwrap_or_default();
        let mut gap = after.char_indices().take(self.most).take_while(|(_, c)| !self.stops.contains(*c));
        gap.by_ref().last().map_or(from, |(at, c)| from + at + c.len_utf8())
    }
}

/// Splits a pattern at the bars outside of groups and classes.
fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, c) in outside(pattern) {
        if c == '|' {
            found.push(pattern.get(from..at).unwrap_or_default());
            from = at + 1;
        }
    }
    found.push(pattern.get(from..).unwrap_or_default());
    found
}

/// Splits an alternative at its gaps. A gap at the end is left out: it may be empty.
fn pieces(alternative: &str) -> (&str, Vec<(Gap, &str)>) {
    let mut gaps = Vec::new();
    for (at, c) in outside(alternative) {
        let after = alternative.get(at..).unwrap_or_default();
        let class = match c {
            '.' => Some(("\n", 1)),
            '[' => after.strip_prefix("[^").and_then(|class| Some((class.split_once(']')?.0, class.find(']')? + 3))),
            _ => None,
        };
        let gap = class.and_then(|(stops, length)| {
            let (most, behind) = after.get(length..)?.strip_prefix("{0,")?.split_once('}')?;
            let most = most.parse().ok().filter(|_| !stops.contains('\\'))?;
            Some((at, alternative.len() - behind.len(), Gap { stops: stops.to_owned(), most }))
        });
        gaps.extend(gap);
    }
    let first = alternative.get(..gaps.first().map_or(alternative.len(), |(at, ..)| *at)).unwrap_or_default();
    let ends: Vec<usize> = gaps.iter().skip(1).map(|(at, ..)| *at).chain([alternative.len()]).collect();
    let rest =
        gaps.into_iter().zip(ends).map(|((_, from, gap), end)| (gap, alternative.get(from..end).unwrap_or_default()));
    (first, rest.filter(|(_, piece)| !piece.is_empty()).collect())
}

/// The characters of a pattern outside of groups, classes and escapes; of each class its opening bracket.
fn outside(pattern: &str) -> Vec<(usize, char)> {
    let (mut found, mut depth, mut in_class, mut escaped) = (Vec::new(), 0_usize, false, false);
    for (at, c) in pattern.char_indices() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '\\' => escaped = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => found.push((at, c)),
            _ => {}
        }
        in_class |= c == '[';
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATTERN: &str = r"(?-u:\b)(?:ab|b|a b)(?-u:\b)[^.!?]{0,6}(?-u:\b)(?:c|ca|[|.]x)|a.{0,3}b[^!]{0,4}c[^.]{0,5}|(?:x[^.]{0,2}y)|é[^.!?]{0,3}ü";

    #[test]
    fn a_pattern_is_split_at_bars_and_gaps_outside_of_groups() {
        let found: Vec<(&str, usize)> =
            alternatives(PATTERN).into_iter().map(pieces).map(|(first, rest)| (first, rest.len())).collect();
        let expected = [(r"(?-u:\b)(?:ab|b|a b)(?-u:\b)", 1), ("a", 2), (r"(?:x[^.]{0,2}y)", 0), ("é", 1)];
        assert_eq!(found, expected);
        let (_, rest) = pieces(r"a[^.!?]{0,60}\b[^.]{2}b{0,3}");
        assert_eq!(rest, [(Gap { stops: ".!?".to_owned(), most: 60 }, r"\b[^.]{2}b{0,3}")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        /// The package's own automaton of the whole pattern decides the same.
        #[test]
        fn a_pattern_is_found_where_the_whole_is(text in "[abcxyéü .!?\n]{0,40}") {
            let (whole, gapped) = (Regex::new(PATTERN).unwrap(), Gapped::new(PATTERN).unwrap());
            prop_assert_eq!(gapped.any(&text, |_| true), whole.is_match(&text));
            if let Some(first) = whole.find(&text) {
                prop_assert!(gapped.any(&text, |start| start == first.start()));
            }
        }
    }
}
