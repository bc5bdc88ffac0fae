//! From free text to concepts: normalise, match patterns, decide for each
//! match whether it is present, denied, of another person or of the past.

mod cues;
mod lexicon;
mod matcher;
mod normal;
mod pattern;
mod qualify;
mod qualify_other;
mod spelling;
mod trie;
mod values;

pub use lexicon::{Concept, ConceptId, Kind, Lexicon, LexiconError};
pub use normal::{Sentence, Token, sentences};
pub use qualify::Status;
pub use values::{ReadValue, read_values};

use crate::languages::CommonWords;
use std::collections::BTreeMap;

/// One place in the text where a concept was recognised.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub concept: ConceptId,
    pub status: Status,
    /// The words of the text.
    pub from: String,
    /// "sudden", "acute" and the like stand in the same sentence.
    pub sudden: bool,
    pub severity: Option<&'static str>,
    /// Duration in weeks, if the sentence says one.
    pub weeks: Option<f64>,
    /// A misspelt word was read as another one.
    pub corrected: Option<(String, String)>,
}

/// What a text says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub findings: Vec<Finding>,
    pub values: Vec<ReadValue>,
    /// Words that belong to a question about health although no concept
    /// matched ("doctor", "medicine"): tells `not_assessed` from `not_medical`.
    pub about_health: bool,
    /// Sentences in which nothing was recognised.
    pub unrecognised: Vec<String>,
    /// The number of words.
    pub words: usize,
}

/// Reads a text with the lexicons of the given languages and, sentence by
/// sentence, of those that it may be in, all matched together: a false friend of another language can only add a concept.
#[must_use]
pub fn read(lexicon: &Lexicon, text: &str, languages: &[&str]) -> Reading {
    let mut reading = Reading::default();
    let mut scratch = matcher::Scratch::default();
    for sentence in sentences(text) {
        reading.words += sentence.tokens.len();
        let before = reading.findings.len();
        let common = CommonWords::of(&sentence);
        let mut codes = languages.to_vec();
        codes.extend(common.languages());
        scratch.begin(&sentence);
        let matched = lexicon.languages(&codes).map(|l| (l, l.matcher.find(&sentence, &mut scratch)));
        let matched: Vec<_> = matched.collect();
        let mut known = matched.iter().any(|(_, found)| !found.matches.is_empty());
        // Without a match there is nothing that a language could qualify.
        if known {
            let read = |(language, found)| (language, qualify::reading(lexicon, language, &sentence, found));
            let readings: Vec<_> = matched.into_iter().map(read).collect();
            let main = main_readings(&common, &readings);
            for (_, own) in &readings {
                reading.findings.extend(qualify::findings(lexicon, own, &main, &sentence, text));
            }
        }
        attach_durations(&mut reading.findings, before, &sentence);
        let values = read_values(&sentence);
        known |= !values.is_empty();
        reading.values.extend(values);
        if lexicon.about_health(&sentence) {
            reading.about_health = true;
        } else if !known && sentence.tokens.len() > 1 && reading.unrecognised.len() < 20 {
            let from = sentence.source(text, 0, sentence.tokens.len().saturating_sub(1));
            reading.unrecognised.push(from.chars().take(120).collect());
        }
    }
    reading.about_health |= !reading.findings.is_empty() || !reading.values.is_empty();
    reading
}

/// The readings in the languages that explain most of the sentence: several
/// where related languages explain it equally.
fn main_readings<'a>(
    common: &CommonWords,
    readings: &'a [(&lexicon::Language, qualify::Reading)],
) -> Vec<&'a qualify::Reading> {
    let mut most = 0;
    let mut best = Vec::new();
    for (language, reading) in readings {
        let weight = 2 * common.count(&language.code) + reading.weight();
        if weight > most {
            best.clear();
            most = weight;
        }
        if weight == most {
            best.push(reading);
        }
    }
    best
}

/// A duration belongs to the concepts of its sentence; a sentence that says
/// only a duration ("Three weeks now.") belongs to all that came before.
fn attach_durations(findings: &mut [Finding], before: usize, sentence: &Sentence) {
    let Some(weeks) = values::duration_weeks(sentence) else { return };
    let whole = findings.len() == before;
    let from = if whole { 0 } else { before };
    for finding in findings.iter_mut().skip(from) {
        if finding.weeks.is_none() {
            finding.weeks = Some(weeks);
        }
    }
}

/// The present, absent, past and family concepts of readings. A concept that
/// is present once is not absent, past or family by another mention.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub present: BTreeMap<ConceptId, Finding>,
    pub absent: BTreeMap<ConceptId, Finding>,
    pub past: BTreeMap<ConceptId, Finding>,
    pub family: BTreeMap<ConceptId, Finding>,
    /// Asked about, not said to be there.
    pub asked: BTreeMap<ConceptId, Finding>,
}

impl Summary {
    pub fn add(&mut self, lexicon: &Lexicon, finding: Finding) {
        let kind = lexicon.kind(finding.concept);
        let lasting = matches!(kind, Kind::Condition | Kind::Exposure | Kind::Drug);
        let into = match finding.status {
            Status::Present => &mut self.present,
            Status::Past if lasting => &mut self.present,
            Status::Past => &mut self.past,
            Status::Absent => &mut self.absent,
            Status::Family => &mut self.family,
            Status::Hypothetical => &mut self.asked,
        };
        match into.entry(finding.concept) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(finding);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                kept.sudden |= finding.sudden;
                kept.severity = stronger(kept.severity, finding.severity);
                kept.weeks = longer(kept.weeks, finding.weeks);
            }
        }
    }

    /// Drops what is present from the other lists.
    pub fn settle(&mut self) {
        for id in self.present.keys() {
            self.absent.remove(id);
            self.past.remove(id);
            self.family.remove(id);
            self.asked.remove(id);
        }
    }
}

fn stronger(a: Option<&'static str>, b: Option<&'static str>) -> Option<&'static str> {
    match (a, b) {
        (Some("severe"), _) | (_, Some("severe")) => Some("severe"),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}

fn longer(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
