//! All twelve plans, with engines that validate their input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::double::{NoModels, ScriptedEngines};
use super::driver::{Driver, End};
use super::{agents, sample};
use crate::agent::{Agent, AgentOptions, ParameterDefault};
use crate::engine::EngineCaller;
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
    let provided = agent
        .parameters
        .iter()
        .filter(|parameter| which == SampleParams::All || parameter.default == ParameterDefault::Required);
    Value::Object(provided.map(|parameter| (parameter.name.clone(), sample(&parameter.kind))).collect())
}

#[tokio::test]
async fn every_plan_runs_completely_if_all_params_are_provided() {
    for agent in agents().list() {
        let engines = Arc::new(ScriptedEngines::default());
        let mut driver = driver(&engines).start(&agent.id, "do it", params(agent, SampleParams::All));
        let result = driver.result().await;
        let planned: Vec<&str> = agent.plan.iter().map(|step| step.engine.id).collect();
        assert_eq!(engines.called_ids(), planned, "{}", agent.id);
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
}

#[tokio::test]
async fn an_engine_is_called_on_behalf_of_the_tasks_owner() {
    let engines = Arc::new(ScriptedEngines::default());
    driver(&engines).start("code-explorer", "look", Value::Null).result().await;
    let caller = EngineCaller { actor: "key_1".to_owned(), task: Some("task_1".to_owned()), ..EngineCaller::default() };
    assert_eq!(engines.last_caller(), Some(caller));
}

#[tokio::test]
async fn steps_whose_reference_is_empty_are_skipped() {
    for agent in agents().list() {
        let engines = Arc::new(ScriptedEngines::default());
        let result = driver(&engines).start(&agent.id, "do it", params(agent, SampleParams::Required)).result().await;
        let planned: Vec<&str> =
            agent.plan.iter().filter(|step| step.when.is_none()).map(|step| step.engine.id).collect();
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
        let engines = Arc::new(ScriptedEngines::default().with_answer("repo-tree", Err(error)));
        let End::Failed(failed) = driver(&engines).start("code-explorer", "x", Value::Null).end().await else {
            panic!("no failure with {code}")
        };
        assert_eq!((failed.error_code, failed.retry), (code, retry));
        assert!(failed.detail.starts_with("step tree, q187 repo-tree: "), "{failed}");
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
    assert!(text.len() < 64 * 1024 && text.contains("bytes left out)") && text.contains("- … and 80 more, 100 in all"));
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
        text.starts_with("## Tree\nFrom engine q187 repo-tree\n\n```\nsrc/\n  main.rs\n```\n\n## Languages"),
        "{text}"
    );
    assert!(text.contains("- hits (q188 code-search): $params.search is empty"), "{text}");
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
