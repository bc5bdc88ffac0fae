//! What the referral rules read: the assessment's facts, durations, laboratory
//! values and smoking.

use super::expr::Quantity;
use super::factors::RiskFactors;
use super::request::CancerRequest;
use crate::assess::Assessment;
use crate::base::Base;
use crate::input::Input;
use crate::rank::Sex;
use crate::rule::{Facts, Measure};
use crate::text::{ConceptId, Finding, Sentence, Status, read, sentences};
use std::collections::BTreeSet;

/// Weeks from which a symptom counts as persistent (ours).
pub const LASTING_WEEKS: f64 = 3.0;

/// The facts of one request.
#[derive(Debug, Clone)]
pub struct CancerFacts<'a> {
    facts: Facts,
    lasting: BTreeSet<ConceptId>,
    age: f64,
    sex: Option<Sex>,
    request: &'a CancerRequest,
    factors: &'a RiskFactors,
}

impl<'a> CancerFacts<'a> {
    /// Joins what the assessment and the risk factors say.
    #[must_use]
    pub fn new(
        base: &Base,
        a: &Assessment,
        input: &Input,
        request: &'a CancerRequest,
        factors: &'a RiskFactors,
    ) -> Self {
        let mut facts = a.facts.clone();
        let mut add = |name: &str, known: bool| {
            if known && let Some(id) = base.lexicon.id(name) {
                facts.add(id, false);
            }
        };
        add("smoking", factors.ever_smoked() == Some(true));
        add("asbestos", factors.asbestos);
        let mut lasting: BTreeSet<ConceptId> = a
            .summary
            .present
            .iter()
            .filter(|(_, f)| f.weeks.is_some_and(|w| w >= LASTING_WEEKS - 1e-9))
            .map(|(&id, _)| id)
            .collect();
        for text in &input.texts {
            persistent(base, text, &facts, &mut lasting);
        }
        Self { facts, lasting, age: request.age, sex: a.sex, request, factors }
    }

    /// The same at another age.
    #[must_use]
    pub fn at_age(&self, age: f64) -> Self {
        Self { age, ..self.clone() }
    }

    /// Years.
    #[must_use]
    pub fn age(&self) -> f64 {
        self.age
    }

    /// The sex that was sent, or read in the text.
    #[must_use]
    pub fn sex(&self) -> Option<Sex> {
        self.sex
    }

    /// Whether a concept is present.
    #[must_use]
    pub fn has(&self, id: ConceptId) -> bool {
        self.facts.has(id)
    }

    /// Whether a concept was denied and is nowhere present.
    #[must_use]
    pub fn denies(&self, id: ConceptId) -> bool {
        self.facts.denies(id)
    }

    /// Whether a concept is said to last three weeks, or to persist.
    #[must_use]
    pub fn lasts(&self, id: ConceptId) -> bool {
        self.lasting.contains(&id)
    }

    /// Whether anything is there that a rule could read.
    #[must_use]
    pub fn any(&self) -> bool {
        let l = &self.request.labs;
        let labs = [l.fit, l.ca125, l.psa, l.hb, l.platelets].iter().any(Option::is_some);
        labs || self.facts.present().next().is_some() || self.facts.values.any()
    }

    /// The value of a quantity, if it is known.
    #[must_use]
    pub fn quantity(&self, quantity: Quantity) -> Option<f64> {
        let labs = &self.request.labs;
        match quantity {
            Quantity::Age => Some(self.age),
            Quantity::Fit => labs.fit,
            Quantity::Ca125 => labs.ca125,
            Quantity::Psa => labs.psa,
            Quantity::HbDeficit => labs.hb.map(|hb| if self.sex == Some(Sex::Male) { 13.0 } else { 12.0 } - hb),
            Quantity::Platelets => labs.platelets.or_else(|| self.facts.values.high(Measure::Platelets)),
            Quantity::Wbc => self.facts.values.high(Measure::Wbc),
            Quantity::Glucose => self.facts.values.high(Measure::Glucose),
            Quantity::PackYears => self.factors.pack_years(),
            Quantity::SmokeFreeYears => self.factors.smoke_free_years(),
            Quantity::BreastRelatives => self.factors.breast_relatives.map(f64::from),
            Quantity::OvarianRelatives => self.factors.ovarian_relatives.map(f64::from),
        }
    }
}

/// Adds the present concepts that a text says to last: with a duration of
/// three weeks or more ("a history of back pain of 6 months" tells how long a
/// pain has lasted that is present), or in a sentence of persistence.
fn persistent(base: &Base, text: &str, facts: &Facts, lasting: &mut BTreeSet<ConceptId>) {
    let told = |f: &Finding| matches!(f.status, Status::Present | Status::Past) && facts.has(f.concept);
    for finding in read(&base.lexicon, text, &["en"]).findings {
        if told(&finding) && finding.weeks.is_some_and(|w| w >= LASTING_WEEKS) {
            lasting.insert(finding.concept);
        }
    }
    for sentence in sentences(text).iter().take(MOST_SENTENCES).filter(|s| says_persistence(s)) {
        let words = sentence.source(text, 0, sentence.tokens.len().saturating_sub(1));
        for finding in read(&base.lexicon, words, &["en"]).findings {
            if finding.status == Status::Present {
                lasting.insert(finding.concept);
            }
        }
    }
}

/// Sentences read at most for words of persistence.
const MOST_SENTENCES: usize = 200;

fn says_persistence(sentence: &Sentence) -> bool {
    (0..sentence.tokens.len()).any(|at| {
        let word = sentence.word(at);
        word.starts_with("persist")
            || word.starts_with("progressiv")
            || matches!(word, "chronic" | "ongoing" | "longstanding" | "constantly")
            || (word == "for" && matches!(sentence.word(at + 1), "weeks" | "months" | "years"))
    })
}
