//! The models against published values, their populations and what is missing.

use super::{answer, base, request};
use crate::cancer::model::{Constants, Features, ModelResult, evaluate};
use crate::cancer::request::CancerRequest;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn run(id: &str, inputs: &Value) -> ModelResult {
    let inputs = inputs.as_object().expect("an object");
    evaluate(&base().cancer.constants, id, &Features::from_json(inputs)).expect("a model")
}

/// Tammemägi 2013: the constant is the log odds at the centres of all terms.
fn plco_centre() -> Value {
    json!({"age": 62, "race": "white", "education_level": 4, "bmi": 27, "copd": false, "personal_cancer_history": false,
        "family_lung_cancer": false, "current_smoker": false, "cigarettes_per_day": 10.0 / 0.402_154_161_3,
        "years_smoked": 27, "years_quit": 10})
}

fn brock_case() -> Value {
    json!({"age": 62, "sex": "male", "family_lung_cancer": false, "emphysema": false, "diameter_mm": 4,
        "nodule_type": "solid", "upper_lobe": false, "nodule_count": 4, "spiculated": false})
}

fn mayo_case() -> Value {
    json!({"age": 65, "smoker": true, "cancer_history": false, "diameter_mm": 15, "spiculated": true, "upper_lobe": true})
}

fn gail_case() -> Value {
    json!({"age": 45, "race_code": 1, "biopsies": 0, "age_menarche": 14, "age_first_birth": 28, "first_degree_relatives": 0})
}

#[test]
fn plcom2012_at_its_centre_is_the_constant() {
    let value = run("plcom2012", &plco_centre()).value.expect("a value");
    let expected = 1.0 / (1.0 + 4.532_506_f64.exp());
    assert!((value - expected).abs() < 1e-9);
}

#[test]
fn brock_at_its_centre_is_the_constant() {
    // The size term is centred at 4 mm: (4/10)^-0.5 = 1.58113883.
    let value = run("brock", &brock_case()).value.expect("a value");
    assert!((value - 1.0 / (1.0 + 6.7892_f64.exp())).abs() < 1e-8);
}

#[test]
fn mayo_agrees_with_the_sum_of_the_published_terms() {
    // −6.8272 + 0.0391·65 + 0.7917 + 0.1274·15 + 1.0407 + 0.7838 = 0.2415.
    let value = run("mayo-nodule", &mayo_case()).value.expect("a value");
    assert!((value - 1.0 / (1.0 + (-0.2415_f64).exp())).abs() < 1e-9);
}

#[test]
fn the_gail_model_agrees_with_the_published_package() {
    // BCRA 2.1.2: 45 to 50 years, no biopsy, menarche 14, birth 28, white: 0.828248 %.
    let result = run("bcrat", &gail_case());
    assert!((result.value.expect("a value") - 0.828_248).abs() < 1e-5);
    assert_eq!((result.horizon_years, result.band), (Some(5.0), Some("below 1.67 % in 5 years")));
}

#[test]
fn points_follow_their_definitions() {
    // Jacobs 1990: U 3 × M 3 × CA125 50 = 450; Stolz 1994: 2.6 + 0.4 + 1.5 + 1.0 = 5.5.
    let rmi = run("rmi", &json!({"ultrasound_features": 2, "postmenopausal": true, "ca125": 50}));
    assert_eq!((rmi.value, rmi.band), (Some(450.0), Some("above 200")));
    let abcd = run("abcd", &json!({"a": 2, "b": 4, "c": 3, "d": 2}));
    assert_eq!((abcd.value, abcd.band), (Some(5.5), Some("above 5.45")));
    let bound = run("abcd", &json!({"a": 1, "b": 4.5, "c": 4, "d": 2}));
    assert_eq!((bound.value, bound.band), (Some(4.75), Some("4.75 to 5.45")));
}

#[test]
fn populations_bound_the_models() {
    let with = |case: Value, name: &str, value: Value| {
        let mut case = case;
        case[name] = value;
        case
    };
    assert!(!run("plcom2012", &with(plco_centre(), "age", json!(54))).applicable);
    assert!(run("plcom2012", &with(plco_centre(), "age", json!(74))).applicable);
    assert!(!run("plcom2012", &with(plco_centre(), "age", json!(75))).applicable);
    assert!(!run("plcom2012", &with(plco_centre(), "ever_smoked", json!(false))).applicable);
    assert!(!run("bcrat", &with(gail_case(), "age", json!(34))).applicable);
    assert!(!run("bcrat", &with(gail_case(), "brca", json!(true))).applicable);
    assert!(!run("bcrat", &with(gail_case(), "sex", json!("male"))).applicable);
    assert!(!run("mayo", &with(mayo_case(), "diameter_mm", json!(31))).applicable);
}

#[test]
fn every_missing_input_leaves_no_value_and_is_named() {
    let cases = [("plcom2012", plco_centre()), ("brock", brock_case()), ("mayo", mayo_case()), ("bcrat", gail_case())];
    for (id, case) in cases {
        let full: Map<String, Value> = case.as_object().expect("an object").clone();
        assert!(run(id, &case).value.is_some(), "{id}");
        for name in full.keys() {
            let mut less = full.clone();
            less.remove(name);
            let result = run(id, &Value::Object(less));
            assert_eq!(result.value, None, "{id} without {name}");
            assert_eq!(result.missing.len(), 1, "{id} without {name}: {:?}", result.missing);
        }
    }
}

#[test]
fn contradictions_and_wrong_kinds_give_a_reason_and_no_value() {
    for (name, value) in [
        ("age_first_birth", json!(12)),
        ("age_menarche", json!(50)),
        ("atypical_hyperplasia", json!(1)),
        ("race_code", json!("white")),
        ("biopsies", json!(-1)),
        ("projection_age", json!(40)),
    ] {
        let mut case = gail_case();
        case[name] = value;
        let result = run("bcrat", &case);
        assert!(result.value.is_none() && !result.reason.is_empty(), "{name}: {result:?}");
    }
}

#[test]
fn the_second_entry_of_the_gail_constants_agrees() {
    let second: toml::Value = toml::from_str(include_str!("../../../data/constants/bcrat_second.toml")).expect("valid");
    let at = |table: &str, row: usize, column: usize| second[table][row][column].as_float().expect("a number");
    let races = &base().cancer.constants.races;
    assert_eq!(races.len(), 11);
    for (column, race) in races.iter().enumerate() {
        assert_eq!(usize::from(race.code), column + 1);
        for group in 0..14 {
            assert!((race.lambda1[group] - at("lambda1", group, column)).abs() < 1e-15, "{} {group}", race.name);
            assert!((race.lambda2[group] - at("lambda2", group, column)).abs() < 1e-15, "{} {group}", race.name);
        }
        let shared = column.min(5);
        for (i, value) in race.one_minus_ar.iter().enumerate() {
            assert!((value - at("one_minus_ar", i, shared)).abs() < 1e-15, "{} {i}", race.name);
        }
        for (i, value) in race.beta.iter().enumerate() {
            assert!((value - at("beta", i, shared)).abs() < 1e-15, "{} {i}", race.name);
        }
    }
}

#[test]
fn entries_that_differ_are_refused() {
    let changed = crate::data::CANCER_MODELS.replacen("age = 0.0287", "age = 0.0288", 1);
    let error = Constants::parse(&changed, crate::data::BCRAT).expect_err("two entries differ");
    assert!(error.contains("brock"), "{error}");
}

#[test]
fn models_of_findings_concern_nobody_without_them() {
    let models = answer(&request("62f: cough for 6 weeks")).models;
    for id in ["brock", "mayo", "rmi", "abcd"] {
        let model = models.iter().find(|m| m.id == id).expect("listed");
        assert!(!model.applicable && model.value.is_none() && model.reason.contains("clinician"), "{model:?}");
    }
    let mut seen = request("62f: nothing else");
    seen.risk_factors =
        vec!["solid nodule of 15 mm, spiculated, upper lobe".into(), "30 pack years".into(), "no cancer".into()];
    let mayo = answer(&seen).models.into_iter().find(|m| m.id == "mayo").expect("listed");
    assert!(mayo.applicable && mayo.missing_inputs == ["smoker"] || mayo.value.is_some(), "{mayo:?}");
}

#[test]
fn an_answer_computes_a_model_from_risk_factors_alone() {
    let mut r = request("62m: no symptoms");
    r.risk_factors = [
        "quit 10 years ago",
        "20/day for 30 years",
        "white",
        "education level 4",
        "BMI 27",
        "no COPD",
        "no personal cancer",
        "no family history of lung cancer",
    ]
    .map(str::to_owned)
    .to_vec();
    let models = answer(&r).models;
    let plco = models.iter().find(|m| m.id == "plcom2012").expect("listed");
    // x = −4.532506 − 1.822606·(0.5 − 0.4021541613) + 0.0317321·3 = −4.6156440.
    let expected = 1.0 / (1.0 + 4.615_644_0_f64.exp());
    assert!((plco.value.expect("a value") - expected).abs() < 1e-7, "{plco:?}");
    r.risk_factors[1] = "30 pack years".to_owned();
    let models = answer(&CancerRequest { ..r }).models;
    let plco = models.iter().find(|m| m.id == "plcom2012").expect("listed");
    assert_eq!(
        (plco.value, plco.missing_inputs.clone()),
        (None, vec!["cigarettes_per_day".into(), "years_smoked".into()])
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_always_inside_its_range(
        age in 0.0..130.0f64, code in 0u8..13, biopsies in 0u8..100, menarche in 5u8..100, birth in 8u8..100,
        relatives in 0u8..100, size in -5.0..60.0f64,
    ) {
        let gail = run("bcrat", &json!({"age": age, "race_code": code, "biopsies": biopsies, "age_menarche": menarche,
            "age_first_birth": birth, "first_degree_relatives": relatives, "atypical_hyperplasia": 99}));
        prop_assert!(gail.value.is_none_or(|v| v > 0.0 && v < 100.0));
        let mut nodule = mayo_case();
        nodule["diameter_mm"] = json!(size);
        nodule["age"] = json!(age);
        prop_assert!(run("mayo", &nodule).value.is_none_or(|v| v > 0.0 && v < 1.0));
    }
}
