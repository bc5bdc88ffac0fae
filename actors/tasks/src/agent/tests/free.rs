use std::sync::Arc;
use std::time::Duration;

use muster_providers::Role;
use serde_json::{Value, json};

use super::agents;
use super::double::{ModelReply, NoModels, ScriptedEngines, ScriptedModel};
use super::driver::{Driver, End};
use crate::agent::AgentOptions;
use crate::task::{Retry, StepKind, Usage};
use muster_core::{Error, Kind};

fn driver(engines: &Arc<ScriptedEngines>, scripted: &ScriptedModel) -> Driver {
    bounded(engines, scripted, AgentOptions::default())
}

fn bounded(engines: &Arc<ScriptedEngines>, scripted: &ScriptedModel, options: AgentOptions) -> Driver {
    Driver::new(agents(), engines, scripted.clone(), options).start("code-explorer", "Where is main?", Value::Null)
}

/// Returns the answers to the model's calls in its last conversation before the write-up.
fn answers(scripted: &ScriptedModel, request: usize) -> Vec<String> {
    let requests = scripted.requests();
    let replies = requests[request].request.messages.iter().filter(|message| message.role == Role::Tool);
    replies.map(|message| message.content.text().into_owned()).collect()
}

#[tokio::test]
async fn a_model_chooses_the_engines_and_each_call_is_a_step() {
    let scripted = ScriptedModel::replying([
        ModelReply::Turn(
            "First the tree, then main.",
            vec![
                ("repo-tree", json!({ "path": "." }).to_string()),
                ("code-search", json!({ "pattern": "fn main" }).to_string()),
            ],
        ),
        ModelReply::finish(),
        ModelReply::Text("By q188 code-search, main is in `src/main.rs`, on line 7.".to_owned()),
    ]);
    let found = json!({ "matches": [{ "path": "src/main.rs", "line": 7, "text": "fn main() {" }] });
    let engines = Arc::new(ScriptedEngines::default().with_answer("code-search", Ok(found)));
    let mut driver = driver(&engines, &scripted);
    let result = driver.result().await;
    assert_eq!(driver.steps, ["plan", "repo_tree", "code_search", "plan", "write-up"]);
    assert_eq!(engines.called_ids(), ["repo-tree", "code-search"]);
    assert_eq!(result["text"], json!("By q188 code-search, main is in `src/main.rs`, on line 7."));
    assert_eq!((&result["written_by"], &result["warnings"]), (&json!("far-1"), &json!([])));
    assert_eq!(result["outputs"]["code_search"]["matches"][0]["line"], json!(7));
    assert!(driver.streamed.contains("First the tree, then main.By q188"), "{}", driver.streamed);
    assert_eq!(driver.usage, Usage { prompt: 300, completion: 30, cost_nanos: 21 });
    let kinds: Vec<StepKind> = driver.view.done.iter().map(|step| step.kind).collect();
    use StepKind::{Engine, Model, Writeup};
    assert_eq!(kinds, [Model, Engine, Engine, Model, Writeup]);
}

#[tokio::test]
async fn the_model_is_called_with_the_steps_key_and_the_owners_budget() {
    let scripted = ScriptedModel::replying([
        ModelReply::call("repo-tree", &json!({})),
        ModelReply::finish(),
        ModelReply::Text("Nothing.".to_owned()),
    ]);
    driver(&Arc::default(), &scripted).result().await;
    let requests = scripted.requests();
    let ids: Vec<&str> = requests.iter().map(|request| request.request_id.as_str()).collect();
    assert_eq!(ids, ["task_1/0/0", "task_1/0/2", "task_1/0/3"]);
    for request in &requests {
        let spend = request.spend.as_ref().unwrap();
        assert_eq!((spend.key_id.as_str(), spend.key_limit), ("key_1", Some(5_000)));
        assert!(spend.max_usage.prompt_tokens > 0 && spend.max_usage.completion_tokens == 4096);
        assert_eq!(request.models, ["far-1"]);
    }
    let tools: Vec<&str> = requests[0].request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        tools,
        [
            "repo-tree",
            "code-search",
            "code-outline",
            "dependency-graph",
            "licence-detect",
            "summarise",
            "graph-centrality",
            "finish"
        ]
    );
    assert_eq!(requests[0].request.tools[0].parameters["additionalProperties"], json!(false));
    assert!(requests[2].request.tools.is_empty());
}

#[tokio::test]
async fn invalid_calls_are_reported_to_the_model_and_use_no_step() {
    let scripted = ScriptedModel::replying([
        ModelReply::Turn(
            "",
            vec![
                ("repo-tree", "{\"path\": ".to_owned()),
                ("repo-tree", json!({ "depth": "deep" }).to_string()),
                ("sql-analyse", json!({ "sql": "select 1" }).to_string()),
                ("code-search", json!({}).to_string()),
            ],
        ),
        ModelReply::finish(),
    ]);
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = driver(&engines, &scripted);
    driver.result().await;
    assert_eq!(engines.called_ids(), [] as [&str; 0]);
    let replies = answers(&scripted, 1);
    assert!(replies[0].starts_with("error: the arguments are no valid JSON"), "{replies:?}");
    assert!(replies[1].contains("depth must be an integer"), "{replies:?}");
    assert!(replies[2].contains("there is no tool \"sql-analyse\": call one of repo-tree, "), "{replies:?}");
    assert!(replies[3].contains("pattern is required"), "{replies:?}");
}

#[tokio::test]
async fn an_engines_rejection_is_reported_to_the_model_and_a_busy_engine_is_retried() {
    let refused = Error::new(Kind::Forbidden, "../x is outside of the workspace folder");
    let busy = Error::new(Kind::Unavailable, "queue full").retry_in(Duration::from_secs(2));
    let engines =
        Arc::new(ScriptedEngines::default().with_answer("repo-tree", Err(refused)).with_answer("repo-tree", Err(busy)));
    let again = || ModelReply::call("repo-tree", &json!({ "path": "../x" }));
    let scripted = ScriptedModel::replying([again(), again()]);
    let mut driver = driver(&engines, &scripted);
    let End::Failed(failed) = driver.end().await else { panic!("the task did not fail") };
    assert_eq!((failed.error_code, failed.retry), ("ENGINE_BUSY", Retry::After(Duration::from_secs(2))));
    assert!(answers(&scripted, 1)[0].contains("error: step repo_tree, q187 repo-tree: ../x is outside"));
    // A retry continues.
    assert_eq!(driver.result().await["outputs"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn steps_are_bounded_and_the_result_is_written_from_the_finished_ones() {
    let calls = (0..40).map(|n| ModelReply::call("code-search", &json!({ "pattern": format!("p{n}") })));
    let scripted = ScriptedModel::replying(calls);
    let engines = Arc::new(ScriptedEngines::default());
    let options = AgentOptions { max_steps: 7, ..AgentOptions::default() };
    let mut driver = bounded(&engines, &scripted, options);
    let result = driver.result().await;
    assert_eq!(driver.steps.len(), 8);
    assert_eq!(engines.calls().len(), 3);
    let names: Vec<&String> = result["outputs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["code_search", "code_search_2", "code_search_3"]);
    assert!(scripted.requests()[3].request.messages[0].content.text().contains("You have 1 steps left"));
}

#[tokio::test]
async fn outputs_in_the_prompt_are_bounded_and_the_newest_are_preferred() {
    let long = |letter: &str| Ok(json!({ "output": letter.repeat(5_000) }));
    let engines = ["a", "b", "c"]
        .iter()
        .fold(ScriptedEngines::default(), |engines, letter| engines.with_answer("repo-tree", long(letter)));
    let scripted = ScriptedModel::replying((0..3).map(|n| ModelReply::call("repo-tree", &json!({ "depth": n + 1 }))));
    let options = AgentOptions { output_bytes: 1_000, prompt_bytes: 1_500, ..AgentOptions::default() };
    bounded(&Arc::new(engines), &scripted, options).result().await;
    let replies = answers(&scripted, 3);
    assert!(replies[2].contains(&"c".repeat(900)) && replies[2].contains("bytes left out)"));
    assert!(replies[1].contains(&"b".repeat(300)) && !replies[1].contains(&"b".repeat(500)));
    assert!(replies[0].starts_with("…") && replies[0].contains("left out"), "{}", replies[0]);
    assert!(replies.iter().map(String::len).sum::<usize>() < 1_700);
}

#[tokio::test]
async fn provider_faults_state_whether_to_retry() {
    let throttled = Error::new(Kind::ProviderFailed, "x").retry_in(Duration::from_secs(9));
    for (reply, code, retry) in [
        (ModelReply::Refuse(throttled), "PROVIDER_FAILED", Retry::After(Duration::from_secs(9))),
        (ModelReply::Refuse(Error::new(Kind::Unavailable, "x")), "PROVIDER_FAILED", Retry::Soon),
        (ModelReply::Refuse(Error::new(Kind::Invalid, "x")), "PROVIDER_REFUSED", Retry::Never),
        (ModelReply::Refuse(Error::new(Kind::ModelUnconfigured, "x")), "PROVIDER_REFUSED", Retry::Never),
        (ModelReply::Refuse(Error::new(Kind::ContextLengthExceeded, "x")), "CONTEXT_LENGTH_EXCEEDED", Retry::Never),
        (ModelReply::Refuse(Error::new(Kind::BudgetExhausted, "x")), "BUDGET_EXHAUSTED", Retry::Never),
        (ModelReply::Break("so far"), "PROVIDER_FAILED", Retry::Soon),
    ] {
        let broke = matches!(reply, ModelReply::Break(_));
        let scripted = ScriptedModel::replying([reply]);
        let mut driver = driver(&Arc::default(), &scripted);
        let End::Failed(failed) = driver.end().await else { panic!("{code}: the task continued") };
        assert_eq!((failed.error_code, failed.retry), (code, retry));
        let used = if broke { Usage { prompt: 100, completion: 10, cost_nanos: 7 } } else { Usage::default() };
        assert_eq!(failed.usage, used, "{code}");
        assert_eq!(driver.streamed, if broke { "so far" } else { "" });
    }
}

#[tokio::test]
async fn without_its_model_a_task_is_written_up_from_its_finished_steps() {
    let scripted = ScriptedModel::replying([ModelReply::call("repo-tree", &json!({}))]);
    let engines = Arc::new(ScriptedEngines::default());
    let mut before = driver(&engines, &scripted);
    before.steps(2).await.unwrap();
    let mut after = Driver::new(agents(), &engines, NoModels, AgentOptions::default());
    after.view = before.view;
    let result = after.result().await;
    assert_eq!(after.steps, ["write-up"]);
    assert_eq!(result["written_by"], Value::Null);
    assert!(result["text"].as_str().unwrap().contains("From engine q187 repo-tree"));
}

#[tokio::test]
async fn a_plan_in_progress_is_finished_although_a_model_becomes_available() {
    let engines = Arc::new(ScriptedEngines::default());
    let mut before =
        Driver::new(agents(), &engines, NoModels, AgentOptions::default()).start("code-explorer", "x", Value::Null);
    before.steps(1).await.unwrap();
    let mut after = Driver::new(
        agents(),
        &engines,
        ScriptedModel::replying([ModelReply::Text("Fine.".to_owned())]),
        AgentOptions::default(),
    );
    after.view = before.view;
    after.result().await;
    assert_eq!(after.steps, ["todo", "write-up"]);
}

#[tokio::test]
async fn an_endless_answer_is_aborted() {
    let scripted = ScriptedModel::replying([ModelReply::Text("word ".repeat(60_000))]);
    let End::Failed(failed) = driver(&Arc::default(), &scripted).end().await else { panic!("the task continued") };
    assert_eq!((failed.error_code, failed.retry), ("AGENT_EXECUTION_ERROR", Retry::Never));
}
