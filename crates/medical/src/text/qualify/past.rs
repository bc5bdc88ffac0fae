//! What a sentence says of the past.

use super::denial::new_clause;
use super::{Mark, mark};
use crate::text::normal::Sentence;

pub(super) fn past(s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let is = |at: usize, words: &[&str]| words.contains(&s.word(at));
    for at in 0..s.tokens.len() {
        let before = if at == 0 { "" } else { s.word(at - 1) };
        let unit = matches!(
            before,
            "day"
                | "days"
                | "week"
                | "weeks"
                | "month"
                | "months"
                | "hour"
                | "hours"
                | "year"
                | "years"
                | "short"
                | "long"
                | "brief"
        );
        let history = is(at, &["history", "hx"]) && is(at + 1, &["of"]) && !unit;
        let childhood = is(at, &["childhood"])
            || (is(at, &["used"]) && is(at + 1, &["to"]) && is(at + 2, &["have", "get", "suffer"]));
        if history || childhood {
            mark_past_forward(s, at, s.tokens.len(), &mut marks);
        } else if is(at, &["previous", "previously", "prior", "former", "formerly"]) {
            mark_past_forward(s, at, at + 6, &mut marks);
        }
        if let Some(length) = long_ago(s, at) {
            mark_past_back(s, at, &mut marks);
            if at < 4 {
                mark_past_told(s, at + length, &mut marks);
            }
        }
    }
    marks
}

/// The length of the words at this place that mean a time long ago.
fn long_ago(s: &Sentence, at: usize) -> Option<usize> {
    const TIMES: &[&[&str]] = &[
        &["years", "ago"],
        &["year", "ago"],
        &["as", "a", "child"],
        &["as", "a", "kid"],
        &["as", "a", "teenager"],
        &["in", "the", "past"],
        &["last", "year"],
        &["childhood"],
    ];
    let here = |words: &&&[&str]| words.iter().enumerate().all(|(i, word)| s.word(at + i) == *word);
    TIMES.iter().find(here).map(|words| words.len())
}

/// A sentence that begins with the time: "years ago I had a seizure". What follows in the present tense is of now.
fn mark_past_told(s: &Sentence, from: usize, marks: &mut [Mark]) {
    let subject = matches!(s.word(from), "i" | "he" | "she" | "we" | "they");
    let verb = matches!(s.word(from + 1), "had" | "was" | "suffered" | "got");
    if subject && verb {
        mark_past_forward(s, from + 1, s.tokens.len(), marks);
    }
}

fn mark_past_forward(s: &Sentence, from: usize, to: usize, marks: &mut [Mark]) {
    for at in from + 1..to.min(s.tokens.len()) {
        let word = s.word(at);
        let turns = matches!(
            word,
            "but"
                | "however"
                | "now"
                | "who"
                | "presents"
                | "presenting"
                | "presented"
                | "complains"
                | "complaining"
                | "came"
                | "comes"
                | "brought"
                | "today"
                | "with"
                | "has"
                | "currently"
        );
        if at > from + 1 && (turns || new_clause(s, at)) {
            return;
        }
        if at > from + 1 && s.tokens.get(at).is_some_and(|t| t.comma) {
            return;
        }
        mark(marks, at, Mark::Yes);
    }
}

fn mark_past_back(s: &Sentence, cue: usize, marks: &mut [Mark]) {
    for at in (0..cue).rev() {
        if matches!(s.word(at), "but" | "however" | "now") {
            return;
        }
        mark(marks, at, Mark::Yes);
        let here = s.tokens.get(at).is_some_and(|t| t.comma);
        if here || (at > 0 && new_clause(s, at)) {
            return;
        }
    }
}
