//! Results written by a model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agents;
use super::double::{ModelReply, NoModels, ScriptedEngines, ScriptedModel};
use super::driver::{Driver, End};
use crate::agent::AgentOptions;
use crate::task::{Retry, Usage};
use muster_core::{Error, Kind};

/// A task with a finished plan, whose result is written by a model with this text.
async fn planned(replies: Vec<ModelReply>) -> (Driver, ScriptedModel) {
    let tree = json!({ "output": "src/main.rs", "languages": [{ "language": "Rust", "files": 12, "code": 3400 }] });
    let engines = Arc::new(
        ScriptedEngines::default()
            .with_answer("repo-tree", Ok(tree))
            .with_answer("code-search", Ok(json!({ "matches": [] }))),
    );
    let mut before =
        Driver::new(agents(), &engines, NoModels, AgentOptions::default()).start("code-explorer", "x", Value::Null);
    before.steps(2).await.unwrap();
    let scripted = ScriptedModel::replying(replies);
    let mut after = Driver::new(agents(), &engines, scripted.clone(), AgentOptions::default());
    after.view = before.view;
    (after, scripted)
}

#[tokio::test]
async fn prose_supported_by_the_outputs_is_the_result() {
    let text = "q187 repo-tree counts 12 files of Rust with 3,400 lines.";
    let (mut driver, _) = planned(vec![ModelReply::Text(text.to_owned())]).await;
    let result = driver.result().await;
    assert_eq!((&result["text"], &result["written_by"]), (&json!(text), &json!("far-1")));
    assert_eq!(driver.streamed, text);
}

#[tokio::test]
async fn a_rejected_draft_is_written_once_more_with_the_reasons() {
    let good = "q187 repo-tree counts 12 files.";
    let drafts = [ModelReply::Text("q187 repo-tree counts 13 files.".to_owned()), ModelReply::Text(good.to_owned())];
    let (mut driver, scripted) = planned(drafts.to_vec()).await;
    let result = driver.result().await;
    assert_eq!((&result["text"], &result["warnings"]), (&json!(good), &json!([])));
    let requests = scripted.requests();
    assert_eq!((requests[0].request_id.as_str(), requests[1].request_id.as_str()), ("task_1/0/2", "task_1/0/2/2"));
    let text = requests[1].request.messages.last().unwrap().content.text().into_owned();
    assert!(text.contains("13 is in no output"), "{text}");
    assert_eq!(driver.usage, Usage { prompt: 200, completion: 20, cost_nanos: 14 });
}

#[tokio::test]
async fn prose_that_fails_twice_is_replaced_by_the_sections_with_a_warning() {
    let (mut driver, scripted) = planned(vec![ModelReply::Text("There are 99 bugs.".to_owned()); 3]).await;
    let result = driver.result().await;
    assert_eq!(scripted.requests().len(), 2);
    assert_eq!(result["written_by"], Value::Null);
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("the text of the model was refused") && warning.contains("99 is in no output"),
        "{warning}"
    );
    let text = result["text"].as_str().unwrap();
    assert!(text.contains("## Tree\nFrom engine q187 repo-tree") && text.contains(warning), "{text}");
}

#[tokio::test]
async fn a_failing_model_is_retried_and_then_not_used() {
    let down = || ModelReply::Refuse(Error::new(Kind::ProviderFailed, "far is down"));
    let (mut driver, _) = planned(vec![down(), down(), down()]).await;
    for attempt in 1..=2 {
        driver.attempt = attempt;
        let End::Failed(failed) = driver.end().await else { panic!("attempt {attempt} went on") };
        assert_eq!(failed.retry, Retry::Soon);
    }
    driver.attempt = 3;
    let result = driver.result().await;
    assert!(result["warnings"][0].as_str().unwrap().contains("far is down"));
    assert!(result["text"].as_str().unwrap().contains("## Tree"));
}

#[tokio::test]
async fn a_rejecting_model_is_not_retried() {
    let (mut driver, _) = planned(vec![ModelReply::Refuse(Error::new(Kind::BudgetExhausted, "spent"))]).await;
    let result = driver.result().await;
    assert!(result["warnings"][0].as_str().unwrap().contains("spent"));
}
