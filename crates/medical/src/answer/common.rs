//! The blocks that every answer has.

use super::cite::Cites;
use super::{Extracted, INTENDED_USE};
use crate::assess::Assessment;
use crate::base::{Base, ReviewStatus, VERSION};
use crate::input::{Input, Normalised};
use crate::rule::{Atom, Measure};
use crate::score::{self, Score};
use crate::triage::{Basis, Fired, Level};
use crate::{languages, score_inputs};
use serde::Serialize;

/// What the server adds from its configuration.
#[derive(Debug, Clone)]
pub struct Setting {
    pub emergency_number: String,
    /// The hash of the data.
    pub ruleset: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Because {
    /// A concept's id or a value's field.
    pub concept: String,
    /// The words of the text, or the value.
    pub from: String,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FiredBy {
    pub rule_id: String,
    pub protocol_id: String,
    pub level: Level,
    pub message: String,
    pub because: Vec<Because>,
    pub cite: Vec<usize>,
    pub review: ReviewNote,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriageBlock {
    pub level: Option<Level>,
    pub label: Option<String>,
    pub call_to_action: String,
    pub basis: Basis,
    pub fired_by: Vec<FiredBy>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewNote {
    pub status: ReviewStatus,
    pub by: Option<String>,
    pub on: Option<String>,
    pub due: String,
}

impl From<&crate::base::Review> for ReviewNote {
    fn from(r: &crate::base::Review) -> Self {
        Self { status: r.status.clone(), by: r.by.clone(), on: r.on.clone(), due: r.due.clone() }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Engine {
    pub kind: &'static str,
    pub ruleset: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct LanguageNote {
    pub requested: String,
    /// The language of the body; fixed lines are in the requested one where
    /// `fallback` is false.
    pub answered: String,
    pub fallback: bool,
    pub translation: &'static str,
    pub understood: bool,
}

/// A score with its citation.
#[derive(Debug, Clone, Serialize)]
pub struct CitedScore {
    #[serde(flatten)]
    pub score: Score,
    pub cite: Vec<usize>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Common {
    pub kb_version: &'static str,
    pub triage: TriageBlock,
    pub extracted: Extracted,
    pub unrecognised: Vec<String>,
    pub scores: Vec<CitedScore>,
    pub normalised: Vec<Normalised>,
    pub warnings: Vec<String>,
    pub language: LanguageNote,
    pub review: ReviewNote,
    pub engine: Engine,
    pub intended_use: &'static str,
}

/// The blocks of an answer; citations are added to `cites`.
#[must_use]
pub fn common(base: &Base, input: &Input, a: &Assessment, setting: &Setting, cites: &mut Cites<'_>) -> Common {
    let scores = scores(base, input, a)
        .into_iter()
        .map(|score| {
            let cite = cites.add(&score_source(&score), "definition of the score");
            CitedScore { score, cite }
        })
        .collect();
    Common {
        kb_version: VERSION,
        triage: triage_block(base, input, a, setting, cites),
        extracted: Extracted::of(base, a),
        unrecognised: a.unrecognised.clone(),
        scores,
        normalised: a.measured.normalised.clone(),
        warnings: warnings(base, a),
        language: language(base, input, a),
        review: whole_review(base),
        engine: Engine { kind: "rules", ruleset: setting.ruleset.clone() },
        intended_use: INTENDED_USE,
    }
}

fn score_source(score: &Score) -> crate::base::Source {
    crate::base::Source {
        id: score.source.id.to_owned(),
        org: "original publication".to_owned(),
        title: score.source.title.to_owned(),
        year: score.source.year,
        url: score.source.url.to_owned(),
        jurisdiction: "INT".to_owned(),
    }
}

/// The review state of the whole: reviewed only if every record is.
#[must_use]
pub fn whole_review(base: &Base) -> ReviewNote {
    let records = base.protocols.iter().map(|p| &p.data.review).chain(base.rules.iter().map(|r| &r.review));
    let least = records.min_by_key(|r| (r.status == ReviewStatus::Reviewed, r.due.clone()));
    ReviewNote::from(least.unwrap_or(&base.self_care_review))
}

fn triage_block(base: &Base, input: &Input, a: &Assessment, setting: &Setting, cites: &mut Cites<'_>) -> TriageBlock {
    let spoken = base.phrases.of(&input.language);
    let fired_by = a.triage.fired.iter().filter_map(|f| fired_by(base, a, f, cites)).collect();
    TriageBlock {
        level: a.triage.level,
        label: a.triage.level.and_then(|l| spoken.map(|s| s.label(l).to_owned())),
        call_to_action: spoken
            .map_or_else(String::new, |s| s.call(a.triage.level, a.triage.basis, &setting.emergency_number)),
        basis: a.triage.basis,
        fired_by,
    }
}

fn fired_by(base: &Base, a: &Assessment, fired: &Fired, cites: &mut Cites<'_>) -> Option<FiredBy> {
    let rule = base.rules.get(fired.rule)?;
    Some(FiredBy {
        rule_id: rule.id.clone(),
        protocol_id: rule.protocol.clone(),
        level: rule.level,
        message: rule.message.clone(),
        because: fired.because.iter().map(|atom| because(base, a, *atom)).collect(),
        cite: cites.of(&rule.source, &rule.locator),
        review: ReviewNote::from(&rule.review),
    })
}

/// An atom for people: the concept and the words, or the field and the value.
#[must_use]
pub fn because(base: &Base, a: &Assessment, atom: Atom) -> Because {
    match atom {
        Atom::Concept(id) => Because {
            concept: base.lexicon.name(id).to_owned(),
            from: a.summary.present.get(&id).map_or_else(String::new, |f| f.from.chars().take(160).collect()),
        },
        Atom::Measure(measure) => Because { concept: measure.field().to_owned(), from: shown(a, measure) },
    }
}

fn shown(a: &Assessment, measure: Measure) -> String {
    let values = &a.facts.values;
    let digits = if measure == Measure::TroponinRatio { 2 } else { 1 };
    let text = |v: f64| crate::input::round(v, digits).to_string();
    let value = match (values.low(measure), values.high(measure)) {
        (Some(low), Some(high)) if (high - low).abs() > f64::EPSILON => format!("{} to {}", text(low), text(high)),
        (Some(age), _) if measure == Measure::Age => return measure.shown(age),
        (Some(v), _) => text(v),
        _ => String::new(),
    };
    match measure {
        Measure::News2Min | Measure::Crb65Min => format!("{} at least {value}", measure.label()),
        Measure::TroponinRatio => format!("troponin {value} times its upper limit"),
        _ => format!("{} {value}", measure.label()),
    }
}

/// The scores that something is known of: NEWS2 where a vital sign is there,
/// and those of the first three protocols.
fn scores(base: &Base, input: &Input, a: &Assessment) -> Vec<Score> {
    let mut ids: Vec<&str> = Vec::new();
    if a.facts.values.any() {
        ids.push("news2");
    }
    for ranked in a.ranked.iter().take(3) {
        for id in base.protocols.get(ranked.protocol).into_iter().flat_map(|p| &p.data.scores) {
            if !ids.contains(&id.as_str()) {
                ids.push(id);
            }
        }
    }
    let inputs = score_inputs::inputs(base, input, a);
    let known = ids.into_iter().filter_map(|id| score::evaluate(score_inputs::id(id), &inputs));
    known.filter(|s| !s.used.is_empty()).take(8).collect()
}

fn warnings(base: &Base, a: &Assessment) -> Vec<String> {
    let mut warnings = a.warnings.clone();
    if !a.understood {
        warnings.push("The text is in a language that has no lexicon here: nothing in it was assessed.".to_owned());
    }
    if a.age.is_none() {
        warnings.push("The age is not known: rules and scores with an age could not count.".to_owned());
    }
    if !a.summary.asked.is_empty() {
        let asked: Vec<&str> = a.summary.asked.keys().map(|c| base.lexicon.label(*c)).take(5).collect();
        warnings.push(format!("Asked about, not taken as present: {}.", asked.join(", ")));
    }
    warnings
}

fn language(base: &Base, input: &Input, a: &Assessment) -> LanguageNote {
    let spoken = base.phrases.has(&input.language);
    LanguageNote {
        requested: input.language.clone(),
        answered: if spoken { input.language.clone() } else { "en".to_owned() },
        fallback: !spoken,
        translation: "none",
        understood: a.understood
            && (languages::SPOKEN.contains(&input.language.as_str()) || !a.summary.present.is_empty()),
    }
}
