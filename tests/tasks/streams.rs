//! Controls of tasks whose model is in the middle of its answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::{begin, key, quick, reaches, verb, with_model};
use crate::support::client::{Client, TEST_TIMEOUT};
use crate::support::socket::wait_until;
use crate::support::upstream::{Upstream, UpstreamAction};

/// The first words of each of the upstream's answers.
const WORDS: &str = "w0 w1 w2 ";
/// Time limit of a control, in a debug build on a busy machine; an engine has a minute, a model's stream no end at all.
const BOUND: Duration = Duration::from_secs(5);

/// Waits until the task's model has produced this text, as monitors receive it.
async fn wait_for_text(client: &Client, id: &str, text: &str) {
    let path = format!("/api/v1/realtime/channels/tasks:{id}/history?limit=500");
    let polling = async {
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        loop {
            interval.tick().await;
            let got = client.get(&path).await;
            assert_eq!(got.status, 200, "{}", got.text);
            let page = got.json();
            let deltas =
                page["data"]["publications"].as_array().unwrap().iter().filter(|event| event["ev"] == "task.delta");
            let streamed: String = deltas.map(|event| event["data"]["text"].as_str().unwrap()).collect();
            if streamed == text {
                return;
            }
            assert!(text.starts_with(&streamed), "streamed: {streamed:?}");
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, polling).await.is_ok(), "the text was not streamed: {text:?}");
}

async fn journal(client: &Client, id: &str) -> Vec<Value> {
    let page = client.get(&format!("/api/v1/tasks/{id}/events?limit=1000")).await.json();
    assert_eq!(page["more"], false, "{page}");
    page["events"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_kill_in_the_middle_of_a_stream_closes_the_providers_connection() {
    let upstream = Upstream::start(UpstreamAction::HangAfter(3));
    let muster = with_model(&upstream);
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    wait_for_text(&client, &id, WORDS).await;
    let begun = Instant::now();
    let killed = verb(&client, &id, "kill", &json!({ "reason": "enough" })).await;
    assert!(begun.elapsed() < BOUND, "it took {:?}", begun.elapsed());
    assert_eq!(killed.status, 202, "{}", killed.text);
    let reply = killed.json();
    assert_eq!(
        (&reply["effective"], &reply["status"], &reply["abort"]),
        (&json!("now"), &json!("killed"), &json!("dropped"))
    );
    let left = tokio::time::timeout(BOUND, upstream.client_disconnected()).await;
    assert!(left.is_ok(), "the provider is still listened to");
    wait_until("it is timed", || muster.app.metrics.text().contains("muster_task_kill_seconds_count 1\n")).await;
    let task = reaches(&client, &id, &["killed"]).await;
    assert_eq!((&task["steps"][0]["status"], &task["partial"]), (&json!("aborted"), &json!(WORDS)), "{task}");
    assert_eq!(upstream.requests(), 1, "a killed task sends no further request");
}

#[tokio::test]
async fn a_pause_during_a_stream_keeps_the_partial_text_and_resume_repeats_the_request() {
    let upstream = Upstream::start(UpstreamAction::HangAfter(3));
    let muster = with_model(&upstream);
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    wait_for_text(&client, &id, WORDS).await;
    let paused = verb(&client, &id, "pause", &json!({ "now": true })).await;
    assert_eq!((paused.status, paused.json()["effective"].as_str()), (202, Some("now")), "{}", paused.text);
    let task = reaches(&client, &id, &["paused"]).await;
    assert_eq!((&task["partial"], &task["steps"][0]["status"]), (&json!(WORDS), &json!("aborted")), "{task}");
    assert!(tokio::time::timeout(BOUND, upstream.client_disconnected()).await.is_ok(), "the provider continues");
    assert_eq!(upstream.requests(), 1, "a paused task sends no request");

    upstream.set_action(UpstreamAction::Answer(&["All ", "is ", "well."]));
    assert_eq!(verb(&client, &id, "resume", &json!({})).await.status, 202);
    let task = reaches(&client, &id, &["succeeded"]).await;
    let steps = task["steps"].as_array().unwrap();
    assert_eq!((steps[0]["status"].as_str(), steps[0]["attempts"].as_u64()), (Some("succeeded"), Some(2)), "{task}");
    assert!(steps[1..].iter().all(|step| step["attempts"] == 1), "{task}");
    assert_eq!((&task["result"]["text"], &task["partial"]), (&json!("All is well."), &Value::Null), "{task}");
}

#[tokio::test]
async fn redirects_in_a_row_reach_the_next_boundary_in_their_order() {
    let upstream = Upstream::start(UpstreamAction::HeldAfter(3));
    let muster = with_model(&upstream);
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    wait_for_text(&client, &id, WORDS).await;
    let rows = [("r1", "look at the roof"), ("r2", "then at the cellar"), ("r3", "leave the attic alone")];
    for (request_id, instruction) in rows {
        let body = json!({ "request_id": request_id, "instruction": instruction });
        let steered = verb(&client, &id, "redirect", &body).await;
        assert_eq!((steered.status, steered.json()["effective"].as_str()), (202, Some("boundary")), "{}", steered.text);
    }
    let held = client.get(&format!("/api/v1/tasks/{id}")).await.json();
    let pending = held["control"]["pending"].as_array().unwrap();
    assert_eq!((pending.len(), &held["revision"]), (3, &json!(3)), "{held}");
    assert_eq!((upstream.requests(), held["steps"][0]["status"].as_str()), (1, Some("running")), "it is left alone");

    upstream.set_action(UpstreamAction::Answer(&["As ", "you ", "wish."]));
    upstream.release_held();
    let task = reaches(&client, &id, &["succeeded"]).await;
    assert_eq!(task["steps"][0]["attempts"], 1, "{task}");
    let bodies = upstream.bodies();
    let at = |body: &Value| rows.map(|(_, instruction)| body["messages"].to_string().find(instruction));
    assert_eq!(at(&bodies[0]), [None; 3]);
    let polling = at(&bodies[1]);
    assert!(polling.iter().all(Option::is_some) && polling.is_sorted(), "{polling:?} in {}", bodies[1]);
    let journal = journal(&client, &id).await;
    let applied = journal.iter().filter(|entry| entry["event"] == "control.applied");
    let applied: Vec<&str> = applied.map(|entry| entry["data"]["idem"].as_str().unwrap()).collect();
    assert_eq!(applied, rows.map(|(request_id, _)| request_id));
    let place = |wanted: &dyn Fn(&Value) -> bool| journal.iter().position(wanted).unwrap();
    let finished = place(&|it| it["event"] == "task.step" && it["data"]["status"] == "succeeded");
    let next = place(&|it| it["event"] == "task.step" && it["data"]["index"] == 1);
    let joined = place(&|it| it["event"] == "control.applied");
    assert!(finished < joined && joined < next, "they join between two steps: {journal:?}");
}

#[tokio::test]
async fn what_waits_for_a_boundary_that_never_comes_is_missed() {
    let upstream = Upstream::start(UpstreamAction::HangAfter(3));
    let muster = with_model(&upstream);
    let client = key(&muster, &["agents"], &[]).await;
    let mut body = quick();
    body["timeout_seconds"] = json!(5);
    let id = begin(&client, &body).await;
    wait_for_text(&client, &id, WORDS).await;
    let steer = json!({ "request_id": "r1", "instruction": "look at the roof" });
    let steered = verb(&client, &id, "redirect", &steer).await;
    assert_eq!((steered.status, steered.json()["effective"].as_str()), (202, Some("boundary")), "{}", steered.text);
    let paused = verb(&client, &id, "pause", &json!({ "request_id": "p1" })).await;
    assert_eq!((paused.status, paused.json()["effective"].as_str()), (202, Some("boundary")), "{}", paused.text);
    let task = reaches(&client, &id, &["timed_out"]).await;
    assert_eq!((&task["control"]["pending"], &task["partial"]), (&json!([]), &json!(WORDS)), "{task}");
    assert!(tokio::time::timeout(BOUND, upstream.client_disconnected()).await.is_ok(), "the provider continues");
    let journal = journal(&client, &id).await;
    let ends = journal.iter().filter(|entry| entry["event"].as_str().unwrap().starts_with("control."));
    let ends: Vec<_> = ends.map(|entry| (entry["event"].as_str().unwrap(), entry["data"]["idem"].clone())).collect();
    assert_eq!(ends, [("control.missed", json!("r1")), ("control.missed", json!("p1"))]);
}
