//! The examples of the data run: two that meet each rule and two that do not.

use super::{answer, base, met, request, us};
use crate::answer::cancer::{ConcernLevel, SiteStatus};
use crate::cancer::request::{CancerRequest, Jurisdiction};
use crate::rank::Sex;

#[test]
fn every_referral_rule_holds_for_its_examples_and_not_for_the_others() {
    let mut wrong = Vec::new();
    for rule in &base().cancer.ng12.rules {
        let d = &rule.data;
        if d.positive.len() < 2 || d.negative.len() < 2 {
            wrong.push(format!("{}: two examples of each", d.id));
        }
        for example in &d.positive {
            if !met(&request(example)).contains(&d.id) {
                wrong.push(format!("{} is not met by: {example}", d.id));
            }
        }
        for example in &d.negative {
            if met(&request(example)).contains(&d.id) {
                wrong.push(format!("{} is met by: {example}", d.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_screening_rule_holds_for_its_examples_and_not_for_the_others() {
    let mut wrong = Vec::new();
    let holds = |id: &str, example: &str| {
        let (patient, factors) = example.split_once(": ").expect("a colon");
        let (age, sex) = patient.split_at(patient.len() - 1);
        let sex = if sex == "f" { Sex::Female } else { Sex::Male };
        let entries: Vec<&str> = if factors == "none" { Vec::new() } else { factors.split(", ").collect() };
        let answer = answer(&us(age.parse().expect("an age"), Some(sex), &entries));
        answer.screening.iter().any(|s| s.rule_id == id)
    };
    for rule in &base().cancer.uspstf.rules {
        let d = &rule.data;
        wrong.extend(d.positive.iter().filter(|e| !holds(&d.id, e)).map(|e| format!("{} is not met by: {e}", d.id)));
        wrong.extend(d.negative.iter().filter(|e| holds(&d.id, e)).map(|e| format!("{} is met by: {e}", d.id)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn there_are_66_referral_rules_with_short_actions() {
    let rules = &base().cancer.ng12.rules;
    assert_eq!(rules.len(), 66);
    assert!(rules.iter().all(|r| r.data.action.chars().count() <= 200));
}

#[test]
fn a_general_symptom_alone_meets_a_rule_only_with_three_weeks() {
    assert!(!met(&request("66m smoker: cough for 4 days")).contains(&"ng12-1.1.2".to_owned()));
    assert!(met(&request("66m smoker: cough for 3 weeks")).contains(&"ng12-1.1.2".to_owned()));
    assert!(met(&request("66m smoker: cough and weight loss")).contains(&"ng12-1.1.2".to_owned()));
}

#[test]
fn an_age_bound_missed_is_noted_and_does_not_raise_the_concern() {
    let answer = answer(&request("46f: back pain for 6 months"));
    let myeloma = answer.sites.iter().find(|s| s.site == "myeloma").expect("myeloma is noted");
    assert_eq!(myeloma.status, SiteStatus::NotedBelowThreshold);
    assert_eq!(myeloma.recommendations[0].missing, ["patientAge at least 60"]);
    assert_eq!(answer.concern_level, ConcernLevel::NoneIdentified);
}

#[test]
fn organ_rules_are_conditional_where_the_anatomy_is_unknown() {
    let unknown = answer(&request("58?: bloating for 6 weeks"));
    let ovarian = unknown.sites.iter().find(|s| s.site == "ovarian").expect("listed");
    assert!(ovarian.conditional.is_some());
    assert!(unknown.questions.iter().any(|q| q.field == "organs"));
    let mut removed = request("58f: bloating for 6 weeks");
    removed.organs = vec!["no ovaries".to_owned()];
    assert!(!answer(&removed).sites.iter().any(|s| s.site == "ovarian"));
    let mut kept = request("58m: bloating for 6 weeks");
    kept.organs = vec!["ovaries".to_owned()];
    assert!(answer(&kept).sites.iter().any(|s| s.site == "ovarian" && s.conditional.is_none()));
}

#[test]
fn the_jurisdiction_chooses_the_rules() {
    let gb = request("62m: coughing up blood");
    assert!(answer(&gb).screening.is_empty());
    let none = CancerRequest { jurisdiction: Jurisdiction::None, ..gb.clone() };
    let plain = answer(&none);
    assert!(plain.sites.is_empty() && plain.screening.is_empty() && plain.models.len() == 6);
    let us = CancerRequest { jurisdiction: Jurisdiction::Us, ..gb };
    assert!(answer(&us).sites.is_empty());
    assert!(answer(&us).screening.iter().any(|s| s.rule_id == "uspstf-colorectal-50"));
}

#[test]
fn nothing_recognised_is_insufficient_data() {
    assert_eq!(answer(&request("50m: qwerty")).concern_level, ConcernLevel::InsufficientData);
    assert_eq!(answer(&request("50m: sore throat")).concern_level, ConcernLevel::NoneIdentified);
}

#[test]
fn relatives_illness_is_not_the_patients() {
    let mut r = request("45f: back pain since yesterday");
    r.risk_factors = vec!["mother breast cancer".to_owned()];
    let input = r.input("en", crate::input::Audience::Professional);
    let a = crate::assess::assess(base(), &input).expect("valid");
    let cancer = base().lexicon.id("cancer").expect("a concept");
    assert!(!a.facts.has(cancer));
}

#[test]
fn every_recommendation_cites_and_is_unreviewed() {
    let answer = answer(&request("66m fit=12: change in bowel habit and weight loss"));
    let all: Vec<_> = answer.sites.iter().flat_map(|s| &s.recommendations).collect();
    assert!(!all.is_empty());
    for r in all {
        assert!(!r.cite.is_empty() && !r.matched.is_empty(), "{}", r.rule_id);
        assert_eq!(r.review.status, crate::base::ReviewStatus::Unreviewed);
    }
}
