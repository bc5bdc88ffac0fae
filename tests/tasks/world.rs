//! A server with agents, and tasks that end soon or never.

use serde_json::{Value, json};

use crate::support::client::{Answer, Client};
use crate::support::server::Muster;
use crate::support::upstream::Upstream;

/// Steps have a minute, what is in flight at the server's end has none.
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

/// With other settings too.
pub fn server_with(settings: &str) -> Muster {
    Muster::start(&format!("{SETTINGS}{settings}"))
}

/// With a model that can call tools, as the catalogue says, and that says what this upstream does.
pub fn with_model(upstream: &Upstream) -> Muster {
    let provider = upstream.provider("openai", "gpt-5.6-luna");
    let provider = provider.replace("[[provider]]\n", "[[provider]]\napi_key_env = \"\"\n");
    Muster::start(&format!("{SETTINGS}[limits]\nperson = \"unlimited\"\n[agents]\nper_key = 64\n{provider}"))
}

pub const RUN: &str = "/api/v1/agents/json-wrangler/run";

/// Ends at once.
pub fn quick() -> Value {
    json!({ "task": "double them", "params": { "document": { "a": [1, 2] }, "query": "$.a[*]", "program": "[.a[] * 2]" } })
}

/// A step of it takes some seconds: as many as the engine's own bound of steps lets it.
pub fn endless() -> Value {
    json!({ "task": "never ends", "params": { "document": 1, "program": "def f: f; f" } })
}

/// Runs an agent, and gives the task's id.
pub async fn begin(client: &Client, body: &Value) -> String {
    let began = client.post(RUN, body).await;
    assert_eq!(began.status, 201, "{}", began.text);
    began.json()["task_id"].as_str().unwrap().to_owned()
}

/// The task once it is of one of these states.
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

/// The task once a step of it runs in a process.
pub async fn runs(muster: &Muster, client: &Client, id: &str) -> Value {
    let task = reaches(client, id, &["running"]).await;
    let begun = std::time::Instant::now();
    // The first step ends, the second stays.
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
