use std::sync::Arc;

use serde_json::{Value, json};

use super::agents;
use super::double::{ModelReply, NoModels, ScriptedEngines, ScriptedModel};
use super::driver::{Driver, End};
use crate::agent::AgentOptions;

fn planless(engines: &Arc<ScriptedEngines>) -> Driver {
    Driver::new(agents(), engines, NoModels, AgentOptions::default())
}

#[tokio::test]
async fn params_of_a_redirect_apply_to_later_steps() {
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = planless(&engines).start("code-explorer", "x", json!({ "path": "src" }));
    driver.steps(1).await.unwrap();
    driver.redirect(r#"{"params": {"path": "tests", "search": "fn", "depth": "deep", "nothing": 1}}"#);
    driver.redirect("look at the tests too");
    let result = driver.result().await;
    let calls = engines.calls();
    assert_eq!(calls[0].1["path"], json!("src"));
    assert_eq!((&calls[1].1["path"], &calls[1].1["pattern"]), (&json!("tests"), &json!("fn")));
    assert_eq!(calls[2].1["path"], json!("tests"));
    let effect = result["redirections"][0]["effect"].as_str().unwrap();
    assert!(effect.starts_with("changed path, search; refused: "), "{effect}");
    assert!(effect.contains("depth must be an integer") && effect.contains("nothing is not a parameter"), "{effect}");
    assert_eq!(
        result["redirections"][1],
        json!({ "instruction": "look at the tests too", "effect": "noted: it names no parameter" })
    );
    assert!(result["text"].as_str().unwrap().contains("- look at the tests too – noted"));
}

#[tokio::test]
async fn a_redirect_after_the_write_up_writes_it_again() {
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = planless(&engines).start("code-explorer", "x", Value::Null);
    driver.steps(3).await.unwrap();
    assert_eq!(driver.steps.last().unwrap(), "write-up");
    driver.redirect("be brief");
    let result = driver.result().await;
    assert_eq!(driver.steps, ["tree", "todo", "write-up", "write-up"]);
    assert_eq!(result["redirections"][0]["instruction"], json!("be brief"));
}

#[tokio::test]
async fn another_agent_reuses_finished_steps_that_are_identical() {
    let engines = Arc::new(ScriptedEngines::default());
    let provided = json!({ "trace": "panicked", "lines": ["a", "b"], "search": "main" });
    let mut driver = planless(&engines).start("debugger", "x", provided);
    driver.steps(2).await.unwrap();
    // The same logs are requested, the reports are missing.
    driver.reassign("test-analyst", "count the failures instead");
    let End::Waits(waiting) = driver.end().await else { panic!("the task does not wait") };
    assert_eq!(waiting.reason, "input");
    assert!(waiting.detail.contains("needs reports (") && waiting.detail.contains("\"params\""), "{}", waiting.detail);
    driver.redirect(r#"{"params": {"reports": [{"name": "a", "content": "1..0"}]}}"#);
    let result = driver.result().await;
    assert_eq!(engines.called_ids(), ["stacktrace-analyse", "log-patterns", "test-report"]);
    let engines: Vec<(&str, &str)> = result["engines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|used| (used["as"].as_str().unwrap(), used["by"].as_str().unwrap()))
        .collect();
    // Its own outputs first, then its predecessor's under an unused name.
    assert_eq!(engines, [("rep", "test-analyst"), ("trace", "debugger"), ("logs", "debugger")]);
    assert_eq!(result["agent"], json!("test-analyst"));
}

#[tokio::test]
async fn a_redirect_joins_the_conversation_and_cancels_earlier_calls() {
    let search = json!({ "pattern": "a" }).to_string();
    let scripted = ScriptedModel::replying([
        ModelReply::Turn("Searching.", vec![("code-search", search.clone()), ("code-search", search)]),
        ModelReply::call("repo-tree", &json!({ "path": "tests" })),
        ModelReply::finish(),
        ModelReply::Text("Nothing to say.".to_owned()),
    ]);
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = Driver::new(agents(), &engines, scripted.clone(), AgentOptions::default());
    driver = driver.start("code-explorer", "map it", Value::Null);
    driver.steps(2).await.unwrap();
    driver.redirect("only the tests");
    driver.result().await;
    assert_eq!(engines.called_ids(), ["code-search", "repo-tree"], "the second search is not done any more");
    let second = &scripted.requests()[1].request.messages;
    let texts: Vec<String> = second.iter().map(|message| message.content.text().into_owned()).collect();
    assert_eq!(second[2].tool_calls.len(), 2);
    assert_eq!((texts[4].as_str(), second.len()), ("not called: an operator redirected the task first", 6));
    assert_eq!(texts[5], "The operator redirects you:\nonly the tests");
    // It stays where it was applied.
    let third = &scripted.requests()[2].request.messages;
    assert_eq!(third[5].content.text(), texts[5]);
    assert_eq!(third.len(), 8);
}

#[tokio::test]
async fn another_planning_agent_is_informed_of_finished_steps() {
    let scripted = ScriptedModel::replying([
        ModelReply::call("repo-tree", &json!({ "path": "." })),
        ModelReply::finish(),
        ModelReply::Text("Nothing to say.".to_owned()),
    ]);
    let engines = Arc::new(ScriptedEngines::default());
    let mut driver = Driver::new(agents(), &engines, scripted.clone(), AgentOptions::default());
    driver = driver.start("code-explorer", "map it", Value::Null);
    driver.steps(2).await.unwrap();
    driver.reassign("debugger", "find the fault");
    let result = driver.result().await;
    let messages = &scripted.requests()[1].request.messages;
    assert!(messages[0].content.text().starts_with("You find root causes."));
    assert!(
        messages[2].content.text().starts_with("Finished before by code-explorer: repo_tree (q187 repo-tree) gave")
    );
    assert!(messages[3].content.text().ends_with("find the fault"));
    assert_eq!(result["outputs"].as_object().unwrap().len(), 1);
}

/// The previous agent's params are no error for the next one: those that it has as well are kept.
#[test]
fn a_reassigned_task_drops_the_params_of_the_previous_agent() {
    use crate::task::TaskExecutor as _;
    let driver = planless(&Arc::new(ScriptedEngines::default()));
    let given = json!({ "files": [{ "path": "a.rs", "source": "fn a() {}" }], "source": "fn a() {}", "pattern": "fn" });
    let params = driver.executor.admit("refactoring-assistant", "x", given).unwrap().params;
    let admission = driver.executor.readmit("code-reviewer", "review it", "x", params.clone()).unwrap();
    assert_eq!((&admission.params["source"], admission.params.get("pattern")), (&json!("fn a() {}"), None));
    let admission = driver.executor.readmit("api-designer", "x", "x", params).unwrap();
    assert_eq!(admission.params, json!({ "openapi": null, "samples": [], "example": null }));
    assert_eq!(driver.executor.readmit("nobody", "x", "x", json!({})).unwrap_err().kind, muster_core::Kind::NotFound);
}
