//! From an input to what follows from it. The same bytes for the same bytes.

use crate::base::Base;
use crate::input::{Input, Measured, Unreadable, measure};
use crate::languages;
use crate::rank::{Ranked, Sex, rank};
use crate::rule::{Facts, Measure};
use crate::score::{self, Inputs};
use crate::score_inputs;
use crate::text::{Finding, Kind, Status, Summary, read};
use crate::triage::{Scope, Triage, triage};

/// What follows from an input.
#[derive(Debug, Clone)]
pub struct Assessment {
    pub summary: Summary,
    pub facts: Facts,
    pub measured: Measured,
    /// Values that the text said: field, value, the words.
    pub said: Vec<(&'static str, f64, String)>,
    pub triage: Triage,
    pub ranked: Vec<Ranked>,
    pub sex: Option<Sex>,
    pub age: Option<f64>,
    pub unrecognised: Vec<String>,
    pub warnings: Vec<String>,
    /// Whether a lexicon of the text's language was there.
    pub understood: bool,
}

/// Assesses an input.
///
/// # Errors
/// A measured value that cannot be read.
pub fn assess(base: &Base, input: &Input) -> Result<Assessment, Unreadable> {
    let mut a = Reader::new(base, input)?;
    for text in &input.texts {
        a.message(text);
    }
    for text in &input.history {
        a.lasting(text);
    }
    for text in &input.medications {
        a.lasting(text);
    }
    for text in &input.allergies {
        a.allergy(text);
    }
    a.previous();
    a.patient();
    a.finish()
}

struct Reader<'a> {
    base: &'a Base,
    input: &'a Input,
    languages: Vec<&'a str>,
    summary: Summary,
    measured: Measured,
    said: Vec<(&'static str, f64, String)>,
    about_health: bool,
    unrecognised: Vec<String>,
    corrected: Vec<(String, String)>,
    sex: Option<Sex>,
    age: Option<f64>,
}

impl<'a> Reader<'a> {
    fn new(base: &'a Base, input: &'a Input) -> Result<Self, Unreadable> {
        let measured = measure(&input.vitals, &input.labs)?;
        Ok(Self {
            base,
            input,
            languages: vec![input.language.as_str()],
            summary: Summary::default(),
            measured,
            said: Vec::new(),
            about_health: false,
            unrecognised: Vec::new(),
            corrected: Vec::new(),
            sex: input.patient.sex,
            age: input.patient.age,
        })
    }

    fn message(&mut self, text: &str) {
        let reading = read(&self.base.lexicon, text, &self.languages);
        self.about_health |= reading.about_health;
        self.unrecognised.extend(reading.unrecognised);
        for value in reading.values {
            let words = text.get(value.start..value.end).unwrap_or("").to_owned();
            self.value(value.field, value.value, words);
        }
        for finding in reading.findings {
            if let Some(pair) = &finding.corrected
                && !self.corrected.contains(pair)
            {
                self.corrected.push(pair.clone());
            }
            self.summary.add(&self.base.lexicon, finding);
        }
    }

    /// A value that the text says joins those that were sent.
    fn value(&mut self, field: &'static str, value: f64, words: String) {
        match field {
            "age" => {
                if self.age.is_none() {
                    self.age = Some(value);
                }
            }
            "sex" => {
                if self.sex.is_none() {
                    self.sex = Some(if value > 0.5 { Sex::Female } else { Sex::Male });
                }
                return;
            }
            _ => {
                if let Some(measure) = measure_of(field) {
                    self.measured.values.add(measure, Some(value));
                }
            }
        }
        if !self.said.iter().any(|(f, v, _)| *f == field && (*v - value).abs() < f64::EPSILON) {
            self.said.push((field, value, words));
        }
    }

    /// A history or a list of medicines tells conditions, exposures and
    /// drugs, never a symptom of today.
    fn lasting(&mut self, text: &str) {
        let lexicon = &self.base.lexicon;
        for mut finding in read(lexicon, text, &self.languages).findings {
            let lasting = matches!(lexicon.kind(finding.concept), Kind::Condition | Kind::Exposure | Kind::Drug);
            if finding.status == Status::Past && lasting {
                finding.status = Status::Present;
            }
            if lasting && matches!(finding.status, Status::Present | Status::Absent | Status::Family) {
                self.summary.add(lexicon, finding);
            }
        }
    }

    fn allergy(&mut self, text: &str) {
        if let Some(concept) = self.base.lexicon.id("allergy") {
            self.concept(concept, Status::Present, text, false);
        }
    }

    fn concept(&mut self, concept: u16, status: Status, from: &str, sudden: bool) {
        let from = from.chars().take(120).collect();
        let finding = Finding { concept, status, from, sudden, severity: None, weeks: None, corrected: None };
        self.summary.add(&self.base.lexicon, finding);
    }

    fn named(&mut self, id: &str, status: Status, from: &str) {
        if let Some(concept) = self.base.lexicon.id(id) {
            self.concept(concept, status, from, false);
        }
    }

    fn previous(&mut self) {
        let input = self.input;
        for (id, sudden) in &input.previous.present {
            if let Some(concept) = self.base.lexicon.id(id) {
                self.concept(concept, Status::Present, "previous answer", *sudden);
            }
        }
        for id in &input.previous.absent {
            self.named(id, Status::Absent, "previous answer");
        }
        for (field, value) in &input.previous.values {
            if let Some(field) = FIELDS.iter().find(|f| *f == field) {
                self.value(field, *value, "previous answer".to_owned());
            }
        }
    }

    fn patient(&mut self) {
        match self.input.patient.pregnant {
            Some(true) => self.named("pregnancy", Status::Present, "patientContext.pregnant"),
            Some(false) => self.named("pregnancy", Status::Absent, "patientContext.pregnant"),
            None => {}
        }
        match self.input.vitals.consciousness {
            Some('C' | 'V' | 'P') => self.named("confusion", Status::Present, "vitalSigns.consciousness"),
            Some('U') => {
                self.named("confusion", Status::Present, "vitalSigns.consciousness");
                self.named("unresponsive", Status::Present, "vitalSigns.consciousness");
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Result<Assessment, Unreadable> {
        self.summary.settle();
        let mut facts = Facts::new(self.base.lexicon.len());
        facts.low_oxygen_target = self.input.vitals.spo2_scale == Some(2);
        for finding in self.summary.present.values() {
            facts.add(finding.concept, finding.sudden);
        }
        for &concept in self.summary.absent.keys() {
            facts.deny(concept);
        }
        self.measured.values.add(Measure::Age, self.age);
        facts.values = self.measured.values;
        self.alarms(&mut facts);
        let understood = self.understood();
        let scope = Scope {
            anything_present: !self.summary.present.is_empty(),
            // What cannot be read may be about health.
            about_health: self.about_health || !self.input.history.is_empty() || !understood,
            everything_understood: self.unrecognised.is_empty(),
        };
        let weeks = |c| self.summary.present.get(&c).and_then(|f: &Finding| f.weeks);
        let triage = triage(self.base, &facts, scope, weeks);
        let ranked = rank(self.base, &facts, &triage.fired, self.sex, self.input.specialty.as_deref());
        let mut warnings = std::mem::take(&mut self.measured.warnings);
        for (word, meant) in &self.corrected {
            warnings.push(format!("\"{word}\" was read as \"{meant}\"."));
        }
        Ok(Assessment {
            summary: self.summary,
            facts,
            measured: self.measured,
            said: self.said,
            triage,
            ranked,
            sex: self.sex,
            age: self.age,
            unrecognised: self.unrecognised,
            warnings,
            understood,
        })
    }

    /// Whether a lexicon of the texts' language was there.
    fn understood(&self) -> bool {
        !self.summary.present.is_empty()
            || self.about_health
            || self.input.texts.is_empty()
            || self.input.texts.iter().any(|text| languages::known(text))
    }

    /// The bounds of the early warning scores, for the rules about them.
    /// NEWS2 is not for children under 16; pregnancy bars the score that is
    /// shown, not this alarm.
    fn alarms(&self, facts: &mut Facts) {
        let age = self.age;
        if age.is_none_or(|a| a >= 16.0) {
            let inputs = news2_inputs(self.input, facts);
            if let Some(min) = score::least("news2", &inputs) {
                facts.values.add(Measure::News2Min, (min > 0.0).then_some(min));
            }
            let mut single = 0.0f64;
            for (name, value) in inputs.iter() {
                let mut one = Inputs::default();
                one.set(name, value.clone());
                if name == "spo2_percent"
                    && let Some(scale) = inputs.number("spo2_scale")
                {
                    one.set("spo2_scale", scale);
                }
                single = single.max(score::least("news2", &one).unwrap_or(0.0));
            }
            facts.values.add(Measure::News2Single, (single > 0.0).then_some(single));
        }
        if age.is_none_or(|a| a >= 18.0) {
            let inputs = crb65_inputs(self.base, facts);
            let min = score::least("crb65", &inputs);
            facts.values.add(Measure::Crb65Min, min.filter(|m| *m > 0.0));
        }
    }
}

/// The vital signs of NEWS2 and the names of its inputs.
const NEWS2_SIGNS: [(Measure, &str); 5] = [
    (Measure::RespiratoryRate, "respiratory_rate"),
    (Measure::Spo2, "spo2_percent"),
    (Measure::Systolic, "systolic_mmhg"),
    (Measure::HeartRate, "heart_rate_bpm"),
    (Measure::Temperature, "temperature_c"),
];

/// The worse of several readings counts for an alarm.
fn news2_inputs(input: &Input, facts: &Facts) -> Inputs {
    let mut inputs = Inputs::default();
    for (measure, name) in NEWS2_SIGNS {
        if let Some(value) = score_inputs::worst_sign(&facts.values, measure, name) {
            inputs.set(name, value);
        }
    }
    if let Some(oxygen) = input.vitals.supplemental_oxygen {
        inputs.set("supplemental_oxygen", oxygen);
    }
    if let Some(c) = input.vitals.consciousness {
        inputs.set("acvpu", c.to_string());
    }
    if let Some(scale) = input.vitals.spo2_scale {
        inputs.set("spo2_scale", f64::from(scale));
    }
    inputs
}

fn crb65_inputs(base: &Base, facts: &Facts) -> Inputs {
    let mut inputs = Inputs::default();
    if base.lexicon.id("confusion").is_some_and(|c| facts.has(c)) {
        inputs.set("confusion", true);
    }
    let values = &facts.values;
    let pairs = [
        ("respiratory_rate", values.high(Measure::RespiratoryRate)),
        ("systolic_mmhg", values.low(Measure::Systolic)),
        ("diastolic_mmhg", values.low(Measure::Diastolic)),
        ("age_years", values.low(Measure::Age)),
    ];
    for (name, value) in pairs {
        if let Some(value) = value {
            inputs.set(name, score_inputs::within("crb65", name, value));
        }
    }
    inputs
}

/// The fields that texts and previous answers may give.
pub const FIELDS: &[&str] = &[
    "systolic",
    "diastolic",
    "heartRate",
    "respiratoryRate",
    "spo2",
    "temperature",
    "glucose",
    "lactate",
    "potassium",
    "age",
];

/// The measure of a field.
#[must_use]
pub fn measure_of(field: &str) -> Option<Measure> {
    Some(match field {
        "systolic" => Measure::Systolic,
        "diastolic" => Measure::Diastolic,
        "heartRate" => Measure::HeartRate,
        "respiratoryRate" => Measure::RespiratoryRate,
        "spo2" => Measure::Spo2,
        "temperature" => Measure::Temperature,
        "glucose" => Measure::Glucose,
        "lactate" => Measure::Lactate,
        "potassium" => Measure::Potassium,
        "age" => Measure::Age,
        _ => return None,
    })
}
