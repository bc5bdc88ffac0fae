//! Findings only add: no criterion is lost and no concern is lowered by one.

use super::{answer, base, met};
use crate::cancer::request::{CancerRequest, Jurisdiction};
use crate::rank::Sex;
use proptest::prelude::*;

/// Sentences that each tell one finding.
const FINDINGS: &[&str] = &[
    "I have a cough.",
    "I am tired.",
    "I have a fever.",
    "I have lost weight.",
    "I have lost my appetite.",
    "I have back pain.",
    "I have abdominal pain.",
    "There is blood in my stool.",
    "There is blood in my urine.",
    "I cough up blood.",
    "I am breathless.",
    "I have chest pain.",
    "My eyes are yellow.",
    "I have difficulty swallowing.",
    "I have a breast lump.",
    "I have a lump in my neck.",
    "I have swollen lymph nodes.",
    "I bruise easily, bruising everywhere.",
    "I have night sweats.",
    "My mole got bigger.",
    "My mole is irregular.",
    "I have been bloated, bloating for 6 weeks.",
    "I have back pain for 3 months.",
    "I have been tired for 2 months.",
    "I have a hoarse voice for 5 weeks.",
    "I have postmenopausal bleeding.",
    "I smoke.",
    "Persistent indigestion.",
    "I am vomiting.",
    "I have constipation.",
];

fn request(age: f64, sex: Option<Sex>, findings: &[usize]) -> CancerRequest {
    let text: Vec<&str> = findings.iter().map(|i| FINDINGS[*i]).collect();
    CancerRequest { age, sex, symptoms: Some(text.join(" ")), ..CancerRequest::default() }
}

fn sex() -> impl Strategy<Value = Option<Sex>> {
    prop_oneof![Just(None), Just(Some(Sex::Female)), Just(Some(Sex::Male))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_added_finding_loses_no_criterion_and_lowers_no_concern(
        age in 0.0..100.0f64,
        sex in sex(),
        findings in proptest::collection::vec(0..FINDINGS.len(), 0..6),
        added in 0..FINDINGS.len(),
    ) {
        let before = request(age, sex, &findings);
        let mut more = findings.clone();
        more.push(added);
        let after = request(age, sex, &more);
        let kept = met(&after);
        for rule in met(&before) {
            prop_assert!(kept.contains(&rule), "{rule} is lost by {}", FINDINGS[added]);
        }
        prop_assert!(answer(&after).concern_level >= answer(&before).concern_level);
    }

    #[test]
    fn a_risk_factor_lowers_no_concern(
        age in 18.0..90.0f64,
        findings in proptest::collection::vec(0..FINDINGS.len(), 0..4),
        factor in prop_oneof![Just("30 pack years"), Just("asbestos"), Just("mother breast cancer"), Just("COPD")],
    ) {
        let before = request(age, Some(Sex::Female), &findings);
        let mut after = before.clone();
        after.risk_factors.push(factor.to_owned());
        prop_assert!(answer(&after).concern_level >= answer(&before).concern_level);
    }

    #[test]
    fn any_text_is_answered(text in ".{0,400}", age in 0.0..120.0f64, organ in ".{0,20}") {
        for jurisdiction in [Jurisdiction::Gb, Jurisdiction::Us, Jurisdiction::None] {
            let request = CancerRequest {
                age,
                symptoms: Some(text.clone()),
                risk_factors: vec![text.clone()],
                organs: vec![organ.clone()],
                jurisdiction,
                ..CancerRequest::default()
            };
            let answer = answer(&request);
            prop_assert!(answer.questions.len() <= 3 && answer.models.len() == 6);
        }
    }
}

#[test]
fn models_raise_nothing_above_routine() {
    let mut r = CancerRequest { age: 64.0, sex: Some(Sex::Male), ..CancerRequest::default() };
    r.risk_factors = [
        "current smoker, 40/day for 45 years",
        "white",
        "education level 1",
        "BMI 20",
        "COPD",
        "previous bladder cancer",
        "father lung cancer",
    ]
    .map(str::to_owned)
    .to_vec();
    let answer = answer(&r);
    let plco = answer.models.iter().find(|m| m.id == "plcom2012").expect("listed");
    assert!(plco.value.expect("a value") > 0.0151);
    assert_eq!(answer.concern_level, crate::answer::cancer::ConcernLevel::Routine);
}

#[test]
fn the_hash_covers_the_data_of_this_module() {
    let names: Vec<&str> = crate::data::files().map(|(name, _)| name).collect();
    for name in ["ng12", "uspstf", "cancer_models", "bcrat"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(base().cancer.ng12.rules.len() == 66);
}
