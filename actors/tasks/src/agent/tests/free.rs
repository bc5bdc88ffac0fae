use std::sync::Arc;
use std::time::Duration;

use muster_providers::Role;
use serde_json::{Value, json};

use super::agents;
use super::double::{Bench, Say, Talker};
use super::driver::{Driver, End};
use crate::agent::{AgentOptions, NoModels};
use crate::task::{Retry, StepKind, Usage};
use muster_core::{Error, Kind};

fn driver(bench: &Arc<Bench>, talker: &Talker) -> Driver {
    bounded(bench, talker, AgentOptions::default())
}

fn bounded(bench: &Arc<Bench>, talker: &Talker, options: AgentOptions) -> Driver {
    Driver::over(agents(), bench, talker.clone(), options).start("code-explorer", "Where is main?", Value::Null)
}

/// Returns the answers to the model's calls in its last conversation before the write-up.
fn answers(talker: &Talker, ask: usize) -> Vec<String> {
    let asks = talker.asks();
    let with_answer = asks[ask].request.messages.iter().filter(|message| message.role == Role::Tool);
    with_answer.map(|message| message.content.text().into_owned()).collect()
}

#[tokio::test]
async fn a_model_chooses_the_engines_and_each_call_is_a_step() {
    let talker = Talker::saying([
        Say::Turn(
            "First the tree, then main.",
            vec![
                ("repo-tree", json!({ "path": "." }).to_string()),
                ("code-search", json!({ "pattern": "fn main" }).to_string()),
            ],
        ),
        Say::finish(),
        Say::Text("By q188 code-search, main is in `src/main.rs`, on line 7.".to_owned()),
    ]);
    let found = json!({ "matches": [{ "path": "src/main.rs", "line": 7, "text": "fn main() {" }] });
    let bench = Arc::new(Bench::default().with_answer("code-search", Ok(found)));
    let mut driver = driver(&bench, &talker);
    let result = driver.result().await;
    assert_eq!(driver.steps, ["plan", "repo_tree", "code_search", "plan", "write-up"]);
    assert_eq!(bench.engines(), ["repo-tree", "code-search"]);
    assert_eq!(result["text"], json!("By q188 code-search, main is in `src/main.rs`, on line 7."));
    assert_eq!((&result["written_by"], &result["warnings"]), (&json!("far-1"), &json!([])));
    assert_eq!(result["outputs"]["code_search"]["matches"][0]["line"], json!(7));
    assert!(driver.heard.contains("First the tree, then main.By q188"), "{}", driver.heard);
    assert_eq!(driver.usage, Usage { prompt: 300, completion: 30, cost_nanos: 21 });
    let kinds: Vec<StepKind> = driver.view.done.iter().map(|step| step.kind).collect();
    use StepKind::{Engine, Model, Writeup};
    assert_eq!(kinds, [Model, Engine, Engine, Model, Writeup]);
}

#[tokio::test]
async fn the_model_is_asked_under_the_steps_key_and_on_the_owners_money() {
    let talker = Talker::saying([Say::call("repo-tree", &json!({})), Say::finish(), Say::Text("Nothing.".to_owned())]);
    driver(&Arc::default(), &talker).result().await;
    let asks = talker.asks();
    let ids: Vec<&str> = asks.iter().map(|ask| ask.request_id.as_str()).collect();
    assert_eq!(ids, ["task_1/0/0", "task_1/0/2", "task_1/0/3"]);
    for ask in &asks {
        let spend = ask.spend.as_ref().unwrap();
        assert_eq!((spend.key_id.as_str(), spend.key_limit), ("key_1", Some(5_000)));
        assert!(spend.max_usage.prompt_tokens > 0 && spend.max_usage.completion_tokens == 4096);
        assert_eq!(ask.models, ["far-1"]);
    }
    let tools: Vec<&str> = asks[0].request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["repo-tree", "code-search", "code-outline", "dependency-graph", "licence-detect", "finish"]);
    assert_eq!(asks[0].request.tools[0].parameters["additionalProperties"], json!(false));
    assert!(asks[2].request.tools.is_empty());
}

#[tokio::test]
async fn bad_calls_go_back_to_the_model_and_cost_no_step() {
    let talker = Talker::saying([
        Say::Turn(
            "",
            vec![
                ("repo-tree", "{\"path\": ".to_owned()),
                ("repo-tree", json!({ "depth": "deep" }).to_string()),
                ("sql-analyse", json!({ "sql": "select 1" }).to_string()),
                ("code-search", json!({}).to_string()),
            ],
        ),
        Say::finish(),
    ]);
    let bench = Arc::new(Bench::default());
    let mut driver = driver(&bench, &talker);
    driver.result().await;
    assert_eq!(bench.engines(), [] as [&str; 0]);
    let with_answer = answers(&talker, 1);
    assert!(with_answer[0].starts_with("error: the arguments are no valid JSON"), "{with_answer:?}");
    assert!(with_answer[1].contains("depth must be an integer"), "{with_answer:?}");
    assert!(with_answer[2].contains("there is no tool \"sql-analyse\": call one of repo-tree, "), "{with_answer:?}");
    assert!(with_answer[3].contains("pattern is required"), "{with_answer:?}");
}

#[tokio::test]
async fn an_engines_refusal_is_told_and_a_busy_engine_is_tried_again() {
    let refused = Error::new(Kind::Forbidden, "../x is outside of the workspace folder");
    let busy = Error::new(Kind::Unavailable, "queue full").retry_in(Duration::from_secs(2));
    let bench = Arc::new(Bench::default().with_answer("repo-tree", Err(refused)).with_answer("repo-tree", Err(busy)));
    let again = || Say::call("repo-tree", &json!({ "path": "../x" }));
    let talker = Talker::saying([again(), again()]);
    let mut driver = driver(&bench, &talker);
    let End::Failed(failed) = driver.end().await else { panic!("it did not fail") };
    assert_eq!((failed.error_code, failed.retry), ("ENGINE_BUSY", Retry::After(Duration::from_secs(2))));
    assert!(answers(&talker, 1)[0].contains("error: step repo_tree, q187 repo-tree: ../x is outside"));
    // A retry continues.
    assert_eq!(driver.result().await["outputs"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn steps_are_bounded_and_the_result_is_written_with_what_is_there() {
    let calls = (0..40).map(|n| Say::call("code-search", &json!({ "pattern": format!("p{n}") })));
    let talker = Talker::saying(calls);
    let bench = Arc::new(Bench::default());
    let options = AgentOptions { max_steps: 7, ..AgentOptions::default() };
    let mut driver = bounded(&bench, &talker, options);
    let result = driver.result().await;
    assert_eq!(driver.steps.len(), 8);
    assert_eq!(bench.calls().len(), 3);
    let names: Vec<&String> = result["outputs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["code_search", "code_search_2", "code_search_3"]);
    assert!(talker.asks()[3].request.messages[0].content.text().contains("You have 1 steps left"));
}

#[tokio::test]
async fn outputs_in_the_prompt_are_bounded_the_newest_first() {
    let long = |letter: &str| Ok(json!({ "output": letter.repeat(5_000) }));
    let bench =
        ["a", "b", "c"].iter().fold(Bench::default(), |bench, letter| bench.with_answer("repo-tree", long(letter)));
    let talker = Talker::saying((0..3).map(|n| Say::call("repo-tree", &json!({ "depth": n + 1 }))));
    let options = AgentOptions { output_bytes: 1_000, prompt_bytes: 1_500, ..AgentOptions::default() };
    bounded(&Arc::new(bench), &talker, options).result().await;
    let with_answer = answers(&talker, 3);
    assert!(with_answer[2].contains(&"c".repeat(900)) && with_answer[2].contains("bytes left out)"));
    assert!(with_answer[1].contains(&"b".repeat(300)) && !with_answer[1].contains(&"b".repeat(500)));
    assert!(with_answer[0].starts_with("…") && with_answer[0].contains("left out"), "{}", with_answer[0]);
    assert!(with_answer.iter().map(String::len).sum::<usize>() < 1_700);
}

#[tokio::test]
async fn faults_of_providers_say_whether_to_try_again() {
    let throttled = Error::new(Kind::ProviderFailed, "x").retry_in(Duration::from_secs(9));
    for (said, code, retry) in [
        (Say::Refuse(throttled), "PROVIDER_FAILED", Retry::After(Duration::from_secs(9))),
        (Say::Refuse(Error::new(Kind::Unavailable, "x")), "PROVIDER_FAILED", Retry::Soon),
        (Say::Refuse(Error::new(Kind::Invalid, "x")), "PROVIDER_REFUSED", Retry::Never),
        (Say::Refuse(Error::new(Kind::ModelUnconfigured, "x")), "PROVIDER_REFUSED", Retry::Never),
        (Say::Refuse(Error::new(Kind::ContextLengthExceeded, "x")), "CONTEXT_LENGTH_EXCEEDED", Retry::Never),
        (Say::Refuse(Error::new(Kind::BudgetExhausted, "x")), "BUDGET_EXHAUSTED", Retry::Never),
        (Say::Break("so far"), "PROVIDER_FAILED", Retry::Soon),
    ] {
        let broke = matches!(said, Say::Break(_));
        let talker = Talker::saying([said]);
        let mut driver = driver(&Arc::default(), &talker);
        let End::Failed(failed) = driver.end().await else { panic!("{code}: it went on") };
        assert_eq!((failed.error_code, failed.retry), (code, retry));
        let used = if broke { Usage { prompt: 100, completion: 10, cost_nanos: 7 } } else { Usage::default() };
        assert_eq!(failed.usage, used, "{code}");
        assert_eq!(driver.heard, if broke { "so far" } else { "" });
    }
}

#[tokio::test]
async fn without_its_model_a_task_is_written_up_with_what_it_has() {
    let talker = Talker::saying([Say::call("repo-tree", &json!({}))]);
    let bench = Arc::new(Bench::default());
    let mut before = driver(&bench, &talker);
    before.steps(2).await.unwrap();
    let mut after = Driver::over(agents(), &bench, NoModels, AgentOptions::default());
    after.view = before.view;
    let result = after.result().await;
    assert_eq!(after.steps, ["write-up"]);
    assert_eq!(result["written_by"], Value::Null);
    assert!(result["text"].as_str().unwrap().contains("From engine q187 repo-tree"));
}

#[tokio::test]
async fn a_plan_that_began_is_walked_to_its_end_though_a_model_comes() {
    let bench = Arc::new(Bench::default());
    let mut before =
        Driver::over(agents(), &bench, NoModels, AgentOptions::default()).start("code-explorer", "x", Value::Null);
    before.steps(1).await.unwrap();
    let mut after =
        Driver::over(agents(), &bench, Talker::saying([Say::Text("Fine.".to_owned())]), AgentOptions::default());
    after.view = before.view;
    after.result().await;
    assert_eq!(after.steps, ["todo", "write-up"]);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let talker = Talker::saying([Say::Text("word ".repeat(60_000))]);
    let End::Failed(failed) = driver(&Arc::default(), &talker).end().await else { panic!("it went on") };
    assert_eq!((failed.error_code, failed.retry), ("AGENT_EXECUTION_ERROR", Retry::Never));
}
