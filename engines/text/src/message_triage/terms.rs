//! The terms of `data/triage_terms.tsv` and where they occur in a message.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use muster_kernel_words::tokens::{fold, words};

/// Words between a negation and what it denies, at most.
const REACH: usize = 3;
/// After these a negation says that something is lacking, which is a need.
const LACKING: [&str; 16] = [
    "any", "eat", "eaten", "enough", "find", "get", "got", "had", "has", "have", "haben", "mehr", "plus", "reach",
    "tenemos", "tiene",
];

/// A term of the list.
pub(super) struct Term {
    pub(super) kind: &'static str,
    pub(super) weight: f64,
    language: &'static str,
}

/// All terms with the automaton that finds them; pattern n is that of term n.
struct Terms {
    terms: Vec<Term>,
    automaton: Option<AhoCorasick>,
    languages: Vec<&'static str>,
}

static TERMS: LazyLock<Terms> = LazyLock::new(|| {
    let (mut terms, mut patterns, mut languages) = (Vec::new(), Vec::new(), Vec::new());
    for line in include_str!("../../data/triage_terms.tsv").lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t');
        let (Some(kind), Some(weight), Some(language), Some(phrases)) =
            (cells.next(), cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        if !languages.contains(&language) {
            languages.push(language);
        }
        for phrase in phrases.split('|') {
            let open = phrase.ends_with('*');
            let words = Words::of(phrase);
            if !words.places.is_empty() {
                let text = if open { words.joined.trim_end() } else { &words.joined };
                patterns.push(text.to_owned());
                terms.push(Term { kind, weight: weight.parse().unwrap_or_default(), language });
            }
        }
    }
    languages.retain(|language| *language != "*");
    Terms { terms, automaton: AhoCorasick::new(patterns).ok(), languages }
});

/// The words of a text, folded and joined by single spaces with a space at each end; a full stop stands where
/// punctuation divides them, so that no term goes on over it.
pub(super) struct Words {
    pub(super) joined: String,
    /// Of each word: its begin in `joined`, its range in the text, and the number of its clause.
    places: Vec<(usize, std::ops::Range<usize>, usize)>,
}

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let (mut joined, mut places, mut clause) = (" ".to_owned(), Vec::new(), 0);
        let mut end = 0;
        for (at, word) in words(text) {
            let between = text.get(end..at).unwrap_or_default();
            if end > 0 && between.contains(['.', '!', '?', ';', ':', ',', '\n', '(', ')', '。', '¿', '¡']) {
                joined.push_str(". ");
                clause += 1;
            }
            end = at + word.len();
            places.push((joined.len(), at..end, clause));
            joined.push_str(&fold(word).replace('’', "'"));
            joined.push(' ');
        }
        Self { joined, places }
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.joined.split([' ', '.']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// The number of the word that holds this byte of `joined`.
    fn word(&self, byte: usize) -> Option<usize> {
        self.places.partition_point(|(begin, ..)| *begin <= byte).checked_sub(1)
    }
}

/// A term in a message.
pub(super) struct Hit {
    pub(super) term: &'static Term,
    /// Number of the term in the list: a repetition has the same.
    pub(super) number: usize,
    /// First and last word.
    first: usize,
    last: usize,
    /// Bytes of the message.
    pub(super) range: std::ops::Range<usize>,
}

/// Whether there are terms in a language.
pub(super) fn has(language: &str) -> bool {
    TERMS.languages.contains(&language)
}

/// Returns the terms of a message in order, without those that are negated and those that are part of a longer one of
/// their kind. With a language only its terms.
pub(super) fn find(words: &Words, language: Option<&str>) -> Vec<Hit> {
    let Some(automaton) = &TERMS.automaton else { return Vec::new() };
    let mut hits = Vec::new();
    for found in automaton.find_overlapping_iter(&words.joined) {
        let number = found.pattern().as_usize();
        let Some(term) = TERMS.terms.get(number) else { continue };
        if language.is_some_and(|language| term.language != "*" && term.language != language) {
            continue;
        }
        // A term begins with the space before its first word; a closed one ends with the space after its last.
        let (Some(first), Some(last)) = (words.word(found.start() + 1), words.word(found.end().saturating_sub(2)))
        else {
            continue;
        };
        let (Some((_, begin, _)), Some((_, end, _))) = (words.places.get(first), words.places.get(last)) else {
            continue;
        };
        hits.push(Hit { term, number, first, last, range: begin.start..end.end });
    }
    let negated: Vec<(usize, usize)> = hits
        .iter()
        .filter(|hit| hit.term.kind == "negated" && denies(words, hit))
        .map(|hit| (hit.first, hit.last))
        .collect();
    let clause = |word: usize| words.places.get(word).map(|(_, _, clause)| *clause);
    hits.retain(|hit| {
        hit.term.kind != "negated"
            && !negated.iter().any(|(first, last)| {
                hit.first > *first && hit.first <= last + REACH && clause(hit.first) == clause(*first)
            })
    });
    without_parts(hits)
}

/// Whether a negation denies what follows, rather than says that it is lacking.
fn denies(words: &Words, hit: &Hit) -> bool {
    let next = words.places.get(hit.last + 1).and_then(|(begin, ..)| words.joined.get(*begin..));
    let next = next.and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    !LACKING.contains(&next)
}

/// Leaves out terms within a longer one of the same kind: "water" within "drinking water" is counted once.
fn without_parts(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by(|a, b| a.first.cmp(&b.first).then(b.last.cmp(&a.last)).then(b.term.weight.total_cmp(&a.term.weight)));
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits {
        let within = |other: &Hit| other.term.kind == hit.term.kind && other.last >= hit.last;
        // Terms have few words: one that holds this began shortly before.
        if !kept.iter().rev().take(24).any(within) {
            kept.push(hit);
        }
    }
    kept
}

#[cfg(test)]
#[test]
fn lists_are_read() {
    assert!(LACKING.contains(&"have") && TERMS.terms.len() > 500 && TERMS.automaton.is_some());
    assert!(has("de") && !has("*") && !has("xx"));
}
