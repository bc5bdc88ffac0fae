//! Present, denied, of another person, of the past, or only asked about.

mod denial;
mod past;

use denial::{denied, new_clause};
use past::past;

use super::Finding;
use super::lexicon::{ConceptId, Kind, Language, Lexicon};
use super::matcher::{Correction, Found, Match};
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

/// What the words of a sentence are said to be, in the reading of one language.
pub struct Reading {
    matches: Vec<Match>,
    corrections: Vec<Correction>,
    denied: Vec<Mark>,
    others: Vec<Mark>,
    past: Vec<Mark>,
    asked: Vec<Mark>,
    sudden: bool,
    severity: Option<&'static str>,
    /// How many words begin a denial.
    denials: usize,
}

/// Reads a sentence as one of a language.
pub fn reading(lexicon: &Lexicon, language: &Language, s: &Sentence, found: Found) -> Reading {
    let Found { matches, corrections } = found;
    let matches = without_narrowed(lexicon, matches);
    let cues = language.cues.read(s);
    let denials = cues.denials();
    if language.code == "en" {
        let denied = denied(&cues, s, &matches);
        let sudden = sudden(s, &denied);
        return Reading {
            denied,
            others: others(s),
            past: past(s),
            asked: asked(s),
            sudden,
            severity: severity(s),
            denials,
            matches,
            corrections,
        };
    }
    let denied = other::denied(&language.code, &cues, s, &matches);
    let sudden = other::sudden(&cues, s, &denied);
    Reading {
        denied,
        others: other::others(&cues, s),
        past: other::past(&cues, s),
        asked: other::asked(&cues, s),
        sudden,
        severity: other::severity(&cues),
        denials,
        matches,
        corrections,
    }
}

impl Reading {
    /// How much of the sentence the language explains beside its common words.
    pub fn weight(&self) -> usize {
        let qualifiers = [&self.others, &self.past, &self.asked];
        let qualified = qualifiers.iter().filter(|marks| marks.iter().any(|m| *m != Mark::No)).count();
        self.denials + self.matches.len().min(3) + qualified
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

/// The findings of one reading. What the main languages of the sentence deny
/// is denied for a word of another language too ("sin vertigo").
pub fn findings(lexicon: &Lexicon, own: &Reading, main: &[&Reading], s: &Sentence, text: &str) -> Vec<Finding> {
    let status = |m: &Match| {
        let said = main.iter().map(|main| main.status(lexicon, m.concept, m.first));
        match said.reduce(|a, b| if b == Status::Present { b } else { a }) {
            None | Some(Status::Present) => own.status(lexicon, m.concept, m.first),
            Some(status) => status,
        }
    };
    let sudden = own.sudden || main.iter().any(|m| m.sudden);
    let severity = own.severity.or_else(|| main.iter().find_map(|m| m.severity));
    let corrected = |m: &Match| {
        let within = own.corrections.iter().find(|correction| (m.first..=m.last).contains(&correction.at));
        within.map(|correction| (s.source(text, correction.at, correction.at).to_owned(), correction.meant.clone()))
    };
    own.matches
        .iter()
        .map(|m| Finding {
            concept: m.concept,
            status: status(m),
            from: s.source(text, m.first, m.last).to_owned(),
            sudden,
            severity,
            weeks: None,
            corrected: corrected(m),
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
