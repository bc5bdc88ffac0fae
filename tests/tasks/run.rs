//! Agents, and their runs.

use serde_json::{Value, json};

use super::world::{RUN, begin, key, quick, reaches, server};
use crate::support::client::answer;
use crate::support::socket::wait_until;

#[tokio::test]
async fn agents_are_listed_and_described() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let all = client.get("/api/v1/agents").await.json();
    let agents = all["agents"].as_array().unwrap();
    assert_eq!(agents.len(), muster.app.agency.agents.list().len());
    assert!(agents.len() >= 2, "{all}");
    for agent in agents {
        let got = client.get(&format!("/api/v1/agents/{}", agent["id"].as_str().unwrap())).await;
        assert_eq!(got.status, 200, "{}", got.text);
        let got = got.json();
        for field in ["id", "name", "category", "summary", "capabilities", "parameters"] {
            assert_eq!(got[field], agent[field], "{field}");
        }
        assert_eq!(got["parameters"]["type"], "object");
        let tools: Vec<&Value> = got["engines"].as_array().unwrap().iter().map(|tool| &tool["id"]).collect();
        assert!(!tools.is_empty() && !got["plan"].as_array().unwrap().is_empty(), "{got}");
    }
    let found = client.get("/api/v1/agents?category=data&q=JSON%20wrangler").await.json();
    assert_eq!(found["agents"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(client.get("/api/v1/agents?category=none").await.status, 422);
    let missing = client.get("/api/v1/agents/nobody").await;
    assert_eq!((missing.status, missing.json()["error_code"].as_str()), (404, Some("NOT_FOUND")));
}

#[tokio::test]
async fn a_run_is_accepted_with_the_five_fields_and_returns_its_result() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let began = client.post(RUN, &quick()).await;
    assert_eq!(began.status, 201, "{}", began.text);
    let began = began.json();
    let mut fields: Vec<&String> = began.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["agent", "created_at", "estimated_seconds", "status", "task_id"]);
    assert_eq!((began["agent"].as_str(), began["status"].as_str()), (Some("json-wrangler"), Some("pending")));
    assert!(began["estimated_seconds"].as_u64().unwrap() >= 1);

    let id = began["task_id"].as_str().unwrap();
    assert!(id.starts_with("task_"));
    let task = reaches(&client, id, &["succeeded"]).await;
    assert_eq!(task["created_at"], began["created_at"]);
    assert_eq!(
        (&task["task"], &task["priority"], &task["timeout_seconds"]),
        (&json!("double them"), &json!("normal"), &json!(600))
    );
    assert!(task["result"].to_string().contains("[2,4]"), "{}", task["result"]);
    assert_eq!(task["progress"]["percent"], 100);
    let steps = task["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["status"] == "succeeded" && step["attempts"] == 1), "{steps:?}");
    for field in ["queued_at", "started_at", "finished_at"] {
        assert!(task[field].as_str().unwrap().ends_with('Z'), "{field}");
    }
    assert_eq!(task["control"]["pending"], json!([]));
}

#[tokio::test]
async fn an_invalid_request_is_rejected_with_all_failures() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let refused = client.post(RUN, &json!({ "timeout_seconds": 0, "priority": "urgent", "params": [] })).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    let detail = refused.json()["detail"].clone();
    let mut fields: Vec<&str> = detail.as_array().unwrap().iter().map(|it| it["loc"][1].as_str().unwrap()).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["params", "priority", "task", "timeout_seconds"]);
    assert_eq!(client.post(RUN, &json!({ "task": "x", "timeout_seconds": 86_401 })).await.status, 422);
    // Params by the agent's own schema.
    let params = client.post(RUN, &json!({ "task": "x", "params": { "query": 7 } })).await;
    assert_eq!(params.status, 422, "{}", params.text);
    assert!(params.json()["detail"][0]["loc"] == json!(["body", "params", "query"]), "{}", params.text);
    let unknown = client.post("/api/v1/agents/nobody/run", &json!({ "task": "x" })).await;
    assert_eq!(unknown.status, 404, "{}", unknown.text);
}

#[tokio::test]
async fn a_run_with_the_same_idempotency_key_is_one_task() {
    let muster = server();
    let client = key(&muster, &["agents"], &[]).await;
    let send = |body: Value| answer(client.post_request(RUN, &body).header("idempotency-key", "one"));
    let first = send(quick()).await;
    reaches(&client, first.json()["task_id"].as_str().unwrap(), &["succeeded"]).await;
    let again = send(quick()).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), (None, Some("true")));
    assert_eq!(first.json(), again.json());
    let mut another = quick();
    another["task"] = json!("treble them");
    let other = send(another).await;
    assert_eq!((other.status, other.json()["error_code"].as_str()), (409, Some("IDEMPOTENCY_CONFLICT")));
}

#[tokio::test]
async fn keys_need_the_scope_and_people_a_role() {
    let muster = server();
    let chat = key(&muster, &["chat"], &[]).await;
    for path in ["/api/v1/agents", "/api/v1/tasks", "/api/v1/tasks/task_x"] {
        let refused = chat.get(path).await;
        assert_eq!(refused.status, 403, "{path}");
        assert!(refused.text.contains("agents"), "{}", refused.text);
    }
    assert_eq!(chat.post(RUN, &quick()).await.status, 403);
    let viewer = muster.person("vera", "viewer").await;
    assert_eq!(viewer.get("/api/v1/agents").await.status, 403);
    let (responder, operator) = (muster.person("rita", "responder").await, muster.person("olga", "operator").await);
    let id = begin(&responder, &quick()).await;
    reaches(&responder, &id, &["succeeded"]).await;
    // An operator sees the tasks of all owners.
    assert_eq!(
        operator.get(&format!("/api/v1/tasks/{id}")).await.json()["owner"].as_str().map(|it| &it[..4]),
        Some("usr_")
    );
    let auditor = muster.person("anna", "auditor").await;
    assert_eq!(auditor.get(&format!("/api/v1/tasks/{id}")).await.status, 200);
    assert_eq!(auditor.post(RUN, &quick()).await.status, 403);
}

#[tokio::test]
async fn status_and_metrics_count_them() {
    let muster = server();
    let client = muster.client();
    let id = begin(&client, &quick()).await;
    reaches(&client, &id, &["succeeded"]).await;
    // Figures are up to a quarter of a second old.
    wait_until("it runs no more", || muster.app.agency.tasks.stats().running == 0).await;
    let health = client.get("/api/health").await.json();
    assert_eq!(health["agents_available"], muster.app.agency.agents.list().len());
    assert_eq!(health["engines_active"], muster_engines::all().count());
    let mut status = client.get("/api/v1/status").await.json();
    // Its figures are a quarter of a second old at most.
    let begun = std::time::Instant::now();
    while status["queue"]["running"] != 0 {
        assert!(begun.elapsed().as_secs() < 30, "{}", status["queue"]);
        status = client.get("/api/v1/status").await.json();
    }
    let families: u64 =
        status["engines"]["by_family"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(status["engines"]["count"], families);
    let figures = client.get("/metrics").await.text;
    assert!(figures.contains("part=\"tasks\"") && figures.contains("part=\"engines\""), "{figures}");
    assert!(figures.contains("muster_task_kill_seconds_count 0"), "no task was killed: {figures}");
}
