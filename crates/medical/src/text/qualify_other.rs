//! The qualifiers of languages other than English, by the words of their
//! lexicon files.

use super::cues::{Cue, SentenceCues};
use super::matcher::Match;
use super::normal::Sentence;
use super::qualify::{Mark, mark};

/// How far a denial reaches, in words; in Chinese a word is a character.
fn reach(code: &str) -> usize {
    if code == "zh" { 18 } else { 8 }
}

/// How far a denial of a verb or an adjective reaches.
const NEAR: usize = 2;

pub fn denied(code: &str, cues: &SentenceCues, s: &Sentence, matches: &[Match]) -> Vec<Mark> {
    let full = reach(code);
    let mut marks = vec![Mark::No; s.tokens.len()];
    let mut at = 0;
    while at < s.tokens.len() {
        if let Some(length) = cues.at(Cue::Skips, at) {
            at += length;
            continue;
        }
        let trigger = [(Cue::Behind, None), (Cue::Before, Some(full)), (Cue::Near, Some(NEAR))]
            .into_iter()
            .filter_map(|(cue, reach)| Some((cues.at(cue, at)?, reach)))
            .max_by_key(|(length, _)| *length);
        let Some((length, reach)) = trigger else {
            at += 1;
            continue;
        };
        let last = at + length - 1;
        // "боли в груди нет": the last word of its clause denies what is before.
        let closes = s.tokens.get(last + 1).is_none_or(|t| t.comma) || cues.at(Cue::Ends, last + 1).is_some();
        let reach = if closes && cues.at(Cue::Behind, at) == Some(length) { None } else { reach };
        // "cannot breathe", "no pulse": the word belongs to the concept.
        let inside = matches.iter().any(|m| m.first <= at && last <= m.last && m.first < m.last);
        match reach {
            _ if inside => {}
            Some(reach) => forward(cues, s, last, reach, &mut marks),
            None => back(cues, s, at, full, &mut marks),
        }
        at += length;
    }
    marks
}

fn forward(cues: &SentenceCues, s: &Sentence, last: usize, reach: usize, marks: &mut [Mark]) {
    let mut left = reach;
    for at in last + 1..s.tokens.len() {
        let Some(token) = s.tokens.get(at) else { return };
        let ends = token.colon || cues.at(Cue::Ends, at).is_some();
        let again = cues.at(Cue::Before, at).is_some() || cues.at(Cue::Near, at).is_some();
        if left == 0 || ends || again {
            return;
        }
        if token.comma {
            if at == last + 1 || !closes(cues, s, at) {
                return;
            }
            left = reach;
        }
        mark(marks, at, Mark::Yes);
        left -= 1;
    }
}

/// "no fever, cough or rash": an "or" follows before the list ends.
fn closes(cues: &SentenceCues, s: &Sentence, from: usize) -> bool {
    for at in from..s.tokens.len() {
        if cues.at(Cue::Closes, at).is_some() {
            return true;
        }
        if cues.at(Cue::Ends, at).is_some() || cues.at(Cue::Before, at).is_some() {
            return false;
        }
    }
    false
}

fn back(cues: &SentenceCues, s: &Sentence, trigger: usize, reach: usize, marks: &mut [Mark]) {
    for at in (0..trigger).rev().take(reach) {
        if cues.at(Cue::Ends, at).is_some() || cues.at(Cue::Behind, at).is_some() {
            return;
        }
        mark(marks, at, Mark::Yes);
        if s.tokens.get(at + 1).is_some_and(|t| t.comma) && at + 1 == trigger {
            return;
        }
        if s.tokens.get(at).is_some_and(|t| t.comma) {
            return;
        }
    }
}

/// Findings of relatives: after "family history", or in a clause with a
/// relative and a word such as "died", unless something says that it is now.
pub fn others(cues: &SentenceCues, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        if cues.at(Cue::Family, at).is_some() {
            onward(cues, s, at, &mut marks);
        }
    }
    let (relative, verb, now) = (cues.first(Cue::Relatives), cues.first(Cue::Had), cues.first(Cue::Now));
    if let (Some(relative), Some(verb), None) = (relative, verb, now) {
        clause(cues, s, relative.min(verb), &mut marks);
        clause(cues, s, relative.max(verb), &mut marks);
    }
    marks
}

/// The clause of a cue such as "years ago" is of the past.
pub fn past(cues: &SentenceCues, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        if cues.at(Cue::Past, at).is_some() {
            clause(cues, s, at, &mut marks);
        }
    }
    marks
}

pub fn asked(cues: &SentenceCues, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        let Some(length) = cues.at(Cue::Asked, at) else { continue };
        // Turkish and Chinese ask at the end: "kalp krizi belirtileri nelerdir".
        if at + length >= s.tokens.len() {
            clause(cues, s, at, &mut marks);
        } else {
            onward(cues, s, at, &mut marks);
        }
    }
    marks
}

/// From a cue on, over commas, to a contrast.
fn onward(cues: &SentenceCues, s: &Sentence, from: usize, marks: &mut [Mark]) {
    for at in from..s.tokens.len() {
        if at > from && cues.at(Cue::Ends, at).is_some() {
            return;
        }
        mark(marks, at, Mark::Yes);
    }
}

/// The words around a cue, between commas and contrasts.
fn clause(cues: &SentenceCues, s: &Sentence, cue: usize, marks: &mut [Mark]) {
    for at in cue..s.tokens.len() {
        let ends = cues.at(Cue::Ends, at).is_some() || s.tokens.get(at).is_some_and(|t| t.comma);
        if at > cue && ends {
            break;
        }
        mark(marks, at, Mark::Yes);
    }
    for at in (0..cue).rev() {
        if s.tokens.get(at + 1).is_some_and(|t| t.comma) || cues.at(Cue::Ends, at).is_some() {
            return;
        }
        mark(marks, at, Mark::Yes);
    }
}

pub fn sudden(cues: &SentenceCues, s: &Sentence, denied: &[Mark]) -> bool {
    (0..s.tokens.len()).any(|at| cues.at(Cue::Sudden, at).is_some() && denied.get(at) != Some(&Mark::Yes))
}

pub fn severity(cues: &SentenceCues) -> Option<&'static str> {
    if cues.first(Cue::Severe).is_some() {
        Some("severe")
    } else if cues.first(Cue::Mild).is_some() {
        Some("mild")
    } else {
        None
    }
}
