//! Texts of tasks, and the params that are taken from them: those that are listed and no others.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::agents;
use crate::agent::fill;
use crate::agent::parameter::ParameterDefault;
use muster_core::Millis;

#[derive(Deserialize)]
struct Texts {
    text: Vec<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    agent: String,
    task: String,
    params: Map<String, Value>,
}

fn equal(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Number(found), Value::Number(wanted)) => {
            let (found, wanted) = (found.as_f64().unwrap(), wanted.as_f64().unwrap());
            (found - wanted).abs() <= 1e-8 * wanted.abs()
        }
        (Value::Array(found), Value::Array(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| equal(found, wanted))
        }
        (Value::Object(found), Value::Object(wanted)) => {
            found.len() == wanted.len()
                && wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| equal(found, wanted)))
        }
        (found, wanted) => found == wanted,
    }
}

/// No value is wrong, and none is missed that is listed.
#[test]
fn params_are_taken_from_texts() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent/tests/texts.toml");
    let texts: Texts = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let agents = agents();
    let mut wrong = Vec::new();
    for Text { agent, task, params } in &texts.text {
        let agent = agents.get(agent).unwrap_or_else(|| panic!("{agent}"));
        let required = agent.parameters.iter().filter(|parameter| parameter.default == ParameterDefault::Required);
        let sets = agent.one_of.iter().flatten().cloned();
        let required: Vec<String> = required.map(|parameter| parameter.name.clone()).chain(sets).collect();
        let now = Millis::parse_rfc3339("2026-11-26T10:00:00Z");
        let found = fill::find(&agent.parameters, &Default::default(), &required, task, now);
        let found: Map<String, Value> = found.into_iter().map(|filled| (filled.param, filled.value)).collect();
        if !equal(&Value::Object(found.clone()), &Value::Object(params.clone())) {
            wrong.push(format!(
                "{}: {task}\n  found {}\n  not   {}",
                agent.id,
                Value::Object(found),
                Value::Object(params.clone())
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut covered: Vec<&str> = texts.text.iter().map(|text| text.agent.as_str()).collect();
    covered.sort_unstable();
    covered.dedup();
    println!("{} texts of {} agents", texts.text.len(), covered.len());
}
