//! Results written by a model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::agents;
use super::double::{Bench, Say, Talker};
use super::driver::{Driver, End};
use crate::agent::{AgentOptions, NoModels};
use crate::task::{Retry, Usage};
use muster_core::{Error, Kind};

/// A task with a finished plan, whose result is written by a model with this text.
async fn planned(said: Vec<Say>) -> (Driver, Talker) {
    let tree = json!({ "output": "src/main.rs", "languages": [{ "language": "Rust", "files": 12, "code": 3400 }] });
    let bench = Arc::new(
        Bench::default().with_answer("repo-tree", Ok(tree)).with_answer("code-search", Ok(json!({ "matches": [] }))),
    );
    let mut before =
        Driver::over(agents(), &bench, NoModels, AgentOptions::default()).start("code-explorer", "x", Value::Null);
    before.steps(2).await.unwrap();
    let talker = Talker::saying(said);
    let mut after = Driver::over(agents(), &bench, talker.clone(), AgentOptions::default());
    after.view = before.view;
    (after, talker)
}

#[tokio::test]
async fn prose_that_the_outputs_bear_out_is_the_result() {
    let text = "q187 repo-tree counts 12 files of Rust with 3,400 lines.";
    let (mut driver, _) = planned(vec![Say::Text(text.to_owned())]).await;
    let result = driver.result().await;
    assert_eq!((&result["text"], &result["written_by"]), (&json!(text), &json!("far-1")));
    assert_eq!(driver.heard, text);
}

#[tokio::test]
async fn a_refused_draft_is_written_once_more_with_the_reasons() {
    let good = "q187 repo-tree counts 12 files.";
    let drafts = [Say::Text("q187 repo-tree counts 13 files.".to_owned()), Say::Text(good.to_owned())];
    let (mut driver, talker) = planned(drafts.to_vec()).await;
    let result = driver.result().await;
    assert_eq!((&result["text"], &result["warnings"]), (&json!(good), &json!([])));
    let asks = talker.asks();
    assert_eq!((asks[0].request_id.as_str(), asks[1].request_id.as_str()), ("task_1/0/2", "task_1/0/2/2"));
    let with_answer = asks[1].request.messages.last().unwrap().content.text().into_owned();
    assert!(with_answer.contains("13 is in no output"), "{with_answer}");
    assert_eq!(driver.usage, Usage { prompt: 200, completion: 20, cost_nanos: 14 });
}

#[tokio::test]
async fn prose_that_fails_twice_gives_way_to_the_sections_and_that_is_said() {
    let (mut driver, talker) = planned(vec![Say::Text("There are 99 bugs.".to_owned()); 3]).await;
    let result = driver.result().await;
    assert_eq!(talker.asks().len(), 2);
    assert_eq!(result["written_by"], Value::Null);
    let warning = result["warnings"][0].as_str().unwrap();
    assert!(warning.contains("the model's text was refused") && warning.contains("99 is in no output"), "{warning}");
    let text = result["text"].as_str().unwrap();
    assert!(text.starts_with("## Tree\nFrom engine q187 repo-tree") && text.contains(warning), "{text}");
}

#[tokio::test]
async fn a_model_that_fails_is_tried_again_and_then_done_without() {
    let down = || Say::Refuse(Error::new(Kind::ProviderFailed, "far is down"));
    let (mut driver, _) = planned(vec![down(), down(), down()]).await;
    for attempt in 1..=2 {
        driver.attempt = attempt;
        let End::Failed(failed) = driver.end().await else { panic!("attempt {attempt} went on") };
        assert_eq!(failed.retry, Retry::Soon);
    }
    driver.attempt = 3;
    let result = driver.result().await;
    assert!(result["warnings"][0].as_str().unwrap().contains("far is down"));
    assert!(result["text"].as_str().unwrap().starts_with("## Tree"));
}

#[tokio::test]
async fn a_model_that_refuses_is_done_without_at_once() {
    let (mut driver, _) = planned(vec![Say::Refuse(Error::new(Kind::BudgetExhausted, "spent"))]).await;
    let result = driver.result().await;
    assert!(result["warnings"][0].as_str().unwrap().contains("spent"));
}
