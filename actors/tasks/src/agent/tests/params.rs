use std::sync::Arc;

use muster_providers::ResponseFormat;
use serde_json::{Value, json};

use super::agents;
use super::double::{Filler, ModelReply, NoModels, ScriptedEngines, ScriptedModel};
use super::driver::{Driver, End};
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
fn a_missing_required_param_is_not_an_error() {
    let (params, _) = admit("config-engineer", "Check my configuration", json!({})).unwrap();
    assert_eq!(params.get("config"), None);
    let (params, _) = admit("config-engineer", "Check it:\n```yaml\na: 1\n```", json!({})).unwrap();
    assert_eq!(params["config"], json!("a: 1\n"));
}

#[test]
fn each_invalid_param_is_reported() {
    let params = json!({ "rows": 3, "rules": [{ "column": "a" }], "colour": "red" });
    let error = admit("data-cleaner", "Clean", params.clone()).unwrap_err();
    let problems: Vec<_> = error.fields.iter().map(|field| (field.loc.join("."), field.kind)).collect();
    let problems: Vec<_> = problems.iter().map(|(place, kind)| (place.as_str(), *kind)).collect();
    let wrong = [
        ("body.params.rows", "type_error"),
        ("body.params.rules.0.check", "missing"),
        ("body.params.colour", "extra_forbidden"),
    ];
    assert_eq!(problems, wrong);
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

fn planless() -> Driver {
    Driver::new(agents(), &ScriptedEngines::default().into(), NoModels, AgentOptions::default())
}

#[tokio::test]
async fn a_task_waits_for_missing_params_with_unit_range_and_example() {
    let End::Waits(waiting) = planless().start("dam-safety-analyst", "Is it safe?", Value::Null).end().await else {
        panic!("it does not wait")
    };
    assert_eq!(waiting.reason, "input");
    let detail = &waiting.detail;
    for part in ["water_volume_m3 (number, m3", "breach_height_m (number, m", ", such as ", "{\"params\": {…}}"] {
        assert!(detail.contains(part), "{detail} lacks {part}");
    }
}

#[tokio::test]
async fn a_redirect_in_prose_gives_missing_params() {
    let mut driver = planless().start("dam-safety-analyst", "The dam fails. Water volume 2.5 million m3.", Value::Null);
    let End::Waits(waiting) = driver.end().await else { panic!("it does not wait") };
    assert!(!waiting.detail.contains("water_volume_m3 ("), "{}", waiting.detail);
    driver.redirect("breach height 30 m, water height of 28 m");
    let result = driver.result().await;
    let effect = result["redirections"][0]["effect"].as_str().unwrap();
    assert!(effect.starts_with("changed breach_height_m, water_height_m"), "{effect}");
    let filled = result["filled"].as_array().unwrap();
    assert_eq!(filled.len(), 3, "{filled:?}");
    assert_eq!(
        filled[0],
        json!({ "param": "water_volume_m3", "value": 2_500_000, "by": "rule", "evidence": "Water volume 2.5 million m3" })
    );
}

#[tokio::test]
async fn the_result_says_which_parts_of_the_instruction_were_not_used() {
    let task = "Map the repository to a depth of 2. Focus on open notes. Write it as a poem for my grandmother.";
    let result = planless().start("code-explorer", task, Value::Null).result().await;
    assert_eq!(result["unused"], json!(["Write it as a poem for my grandmother."]));
    assert_eq!(result["focus"], json!(["Open notes"]));
    assert_eq!(result["sections"][0]["title"], json!("Open notes"));
    assert_eq!(result["filled"][0]["param"], json!("depth"));
    let text = result["text"].as_str().unwrap();
    assert!(text.contains("## Not used of the instruction\n\n- Write it as a poem"), "{text}");
    // An agent that reads the instruction itself uses all of it.
    let result = planless().start("debugger", "panicked at a.rs:3. What now?", Value::Null).result().await;
    assert_eq!(result["unused"], json!([]));
}

#[tokio::test]
async fn files_of_the_workspace_stand_for_contents() {
    let engines = Arc::new(ScriptedEngines::default().with_file("conf/a.yaml", "a: 1").with_file("b.rs", "fn b() {}"));
    let driver = |engines: &Arc<ScriptedEngines>| Driver::new(agents(), engines, NoModels, AgentOptions::default());
    driver(&engines).start("config-engineer", "x", json!({ "config": { "file": "conf/a.yaml" } })).result().await;
    assert!(engines.calls().iter().any(|(_, input)| input.as_object().unwrap().values().any(|value| value == "a: 1")));
    let params = json!({ "files": [{ "path": "b.rs" }], "source": { "file": "b.rs" } });
    driver(&engines).start("refactoring-assistant", "x", params).result().await;
    let calls = engines.calls();
    assert!(
        calls.iter().any(|(_, input)| input["files"] == json!([{ "path": "b.rs", "source": "fn b() {}" }])),
        "{calls:?}"
    );
    // A text that names one file.
    let engines = Arc::new(ScriptedEngines::default().with_file("conf/a.yaml", "a: 2"));
    driver(&engines).start("config-engineer", "Check conf/a.yaml, please", Value::Null).result().await;
    assert!(engines.calls().iter().any(|(_, input)| input.as_object().unwrap().values().any(|value| value == "a: 2")));
}

#[tokio::test]
async fn a_model_finds_params_that_the_rules_do_not_and_only_what_the_text_says() {
    let answer = r#"{"breach_height_m": 30, "water_height_m": 99}"#;
    let model = ScriptedModel::replying([ModelReply::Text(answer.to_owned())]);
    let engines = ScriptedEngines::default().into();
    let driver = Driver::new(agents(), &engines, Filler(model.clone()), AgentOptions::default());
    // Neither number stands beside the name of a parameter.
    let task = "The dam fails. Water volume 2.5 million m3; the gap will open over its 30 m. 28 m of it are wet.";
    let mut driver = driver.start("dam-safety-analyst", task, Value::Null);
    let End::Waits(waiting) = driver.end().await else { panic!("it does not wait") };
    assert!(!waiting.detail.contains("breach_height_m ("), "{}", waiting.detail);
    assert!(waiting.detail.contains("water_height_m ("), "99 does not stand in the text: {}", waiting.detail);
    assert_eq!((driver.steps.as_slice(), driver.usage.prompt), (["params".to_owned()].as_slice(), 100));
    let requests = model.requests();
    let asked = &requests[0].request;
    let wanted = json!({ "type": ["number", "null"] });
    let ResponseFormat::JsonSchema { schema, .. } = &asked.format else { panic!("{asked:?}") };
    assert_eq!(schema["properties"], json!({ "breach_height_m": wanted, "water_height_m": wanted }));

    // It looks again after a redirect, and finds nothing: what the instruction says by a rule is taken in any case.
    driver.redirect("The water height is 28 m");
    let result = driver.result().await;
    let by: Vec<_> = result["filled"].as_array().unwrap().iter().map(|it| (&it["param"], &it["by"])).collect();
    let expected = json!([["water_volume_m3", "rule"], ["water_height_m", "rule"], ["breach_height_m", "model"]]);
    let expected: Vec<_> = expected.as_array().unwrap().iter().map(|it| (&it[0], &it[1])).collect();
    assert_eq!(by, expected);
    assert_eq!(model.requests().len(), 1, "nothing was missing");
}

#[tokio::test]
async fn without_an_answer_of_the_model_the_task_waits_for_its_params() {
    let down = || ModelReply::Refuse(Error::new(Kind::ProviderFailed, "far is down"));
    let engines = ScriptedEngines::default().into();
    for script in [vec![ModelReply::Text("no JSON".to_owned())], vec![ModelReply::Text("{}".to_owned())], vec![down()]]
    {
        let model = ScriptedModel::replying(script);
        let mut driver = Driver::new(agents(), &engines, Filler(model.clone()), AgentOptions::default());
        // The last attempt of the step.
        driver.attempt = 3;
        let mut driver = driver.start("dam-safety-analyst", "The dam fails.", Value::Null);
        let End::Waits(waiting) = driver.end().await else { panic!("it does not wait") };
        assert_eq!((waiting.reason.as_str(), model.requests().len()), ("input", 1));
    }
}
