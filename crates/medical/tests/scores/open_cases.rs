use super::{inputs, reference};
use muster_medical::score::evaluate;
use serde_json::Value;

/// Models of the cancer module, which are not scores.
const MODELS: &[&str] = &["bcrat_gail", "plcom2012"];

fn allowed(case: &Value, expected: f64) -> f64 {
    match case["tolerance"].as_str().unwrap() {
        "exact" => 0.0,
        text if text.starts_with("1%") => expected.abs() * 0.01,
        text => text.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("tolerance {text}")),
    }
}

#[test]
fn open_cases_are_within_their_tolerance() {
    let Some(cases) = reference("medical/open_cases.json", "the check of the open cases") else { return };
    let mut misses = Vec::new();
    let mut checked = 0;
    for case in cases["cases"].as_array().unwrap() {
        let id = case["score"].as_str().unwrap();
        if MODELS.contains(&id) {
            continue;
        }
        checked += 1;
        let expected = case["expected"].as_f64().unwrap();
        let score = evaluate(id, &inputs(&case["inputs"]));
        let value = score.as_ref().and_then(|score| score.value);
        // A tolerance of a percent is of a label with two decimals.
        if !value.is_some_and(|value| (value - expected).abs() <= allowed(case, expected) + 1e-9) {
            let reason = score.and_then(|score| score.reason);
            misses.push(format!("{} {id}: {value:?} instead of {expected} {reason:?}", case["id"]));
        }
    }
    assert!(checked >= 104, "{checked} cases");
    assert!(misses.is_empty(), "{} of {checked} missed:\n{}", misses.len(), misses.join("\n"));
}
