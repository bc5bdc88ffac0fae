use serde_json::{Value, json};

use super::agents;
use super::double::{NoModels, ScriptedEngines, ScriptedModel};
use super::driver::Driver;
use crate::agent::AgentOptions;
use crate::task::TaskExecutor;
use muster_core::{Error, Kind};

fn admit(agent: &str, task: &str, params: Value) -> Result<(Value, Option<u32>), Error> {
    let driver = Driver::new(agents(), &ScriptedEngines::default().into(), NoModels, AgentOptions::default());
    driver.executor.admit(agent, task, params).map(|admission| (admission.params, admission.total_steps))
}

#[test]
fn defaults_complete_the_params() {
    let (params, steps) = admit("code-explorer", "look", json!({ "depth": 5, "path": null })).unwrap();
    assert_eq!(params, json!({ "path": ".", "depth": 5, "output_format": "markdown", "search": null }));
    assert_eq!(steps, Some(3), "the search is left out, the write-up counts");
}

#[test]
fn the_default_task_is_the_instruction() {
    let (params, _) = admit("debugger", "panicked at src/main.rs:3", Value::Null).unwrap();
    assert_eq!(params["trace"], json!("panicked at src/main.rs:3"));
}

#[test]
fn each_invalid_param_is_reported_with_its_path() {
    let error = admit("code-explorer", "x", json!({ "depth": "3", "output_format": "xml", "paht": "." })).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
    let places: Vec<String> = error.fields.iter().map(|field| field.loc.join(".")).collect();
    assert_eq!(places, ["body.params.depth", "body.params.output_format", "body.params.paht"]);
    assert_eq!(error.fields[0].kind, "type_error");
    assert!(error.fields[2].msg.contains("did you mean `path`?"), "{error:?}");
    let nested = json!({ "rows": [], "rules": [{ "column": "a" }], "match_fields": [] });
    let error = admit("data-cleaner", "x", nested).unwrap_err();
    assert_eq!(error.fields[0].loc.join("."), "body.params.rules.0.check");
    assert_eq!(error.fields[0].kind, "missing");
    assert_eq!(admit("code-explorer", "x", json!([])).unwrap_err().fields[0].loc.join("."), "body.params");
}

#[test]
fn a_missing_required_param_is_rejected_unless_the_task_contains_it() {
    let error = admit("config-engineer", "Check my configuration", json!({})).unwrap_err();
    assert_eq!((error.fields[0].kind, error.fields[0].loc.join(".").as_str()), ("missing", "body.params.config"));
    let (params, _) = admit("config-engineer", "Check it:\n```yaml\na: 1\n```", json!({})).unwrap();
    assert_eq!(params["config"], json!("a: 1\n"));
}

#[test]
fn invalid_and_missing_params_are_reported_together() {
    let params = json!({ "rows": 3, "rules": [{ "column": "a" }], "colour": "red" });
    let error = admit("data-cleaner", "Clean", params.clone()).unwrap_err();
    let problems: Vec<_> = error.fields.iter().map(|field| (field.loc.join("."), field.kind)).collect();
    let problems: Vec<_> = problems.iter().map(|(place, kind)| (place.as_str(), *kind)).collect();
    let wrong = [
        ("body.params.rows", "type_error"),
        ("body.params.rules.0.check", "missing"),
        ("body.params.colour", "extra_forbidden"),
    ];
    assert_eq!(problems[..3], wrong);
    assert_eq!(problems[3..], [("body.params.match_fields", "missing")]);
    // A model may find missing params; invalid ones stay invalid.
    let driver =
        Driver::new(agents(), &ScriptedEngines::default().into(), ScriptedModel::default(), AgentOptions::default());
    let error = driver.executor.admit("data-cleaner", "Clean", params).unwrap_err();
    assert_eq!(error.fields.len(), 3);
}

#[test]
fn a_model_reads_the_instruction_itself() {
    let driver =
        Driver::new(agents(), &ScriptedEngines::default().into(), ScriptedModel::default(), AgentOptions::default());
    let admission = driver.executor.admit("config-engineer", "Check my configuration", json!({})).unwrap();
    assert_eq!((admission.params.get("config"), admission.total_steps), (None, None));
}

#[test]
fn an_unknown_agent_is_not_found() {
    assert_eq!(admit("nobody", "x", Value::Null).unwrap_err().kind, Kind::NotFound);
}
