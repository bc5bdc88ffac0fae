//! Finds the patterns of one language in a sentence. A pattern is tried only
//! where its rarest element occurs; no regular expressions, no backtracking,
//! so the cost grows with the text and not with its square.

use super::normal::Sentence;
use super::pattern::{Pattern, Segment, parse};
use super::spelling::Spelling;
use super::trie::{ElementId, Trie};
use std::collections::{HashMap, HashSet};

/// A concept's place in the sentence, by words, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    pub concept: u16,
    pub first: usize,
    pub last: usize,
}

/// Whether words one edit away from a known one are read as it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misspelt {
    Read,
    NotRead,
}

#[derive(Debug, Clone, Default)]
pub struct Matcher {
    trie: Trie,
    spelling: Spelling,
    elements: HashMap<String, ElementId>,
    patterns: Vec<(u16, Pattern)>,
    /// The patterns whose rarest element this is.
    by_key: Vec<Vec<u32>>,
    /// Denials and contrasts of the language, that a pattern may not leap
    /// over; English has its own.
    blockers: Option<HashSet<String>>,
    /// A word one edit away may be another word of the language: its denial.
    exact: bool,
}

/// Reused between sentences.
#[derive(Debug, Default)]
pub struct Scratch {
    positions: Vec<Vec<u32>>,
    touched: Vec<ElementId>,
    /// How many words up to here end a thought ("but", "no").
    blockers: Vec<u32>,
    pub corrected: Vec<(usize, String)>,
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

impl Matcher {
    /// A matcher of a language other than English.
    pub fn of_language(blockers: HashSet<String>, spelling: Misspelt) -> Self {
        Self { blockers: Some(blockers), exact: spelling == Misspelt::NotRead, ..Self::default() }
    }

    pub fn add(&mut self, concept: u16, text: &str) -> Result<(), String> {
        let (trie, elements) = (&mut self.trie, &mut self.elements);
        let (spelling, exact) = (&mut self.spelling, self.exact);
        let pattern = parse(text, |part| {
            if let Some(&id) = elements.get(part) {
                return Ok(id);
            }
            let id = ElementId::try_from(elements.len()).map_err(|_| "too many elements".to_owned())?;
            elements.insert(part.to_owned(), id);
            for alternative in part.split('|') {
                let (word, stem) = match alternative.strip_suffix('*') {
                    Some(word) => (word, true),
                    None => (alternative, false),
                };
                if word.is_empty() || word.contains('*') {
                    return Err(format!("{part}: a star stands only at the end of a stem"));
                }
                trie.insert(word, stem, id);
                if !exact {
                    spelling.add(word, stem, id);
                }
            }
            Ok(id)
        })?;
        self.patterns.push((concept, pattern));
        Ok(())
    }

    /// Chooses each pattern's key: the element that the fewest patterns use.
    pub fn finish(&mut self) {
        let mut uses = vec![0u32; self.elements.len()];
        for (_, pattern) in &self.patterns {
            for e in pattern.elements() {
                if let Some(n) = uses.get_mut(usize::from(e)) {
                    *n += 1;
                }
            }
        }
        self.by_key = vec![Vec::new(); self.elements.len()];
        for (i, (_, pattern)) in self.patterns.iter().enumerate() {
            let key = pattern.elements().min_by_key(|&e| uses.get(usize::from(e)).copied().unwrap_or(0));
            let list = key.and_then(|e| self.by_key.get_mut(usize::from(e)));
            if let (Some(list), Ok(i)) = (list, u32::try_from(i)) {
                list.push(i);
            }
        }
        self.spelling.finish(&self.trie);
    }

    /// The matches in a sentence, by place.
    pub fn find(&self, sentence: &Sentence, scratch: &mut Scratch) -> Vec<Match> {
        self.locate(sentence, scratch);
        let mut matches = Vec::new();
        for i in 0..scratch.touched.len() {
            let Some(&element) = scratch.touched.get(i) else { break };
            for &p in self.by_key.get(usize::from(element)).into_iter().flatten() {
                let Some((concept, pattern)) = self.patterns.get(p as usize) else { continue };
                if pattern.elements().any(|e| scratch.at(e).is_empty()) {
                    continue;
                }
                for span in pattern_spans(pattern, scratch) {
                    matches.push(Match { concept: *concept, first: span.first, last: span.last });
                }
            }
        }
        matches.sort_by_key(|m| (m.first, m.last, m.concept));
        matches.dedup();
        matches
    }

    /// Notes which words satisfy which elements.
    fn locate(&self, sentence: &Sentence, scratch: &mut Scratch) {
        scratch.reset(self.elements.len());
        let mut blocked = 0;
        for (at, token) in sentence.tokens.iter().take(MOST_WORDS).enumerate() {
            let Ok(position) = u32::try_from(at) else { break };
            let blocker = self.blockers.as_ref().map_or_else(|| blocks(&token.word), |set| set.contains(&token.word));
            blocked += u32::from(blocker);
            scratch.blockers.push(blocked);
            let mut known = false;
            self.trie.walk(&token.word, |e| {
                known = true;
                scratch.note(e, position);
            });
            for word in &token.also {
                self.trie.walk(word, |e| {
                    known = true;
                    scratch.note(e, position);
                });
            }
            if !known && let Some((elements, meant)) = self.spelling.correct(&token.word) {
                for &e in elements {
                    scratch.note(e, position);
                }
                scratch.corrected.push((at, meant.to_owned()));
            }
        }
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
    fn reset(&mut self, elements: usize) {
        for &e in &self.touched {
            if let Some(list) = self.positions.get_mut(usize::from(e)) {
                list.clear();
            }
        }
        self.touched.clear();
        self.blockers.clear();
        self.corrected.clear();
        if self.positions.len() < elements {
            self.positions.resize(elements, Vec::new());
        }
    }

    fn note(&mut self, element: ElementId, position: u32) {
        if let Some(list) = self.positions.get_mut(usize::from(element)) {
            if list.is_empty() {
                self.touched.push(element);
            }
            if list.last() != Some(&position) {
                list.push(position);
            }
        }
    }

    fn at(&self, element: ElementId) -> &[u32] {
        self.positions.get(usize::from(element)).map_or(&[], Vec::as_slice)
    }

    /// Whether a word between two places, both excluded, blocks a match.
    fn blocked(&self, after: usize, before: usize) -> bool {
        let upto = |i: usize| self.blockers.get(i).copied().unwrap_or(0);
        before > after + 1 && upto(before - 1) > upto(after)
    }
}

fn pattern_spans(pattern: &Pattern, scratch: &Scratch) -> Vec<Span> {
    let mut spans = segment_spans(&pattern.first, scratch);
    for (gap, segment) in &pattern.joined {
        if spans.is_empty() {
            return spans;
        }
        let others = segment_spans(segment, scratch);
        let mut joined = Vec::new();
        for a in &spans {
            if let Some(b) = nearest(*a, &others, usize::from(*gap), scratch) {
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

fn segment_spans(segment: &Segment, scratch: &Scratch) -> Vec<Span> {
    let mut spans = Vec::new();
    for &start in scratch.at(segment.first) {
        let first = start as usize;
        let mut last = first;
        let complete = segment.rest.iter().all(|&(gap, element)| {
            let list = scratch.at(element);
            let next = list.get(list.partition_point(|&p| p as usize <= last)).map(|&p| p as usize);
            match next {
                Some(next) if next <= last + 1 + usize::from(gap) && !scratch.blocked(last, next) => {
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
