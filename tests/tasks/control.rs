//! The four commands, on one task and on many.

use serde_json::{Value, json};

use crate::support::client::Client;

use super::world::{begin, endless, key, quick, reaches, runs, server, verb};

#[tokio::test]
async fn a_kill_ends_the_step_in_its_middle() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &endless()).await;
    runs(&muster, &client, &id).await;
    let killed = verb(&client, &id, "kill", &json!({ "request_id": "k1", "reason": "enough" })).await;
    assert_eq!(killed.status, 202, "{}", killed.text);
    let reply = killed.json();
    assert_eq!(
        (&reply["phase"], &reply["effective"], &reply["status"]),
        (&json!("accepted"), &json!("now"), &json!("killed"))
    );
    assert_eq!(reply["request_id"], "k1");
    // Its process is gone: the pool is idle again, a minute before the engine's time limit.
    let begun = std::time::Instant::now();
    while muster.app.engines.stats().running > 0 {
        assert!(begun.elapsed().as_secs() < 20, "the engine continues");
        tokio::task::yield_now().await;
    }
    let task = reaches(&client, &id, &["killed"]).await;
    assert_eq!(task["steps"][1]["status"], "aborted", "{}", task["steps"]);
    // The same request gets the same response, another one gets the current state.
    let again = verb(&client, &id, "kill", &json!({ "request_id": "k1", "reason": "enough" })).await;
    assert_eq!((again.status, again.json()), (202, reply));
    let already = verb(&client, &id, "kill", &json!({})).await;
    assert_eq!((already.status, already.json()["phase"].as_str()), (200, Some("already")), "{}", already.text);
    let refused = verb(&client, &id, "pause", &json!({})).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    let refused = refused.json();
    assert_eq!((&refused["task_id"], &refused["details"]["status"]), (&json!(id), &json!("killed")));
    let journal = client.get(&format!("/api/v1/tasks/{id}/events")).await.json();
    assert!(journal.to_string().contains("control.applied"), "{journal}");
}

#[tokio::test]
async fn a_pause_now_aborts_the_step_and_resume_runs_it_again() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &endless()).await;
    runs(&muster, &client, &id).await;
    let paused = verb(&client, &id, "pause", &json!({ "now": true })).await;
    assert_eq!(paused.status, 202, "{}", paused.text);
    reaches(&client, &id, &["paused"]).await;
    let already = verb(&client, &id, "pause", &json!({})).await;
    assert_eq!((already.status, already.json()["phase"].as_str()), (200, Some("already")));
    assert_eq!(verb(&client, &id, "resume", &json!({})).await.status, 202);
    let again = runs(&muster, &client, &id).await;
    assert_eq!(again["steps"].as_array().unwrap().len(), 2, "the step that was done is not done again: {again}");
    assert_eq!(verb(&client, &id, "kill", &json!({})).await.status, 202);
}

#[tokio::test]
async fn a_redirect_makes_another_revision() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &endless()).await;
    runs(&muster, &client, &id).await;
    for (body, field) in [
        (json!({}), "instruction"),
        (json!({ "instruction": "x", "mode": "agent" }), "agent"),
        (json!({ "instruction": "x", "agent": "data-cleaner" }), "agent"),
        (json!({ "instruction": "x", "mode": "swap" }), "mode"),
    ] {
        let refused = verb(&client, &id, "redirect", &body).await;
        assert_eq!(refused.status, 422, "{body}");
        assert_eq!(refused.json()["detail"][0]["loc"], json!(["body", field]), "{body}");
    }
    let stale = verb(&client, &id, "redirect", &json!({ "instruction": "x", "if_seq": 0 })).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    let steered = verb(&client, &id, "redirect", &json!({ "instruction": "something else" })).await;
    assert_eq!((steered.status, steered.json()["effective"].as_str()), (202, Some("boundary")), "{}", steered.text);
    let task = client.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!((&task["revision"], &task["control"]["pending"][0]["verb"]), (&json!(1), &json!("redirect")), "{task}");
    assert_eq!(verb(&client, &id, "kill", &json!({})).await.status, 202);
    let journal = client.get(&format!("/api/v1/tasks/{id}/events")).await.json();
    assert!(journal.to_string().contains("control.superseded"), "{journal}");
}

/// A task that keeps running.
async fn paused(client: &Client) -> String {
    let id = begin(client, &endless()).await;
    let paused = verb(client, &id, "pause", &json!({ "now": true })).await;
    assert!([200, 202].contains(&paused.status), "{}", paused.text);
    reaches(client, &id, &["paused"]).await;
    id
}

#[tokio::test]
async fn many_are_controlled_by_filter_after_a_dry_run() {
    let muster = server();
    let (client, other) = (key(&muster, &["agents"], &[]).await, key(&muster, &["agents"], &[]).await);
    let mut mine = Vec::new();
    for _ in 0..3 {
        mine.push(paused(&client).await);
    }
    let foreign = paused(&other).await;
    let ended = begin(&client, &quick()).await;
    reaches(&client, &ended, &["succeeded"]).await;
    let body = |dry_run: bool| json!({ "filter": { "agent": "json-wrangler" }, "verb": "kill", "dry_run": dry_run });
    let ids = |answer: &Value| -> Vec<String> {
        let outcomes = answer["outcomes"].as_array().unwrap().iter();
        let mut ids: Vec<String> = outcomes.map(|it| it["task_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let dry = client.post("/api/v1/tasks/control", &body(true)).await.json();
    assert_eq!((&dry["matched"], &dry["dry_run"], ids(&dry)), (&json!(3), &json!(true), mine.clone()), "{dry}");
    reaches(&client, &mine[0], &["paused"]).await;
    let done = client.post("/api/v1/tasks/control", &body(false)).await.json();
    assert_eq!(ids(&done), mine);
    assert!(done["outcomes"].as_array().unwrap().iter().all(|it| it["phase"] == "accepted"), "{done}");
    for id in &mine {
        reaches(&client, id, &["killed"]).await;
    }
    reaches(&other, &foreign, &["paused"]).await;
    for (bad, loc) in [
        (json!({ "verb": "kill" }), json!(["body", "filter"])),
        (json!({ "filter": {}, "verb": "stop" }), json!(["body", "verb"])),
        (json!({ "filter": { "status": ["lost"] }, "verb": "kill" }), json!(["body", "filter", "status"])),
    ] {
        let refused = client.post("/api/v1/tasks/control", &bad).await;
        assert_eq!((refused.status, &refused.json()["detail"][0]["loc"]), (422, &loc), "{}", refused.text);
    }
}
