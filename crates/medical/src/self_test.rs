//! Published worked values and examples that the running program computes again.

use crate::answer::Cites;
use crate::answer::cancer::{self, SiteStatus};
use crate::answer::common::{Setting, common};
use crate::assess::assess;
use crate::base::Base;
use crate::cancer::request::CancerRequest;
use crate::input::Audience;
use crate::score::{Inputs, evaluate};

/// A score, its inputs and the value of the publication.
struct Vector {
    score: &'static str,
    numbers: &'static [(&'static str, f64)],
    words: &'static [(&'static str, &'static str)],
    value: f64,
    tolerance: f64,
}

const VECTORS: &[Vector] = &[
    // Royal College of Physicians 2017, scoring chart: 3 + 3 + 2 + 3 + 2 + 0 + 1.
    Vector {
        score: "news2",
        numbers: &[
            ("respiratory_rate", 25.0),
            ("spo2_percent", 91.0),
            ("systolic_mmhg", 90.0),
            ("heart_rate_bpm", 111.0),
            ("temperature_c", 38.1),
        ],
        words: &[("supplemental_oxygen", "true"), ("acvpu", "A")],
        value: 14.0,
        tolerance: 0.0,
    },
    // (120 + 2 * 60) / 3.
    Vector {
        score: "map",
        numbers: &[("systolic_mmhg", 120.0), ("diastolic_mmhg", 60.0)],
        words: &[],
        value: 80.0,
        tolerance: 0.01,
    },
    // 142 * (2/0.9)^-1.2 * 0.9938^60: Inker 2021, table 1.
    Vector {
        score: "ckd_epi_2021",
        numbers: &[("creatinine_mg_dl", 2.0), ("age_years", 60.0)],
        words: &[("sex", "male")],
        value: 37.0,
        tolerance: 1.0,
    },
    // 70 / 1.75^2.
    Vector {
        score: "bmi",
        numbers: &[("weight_kg", 70.0), ("height_cm", 175.0)],
        words: &[],
        value: 22.86,
        tolerance: 0.05,
    },
];

/// Computes every vector.
///
/// # Errors
/// The first score that differs.
pub fn scores() -> Result<(), String> {
    for vector in VECTORS {
        let mut inputs = Inputs::default();
        for (name, value) in vector.numbers {
            inputs.set(name, *value);
        }
        for (name, value) in vector.words {
            match *value {
                "true" => inputs.set(name, true),
                word => inputs.set(name, word.to_owned()),
            };
        }
        let value = evaluate(vector.score, &inputs).and_then(|score| score.value);
        if !value.is_some_and(|value| (value - vector.value).abs() <= vector.tolerance) {
            return Err(format!("{}: {value:?} instead of {}", vector.score, vector.value));
        }
    }
    Ok(())
}

/// Unexplained haemoptysis, which NICE NG12 1.1.1 refers at 40 years and over.
const REFERRED: (&str, &str, f64) = ("ng12-1.1.1", "coughing up blood", 60.0);
/// The same in a child, whom the recommendation does not name.
const NOT_REFERRED_AGE: f64 = 12.0;

/// Tests the referral rules for cancer: one is met by its example, and is not met outside its age.
///
/// # Errors
/// What does not hold.
pub fn cancer(base: &Base) -> Result<(), String> {
    let (rule, symptoms, age) = REFERRED;
    if !meets(base, rule, symptoms, age)? {
        return Err(format!("the referral rule {rule} is not met by its example"));
    }
    if meets(base, rule, symptoms, NOT_REFERRED_AGE)? {
        return Err(format!("the referral rule {rule} is met outside its age"));
    }
    Ok(())
}

fn meets(base: &Base, rule: &str, symptoms: &str, age: f64) -> Result<bool, String> {
    let request = CancerRequest { age, symptoms: Some(symptoms.to_owned()), ..CancerRequest::default() };
    let input = request.input("en", Audience::Professional);
    let assessment = assess(base, &input).map_err(|error| error.msg.to_owned())?;
    let mut cites = Cites::new(base);
    let setting = Setting { emergency_number: String::new(), ruleset: String::new() };
    let triage = common(base, &input, &assessment, &setting, &mut cites).triage;
    let answer = cancer::cancer(base, &input, &assessment, &request, &triage, &mut cites);
    let met = answer.sites.iter().filter(|site| site.status != SiteStatus::NotedBelowThreshold);
    Ok(met.flat_map(|site| &site.recommendations).any(|recommendation| recommendation.rule_id == rule))
}
