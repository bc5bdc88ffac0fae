//! What a sentence denies, and how far its denials reach.

use super::{Mark, mark};
use crate::text::cues::{Cue, SentenceCues};
use crate::text::matcher::Match;
use crate::text::normal::Sentence;

/// How far a denial reaches, in words.
const REACH: usize = 8;

pub(super) fn denied(cues: &SentenceCues, s: &Sentence, matches: &[Match]) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let mut at = 0;
    while at < s.tokens.len() {
        if let Some(length) = cues.at(Cue::Before, at) {
            let last = at + length - 1;
            // "no urine": the word belongs to the concept.
            let inside = matches.iter().any(|m| m.first <= at && last <= m.last && m.last > last);
            if last + 1 == s.tokens.len() && cues.at(Cue::Behind, at).is_some() {
                // "chest pain was denied".
                deny_back(cues, s, at, &mut marks);
            } else if !inside {
                deny_forward(cues, s, at, last, &mut marks);
            }
            at += length;
        } else if cues.at(Cue::Behind, at).is_some() {
            deny_back(cues, s, at, &mut marks);
            at += 1;
        } else {
            at += 1;
        }
    }
    marks
}

fn deny_forward(cues: &SentenceCues, s: &Sentence, trigger: usize, last: usize, marks: &mut [Mark]) {
    let word = s.word(trigger);
    let whole_list = matches!(word, "denies" | "denied" | "denying" | "negative");
    let mut left = if reaches_one_word(word, s.word(last + 1)) { 1 } else { REACH };
    for at in last + 1..s.tokens.len() {
        if left == 0 {
            return;
        }
        let Some(token) = s.tokens.get(at) else { return };
        if token.colon || cues.at(Cue::Ends, at).is_some() || (at > last + 1 && new_clause(s, at)) {
            return;
        }
        if token.comma {
            let closes = at > last + 1 && (whole_list || list_closes(cues, s, at));
            if !closes {
                return;
            }
            left = REACH;
        }
        mark(marks, at, Mark::Yes);
        left -= 1;
    }
}

/// Denials that deny only the next word: "no relief of the chest pain", "not
/// only a headache", "not sleeping because of chest pain".
fn reaches_one_word(trigger: &str, next: &str) -> bool {
    const AFTER_NO: &[&str] = &[
        "relief",
        "better",
        "change",
        "longer",
        "improvement",
        "doubt",
        "idea",
        "reason",
        "matter",
        "warning",
        "sleep",
        "help",
        "effect",
        "luck",
        "one",
        "apparent",
        "obvious",
    ];
    const AFTER_NOT: &[&str] = &[
        "improving",
        "improved",
        "relieved",
        "only",
        "able",
        "just",
        "sure",
        "well",
        "better",
        "getting",
        "going",
        "gone",
        "go",
        "responding",
        "respond",
        "helping",
        "help",
        "helped",
        "helps",
        "stop",
        "stopping",
        "stopped",
        "settling",
        "easing",
        "resolving",
        "resolved",
        "working",
        "work",
        "know",
        "understand",
        "sleeping",
        "sleep",
        "slept",
        "eating",
        "eaten",
        "drinking",
        "want",
        "because",
        "until",
        "long",
        "feeling",
        "feel",
    ];
    match trigger {
        "no" | "without" => AFTER_NO.contains(&next),
        "not" | "dont" | "doesnt" | "didnt" | "isnt" | "wasnt" | "hasnt" | "havent" | "never" | "arent" => {
            AFTER_NOT.contains(&next)
        }
        _ => false,
    }
}

/// "no cough and she has chest pain", "I am not well I have chest pain".
pub(super) fn new_clause(s: &Sentence, at: usize) -> bool {
    const SUBJECTS: &[&str] =
        &["i", "im", "ive", "he", "she", "hes", "shes", "we", "they", "theyre", "there", "theres"];
    const OPENS: &[&str] = &[
        "has",
        "have",
        "had",
        "is",
        "am",
        "are",
        "was",
        "feels",
        "feel",
        "my",
        "his",
        "her",
        "now",
        "complains",
        "reports",
        "presents",
        "started",
        "developed",
        "then",
    ];
    let word = s.word(at);
    let before = if at == 0 { "" } else { s.word(at - 1) };
    if SUBJECTS.contains(&word) {
        return !matches!(before, "think" | "believe" | "that" | "say" | "says" | "said" | "if");
    }
    before == "and" && OPENS.contains(&word)
}

/// "no fever, cough or rash": an "or" follows before the list ends.
fn list_closes(cues: &SentenceCues, s: &Sentence, from: usize) -> bool {
    for at in from..s.tokens.len() {
        if matches!(s.word(at), "or" | "nor" | "o" | "ou" | "oder" | "lub" | "ani" | "veya" | "или" | "ولا" | "或")
        {
            return true;
        }
        if cues.at(Cue::Ends, at).is_some() || new_clause(s, at) || cues.at(Cue::Before, at).is_some() {
            return false;
        }
    }
    false
}

fn deny_back(cues: &SentenceCues, s: &Sentence, trigger: usize, marks: &mut [Mark]) {
    for at in (0..trigger).rev().take(REACH) {
        if cues.at(Cue::Ends, at).is_some() || matches!(s.word(at), "and" | "has" | "have" | "with" | "had") {
            return;
        }
        mark(marks, at, Mark::Yes);
        if s.tokens.get(at).is_some_and(|t| t.comma) {
            return;
        }
    }
}
