//! The words of a consultation: fixed lines in the asked language, the rest
//! from rules, in English.

use super::cite::Cites;
use super::common::because;
use crate::assess::{Assessment, measure_of};
use crate::base::{Base, SelfCare};
use crate::input::{Audience, Input};
use crate::phrases::{Script, Spoken};
use crate::rank::Ranked;
use crate::rule::Atom;
use crate::triage::{Basis, Level};
use serde::Serialize;

/// A protocol that may fit.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consideration {
    pub protocol_id: String,
    pub title: String,
    pub match_score: f64,
    pub why: String,
    pub cite: Vec<usize>,
}

/// What would change the answer most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Question {
    /// A concept's id or a value's field.
    pub id: String,
    pub text: String,
    /// The field of the request that takes the answer.
    pub field: String,
}

/// A piece of advice.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    pub cite: Vec<usize>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SpecialtyNote {
    pub id: String,
    pub inferred: bool,
}

/// What a paragraph of a response is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Call,
    Script,
    Signs,
    Understood,
    Considerations,
    Actions,
    Changes,
    SafetyNet,
    Questions,
    Limits,
}

impl Part {
    /// Whether it is a fixed line in the asked language, which no model
    /// writes or translates.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Call | Self::Script | Self::Signs | Self::SafetyNet | Self::Limits)
    }

    /// Whether it explains, which a model may do in other words.
    #[must_use]
    pub const fn explains(self) -> bool {
        matches!(self, Self::Understood | Self::Considerations | Self::Actions)
    }
}

/// A paragraph of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    pub part: Part,
    pub text: String,
}

/// The text of paragraphs.
#[must_use]
pub fn joined<'a>(paragraphs: impl IntoIterator<Item = &'a Paragraph>) -> String {
    paragraphs.into_iter().map(|p| p.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consultation {
    pub response: String,
    /// The same by paragraphs.
    #[serde(skip)]
    pub paragraphs: Vec<Paragraph>,
    /// The steps that the response names.
    #[serde(skip)]
    pub actions: Vec<Advice>,
    pub specialty: Option<SpecialtyNote>,
    pub considerations: Vec<Consideration>,
    pub questions: Vec<Question>,
    pub self_care: Vec<Advice>,
    pub safety_net: Vec<Advice>,
}

const MOST_QUESTIONS: usize = 3;
const MOST_CONSIDERATIONS: usize = 3;

#[must_use]
pub fn consultation(base: &Base, input: &Input, a: &Assessment, number: &str, cites: &mut Cites<'_>) -> Consultation {
    let script = script(base, a);
    let considerations: Vec<_> =
        a.ranked.iter().take(MOST_CONSIDERATIONS).filter_map(|r| consideration(base, a, r, cites)).collect();
    // Questions would delay a call for help that has to be made now.
    let asks = a.triage.level < Some(Level::Emergency) && script.is_none();
    let questions = if asks { questions(base, a) } else { Vec::new() };
    let self_care = self_care(base, a, cites);
    let safety_net = safety_net(base, a, cites);
    let mut answer = Consultation {
        response: String::new(),
        paragraphs: Vec::new(),
        actions: actions(base, input, a, cites),
        specialty: specialty(base, input, a),
        considerations,
        questions,
        self_care,
        safety_net,
    };
    if let Some(spoken) = base.phrases.of(&input.language) {
        answer.paragraphs = Writer { base, input, a, spoken, number }.write(&answer, script);
    }
    answer.response = joined(&answer.paragraphs);
    answer
}

fn consideration(base: &Base, a: &Assessment, ranked: &Ranked, cites: &mut Cites<'_>) -> Option<Consideration> {
    let p = &base.protocols.get(ranked.protocol)?.data;
    let fired = ranked.fired.iter().filter_map(|&i| a.triage.fired.get(i)).filter_map(|f| base.rules.get(f.rule));
    let mut cite = Vec::new();
    let mut whys: Vec<String> = Vec::new();
    for rule in fired.take(2) {
        cite.extend(cites.of(&rule.source, &rule.locator));
        whys.push(rule.message.clone());
    }
    if cite.is_empty()
        && let Some(action) = p.actions.first()
    {
        cite.extend(cites.of(&action.source, &action.locator));
    }
    cite.dedup();
    let matched: Vec<String> = ranked.matched.iter().take(4).map(|(atom, _)| atom_label(base, a, *atom)).collect();
    if !matched.is_empty() {
        whys.push(matched.join(", "));
    }
    Some(Consideration {
        protocol_id: p.id.clone(),
        title: p.title.clone(),
        match_score: ranked.score,
        why: whys.join(": "),
        cite,
    })
}

fn atom_label(base: &Base, a: &Assessment, atom: Atom) -> String {
    match atom {
        Atom::Concept(id) => base.lexicon.label(id).to_owned(),
        Atom::Measure(_) => because(base, a, atom).from,
    }
}

/// What is unknown and could fire the highest unfired rules of the first
/// three protocols.
fn questions(base: &Base, a: &Assessment) -> Vec<Question> {
    let mut gaps: Vec<(Level, usize, Vec<Atom>)> = Vec::new();
    for ranked in a.ranked.iter().take(3) {
        let Some(protocol) = base.protocols.get(ranked.protocol) else { continue };
        for &i in &protocol.rules {
            let Some(rule) = base.rules.get(i) else { continue };
            let higher = Some(rule.level) > a.triage.level || a.triage.basis != Basis::RedFlags;
            let fired = a.triage.fired.iter().any(|f| f.rule == i);
            if let Some(gap) = rule.expr.gap(&a.facts)
                && higher
                && !fired
                && !gap.is_empty()
            {
                gaps.push((rule.level, gap.len(), gap));
            }
        }
    }
    gaps.sort_by_key(|(level, length, _)| (std::cmp::Reverse(*level), *length));
    let mut questions: Vec<Question> = Vec::new();
    for atom in gaps.into_iter().flat_map(|(_, _, gap)| gap) {
        let question = question(base, a, atom);
        if questions.len() < MOST_QUESTIONS && !questions.contains(&question) {
            questions.push(question);
        }
    }
    if questions.len() < MOST_QUESTIONS && a.age.is_none() && !a.ranked.is_empty() {
        questions.push(Question {
            id: "age".to_owned(),
            text: "How old is the patient?".to_owned(),
            field: "patientContext.age".to_owned(),
        });
    }
    questions
}

fn question(base: &Base, a: &Assessment, atom: Atom) -> Question {
    match atom {
        Atom::Concept(id) => {
            let label = base.lexicon.label(id);
            let text = if a.facts.has(id) {
                format!("Did it come on suddenly: {label}?")
            } else {
                format!("Is there, or was there today: {label}?")
            };
            Question { id: base.lexicon.name(id).to_owned(), text, field: "message".to_owned() }
        }
        Atom::Measure(m) => Question {
            id: m.field().to_owned(),
            text: format!("What is the {}?", m.label()),
            field: m.field().to_owned(),
        },
    }
}

fn self_care_rule<'a>(base: &'a Base, a: &Assessment) -> Option<&'a SelfCare> {
    base.self_care.get(a.triage.self_care?)
}

fn self_care(base: &Base, a: &Assessment, cites: &mut Cites<'_>) -> Vec<Advice> {
    let Some(rule) = self_care_rule(base, a) else { return Vec::new() };
    let cite = cites.of(&rule.data.source, &rule.data.locator);
    let advice = |text: &String| Advice { text: text.clone(), when: None, cite: cite.clone() };
    rule.data.advice.iter().map(advice).collect()
}

fn safety_net(base: &Base, a: &Assessment, cites: &mut Cites<'_>) -> Vec<Advice> {
    let mut net = Vec::new();
    for statement in
        a.ranked.iter().take(2).filter_map(|r| base.protocols.get(r.protocol)).flat_map(|p| &p.data.safety_net)
    {
        let cite = cites.of(&statement.source, &statement.locator);
        net.push(Advice { text: statement.text.clone(), when: statement.when.clone(), cite });
    }
    net.truncate(4);
    net
}

/// The first steps of the first protocol; none for the public, nor where no
/// protocol clearly fits.
fn actions(base: &Base, input: &Input, a: &Assessment, cites: &mut Cites<'_>) -> Vec<Advice> {
    if input.audience == Audience::Public {
        return Vec::new();
    }
    let Some(protocol) = a.ranked.first().and_then(|r| base.protocols.get(r.protocol)) else { return Vec::new() };
    let one = |action: &crate::base::Action| Advice {
        text: action.text.clone(),
        when: action.when.clone().or_else(|| Some(action.urgency.clone())),
        cite: cites.of(&action.source, &action.locator),
    };
    protocol.data.actions.iter().take(4).map(one).collect()
}

fn specialty(base: &Base, input: &Input, a: &Assessment) -> Option<SpecialtyNote> {
    if let Some(id) = &input.specialty {
        return Some(SpecialtyNote { id: id.clone(), inferred: false });
    }
    let protocol = a.ranked.first().and_then(|r| base.protocols.get(r.protocol))?;
    Some(SpecialtyNote { id: protocol.data.specialty.clone(), inferred: true })
}

/// Whether a fixed script takes the place of advice.
#[must_use]
pub fn script(base: &Base, a: &Assessment) -> Option<Script> {
    let has = |names: &[&str]| names.iter().filter_map(|n| base.lexicon.id(n)).any(|c| a.facts.has(c));
    match () {
        () if has(&["suicidal"]) => Some(Script::SelfHarm),
        () if has(&["overdose", "poisoning", "opioid_overdose"]) => Some(Script::Poisoning),
        () if has(&["abuse_cue"]) => Some(Script::Abuse),
        () => None,
    }
}

struct Writer<'a> {
    base: &'a Base,
    input: &'a Input,
    a: &'a Assessment,
    spoken: Spoken<'a>,
    number: &'a str,
}

impl Writer<'_> {
    /// Order: call to action, what was understood, what may fit, what to do,
    /// what would change this, questions, limits.
    fn write(&self, answer: &Consultation, script: Option<Script>) -> Vec<Paragraph> {
        let mut parts = vec![(Part::Call, self.spoken.call(self.a.triage.level, self.a.triage.basis, self.number))];
        if let Some(script) = script {
            parts.push((Part::Script, self.spoken.script(script, self.number)));
        }
        if self.a.triage.level.is_none() {
            parts.push((Part::Signs, list(None, self.spoken.signs().iter().cloned())));
        }
        parts.push((Part::Understood, self.understood()));
        let considerations = answer.considerations.iter().map(|c| format!("{}{} ({})", c.title, marks(&c.cite), c.why));
        parts.push((Part::Considerations, list(Some(self.spoken.heading("considerations")), considerations)));
        if script.is_none() {
            let steps = answer.actions.iter().chain(&answer.self_care).map(line);
            parts.push((Part::Actions, list(Some(self.spoken.heading("do")), steps)));
        }
        parts.push((Part::Changes, list(Some(self.spoken.heading("changes")), answer.safety_net.iter().map(line))));
        parts.push((Part::SafetyNet, self.spoken.safety_net(self.number)));
        let questions = answer.questions.iter().map(|q| q.text.clone());
        parts.push((Part::Questions, list(Some(self.spoken.heading("questions")), questions)));
        parts.push((Part::Limits, format!("{}: {}", self.spoken.heading("limits"), self.spoken.limits())));
        parts.retain(|(_, text)| !text.trim().is_empty());
        parts.into_iter().map(|(part, text)| Paragraph { part, text }).collect()
    }

    fn understood(&self) -> String {
        let label = |c: &u16| self.base.lexicon.label(*c).to_owned();
        let mut items: Vec<String> = self.a.summary.present.keys().take(12).map(label).collect();
        let shown = |field: &str, value: f64| match measure_of(field) {
            Some(measure) => measure.shown(value),
            None => format!("{field} {value}"),
        };
        items.extend(self.a.said.iter().take(8).map(|(field, value, _)| shown(field, *value)));
        let denied: Vec<String> = self.a.summary.absent.keys().take(8).map(label).collect();
        if !denied.is_empty() {
            items.push(format!("not present: {}", denied.join(", ")));
        }
        if items.is_empty() {
            return String::new();
        }
        let note = if self.input.audience == Audience::Public { "." } else { " (as recognised by rules; check it)." };
        format!("{}: {}{note}", self.spoken.heading("understood"), items.join("; "))
    }
}

/// `[1]`, or `[1][3]`.
fn marks(cite: &[usize]) -> String {
    cite.iter().fold(String::new(), |text, n| if text.is_empty() { format!(" [{n}]") } else { format!("{text}[{n}]") })
}

fn line(advice: &Advice) -> String {
    match &advice.when {
        Some(when) => format!("{} ({when}){}", advice.text, marks(&advice.cite)),
        None => format!("{}{}", advice.text, marks(&advice.cite)),
    }
}

/// A heading with a list under it; nothing where the list is empty.
fn list(heading: Option<&str>, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    match heading {
        _ if items.is_empty() => String::new(),
        Some(heading) => format!("{heading}:\n{}", items.join("\n")),
        None => items.join("\n"),
    }
}
