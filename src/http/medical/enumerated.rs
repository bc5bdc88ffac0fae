//! Readers of fields that take one of several words, and of lists of texts.

use std::ops::RangeInclusive;

use muster_medical::input::{Audience, CreatinineUnit, GlucoseUnit, TroponinUnit};
use muster_medical::rank::Sex;
use muster_medical::{languages, shared};
use muster_request::Fields;

/// The sex of a request; `None` inside where it is intersex or unknown.
pub type GivenSex = Option<Sex>;

/// Reads one of several words.
pub fn one_of<T>(fields: &mut Fields<'_>, name: &str, words: impl IntoIterator<Item = (&'static str, T)>) -> Option<T> {
    let text = fields.string(name)?;
    let mut accepted = Vec::new();
    for (word, value) in words {
        if word == text {
            return Some(value);
        }
        accepted.push(word);
    }
    fields.fail(name, format!("must be one of {}", accepted.join(", ")));
    None
}

pub fn sex(fields: &mut Fields<'_>, name: &str) -> Option<GivenSex> {
    let words = [("female", Some(Sex::Female)), ("male", Some(Sex::Male)), ("intersex", None), ("unknown", None)];
    one_of(fields, name, words)
}

pub fn audience(fields: &mut Fields<'_>, name: &str) -> Option<Audience> {
    one_of(fields, name, [("professional", Audience::Professional), ("public", Audience::Public)])
}

pub fn consciousness(fields: &mut Fields<'_>, name: &str) -> Option<char> {
    one_of(fields, name, [("A", 'A'), ("C", 'C'), ("V", 'V'), ("P", 'P'), ("U", 'U')])
}

pub fn troponin_unit(fields: &mut Fields<'_>, name: &str) -> Option<TroponinUnit> {
    one_of(fields, name, [("ng/L", TroponinUnit::NgL), ("ng/mL", TroponinUnit::NgMl)])
}

pub fn bnp_assay(fields: &mut Fields<'_>, name: &str) -> Option<bool> {
    one_of(fields, name, [("BNP", false), ("NT-proBNP", true)])
}

/// The micro sign has two code points.
pub fn creatinine_unit(fields: &mut Fields<'_>, name: &str) -> Option<CreatinineUnit> {
    let words = [
        ("mg/dL", CreatinineUnit::MgDl),
        ("umol/L", CreatinineUnit::UmolL),
        ("µmol/L", CreatinineUnit::UmolL),
        ("μmol/L", CreatinineUnit::UmolL),
    ];
    one_of(fields, name, words)
}

pub fn glucose_unit(fields: &mut Fields<'_>, name: &str) -> Option<GlucoseUnit> {
    one_of(fields, name, [("mmol/L", GlucoseUnit::MmolL), ("mg/dL", GlucoseUnit::MgDl)])
}

pub fn language(fields: &mut Fields<'_>, name: &str) -> Option<&'static str> {
    let text = fields.string(name)?;
    let code = languages::code(&text);
    if code.is_none() {
        let codes: Vec<&str> = languages::LANGUAGES.iter().map(|(code, _)| *code).collect();
        fields.fail(name, format!("must be the code of a language: {}", codes.join(", ")));
    }
    code
}

pub fn specialty(fields: &mut Fields<'_>, name: &str) -> Option<&'static str> {
    let text = fields.string(name)?;
    let Ok(base) = shared() else {
        fields.fail(name, "the knowledge base is not available: see the status of the interface");
        return None;
    };
    let known = base.specialty(&text).map(|specialty| specialty.id.as_str());
    if known.is_none() {
        let ids: Vec<&str> = base.specialties.iter().map(|specialty| specialty.id.as_str()).collect();
        fields.fail(name, format!("must be one of {}", ids.join(", ")));
    }
    known
}

/// A list of texts.
pub fn list(
    fields: &mut Fields<'_>,
    name: &str,
    items: RangeInclusive<usize>,
    chars: RangeInclusive<usize>,
) -> Option<Vec<String>> {
    fields.strings(name, items, chars)
}

pub fn sentences(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    list(fields, name, 1..=50, 1..=300)
}

pub fn history(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    list(fields, name, 0..=50, 0..=300)
}
