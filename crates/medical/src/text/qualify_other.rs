//! The qualifiers of languages other than English, by the words of their
//! lexicon files.

use super::lexicon::{Language, Phrases};
use super::matcher::Match;
use super::normal::Sentence;
use super::qualify::{Mark, mark};

/// How far a denial reaches, in words; in Chinese a word is a character.
fn reach(language: &Language) -> usize {
    if language.code == "zh" { 18 } else { 8 }
}

/// How far a denial of a verb or an adjective reaches.
const NEAR: usize = 2;

pub fn denied(language: &Language, s: &Sentence, matches: &[Match]) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let mut at = 0;
    while at < s.tokens.len() {
        if let Some(length) = language.skips.at(s, at) {
            at += length;
            continue;
        }
        let trigger =
            [(&language.behind, None), (&language.before, Some(reach(language))), (&language.near, Some(NEAR))]
                .into_iter()
                .filter_map(|(phrases, reach)| Some((phrases.at(s, at)?, reach)))
                .max_by_key(|(length, _)| *length);
        let Some((length, reach)) = trigger else {
            at += 1;
            continue;
        };
        let last = at + length - 1;
        // "боли в груди нет": the last word of its clause denies what is before.
        let closes = s.tokens.get(last + 1).is_none_or(|t| t.comma) || language.ends.at(s, last + 1).is_some();
        let reach = if closes && language.behind.at(s, at) == Some(length) { None } else { reach };
        // "cannot breathe", "no pulse": the word belongs to the concept.
        let inside = matches.iter().any(|m| m.first <= at && last <= m.last && m.first < m.last);
        match reach {
            _ if inside => {}
            Some(reach) => forward(language, s, last, reach, &mut marks),
            None => back(language, s, at, &mut marks),
        }
        at += length;
    }
    marks
}

fn forward(language: &Language, s: &Sentence, last: usize, reach: usize, marks: &mut [Mark]) {
    let mut left = reach;
    for at in last + 1..s.tokens.len() {
        let Some(token) = s.tokens.get(at) else { return };
        let ends = token.colon || language.ends.at(s, at).is_some();
        let again = language.before.at(s, at).is_some() || language.near.at(s, at).is_some();
        if left == 0 || ends || again {
            return;
        }
        if token.comma {
            if at == last + 1 || !closes(language, s, at) {
                return;
            }
            left = reach;
        }
        mark(marks, at, Mark::Yes);
        left -= 1;
    }
}

/// "no fever, cough or rash": an "or" follows before the list ends.
fn closes(language: &Language, s: &Sentence, from: usize) -> bool {
    for at in from..s.tokens.len() {
        if language.closes.at(s, at).is_some() {
            return true;
        }
        if language.ends.at(s, at).is_some() || language.before.at(s, at).is_some() {
            return false;
        }
    }
    false
}

fn back(language: &Language, s: &Sentence, trigger: usize, marks: &mut [Mark]) {
    for at in (0..trigger).rev().take(reach(language)) {
        if language.ends.at(s, at).is_some() || language.behind.at(s, at).is_some() {
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
pub fn others(language: &Language, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        if language.family.at(s, at).is_some() {
            onward(language, s, at, &mut marks);
        }
    }
    let place = |phrases: &Phrases| (0..s.tokens.len()).find(|&at| phrases.at(s, at).is_some());
    if let (Some(relative), Some(verb), None) = (place(&language.relatives), place(&language.had), place(&language.now))
    {
        clause(language, s, relative.min(verb), &mut marks);
        clause(language, s, relative.max(verb), &mut marks);
    }
    marks
}

/// The clause of a cue such as "years ago" is of the past.
pub fn past(language: &Language, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        if language.past.at(s, at).is_some() {
            clause(language, s, at, &mut marks);
        }
    }
    marks
}

pub fn asked(language: &Language, s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    for at in 0..s.tokens.len() {
        let Some(length) = language.asked.at(s, at) else { continue };
        // Turkish and Chinese ask at the end: "kalp krizi belirtileri nelerdir".
        if at + length >= s.tokens.len() {
            clause(language, s, at, &mut marks);
        } else {
            onward(language, s, at, &mut marks);
        }
    }
    marks
}

/// From a cue on, over commas, to a contrast.
fn onward(language: &Language, s: &Sentence, from: usize, marks: &mut [Mark]) {
    for at in from..s.tokens.len() {
        if at > from && language.ends.at(s, at).is_some() {
            return;
        }
        mark(marks, at, Mark::Yes);
    }
}

/// The words around a cue, between commas and contrasts.
fn clause(language: &Language, s: &Sentence, cue: usize, marks: &mut [Mark]) {
    for at in cue..s.tokens.len() {
        let ends = language.ends.at(s, at).is_some() || s.tokens.get(at).is_some_and(|t| t.comma);
        if at > cue && ends {
            break;
        }
        mark(marks, at, Mark::Yes);
    }
    for at in (0..cue).rev() {
        if s.tokens.get(at + 1).is_some_and(|t| t.comma) || language.ends.at(s, at).is_some() {
            return;
        }
        mark(marks, at, Mark::Yes);
    }
}

pub fn sudden(language: &Language, s: &Sentence, denied: &[Mark]) -> bool {
    (0..s.tokens.len()).any(|at| language.sudden.at(s, at).is_some() && denied.get(at) != Some(&Mark::Yes))
}

pub fn severity(language: &Language, s: &Sentence) -> Option<&'static str> {
    if language.severe.anywhere(s) {
        Some("severe")
    } else if language.mild.anywhere(s) {
        Some("mild")
    } else {
        None
    }
}
