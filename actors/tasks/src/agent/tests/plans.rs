//! All twelve plans, with engines that validate their input.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::double::Bench;
use super::driver::{Driver, End};
use super::{agents, sample};
use crate::agent::{Agent, AgentOptions, Given, NoModels};
use crate::engine::Behalf;
use crate::task::{Retry, StepKind};
use muster_core::{Error, Kind};

fn driver(bench: &Arc<Bench>) -> Driver {
    Driver::over(agents(), bench, NoModels, AgentOptions::default())
}

/// Whether optional params are given as well.
#[derive(Clone, Copy, PartialEq)]
enum Give {
    Required,
    All,
}

fn params(agent: &Agent, give: Give) -> Value {
    let given = agent.parameters.iter().filter(|parameter| give == Give::All || parameter.given == Given::Required);
    Value::Object(given.map(|parameter| (parameter.name.clone(), sample(&parameter.kind))).collect())
}

#[tokio::test]
async fn every_plan_runs_whole_where_everything_is_given() {
    for agent in agents().list() {
        let bench = Arc::new(Bench::default());
        let mut driver = driver(&bench).start(&agent.id, "do it", params(agent, Give::All));
        let result = driver.result().await;
        let planned: Vec<&str> = agent.plan.iter().map(|step| step.engine.id).collect();
        assert_eq!(bench.engines(), planned, "{}", agent.id);
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
async fn an_engine_is_called_in_the_name_of_the_tasks_owner() {
    let bench = Arc::new(Bench::default());
    driver(&bench).start("code-explorer", "look", Value::Null).result().await;
    let behalf = Behalf { actor: "key_1".to_owned(), task: Some("task_1".to_owned()) };
    assert_eq!(bench.behalf(), Some(behalf));
}

#[tokio::test]
async fn steps_whose_reference_is_empty_are_left_out() {
    for agent in agents().list() {
        let bench = Arc::new(Bench::default());
        let result = driver(&bench).start(&agent.id, "do it", params(agent, Give::Required)).result().await;
        let planned: Vec<&str> =
            agent.plan.iter().filter(|step| step.when.is_none()).map(|step| step.engine.id).collect();
        assert_eq!(bench.engines(), planned, "{}", agent.id);
        let skipped = agent.plan.len() - planned.len();
        assert_eq!(result["skipped"].as_array().unwrap().len(), skipped, "{}", agent.id);
    }
}

#[tokio::test]
async fn outputs_are_bound_to_later_steps() {
    let bench = Arc::new(
        Bench::default().with_answer("json-schema-infer", Ok(json!({ "schema": { "type": "object" }, "fields": [] }))),
    );
    let given = json!({ "openapi": { "openapi": "3.1.0" }, "samples": [{ "a": 1 }], "example": { "a": 2 } });
    driver(&bench).start("api-designer", "x", given).result().await;
    let calls = bench.calls();
    assert_eq!(calls[2], ("json-schema-validate", json!({ "schema": { "type": "object" }, "document": { "a": 2 } })));
}

#[tokio::test]
async fn literals_and_params_are_bound() {
    let bench = Arc::new(Bench::default());
    let given = json!({ "path": "src", "search": "fn main" });
    driver(&bench).start("code-explorer", "x", given).result().await;
    let wanted = [
        ("repo-tree", json!({ "path": "src", "depth": 3, "output_format": "markdown" })),
        ("code-search", json!({ "pattern": "fn main", "path": "src", "literal": true })),
        ("code-search", json!({ "pattern": "TODO|FIXME|HACK", "path": "src", "max_results": 50 })),
    ];
    assert_eq!(bench.calls(), wanted);
}

#[tokio::test]
async fn refusals_of_engines_become_failures_of_steps() {
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
        let bench = Arc::new(Bench::default().with_answer("repo-tree", Err(error)));
        let End::Failed(failed) = driver(&bench).start("code-explorer", "x", Value::Null).end().await else {
            panic!("no failure with {code}")
        };
        assert_eq!((failed.error_code, failed.retry), (code, retry));
        assert!(failed.detail.starts_with("step tree, q187 repo-tree: "), "{failed}");
    }
}

#[tokio::test]
async fn a_journal_of_somebody_else_fails_the_task() {
    let bench = Arc::new(Bench::default());
    let mut driver = driver(&bench).start("code-explorer", "x", Value::Null);
    driver.steps(1).await.unwrap();
    driver.view.done[0].output = Arc::new(json!({ "did": "ran" }));
    let End::Failed(failed) = driver.end().await else { panic!("it went on") };
    assert_eq!(failed.retry, Retry::Never);
}

#[tokio::test]
async fn a_result_is_bounded() {
    let long = "x".repeat(5 * 1024 * 1024);
    let many: Vec<Value> = (0..100).map(|n| json!({ "path": format!("f{n}.rs"), "line": n, "text": "t" })).collect();
    let bench = Bench::default().with_answer("repo-tree", Ok(json!({ "output": long, "languages": [] })));
    let bench = Arc::new(bench.with_answer("code-search", Ok(json!({ "matches": many }))));
    let result = driver(&bench).start("code-explorer", "x", Value::Null).result().await;
    assert!(result.to_string().len() < 1024 * 1024);
    assert_eq!(result["outputs"]["tree"]["left_out"], json!(true));
    assert!(result["warnings"][0].as_str().unwrap().contains("the output tree is left out"), "{}", result["warnings"]);
    let text = result["text"].as_str().unwrap();
    assert!(text.len() < 64 * 1024 && text.contains("bytes left out)") && text.contains("- … and 80 more, 100 in all"));
}

#[tokio::test]
async fn a_result_names_its_engines_and_warnings() {
    let bench = Arc::new(
        Bench::default().with_answer("repo-tree", Ok(json!({ "output": "src/\n  main.rs", "languages": [] }))),
    );
    let result = driver(&bench).start("code-explorer", "x", Value::Null).result().await;
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
        let work = driver(&Arc::new(Bench::default())).work;
        use crate::task::Work as _;
        let admission = work.admit(&agent.id, "t", params(agent, Give::All)).unwrap();
        assert_eq!(admission.params.as_object().map(Map::len), Some(agent.parameters.len()), "{}", agent.id);
    }
}
