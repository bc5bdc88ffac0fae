//! Present, denied, of another person, of the past, or only asked about.

use super::Finding;
use super::lexicon::{ConceptId, Kind, Language, Lexicon};
use super::matcher::Match;
use super::normal::Sentence;
use super::qualify_other as other;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Present,
    Absent,
    Past,
    Family,
    Hypothetical,
}

/// How far a denial reaches, in words.
const REACH: usize = 8;

/// What the words of a sentence are said to be, in the reading of one language.
pub struct Reading {
    matches: Vec<Match>,
    denied: Vec<Mark>,
    others: Vec<Mark>,
    past: Vec<Mark>,
    asked: Vec<Mark>,
    sudden: bool,
    severity: Option<&'static str>,
}

/// Reads a sentence as one of a language.
pub fn reading(lexicon: &Lexicon, language: &Language, s: &Sentence, matches: Vec<Match>) -> Reading {
    let matches = without_narrowed(lexicon, matches);
    if language.code == "en" {
        let denied = denied(language, s, &matches);
        let sudden = sudden(s, &denied);
        return Reading {
            denied,
            others: others(s),
            past: past(s),
            asked: asked(s),
            sudden,
            severity: severity(s),
            matches,
        };
    }
    let denied = other::denied(language, s, &matches);
    let sudden = other::sudden(language, s, &denied);
    Reading {
        denied,
        others: other::others(language, s),
        past: other::past(language, s),
        asked: other::asked(language, s),
        sudden,
        severity: other::severity(language, s),
        matches,
    }
}

impl Reading {
    /// How much of the sentence the language explains beside its common words.
    pub fn weight(&self) -> usize {
        self.matches.len().min(3)
    }

    fn status(&self, lexicon: &Lexicon, concept: ConceptId, at: usize) -> Status {
        let lasting = !matches!(lexicon.kind(concept), Kind::Symptom | Kind::Sign);
        let marked = |marks: &[Mark]| marks.get(at).copied().unwrap_or_default();
        if marked(&self.others) == Mark::Yes || (marked(&self.others) == Mark::Conditions && lasting) {
            Status::Family
        } else if marked(&self.denied) == Mark::Yes {
            Status::Absent
        } else if marked(&self.asked) == Mark::Yes {
            Status::Hypothetical
        } else if marked(&self.past) == Mark::Yes {
            Status::Past
        } else {
            Status::Present
        }
    }
}

/// The findings of one reading. What the main language of the sentence denies
/// is denied for a word of another language too ("sin vertigo").
pub fn findings(lexicon: &Lexicon, own: &Reading, main: Option<&Reading>, s: &Sentence, text: &str) -> Vec<Finding> {
    let status = |m: &Match| match main.map(|main| main.status(lexicon, m.concept, m.first)) {
        None | Some(Status::Present) => own.status(lexicon, m.concept, m.first),
        Some(status) => status,
    };
    let sudden = own.sudden || main.is_some_and(|m| m.sudden);
    let severity = own.severity.or_else(|| main.and_then(|m| m.severity));
    own.matches
        .iter()
        .map(|m| Finding {
            concept: m.concept,
            status: status(m),
            from: s.source(text, m.first, m.last).to_owned(),
            sudden,
            severity,
            weeks: None,
            corrected: None,
        })
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    #[default]
    No,
    /// Only for conditions, exposures and drugs.
    Conditions,
    Yes,
}

pub fn mark(marks: &mut [Mark], at: usize, how: Mark) {
    if let Some(m) = marks.get_mut(at)
        && *m != Mark::Yes
    {
        *m = how;
    }
}

fn without_narrowed(lexicon: &Lexicon, matches: Vec<Match>) -> Vec<Match> {
    let narrowed = |m: &Match| {
        matches.iter().any(|other| {
            other.first <= m.last
                && m.first <= other.last
                && lexicon.concept(other.concept).is_some_and(|c| c.narrows.contains(&m.concept))
        })
    };
    matches.iter().filter(|m| !narrowed(m)).copied().collect()
}

fn denied(language: &Language, s: &Sentence, matches: &[Match]) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let mut at = 0;
    while at < s.tokens.len() {
        if let Some(length) = language.before.at(s, at) {
            let last = at + length - 1;
            // "no urine": the word belongs to the concept.
            let inside = matches.iter().any(|m| m.first <= at && last <= m.last && m.last > last);
            if last + 1 == s.tokens.len() && language.behind.at(s, at).is_some() {
                // "chest pain was denied".
                deny_back(language, s, at, &mut marks);
            } else if !inside {
                deny_forward(language, s, at, last, &mut marks);
            }
            at += length;
        } else if language.behind.at(s, at).is_some() {
            deny_back(language, s, at, &mut marks);
            at += 1;
        } else {
            at += 1;
        }
    }
    marks
}

fn deny_forward(language: &Language, s: &Sentence, trigger: usize, last: usize, marks: &mut [Mark]) {
    let word = s.word(trigger);
    let whole_list = matches!(word, "denies" | "denied" | "denying" | "negative");
    let mut left = if reaches_one_word(word, s.word(last + 1)) { 1 } else { REACH };
    for at in last + 1..s.tokens.len() {
        if left == 0 {
            return;
        }
        let Some(token) = s.tokens.get(at) else { return };
        if token.colon || language.ends.at(s, at).is_some() || (at > last + 1 && new_clause(s, at)) {
            return;
        }
        if token.comma {
            let closes = at > last + 1 && (whole_list || list_closes(language, s, at));
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
fn new_clause(s: &Sentence, at: usize) -> bool {
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
fn list_closes(language: &Language, s: &Sentence, from: usize) -> bool {
    for at in from..s.tokens.len() {
        if matches!(
            s.word(at),
            "or" | "nor" | "o" | "ou" | "oder" | "of" | "lub" | "ani" | "veya" | "или" | "ولا" | "或"
        ) {
            // "of" closes lists in Dutch only.
            if s.word(at) != "of" || language.code == "nl" {
                return true;
            }
        }
        if language.ends.at(s, at).is_some() || new_clause(s, at) || language.before.at(s, at).is_some() {
            return false;
        }
    }
    false
}

fn deny_back(language: &Language, s: &Sentence, trigger: usize, marks: &mut [Mark]) {
    for at in (0..trigger).rev().take(REACH) {
        if language.ends.at(s, at).is_some() || matches!(s.word(at), "and" | "has" | "have" | "with" | "had") {
            return;
        }
        mark(marks, at, Mark::Yes);
        if s.tokens.get(at).is_some_and(|t| t.comma) {
            return;
        }
    }
}

const RELATIVES: &[&str] = &[
    "mother",
    "father",
    "mom",
    "mum",
    "dad",
    "brother",
    "sister",
    "aunt",
    "uncle",
    "grandmother",
    "grandfather",
    "grandma",
    "grandpa",
    "cousin",
    "parent",
    "parents",
    "relative",
    "relatives",
    "siblings",
    "neighbour",
    "neighbor",
    "friend",
    "colleague",
    "nephew",
    "niece",
    "twin",
    "sibling",
];

/// Findings of relatives: after "family history", or after a relative who
/// had, died, was diagnosed or suffered, if nothing says that it is now.
fn others(s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let is = |at: usize, words: &[&str]| words.contains(&s.word(at));
    let now =
        (0..s.tokens.len()).any(|at| is(at, &["now", "currently", "today", "just", "minutes", "started", "suddenly"]));
    for at in 0..s.tokens.len() {
        let family = (is(at, &["family", "familial"]) && is(at + 1, &["history", "hx"]))
            || is(at, &["fhx"])
            || (is(at, &["runs"]) && is(at + 1, &["in"]) && (is(at + 2, &["family"]) || is(at + 3, &["family"])));
        if family {
            mark_clause(s, at, &mut marks);
            if is(at, &["runs"]) {
                (0..at).for_each(|i| mark(&mut marks, i, Mark::Yes));
            }
        }
        if is(at, RELATIVES) && !now {
            let verb = (at + 1..at + 5).find(|&v| is(v, &["had", "died", "diagnosed", "suffered"]));
            if let Some(verb) = verb {
                mark_clause(s, verb, &mut marks);
            }
        }
        if is(
            at,
            &["fathers", "mothers", "dads", "moms", "mums", "brothers", "sisters", "grandmothers", "grandfathers"],
        ) {
            (at + 1..at + 4).for_each(|i| mark(&mut marks, i, Mark::Yes));
        }
    }
    marks
}

/// From a word to the end of what it speaks of. After a comma only lasting
/// conditions still belong to a family's list.
fn mark_clause(s: &Sentence, from: usize, marks: &mut [Mark]) {
    let mut how = Mark::Yes;
    for at in from + 1..s.tokens.len() {
        let word = s.word(at);
        if at > from + 1 && (new_clause(s, at) || matches!(word, "but" | "however" | "now" | "presents" | "presenting"))
        {
            return;
        }
        if s.tokens.get(at).is_some_and(|t| t.comma) {
            how = Mark::Conditions;
        }
        mark(marks, at, how);
    }
}

fn past(s: &Sentence) -> Vec<Mark> {
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

/// "What are the signs of a stroke?", "if I get chest pain": asked, not told.
fn asked(s: &Sentence) -> Vec<Mark> {
    let mut marks = vec![Mark::No; s.tokens.len()];
    let is = |at: usize, words: &[&str]| words.contains(&s.word(at));
    let own = |from: usize| {
        (from..s.tokens.len())
            .any(|at| is(at, &["my", "i", "im", "ive", "his", "her", "our", "me", "he", "she", "myself"]))
    };
    for at in 0..s.tokens.len() {
        // "The voices tell me to …" reports, it requests nothing.
        let subjects = ["voice", "voices", "they", "he", "she", "it", "who", "that", "people", "doctors"];
        if at > 0 && is(at, &["tell", "explain"]) && is(at - 1, &subjects) {
            continue;
        }
        let from = if is(at, &["signs", "sign", "symptoms", "symptom"]) && is(at + 1, &["of"]) {
            let said = at > 0
                && (at.saturating_sub(3)..at)
                    .any(|i| is(i, &["has", "have", "shows", "showing", "with", "had", "having"]));
            (!said).then_some(at + 1)
        } else if is(at, &["what", "whats", "which"]) && is(at + 1, &["is", "are", "causes", "a", "the"]) && !own(at) {
            Some(at + 1)
        } else if is(at, &["if"]) && is(at + 1, &["i", "he", "she", "they", "someone", "you", "we", "my"]) {
            let verb = (at + 2..at + 5).any(|i| {
                is(
                    i,
                    &[
                        "get",
                        "gets",
                        "got",
                        "develop",
                        "develops",
                        "have",
                        "has",
                        "start",
                        "starts",
                        "experience",
                        "notice",
                        "become",
                    ],
                )
            });
            verb.then_some(at + 1)
        } else if is(at, &["prevent", "preventing", "prevention"])
            || (is(at, &["risk"]) && is(at + 1, &["of"]))
            || (is(at, &["tell", "explain"]) && is(at + 1, &["me", "about"]) && !own(at + 2))
        {
            Some(at + 1)
        } else {
            None
        };
        if let Some(from) = from {
            for i in from..s.tokens.len() {
                if i > from && matches!(s.word(i), "but" | "because" | "since") {
                    break;
                }
                mark(&mut marks, i, Mark::Yes);
            }
        }
    }
    marks
}

fn sudden(s: &Sentence, denied: &[Mark]) -> bool {
    s.tokens.iter().enumerate().any(|(at, t)| {
        let cue =
            t.word.starts_with("sudden") || t.word.starts_with("abrupt") || t.word == "acute" || t.word == "acutely";
        cue && denied.get(at) != Some(&Mark::Yes)
    })
}

fn severity(s: &Sentence) -> Option<&'static str> {
    let any = |words: &[&str]| s.tokens.iter().any(|t| words.contains(&t.word.as_str()));
    if any(&["severe", "severely", "worst", "excruciating", "unbearable", "agony", "intense", "terrible"]) {
        Some("severe")
    } else if any(&["moderate", "moderately"]) {
        Some("moderate")
    } else if any(&["mild", "mildly", "slight", "slightly", "minor"]) {
        Some("mild")
    } else {
        None
    }
}
