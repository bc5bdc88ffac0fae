//! A server with agents, and tasks that end at once or run until they are stopped.

use serde_json::{Value, json};

use crate::support::client::{Answer, Client};
use crate::support::server::Muster;
use crate::support::upstream::Upstream;

/// Steps have a minute; steps in flight at the server's end have one second.
const SETTINGS: &str = "
[server]
shutdown_grace_seconds = 1
[engines]
time_seconds = 60
[limits.agent]
agents = \"unlimited\"
health = \"unlimited\"
";

pub fn server() -> Muster {
    server_with("")
}

/// A server with additional settings.
pub fn server_with(settings: &str) -> Muster {
    Muster::start(&format!("{SETTINGS}{settings}"))
}

/// A server with a model that supports tools according to the catalogue, served by this upstream.
pub fn with_model(upstream: &Upstream) -> Muster {
    let provider = upstream.provider("openai", "gpt-5.6-luna");
    let provider = provider.replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n");
    Muster::start(&format!("{SETTINGS}[limits]\nperson = \"unlimited\"\n[agents]\nper_key = 64\n{provider}"))
}

pub const RUN: &str = "/api/v1/agents/json-wrangler/run";

/// Input of a task that ends at once.
pub fn quick() -> Value {
    json!({ "task": "double them", "params": { "document": { "a": [1, 2] }, "query": "$.a[*]", "program": "[.a[] * 2]" } })
}

/// A step of it takes some seconds, up to the engine's own limit of steps.
pub fn endless() -> Value {
    json!({ "task": "never ends", "params": { "document": 1, "program": "def f: f; f" } })
}

/// Runs an agent and returns the task's id.
pub async fn begin(client: &Client, body: &Value) -> String {
    let began = client.post(RUN, body).await;
    assert_eq!(began.status, 201, "{}", began.text);
    began.json()["task_id"].as_str().unwrap().to_owned()
}

/// Waits until the task is in one of these states.
pub async fn reaches(client: &Client, id: &str, states: &[&str]) -> Value {
    let mut seq = 0;
    for _ in 0..100 {
        let got = client.get(&format!("/api/v1/tasks/{id}?wait=20&after_seq={seq}")).await;
        assert_eq!(got.status, 200, "{}", got.text);
        let task = got.json();
        if states.contains(&task["status"].as_str().unwrap()) {
            return task;
        }
        assert!(task["finished_at"].is_null(), "it ended otherwise: {task}");
        seq = task["seq"].as_u64().unwrap();
    }
    panic!("{id} does not come to {states:?}");
}

/// Waits until a step of the task runs in a process.
pub async fn runs(muster: &Muster, client: &Client, id: &str) -> Value {
    let task = reaches(client, id, &["running"]).await;
    let begun = std::time::Instant::now();
    // The first step ends, the second keeps running.
    loop {
        let now = client.get(&format!("/api/v1/tasks/{id}")).await.json();
        let step = now["steps"][1]["status"] == "running" && muster.app.engines.stats().running > 0;
        if step {
            return now;
        }
        assert!(begun.elapsed().as_secs() < 30, "its second step does not begin: {task}");
    }
}

pub async fn verb(client: &Client, id: &str, verb: &str, body: &Value) -> Answer {
    client.post(&format!("/api/v1/tasks/{id}/{verb}"), body).await
}

/// A client with a key of these scopes and roles.
pub async fn key(muster: &Muster, scopes: &[&str], roles: &[&str]) -> Client {
    let client = muster.client();
    let made = client.make_key(&json!({ "name": "k", "scopes": scopes, "roles": roles })).await;
    client.with(made)
}
