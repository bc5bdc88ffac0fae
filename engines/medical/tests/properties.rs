//! Properties that hold for every input: scores rise with severity, what is missing never makes a score greater than
//! what is known does, values in other units are refused.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use muster_engine::{Context, Failure};
use muster_engines_medical::FAMILY;
use muster_kernel_numeric::sample::Sampler;
use serde_json::{Value, json};

fn tried(number: u16, input: Value) -> (Result<Value, Failure>, Vec<String>) {
    let engine = FAMILY.engines().iter().find(|engine| engine.number == number).unwrap();
    let context = Context::default();
    let outcome = engine.run(input, &context);
    (outcome, context.into_warnings())
}

fn run(number: u16, input: Value) -> Value {
    tried(number, input.clone()).0.unwrap_or_else(|failure| panic!("q{number} {input}: {failure:?}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn pick<'a>(sampler: &mut Sampler, of: &[&'a str]) -> &'a str {
    of[sampler.index(of.len())]
}

/// Removes each of these members with a probability of a half.
fn thinned(input: &Value, optional: &[&str], sampler: &mut Sampler) -> Value {
    let mut thinned = input.clone();
    for name in optional {
        if sampler.uniform() < 0.5 {
            thinned.as_object_mut().unwrap().remove(*name);
        }
    }
    thinned
}

#[test]
fn the_early_warning_score_rises_away_from_normal() {
    let usual = json!({ "respiratory_rate": 16, "spo2": 98, "systolic": 120, "heart_rate": 70, "temperature": 37.0 });
    let ranges = [
        ("respiratory_rate", 16.0, 0.0),
        ("respiratory_rate", 16.0, 80.0),
        ("spo2", 98.0, 40.0),
        ("systolic", 120.0, 30.0),
        ("systolic", 120.0, 300.0),
        ("heart_rate", 70.0, 10.0),
        ("heart_rate", 70.0, 300.0),
        ("temperature", 37.0, 25.0),
        ("temperature", 37.0, 45.0),
    ];
    for (field, from, to) in ranges {
        let mut before = 0.0;
        for step in 0..=400 {
            let mut input = usual.clone();
            input[field] = json!(from + (to - from) * f64::from(step) / 400.0);
            let found = run(214, input);
            let score = number(&found["score"]);
            assert!(score >= before, "{field} {step}");
            let sum: f64 = found["points"].as_object().unwrap().values().map(number).sum();
            assert_eq!(sum, score);
            before = score;
        }
        assert!(before > 0.0, "{field}");
    }
}

#[test]
fn a_missing_value_never_raises_sofa_and_is_always_reported() {
    let mut sampler = Sampler::new(215);
    let optional = ["pao2_fio2", "platelets", "bilirubin", "map", "gcs", "creatinine"];
    for _ in 0..300 {
        let full = json!({
            "pao2_fio2": 50 + sampler.index(450), "ventilated": sampler.uniform() < 0.5, "platelets": 5 + sampler.index(300),
            "bilirubin": sampler.uniform() * 15.0, "map": 40 + sampler.index(60), "gcs": 3 + sampler.index(13),
            "creatinine": 0.3 + sampler.uniform() * 6.0, "vasopressor": { "agent": "none", "dose": 0 },
        });
        let thin = thinned(&full, &optional, &mut sampler);
        let (all, (some, warnings)) = (run(215, full), tried(215, thin.clone()));
        let some = some.unwrap();
        assert!(number(&some["sofa"]) <= number(&all["sofa"]), "{thin}");
        for name in optional {
            let listed = some["missing"].as_array().unwrap().contains(&json!(name));
            assert_eq!(listed, thin.get(name).is_none(), "{name} {thin}");
        }
        let thinner = optional.iter().any(|name| thin.get(*name).is_none());
        assert_eq!(warnings.iter().any(|warning| warning.starts_with("range: sofa")), thinner, "{thin}");
        let organs: f64 = some["organs"].as_object().unwrap().values().map(number).sum();
        assert_eq!(organs, number(&some["sofa"]));
    }
}

#[test]
fn a_missing_value_never_raises_the_pneumonia_index() {
    let mut sampler = Sampler::new(225);
    let optional = ["heart_rate", "temperature", "ph", "sodium", "glucose", "haematocrit", "pao2", "urea"];
    for _ in 0..300 {
        let full = json!({
            "age": 18 + sampler.index(80), "sex": pick(&mut sampler, &["female", "male"]), "respiratory_rate": 10 + sampler.index(35),
            "systolic": 80 + sampler.index(80), "diastolic": 40 + sampler.index(40), "heart_rate": 50 + sampler.index(100),
            "temperature": 34.0 + sampler.uniform() * 7.0, "ph": 7.2 + sampler.uniform() * 0.3, "sodium": 120 + sampler.index(30),
            "glucose": 60 + sampler.index(300), "haematocrit": 20 + sampler.index(30), "pao2": 40 + sampler.index(60),
            "urea": sampler.uniform() * 20.0,
        });
        let thin = thinned(&full, &optional, &mut sampler);
        let (all, (some, warnings)) = (run(225, full), tried(225, thin.clone()));
        let some = some.unwrap();
        assert!(number(&some["psi"]) <= number(&all["psi"]), "{thin}");
        assert!(number(&some["psi_class"]) <= number(&all["psi_class"]), "{thin}");
        assert_eq!(some.get("curb65").is_some(), thin.get("urea").is_some());
        let thinner = optional.iter().any(|name| thin.get(*name).is_none());
        assert_eq!(warnings.iter().any(|warning| warning.starts_with("range: psi_port")), thinner, "{thin}");
    }
}

#[test]
fn a_sign_that_is_not_known_never_lowers_the_urgency() {
    let mut sampler = Sampler::new(217);
    // Pulse and capillary refill stand for each other in START, so one of them alone is varied.
    let optional = ["respiratory_rate", "radial_pulse", "obeys_commands", "avpu"];
    let rank = |found: &Value| {
        ["minor", "delayed", "immediate", "deceased"]
            .iter()
            .position(|word| found["casualties"][0]["category"] == *word)
            .unwrap()
    };
    for _ in 0..600 {
        let casualty = json!({
            "id": "a", "age": sampler.index(60), "walking": sampler.uniform() < 0.1, "breathing": true,
            "respiratory_rate": 1 + sampler.index(60), "radial_pulse": sampler.uniform() < 0.8,
            "obeys_commands": sampler.uniform() < 0.8,
            "avpu": pick(&mut sampler, &["A", "V", "P", "U"]),
        });
        let thin = thinned(&casualty, &optional, &mut sampler);
        let protocol = pick(&mut sampler, &["start", "jumpstart", "auto"]);
        let input = |casualty: &Value| json!({ "protocol": protocol, "casualties": [casualty] });
        let (all, some) = (run(217, input(&casualty)), run(217, input(&thin)));
        assert!(rank(&some) >= rank(&all), "{protocol} {casualty} {thin}");
        let sum: f64 = some["counts"].as_object().unwrap().values().map(number).sum();
        assert_eq!(sum, 1.0);
    }
}

#[test]
fn a_casualty_is_expectant_only_where_that_was_said() {
    let mut sampler = Sampler::new(2);
    for _ in 0..200 {
        let mut casualty = json!({ "id": "a", "walking": false, "breathing": sampler.uniform() < 0.7, "obeys_commands": sampler.uniform() < 0.5 });
        if sampler.uniform() < 0.5 {
            casualty["survivable"] = json!(sampler.uniform() < 0.5);
        }
        let found = run(217, json!({ "protocol": "salt", "casualties": [casualty.clone()] }));
        if found["casualties"][0]["category"] == "expectant" {
            assert_eq!(casualty["survivable"], json!(false));
        }
    }
}

#[test]
fn filtration_falls_with_creatinine_and_age() {
    let egfr = |creatinine: f64, age: f64, sex: &str| {
        number(&run(223, json!({ "creatinine": creatinine, "age": age, "sex": sex, "weight": 70 }))["egfr"])
    };
    for sex in ["female", "male"] {
        for step in 1..100 {
            let (low, high) = (0.1 * f64::from(step), 0.1 * f64::from(step + 1));
            assert!(egfr(low, 50.0, sex) > egfr(high, 50.0, sex));
            let age = 18.0 + f64::from(step);
            assert!(egfr(1.0, age, sex) > egfr(1.0, age + 1.0, sex));
        }
    }
}

#[test]
fn liver_scores_rise_with_each_value() {
    let mut sampler = Sampler::new(224);
    for _ in 0..300 {
        let mut input = json!({
            "bilirubin": 0.5 + sampler.uniform() * 10.0, "inr": 0.8 + sampler.uniform() * 3.0, "creatinine": 0.5 + sampler.uniform() * 3.0,
            "sodium": 118.0 + sampler.uniform() * 25.0, "albumin": 1.0 + sampler.uniform() * 3.5,
            "sex": pick(&mut sampler, &["female", "male"]), "age": 50,
        });
        let before = run(224, input.clone());
        let (field, worse) = [("bilirubin", 1.3), ("inr", 1.3), ("creatinine", 1.3)][sampler.index(3)];
        input[field] = json!(number(&input[field]) * worse);
        let after = run(224, input);
        for score in ["meld3", "meld_na", "child_pugh"] {
            assert!(number(&after[score]) >= number(&before[score]), "{score} {field}");
        }
    }
}

#[test]
fn fluids_are_proportional_to_weight_and_area() {
    let mut sampler = Sampler::new(218);
    for _ in 0..200 {
        let (weight, area) = (30.0 + sampler.uniform() * 50.0, 1.0 + sampler.uniform() * 40.0);
        let total = |weight: f64, area: f64| {
            number(&run(218, json!({ "age": 30, "weight": weight, "tbsa": area }))["total_24h"])
        };
        assert!((total(2.0 * weight, area) - 2.0 * total(weight, area)).abs() < 1e-6);
        assert!((total(weight, 2.0 * area) - 2.0 * total(weight, area)).abs() < 1e-6);
        let found = run(218, json!({ "age": 30, "weight": weight, "tbsa": area, "hours_since_burn": 3 }));
        let given = 5.0 * number(&found["rate_first_8h"]) + 16.0 * number(&found["rate_next_16h"]);
        assert!((given - number(&found["total_24h"])).abs() < 1e-6);
    }
}

#[test]
fn deviations_rise_with_weight_and_a_place_of_measuring_changes_nothing() {
    let mut sampler = Sampler::new(231);
    for _ in 0..200 {
        let age = sampler.uniform() * 60.0;
        let lying = (age * 30.4375).round() < 731.0;
        let height = if lying { 50.0 + sampler.uniform() * 40.0 } else { 75.0 + sampler.uniform() * 40.0 };
        let sex = pick(&mut sampler, &["female", "male"]);
        let child = |weight: f64, height: f64, measured: &str| {
            let child = json!({ "id": "c", "sex": sex, "age_months": age, "weight": weight, "height": height, "measured": measured });
            run(231, json!({ "children": [child] }))["children"][0].clone()
        };
        let own = if lying { "lying" } else { "standing" };
        let weight = 3.0 + sampler.uniform() * 15.0;
        let (light, heavy) = (child(weight, height, own), child(weight + 0.1, height, own));
        assert!(number(&heavy["whz"]) > number(&light["whz"]) && number(&heavy["waz"]) > number(&light["waz"]));
        let (other, shift) = if lying { ("standing", -0.7) } else { ("lying", 0.7) };
        let moved = child(weight, height + shift, other);
        assert!((number(&moved["haz"]) - number(&light["haz"])).abs() < 1e-9);
    }
}

#[test]
fn an_estimate_lies_in_its_interval_which_widens_with_confidence() {
    let mut sampler = Sampler::new(234);
    for _ in 0..300 {
        let [tp, fp, missed, tn] = [0; 4].map(|_| sampler.index(200) + 1);
        let at =
            |confidence: f64| run(234, json!({ "tp": tp, "fp": fp, "fn": missed, "tn": tn, "confidence": confidence }));
        let (narrow, wide) = (at(0.8), at(0.99));
        for name in ["sensitivity", "specificity", "ppv", "npv", "lr_positive", "lr_negative"] {
            let ends = |found: &Value| ["low", "value", "high"].map(|end| number(&found[name][end]));
            let ([low, value, high], [lower, _, higher]) = (ends(&narrow), ends(&wide));
            assert!(lower <= low && low <= value && value <= high && high <= higher, "{name}");
        }
        // Ill and healthy in each other's place.
        let mirrored = run(234, json!({ "tp": tn, "fp": missed, "fn": fp, "tn": tp }));
        let found = run(234, json!({ "tp": tp, "fp": fp, "fn": missed, "tn": tn }));
        assert_eq!(mirrored["sensitivity"], found["specificity"]);
        assert_eq!(mirrored["ppv"], found["npv"]);
    }
}

#[test]
fn nobody_is_lost_in_a_projection_and_more_transmission_infects_more() {
    let mut sampler = Sampler::new(235);
    for _ in 0..20 {
        let population = 1000 + sampler.index(1_000_000);
        let r0 = sampler.uniform() * 4.0;
        let input = |r0: f64| json!({ "population": population, "r0": r0, "days": 200, "interventions": [{ "day": 30, "factor": 0.5 }] });
        let found = run(235, input(r0));
        for day in found["series"].as_array().unwrap() {
            let sum: f64 = ["s", "e", "i", "r"].iter().map(|part| number(&day[*part])).sum();
            assert!((sum / population as f64 - 1.0).abs() < 1e-9);
            assert!(["s", "e", "i", "r", "hospital"].iter().all(|part| number(&day[*part]) >= 0.0));
        }
        assert!(number(&run(235, input(r0 + 0.2))["final_size"]) >= number(&found["final_size"]));
    }
}

#[test]
fn values_in_other_units_are_refused_with_what_mends_them() {
    let cases = [
        (222, json!({ "age": 55, "sex": "male", "total_cholesterol": 5.5, "hdl": 50, "systolic": 120 }), "38.67"),
        (222, json!({ "age": 55, "sex": "male", "total_cholesterol": 213, "hdl": 1.3, "systolic": 120 }), "38.67"),
        (227, json!({ "ph": 7.4, "pco2": 40, "hco3": 24, "glucose": 5.5 }), "18.016"),
        (227, json!({ "ph": 7.4, "pco2": 40, "hco3": 24, "calcium": 2.4 }), "4.008"),
        (227, json!({ "ph": 7.4, "pco2": 40, "hco3": 24, "albumin": 40 }), "divided by 10"),
        (215, json!({ "platelets": 150_000 }), "1000"),
        (215, json!({ "wbc": 8000 }), "1000"),
        (215, json!({ "temperature": 98.6 }), "1.8"),
        (215, json!({ "creatinine": 88.4 }), "88.42"),
        (215, json!({ "bilirubin": 120 }), "17.1"),
        (220, json!({ "condition": "pe", "age": 50, "criteria": {}, "d_dimer": 0.5 }), "1000"),
        (228, json!({ "medications": [], "qt": 0.4, "heart_rate": 60 }), "1000"),
    ];
    for (engine, input, mend) in cases {
        let Err(Failure::Invalid { problems }) = tried(engine, input.clone()).0 else {
            panic!("q{engine} takes {input}")
        };
        assert!(problems[0].message.contains(mend), "q{engine} {input}: {}", problems[0].message);
    }
}

#[test]
fn no_answer_calls_a_combination_safe() {
    let lists = [
        vec![],
        vec!["warfarin"],
        vec!["paracetamol", "amoxicillin"],
        vec!["simvastatin", "clarithromycin", "omeprazole"],
    ];
    for list in lists {
        let (found, warnings) = tried(228, json!({ "medications": list }));
        let text = format!("{} {warnings:?}", found.unwrap()).to_lowercase();
        assert!(!text.contains("safe") && !text.contains("no interaction"), "{text}");
        assert!(warnings.iter().any(|warning| warning.starts_with("not_in_list")), "{warnings:?}");
    }
}

#[test]
fn the_order_of_medicines_changes_no_pair() {
    let list =
        ["simvastatin", "clarithromycin", "phenelzine", "sertraline", "haloperidol", "tizanidine", "ciprofloxacin"];
    let pairs = |list: &[&str]| {
        let found = run(228, json!({ "medications": list }));
        let mut pairs: Vec<Vec<String>> = Vec::new();
        for one in found["interactions"].as_array().unwrap() {
            let mut pair = vec![one["a"].to_string(), one["b"].to_string()];
            pair.sort();
            pairs.push(pair);
        }
        pairs.sort();
        pairs
    };
    let mut reversed = list;
    reversed.reverse();
    assert_eq!(pairs(&list), pairs(&reversed));
    assert!(pairs(&list).len() >= 4);
}

#[test]
fn an_answer_to_item_nine_raises_the_flag_whatever_the_sum() {
    let mut sampler = Sampler::new(233);
    for _ in 0..200 {
        let answers: Vec<usize> = (0..9).map(|_| sampler.index(4)).collect();
        let found = run(233, json!({ "phq9": answers }));
        assert_eq!(found["self_harm_flag"], json!(answers[8] > 0));
        assert_eq!(number(&found["scores"]["phq9"]), answers.iter().sum::<usize>() as f64);
    }
}

/// The largest inputs that are allowed end at once.
#[test]
fn the_largest_inputs_end() {
    let casualty = json!({ "id": "a", "walking": false, "breathing": true });
    run(217, json!({ "casualties": vec![casualty.clone(); 10_000] }));
    let child =
        json!({ "id": "c", "sex": "male", "age_months": 12, "weight": 9.6, "height": 75.7, "measured": "lying" });
    run(231, json!({ "children": vec![child.clone(); 10_000] }));
    let drugs = "amiodarone citalopram clarithromycin erythromycin methadone haloperidol sotalol phenelzine fluoxetine";
    run(228, json!({ "medications": vec![drugs; 100], "conditions": vec!["x".repeat(300); 100] }));
    let cases: Vec<f64> = (0..5_000).map(|day| f64::from(day % 97)).collect();
    run(235, json!({ "cases": cases, "window": 30 }));
    let fast = json!({
        "population": 1_000_000, "r0": 20, "latent_days": 0.1, "infectious_days": 0.1, "days": 1000,
        "interventions": vec![json!({ "day": 3, "factor": 10 }); 200],
    });
    run(235, fast);
    for (engine, input) in [
        (217, json!({ "casualties": vec![casualty; 10_001] })),
        (231, json!({ "children": vec![child; 10_001] })),
        (228, json!({ "medications": vec!["a"; 101] })),
        (235, json!({ "cases": vec![1; 5_001] })),
    ] {
        assert!(matches!(tried(engine, input).0, Err(Failure::TooLarge { .. })), "q{engine}");
    }
}
