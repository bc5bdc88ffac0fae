//! Finds the patterns of one language in a sentence. A pattern is tried only
//! where its rarest element occurs; no regular expressions, no backtracking,
//! so the cost grows with the text and not with its square.

use super::normal::Sentence;
use super::pattern::{Join, Step, parse};
use super::spelling::{Deletion, Spelling, deletions_of, is_corrected};
use super::trie::{ElementId, Entry, Trie};
use std::collections::{HashMap, HashSet};

/// A concept's place in the sentence, by words, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    pub concept: u16,
    pub first: usize,
    pub last: usize,
}

/// A misspelt word of the sentence, and the word that it was read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    pub at: usize,
    pub meant: String,
}

/// What a matcher finds in a sentence.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// By place.
    pub matches: Vec<Match>,
    pub corrections: Vec<Correction>,
}

/// Whether words one edit away from a known one are read as it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misspelt {
    Read,
    NotRead,
}

#[derive(Debug, Clone)]
pub struct Matcher {
    trie: Trie,
    spelling: Spelling,
    /// Sorted by their key, the rarest element of each.
    patterns: Vec<Pattern>,
    /// The first pattern of each key; one more than there are elements.
    by_key: Vec<u32>,
    /// The words of all patterns.
    steps: Vec<Step>,
    /// Denials and contrasts of the language, that a pattern may not leap
    /// over; English has its own.
    blockers: Option<HashSet<String>>,
}

#[derive(Debug, Clone, Copy)]
struct Pattern {
    concept: u16,
    length: u16,
    /// The first word in `Matcher::steps`.
    first: u32,
}

/// Reads patterns until all of a language are there.
#[derive(Debug, Default)]
pub struct MatcherBuilder {
    elements: HashMap<String, ElementId>,
    words: Vec<Entry>,
    patterns: Vec<Pattern>,
    steps: Vec<Step>,
    blockers: Option<HashSet<String>>,
    /// A word one edit away may be another word of the language: its denial.
    exact: bool,
}

/// Reused between sentences.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A bit for each element that a word of the sentence satisfies.
    present: Vec<u64>,
    /// The words of each such element, sorted by both.
    positions: Vec<(ElementId, u32)>,
    /// How many words up to here end a thought ("but", "no").
    blockers: Vec<u32>,
    /// The readings of each word, if it is misspelt, and where those of the next begin.
    deletions: Vec<Deletion>,
    deletion_ends: Vec<usize>,
}

/// The most matches of a concept in one sentence that are kept.
const MOST_MATCHES: usize = 24;

/// The most words that are read of one sentence.
const MOST_WORDS: usize = 4_000;

#[derive(Debug, Clone, Copy)]
struct Span {
    first: usize,
    last: usize,
}

impl MatcherBuilder {
    /// A matcher of a language other than English.
    pub fn of_language(blockers: HashSet<String>, spelling: Misspelt) -> Self {
        Self { blockers: Some(blockers), exact: spelling == Misspelt::NotRead, ..Self::default() }
    }

    pub fn add(&mut self, concept: u16, text: &str) -> Result<(), String> {
        let (elements, words) = (&mut self.elements, &mut self.words);
        let first = self.steps.len();
        parse(text, &mut self.steps, |part| {
            if let Some(&id) = elements.get(part) {
                return Ok(id);
            }
            let id = ElementId::try_from(elements.len()).map_err(|_| "too many elements".to_owned())?;
            elements.insert(part.to_owned(), id);
            for alternative in part.split('|') {
                let entry = Entry::new(alternative, id);
                if entry.word.is_empty() || entry.word.contains('*') {
                    return Err(format!("{part}: a star stands only at the end of a stem"));
                }
                words.push(entry);
            }
            Ok(id)
        })?;
        let length = u16::try_from(self.steps.len() - first).map_err(|_| "too long a pattern".to_owned())?;
        let first = u32::try_from(first).map_err(|_| "too many patterns".to_owned())?;
        self.patterns.push(Pattern { concept, length, first });
        Ok(())
    }

    /// Chooses each pattern's key: the element that the fewest patterns use.
    pub fn finish(mut self) -> Matcher {
        let mut uses = vec![0u32; self.elements.len()];
        for step in &self.steps {
            if let Some(n) = uses.get_mut(usize::from(step.element)) {
                *n += 1;
            }
        }
        let steps = &self.steps;
        let key = |pattern: &Pattern| {
            let elements = pattern.steps(steps).iter().map(|step| step.element);
            elements.min_by_key(|&e| uses.get(usize::from(e)).copied().unwrap_or(0)).unwrap_or_default()
        };
        self.patterns.sort_by_cached_key(key);
        let start = |element: usize| self.patterns.partition_point(|pattern| usize::from(key(pattern)) < element);
        let by_key = (0..=self.elements.len()).map(|e| u32::try_from(start(e)).unwrap_or(u32::MAX)).collect();
        self.patterns.shrink_to_fit();
        let corrected = self.words.iter().filter(|entry| !self.exact && is_corrected(&entry.word, entry.extent));
        let spelling = Spelling::new(corrected.map(|entry| entry.word.as_str()));
        self.steps.shrink_to_fit();
        let (patterns, steps) = (self.patterns, self.steps);
        Matcher { trie: Trie::new(self.words), spelling, patterns, by_key, steps, blockers: self.blockers }
    }
}

impl Pattern {
    fn steps<'a>(&self, steps: &'a [Step]) -> &'a [Step] {
        let first = self.first as usize;
        steps.get(first..first + usize::from(self.length)).unwrap_or(&[])
    }
}

impl Matcher {
    /// What is found in a sentence, which the scratch has begun.
    pub fn find(&self, sentence: &Sentence, scratch: &mut Scratch) -> Found {
        let corrections = self.locate(sentence, scratch);
        let mut matches = Vec::new();
        for positions in scratch.positions.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(key, _)) = positions.first() else { continue };
            for pattern in self.patterns_of(key) {
                let steps = pattern.steps(&self.steps);
                if steps.iter().all(|step| scratch.is_present(step.element)) {
                    let spans = pattern_spans(steps, scratch).into_iter();
                    matches.extend(spans.map(|s| Match { concept: pattern.concept, first: s.first, last: s.last }));
                }
            }
        }
        matches.sort_by_key(|m| (m.first, m.last, m.concept));
        matches.dedup();
        Found { matches, corrections }
    }

    fn patterns_of(&self, key: ElementId) -> &[Pattern] {
        let place = |key: usize| self.by_key.get(key).map_or(0, |&at| at as usize);
        let key = usize::from(key);
        self.patterns.get(place(key)..place(key + 1)).unwrap_or(&[])
    }

    /// Notes which words satisfy which elements. Returns the misspelt ones among them.
    fn locate(&self, sentence: &Sentence, scratch: &mut Scratch) -> Vec<Correction> {
        let mut corrections = Vec::new();
        scratch.reset(self.by_key.len());
        let mut blocked = 0;
        for (at, token) in sentence.tokens.iter().take(MOST_WORDS).enumerate() {
            let Ok(position) = u32::try_from(at) else { break };
            let blocker = self.blockers.as_ref().map_or_else(|| blocks(&token.word), |set| set.contains(&token.word));
            blocked += u32::from(blocker);
            scratch.blockers.push(blocked);
            let before = scratch.positions.len();
            for word in std::iter::once(&token.word).chain(&token.also) {
                self.trie.walk(word, |e| scratch.note(e, position));
            }
            if scratch.positions.len() == before
                && let Some(meant) = self.spelling.correct(&token.word, scratch.deletions(at))
            {
                self.trie.walk(meant, |e| scratch.note(e, position));
                corrections.push(Correction { at, meant: meant.to_owned() });
            }
        }
        scratch.positions.sort_unstable();
        scratch.positions.dedup();
        corrections
    }
}

/// Words that a pattern may not leap over: a denial or a contrast parts
/// "swelling, no calf pain".
fn blocks(word: &str) -> bool {
    matches!(
        word,
        "no" | "not"
            | "without"
            | "denies"
            | "denied"
            | "never"
            | "nor"
            | "neither"
            | "but"
            | "however"
            | "except"
            | "although"
    )
}

impl Scratch {
    /// Notes what does not depend on the language.
    pub fn begin(&mut self, sentence: &Sentence) {
        self.deletions.clear();
        self.deletion_ends.clear();
        for token in sentence.tokens.iter().take(MOST_WORDS) {
            deletions_of(&token.word, &mut self.deletions);
            self.deletion_ends.push(self.deletions.len());
        }
    }

    fn deletions(&self, at: usize) -> &[Deletion] {
        let end = |at: usize| self.deletion_ends.get(at).copied().unwrap_or_default();
        let start = if at == 0 { 0 } else { end(at - 1) };
        self.deletions.get(start..end(at)).unwrap_or(&[])
    }

    fn reset(&mut self, elements: usize) {
        self.present.clear();
        self.present.resize(elements.div_ceil(64), 0);
        self.positions.clear();
        self.blockers.clear();
    }

    fn note(&mut self, element: ElementId, position: u32) {
        if let Some(bits) = self.present.get_mut(usize::from(element) / 64) {
            *bits |= 1 << (element % 64);
        }
        self.positions.push((element, position));
    }

    fn is_present(&self, element: ElementId) -> bool {
        self.present.get(usize::from(element) / 64).is_some_and(|bits| bits >> (element % 64) & 1 == 1)
    }

    fn at(&self, element: ElementId) -> &[(ElementId, u32)] {
        let from = self.positions.partition_point(|&(e, _)| e < element);
        let rest = self.positions.get(from..).unwrap_or(&[]);
        rest.get(..rest.partition_point(|&(e, _)| e == element)).unwrap_or(&[])
    }

    /// Whether a word between two places, both excluded, blocks a match.
    fn blocked(&self, after: usize, before: usize) -> bool {
        let upto = |i: usize| self.blockers.get(i).copied().unwrap_or(0);
        before > after + 1 && upto(before - 1) > upto(after)
    }
}

fn pattern_spans(steps: &[Step], scratch: &Scratch) -> Vec<Span> {
    let mut segments = steps.chunk_by(|_, next| next.join == Join::InOrder);
    let mut spans = segments.next().map_or_else(Vec::new, |first| segment_spans(first, scratch));
    for segment in segments {
        if spans.is_empty() {
            return spans;
        }
        let others = segment_spans(segment, scratch);
        let gap = segment.first().map_or(0, |step| usize::from(step.gap));
        let mut joined = Vec::new();
        for a in &spans {
            if let Some(b) = nearest(*a, &others, gap, scratch) {
                joined.push(Span { first: a.first.min(b.first), last: a.last.max(b.last) });
            }
        }
        spans = joined;
    }
    spans.truncate(MOST_MATCHES);
    spans
}

/// The span that stands nearest on either side, within the gap.
fn nearest(a: Span, others: &[Span], gap: usize, scratch: &Scratch) -> Option<Span> {
    let from = others.partition_point(|b| b.first + 64 < a.first);
    let mut best: Option<(usize, Span)> = None;
    for &b in others.get(from..)? {
        if b.first > a.last + gap + 1 {
            break;
        }
        let distance = if b.first > a.last {
            if scratch.blocked(a.last, b.first) {
                continue;
            }
            b.first - a.last - 1
        } else if b.last < a.first {
            if scratch.blocked(b.last, a.first) {
                continue;
            }
            a.first - b.last - 1
        } else {
            continue;
        };
        if distance <= gap && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, b));
        }
    }
    best.map(|(_, b)| b)
}

fn segment_spans(segment: &[Step], scratch: &Scratch) -> Vec<Span> {
    let mut spans = Vec::new();
    let Some((start, rest)) = segment.split_first() else { return spans };
    for &(_, start) in scratch.at(start.element) {
        let first = start as usize;
        let mut last = first;
        let complete = rest.iter().all(|step| {
            let list = scratch.at(step.element);
            let next = list.get(list.partition_point(|&(_, p)| p as usize <= last)).map(|&(_, p)| p as usize);
            match next {
                Some(next) if next <= last + 1 + usize::from(step.gap) && !scratch.blocked(last, next) => {
                    last = next;
                    true
                }
                _ => false,
            }
        });
        if complete {
            spans.push(Span { first, last });
        }
    }
    spans
}
