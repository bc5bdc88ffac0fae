//! Shared builders of the tests.

mod examples;
mod factors;
mod models;
mod properties;
mod shared_data;

use super::request::{CancerRequest, Jurisdiction};
use crate::answer::Cites;
use crate::answer::cancer::{CancerAnswer, SiteStatus, cancer};
use crate::answer::common::TriageBlock;
use crate::assess::assess;
use crate::base::Base;
use crate::input::Audience;
use crate::rank::Sex;
use std::sync::OnceLock;

pub fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| Base::with_phrases(crate::phrases::Phrases::default()).expect("the compiled-in data is valid"))
}

pub fn answer(request: &CancerRequest) -> CancerAnswer {
    let base = base();
    let input = request.input("en", Audience::Professional);
    let a = assess(base, &input).expect("no value that cannot be read");
    let triage = TriageBlock {
        level: a.triage.level,
        label: None,
        call_to_action: String::new(),
        basis: a.triage.basis,
        fired_by: Vec::new(),
    };
    cancer(base, &input, &a, request, &triage, &mut Cites::new(base))
}

/// "57f platelets=520 smoker: feeling tired": age, sex (m, f or ?), labs and
/// risk factors in one word or the rest in words, then the symptoms.
pub fn request(example: &str) -> CancerRequest {
    let (head, text) = example.split_once(": ").expect("a colon between head and text");
    let (patient, rest) = head.split_once(' ').unwrap_or((head, ""));
    let mut request = CancerRequest { symptoms: Some(text.to_owned()), ..CancerRequest::default() };
    let (age, sex) = patient.split_at(patient.len() - 1);
    request.age = age.parse().expect("an age");
    request.sex = match sex {
        "m" => Some(Sex::Male),
        "f" => Some(Sex::Female),
        _ => None,
    };
    let mut factor = Vec::new();
    for word in rest.split_whitespace() {
        let value = |v: &str| Some(v.parse::<f64>().expect("a number"));
        match word.split_once('=') {
            Some(("fit", v)) => request.labs.fit = value(v),
            Some(("ca125", v)) => request.labs.ca125 = value(v),
            Some(("psa", v)) => request.labs.psa = value(v),
            Some(("hb", v)) => request.labs.hb = value(v),
            Some(("platelets", v)) => request.labs.platelets = value(v),
            Some((name, _)) => panic!("unknown value {name}"),
            None => factor.push(word),
        }
    }
    if !factor.is_empty() {
        request.risk_factors.push(factor.join(" "));
    }
    request
}

/// The ids of the rules met, without those noted below their threshold.
pub fn met(request: &CancerRequest) -> Vec<String> {
    let answer = answer(request);
    let met = answer.sites.iter().filter(|s| s.status != SiteStatus::NotedBelowThreshold);
    met.flat_map(|s| s.recommendations.iter().map(|r| r.rule_id.clone())).collect()
}

pub fn us(age: f64, sex: Option<Sex>, factors: &[&str]) -> CancerRequest {
    CancerRequest {
        age,
        sex,
        risk_factors: factors.iter().map(|f| (*f).to_owned()).collect(),
        jurisdiction: Jurisdiction::Us,
        ..CancerRequest::default()
    }
}
