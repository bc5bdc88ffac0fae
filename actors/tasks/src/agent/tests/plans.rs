//! All plans, with engines that validate their input.

use std::sync::Arc;
use std::time::Duration;

use muster_engines::grammar::Need;
use serde_json::{Map, Value, json};

use super::double::{NoModels, ScriptedEngines};
use super::driver::{Driver, End};
use super::{agents, sample_param};
use crate::agent::reference::is_empty;
use crate::agent::{Agent, AgentOptions, Binding, Head, ParameterDefault, PlanStep, Reference};
use crate::task::{Retry, StepKind};
use muster_core::{Error, Kind};

fn driver(engines: &Arc<ScriptedEngines>) -> Driver {
    Driver::new(agents(), engines, NoModels, AgentOptions::default())
}

/// The params to provide: the required ones, or all.
#[derive(Clone, Copy, PartialEq)]
enum SampleParams {
    Required,
    All,
}

fn params(agent: &Agent, which: SampleParams) -> Value {
    let provided =
        agent.parameters.iter().filter(|parameter| which == SampleParams::All || is_needed(agent, &parameter.name));
    Value::Object(provided.map(|parameter| (parameter.name.clone(), sample_param(agent, parameter))).collect())
}

/// Whether a run needs a param: it is required, or the first of a set of which one is.
fn is_needed(agent: &Agent, name: &str) -> bool {
    let parameter = agent.parameters.iter().find(|parameter| parameter.name == name);
    let required = parameter.is_some_and(|parameter| parameter.default == ParameterDefault::Required);
    required || agent.one_of.iter().any(|set| set.first().is_some_and(|first| first == name))
}

/// Whether a param has a value if only those that a run needs are provided.
fn has_value(agent: &Agent, name: &str) -> bool {
    let parameter = agent.parameters.iter().find(|parameter| parameter.name == name);
    is_needed(agent, name)
        || parameter.is_some_and(|parameter| match &parameter.default {
            ParameterDefault::Required | ParameterDefault::Bound(..) => true,
            ParameterDefault::Optional => false,
            ParameterDefault::Default(value) => !is_empty(value),
        })
}

/// Whether a step runs with the params only that a run needs.
fn runs(agent: &Agent, step: &PlanStep) -> bool {
    let planned = |name: &str| agent.plan.iter().find(|step| step.name == name);
    let Some(when) = &step.when else { return true };
    let holds = match &when.head {
        Head::Param(name) => has_value(agent, name),
        // Outputs of samples are never empty.
        Head::Step { name, .. } => planned(name).is_some_and(|before| runs(agent, before)),
        Head::Task | Head::Now => true,
    };
    let lacks = step.bind.iter().any(|(input, binding)| {
        let Binding::Reference(Reference { head: Head::Param(name), hops }) = binding else { return false };
        let required =
            step.engine.fields().inputs.iter().any(|field| field.name == *input && field.need == Need::Required);
        required && hops.is_empty() && !has_value(agent, name)
    });
    holds && !lacks
}

#[tokio::test]
async fn every_plan_runs_completely_if_all_params_are_provided() {
    let mut wrong = Vec::new();
    for agent in agents().list() {
        let engines = Arc::new(ScriptedEngines::default());
        let mut driver = driver(&engines).start(&agent.id, "do it", params(agent, SampleParams::All));
        let result = driver.result().await;
        let planned: Vec<&str> = agent.plan.iter().map(|step| step.engine.id).collect();
        let called = engines.called_ids();
        if called != planned || result["complete"] != true {
            wrong.push(format!("{}: {called:?} of {planned:?}: {} {}", agent.id, result["failed"], result["skipped"]));
            continue;
        }
        assert_eq!(driver.view.done.last().unwrap().kind, StepKind::Writeup);
        let names: Vec<&str> = agent.plan.iter().map(|step| step.name.as_str()).collect();
        let outputs = result["outputs"].as_object().unwrap();
        assert!(names.iter().all(|name| outputs.contains_key(*name)) && outputs.len() == names.len(), "{}", agent.id);
        assert_eq!(result["sections"].as_array().unwrap().len(), agent.writeup.len(), "{}", agent.id);
        let text = result["text"].as_str().unwrap();
        for (section, rendered) in agent.writeup.iter().zip(result["sections"].as_array().unwrap()) {
            let source = rendered["engine"].as_str().unwrap();
            assert!(text.contains(&format!("## {}\nFrom engine {source}\n", section.title)), "{text}");
            assert!(!rendered["value"].is_null(), "{}: {rendered}", agent.id);
        }
        assert_eq!(result["skipped"], json!([]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_engine_is_called_on_behalf_of_the_tasks_owner() {
    let engines = Arc::new(ScriptedEngines::default());
    driver(&engines).start("code-explorer", "look", Value::Null).result().await;
    let caller = engines.last_caller().unwrap();
    assert_eq!((caller.actor.as_str(), caller.task.as_deref()), ("key_1", Some("task_1")));
    assert_eq!(caller.payer.map(|payer| payer.key_id).as_deref(), Some("key_1"), "what it needs is paid by the owner");
    assert_eq!(caller.watcher, None);
}

#[tokio::test]
async fn steps_whose_reference_is_empty_are_skipped() {
    for agent in agents().list() {
        let engines = Arc::new(ScriptedEngines::default());
        let result = driver(&engines).start(&agent.id, "do it", params(agent, SampleParams::Required)).result().await;
        let planned: Vec<&str> =
            agent.plan.iter().filter(|step| runs(agent, step)).map(|step| step.engine.id).collect();
        assert_eq!(engines.called_ids(), planned, "{}", agent.id);
        let skipped = agent.plan.len() - planned.len();
        assert_eq!(result["skipped"].as_array().unwrap().len(), skipped, "{}", agent.id);
    }
}

#[tokio::test]
async fn outputs_are_bound_to_later_steps() {
    let engines = Arc::new(
        ScriptedEngines::default()
            .with_answer("json-schema-infer", Ok(json!({ "schema": { "type": "object" }, "fields": [] }))),
    );
    let provided = json!({ "openapi": { "openapi": "3.1.0" }, "samples": [{ "a": 1 }], "example": { "a": 2 } });
    driver(&engines).start("api-designer", "x", provided).result().await;
    let calls = engines.calls();
    assert_eq!(calls[2], ("json-schema-validate", json!({ "schema": { "type": "object" }, "document": { "a": 2 } })));
}

#[tokio::test]
async fn literals_and_params_are_bound() {
    let engines = Arc::new(ScriptedEngines::default());
    let provided = json!({ "path": "src", "search": "fn main" });
    driver(&engines).start("code-explorer", "x", provided).result().await;
    let wanted = [
        ("repo-tree", json!({ "path": "src", "depth": 3, "output_format": "markdown" })),
        ("code-search", json!({ "pattern": "fn main", "path": "src", "literal": true })),
        ("code-search", json!({ "pattern": "TODO|FIXME|HACK", "path": "src", "max_results": 50 })),
    ];
    assert_eq!(engines.calls(), wanted);
}

#[tokio::test]
async fn rejections_by_engines_become_failures_of_steps() {
    let busy = Error::new(Kind::Unavailable, "queue full").retry_in(Duration::from_secs(3));
    for (error, code, retry) in [
        (busy, "ENGINE_BUSY", Retry::After(Duration::from_secs(3))),
        (Error::new(Kind::Internal, "x"), "ENGINE_FAILED", Retry::Soon),
        (Error::new(Kind::TimedOut, "x"), "ENGINE_TIMED_OUT", Retry::Never),
        (Error::new(Kind::TooLarge, "x"), "ENGINE_TOO_LARGE", Retry::Never),
        (Error::new(Kind::Invalid, "x"), "ENGINE_INPUT_INVALID", Retry::Never),
        (Error::new(Kind::Forbidden, "x"), "ENGINE_FORBIDDEN", Retry::Never),
        (Error::new(Kind::NotFound, "x"), "AGENT_EXECUTION_ERROR", Retry::Never),
    ] {
        // Both steps fail: a task with one result keeps it.
        let engines = ScriptedEngines::default().with_answer("repo-tree", Err(error.clone()));
        let engines = Arc::new(engines.with_answer("code-search", Err(error)));
        let End::Failed(failed) = driver(&engines).start("code-explorer", "x", Value::Null).end().await else {
            panic!("no failure with {code}")
        };
        assert_eq!((failed.error_code, failed.retry), (code, retry));
        let first = if retry == Retry::Never { "step todo, q188 code-search: " } else { "step tree, q187 repo-tree: " };
        assert!(failed.detail.starts_with(first), "{failed}");
    }
}

#[tokio::test]
async fn a_journal_with_unknown_content_fails_the_task() {
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = driver(&engines).start("code-explorer", "x", Value::Null);
    driver.steps(1).await.unwrap();
    driver.view.done[0].output = Arc::new(json!({ "did": "ran" }));
    let End::Failed(failed) = driver.end().await else { panic!("the task continued") };
    assert_eq!(failed.retry, Retry::Never);
}

#[tokio::test]
async fn a_result_is_bounded() {
    let long = "x".repeat(5 * 1024 * 1024);
    let many: Vec<Value> = (0..100).map(|n| json!({ "path": format!("f{n}.rs"), "line": n, "text": "t" })).collect();
    let engines = ScriptedEngines::default().with_answer("repo-tree", Ok(json!({ "output": long, "languages": [] })));
    let engines = Arc::new(engines.with_answer("code-search", Ok(json!({ "matches": many }))));
    let result = driver(&engines).start("code-explorer", "x", Value::Null).result().await;
    assert!(result.to_string().len() < 1024 * 1024);
    assert_eq!(result["outputs"]["tree"]["left_out"], json!(true));
    assert!(result["warnings"][0].as_str().unwrap().contains("the output tree is left out"), "{}", result["warnings"]);
    let text = result["text"].as_str().unwrap();
    assert!(text.len() < 64 * 1024 && text.contains("bytes left out)") && text.contains("… and 80 more, 100 in all"));
}

#[tokio::test]
async fn a_result_names_its_engines_and_warnings() {
    let engines = Arc::new(
        ScriptedEngines::default()
            .with_answer("repo-tree", Ok(json!({ "output": "src/\n  main.rs", "languages": [] }))),
    );
    let result = driver(&engines).start("code-explorer", "x", Value::Null).result().await;
    assert_eq!(
        result["engines"][0],
        json!({ "as": "tree", "number": 187, "engine": "repo-tree", "by": "code-explorer" })
    );
    assert_eq!(result["written_by"], Value::Null);
    let text = result["text"].as_str().unwrap();
    assert!(
        text.contains("## Tree\nFrom engine q187 repo-tree\n\n```\nsrc/\n  main.rs\n```\n\n## Open notes"),
        "{text}"
    );
    assert!(text.contains("- hits (q188 code-search): `search` was not given"), "{text}");
}

#[test]
fn params_of_a_sample_fit_their_own_schema() {
    for agent in agents().list() {
        let executor = driver(&Arc::new(ScriptedEngines::default())).executor;
        use crate::task::TaskExecutor as _;
        let admission = executor.admit(&agent.id, "t", params(agent, SampleParams::All)).unwrap();
        assert_eq!(admission.params.as_object().map(Map::len), Some(agent.parameters.len()), "{}", agent.id);
    }
}

#[tokio::test]
async fn a_value_outside_the_range_of_a_step_skips_it() {
    for (temperature, called) in [(35.0, "heat-stress"), (-20.0, "cold-stress")] {
        let engines = Arc::new(ScriptedEngines::default());
        let params = json!({ "temperature_c": temperature });
        let result = driver(&engines).start("temperature-extremes-analyst", "x", params).result().await;
        assert_eq!(engines.called_ids(), [called]);
        let skipped = result["skipped"].to_string();
        assert!(
            skipped.contains(&format!("$params.temperature_c is {temperature:?}, and temperature must be")),
            "{skipped}"
        );
    }
}

#[tokio::test]
async fn references_are_converted_to_the_unit_of_the_input() {
    let engines = Arc::new(
        ScriptedEngines::default().with_answer("geodesic-inverse", Ok(json!({ "legs": [{ "distance": 12_500 }] }))),
    );
    let sites = json!({ "site_a": { "lat": 47.0, "lon": 8.0 }, "site_b": { "lat": 47.1, "lon": 8.1 } });
    driver(&engines).start("radio-planner", "x", sites).result().await;
    let calls = engines.calls();
    let path = calls.iter().find(|(engine, _)| *engine == "radio-path").unwrap();
    assert_eq!(path.1["distance"], json!(12.5));
    let engines = Arc::new(ScriptedEngines::default());
    let track = json!({ "track": [{ "time": "2005-08-28T18:00:00Z", "lat": 26.3, "lon": -88.6, "wind": 150 }],
        "central_pressure_hpa": 902 });
    driver(&engines).start("cyclone-analyst", "x", track).result().await;
    let calls = engines.calls();
    let wind = calls.iter().find(|(engine, _)| *engine == "cyclone-wind-field").unwrap();
    assert_eq!(wind.1["max_wind"], json!(150.0 * 1852.0 / 3600.0), "150 kt");
    assert_eq!(wind.1["latitude"], json!(26.3));
    let ring = calls.iter().find(|(engine, _)| *engine == "buffer-zone").unwrap();
    assert_eq!(ring.1["geometry"], json!({ "type": "Point", "coordinates": [-88.6, 26.3] }));
}

#[tokio::test]
async fn a_default_follows_the_param_that_a_redirect_changes() {
    let engines = Arc::new(ScriptedEngines::default());
    let document = |text: &str| json!({ "documents": [{ "id": "a", "text": text }] });
    let mut driver = driver(&engines).start("social-listener", "x", document("one"));
    assert!(driver.view.params.get("texts").is_none(), "it is not stored");
    driver.steps(1).await.unwrap();
    driver.redirect(&json!({ "params": document("two") }).to_string());
    driver.result().await;
    let calls = engines.calls();
    assert_eq!(calls.iter().find(|(engine, _)| *engine == "sentiment").unwrap().1["texts"], json!(["two"]));
}

#[tokio::test]
async fn a_failing_step_keeps_the_results_of_the_others() {
    let error = Error::new(Kind::NoAnswer, "too few values");
    let engines = Arc::new(ScriptedEngines::default().with_answer("json-schema-infer", Err(error)));
    let params = json!({ "openapi": { "openapi": "3.1.0" }, "samples": [1], "example": {"a": 1} });
    let result = driver(&engines).start("api-designer", "x", params).result().await;
    assert_eq!(engines.called_ids(), ["openapi-diff", "json-schema-infer"], "the third needs the second");
    assert_eq!(result["complete"], json!(false));
    assert!(result["failed"][0].as_str().unwrap().contains("too few values"), "{}", result["failed"]);
    assert!(result["skipped"][0].as_str().unwrap().contains("the step schema failed"), "{}", result["skipped"]);
    let text = result["text"].as_str().unwrap();
    assert!(text.starts_with("**Incomplete:** 1 of 2 steps failed"), "{text}");
    assert!(text.contains("\n- Mend the input of the failed step schema"), "{text}");
}

/// Whatever an engine returns, the report has tables and words.
#[tokio::test]
async fn no_report_has_json_in_it() {
    for agent in agents().list() {
        let engines = Arc::new(ScriptedEngines::default());
        let result = driver(&engines).start(&agent.id, "do it", params(agent, SampleParams::All)).result().await;
        let text = result["text"].as_str().unwrap();
        assert!(!text.contains("{\"") && !text.contains("\":") && !text.contains("[{"), "{}: {text}", agent.id);
    }
}
