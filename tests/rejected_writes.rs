//! A disk that rejects writes makes the store read-only: every feature rejects writes with the same error, reads continue,
//! and a restart on a disk that accepts writes ends it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Answer, Client};
use crate::support::process::{Launch, Process};
use crate::support::socket::with_timeout;
use crate::support::{EMAIL, KEY, PASSWORD};

const MESSAGE: &str = "the store does not accept writes at the moment: try again later";
/// Limits are off, because their counters are stored too.
const SETTINGS: &str = r#"
[limits]
person = "unlimited"
[limits.agent]
agents = "unlimited"
health = "unlimited"
memory = "unlimited"
[firmware]
approvals = 0
"#;

/// Two callers of a server process.
struct Server {
    process: Process,
    /// The administrator, with a session token.
    user: Client,
    /// A client with an API key.
    key: Client,
}

/// A write of one feature: its path and body, and the path at which its records are read.
struct Write {
    path: &'static str,
    body: Value,
    read: &'static str,
    /// Whether an API key is needed in place of a session.
    by_key: bool,
}

fn write(path: &'static str, read: &'static str, body: Value) -> Write {
    Write { path, body, read, by_key: false }
}

fn write_by_key(path: &'static str, read: &'static str, body: Value) -> Write {
    Write { path, body, read, by_key: true }
}

/// One write of each feature; `n` makes it different from other ones.
fn writes(n: usize) -> [Write; 8] {
    let circle = json!({ "type": "Circle", "center": [8.64, 49.87], "radius_m": 2000 });
    let artifact = json!({ "name": "siren", "version": format!("2.0.{n}"), "sequence": n + 1, "vendor": "acme",
        "hw_class": "siren-2", "size": 11, "sha256": "64ec88ca00b268e5ba1a35678a1b5316d212f4f366b2477232534a8aeca37f3c" });
    let run = json!({ "task": "double them",
        "params": { "document": { "a": [1, 2] }, "query": "$.a[*]", "program": "[.a[] * 2]" } });
    let email = format!("user{n}@example.org");
    [
        write("/api/v1/incidents", "/api/v1/incidents", json!({ "title": format!("Flood {n}"), "kind": "flood" })),
        write("/api/v1/devices", "/api/v1/devices", json!({ "name": format!("Siren {n}"), "kind": "siren" })),
        write("/api/v1/geofences", "/api/v1/geofences", json!({ "name": format!("Area {n}"), "geometry": circle })),
        write("/api/v1/firmware/artifacts", "/api/v1/firmware/artifacts", artifact),
        write("/api/v1/users", "/api/v1/users", json!({ "email": email, "password": PASSWORD, "role": "viewer" })),
        write_by_key("/api/v1/keys", "/api/v1/keys", json!({ "name": format!("key {n}"), "scopes": ["memory"] })),
        write_by_key("/api/v1/agents/json-wrangler/run", "/api/v1/tasks", run),
        write_by_key("/api/memory/store", "/api/memory", json!({ "key": format!("key {n}"), "value": "a value" })),
    ]
}

impl Server {
    async fn start(folder: &Path) -> Self {
        std::fs::write(folder.join("config.toml"), SETTINGS).unwrap();
        let process = Launch::new(folder).with_file_size_errors().start();
        let key = Client::new(&process.url).with(KEY);
        let (user, response) = key.without_key().login(EMAIL, PASSWORD).await;
        assert_eq!(response.status, 200, "{}", response.text);
        Self { process, user, key }
    }

    async fn send(&self, write: &Write) -> Answer {
        let client = if write.by_key { &self.key } else { &self.user };
        client.post(write.path, &write.body).await
    }

    /// Waits until every task has ended: a task in progress writes too, and its actor restarts when that write fails.
    async fn all_tasks_end(&self) {
        for task in records(&self.key.get("/api/v1/tasks").await.json()).as_array().unwrap() {
            let path = format!("/api/v1/tasks/{}", task["task_id"].as_str().unwrap());
            let mut task = task.clone();
            while task["finished_at"].is_null() {
                task = self.key.get(&format!("{path}?wait=20&after_seq={}", task["seq"])).await.json();
            }
        }
    }

    /// Returns the records of a feature. The actor whose write failed first restarts, and cannot be read meanwhile.
    async fn read(&self, write: &Write) -> Value {
        let client = if write.by_key { &self.key } else { &self.user };
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        let reading = async {
            loop {
                let response = client.get(write.read).await;
                if response.status == 200 {
                    return records(&response.json());
                }
                let restarting = response.status == 503 && response.text.contains("is restarting");
                assert!(restarting, "{}: {} {}", write.read, response.status, response.text);
                interval.tick().await;
            }
        };
        with_timeout(reading).await
    }
}

/// Returns the list of a response, which is its only array of records.
fn records(response: &Value) -> Value {
    let list = if response["data"].is_object() { &response["data"] } else { response };
    let lists = ["incidents", "devices", "geofences", "artifacts", "users", "keys", "tasks", "entries"];
    lists.iter().find_map(|name| list[*name].is_array().then(|| list[*name].clone())).unwrap()
}

/// Returns status, `Retry-After` and message of an error in either dialect.
fn rejection(response: &Answer) -> (u16, Option<u64>, String) {
    let body = response.json();
    let message = body["message"].as_str().or_else(|| body["detail"].as_str()).unwrap_or_default();
    (response.status, response.number("retry-after"), message.to_owned())
}

#[tokio::test]
async fn every_feature_rejects_writes_alike_while_the_store_is_read_only_and_reads_continue() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path()).await;
    let mut stored = Vec::new();
    for write in writes(1) {
        let response = server.send(&write).await;
        assert_eq!(response.status, 201, "{}: {}", write.path, response.text);
        stored.push(server.read(&write).await.as_array().unwrap().len());
    }

    server.all_tasks_end().await;

    // The first write after this finds out; the store is read-only from then on.
    server.process.limit_file_size("1");
    for write in writes(2) {
        let response = server.send(&write).await;
        let expected = (503, Some(30), MESSAGE.to_owned());
        assert_eq!(rejection(&response), expected, "{}: {}", write.path, response.text);
    }
    for (write, stored) in writes(2).iter().zip(&stored) {
        assert!(server.read(write).await.as_array().unwrap().len() >= *stored, "{}", write.read);
    }
    // What failed once is not tried again before a restart, because a later sync would prove nothing.
    server.process.limit_file_size("unlimited");
    for write in writes(2) {
        assert_eq!(server.send(&write).await.status, 503, "{}", write.path);
    }

    server.process.kill();
    let server = Server::start(folder.path()).await;
    for (write, stored) in writes(3).iter().zip(&stored) {
        assert!(server.read(write).await.as_array().unwrap().len() >= *stored, "nothing acknowledged is lost");
        let response = server.send(write).await;
        assert_eq!(response.status, 201, "{}: {}", write.path, response.text);
    }
}
