//! One definition of controls: the same control is accepted or rejected in the same way over HTTP and over a WebSocket.

use serde_json::{Value, json};

use super::world::{begin, endless, reaches, runs, server, verb};
use crate::support::KEY;
use crate::support::client::Client;
use crate::support::server::Muster;
use crate::support::socket::Socket;

/// The two ways to send a control, with a task to control over each.
struct Transports {
    client: Client,
    tasks: [String; 2],
    socket: Socket,
}

impl Transports {
    async fn open(muster: &Muster) -> Self {
        let client = muster.client();
        let tasks = [begin(&client, &endless()).await, begin(&client, &endless()).await];
        for task in &tasks {
            runs(muster, &client, task).await;
        }
        let bearer = format!("Bearer {KEY}");
        let headers = [("authorization", bearer.as_str())];
        let socket = Socket::handshake(muster, "/api/q62/dashboard/agents", &headers).await.unwrap();
        Self { client, tasks, socket }
    }

    /// Sends a control over HTTP and returns the status and the body.
    async fn over_http(&self, name: &str, body: &Value) -> (u16, Value) {
        let response = verb(&self.client, &self.tasks[0], name, body).await;
        (response.status, response.json())
    }

    /// Sends the same control over the socket. Its `request_id` is the `idem` of the command, or, if it is no valid `idem`,
    /// stays in `args`, where it means the same.
    async fn over_socket(&mut self, name: &str, body: &Value) -> Value {
        let mut args = body.clone();
        let mut command = json!({ "name": format!("agent.{name}"), "target": self.tasks[1] });
        if body["request_id"].as_str().is_some_and(|id| (1..=255).contains(&id.len())) {
            command["idem"] = args.as_object_mut().unwrap().remove("request_id").unwrap();
        }
        command["args"] = args;
        self.socket.request(json!({ "command": command })).await
    }
}

/// The invalid fields of a rejection: location without its start, type, message and value.
fn fields(list: &Value, start: &[&str]) -> Vec<(Vec<String>, Value, Value, Value)> {
    let list = list.as_array().unwrap_or_else(|| panic!("no list of fields: {list}"));
    let field = |field: &Value| {
        let location: Vec<String> = serde_json::from_value(field["loc"].clone()).unwrap();
        assert_eq!(location[..start.len()], *start, "{field}");
        (location[start.len()..].to_vec(), field["type"].clone(), field["msg"].clone(), field["input"].clone())
    };
    list.iter().map(field).collect()
}

#[tokio::test]
async fn an_invalid_control_is_rejected_alike_over_http_and_over_a_socket() {
    let muster = server();
    let mut transports = Transports::open(&muster).await;
    let long = |bytes: usize| "x".repeat(bytes);
    for (name, body, location) in [
        ("redirect", json!({}), "instruction"),
        ("redirect", json!({ "instruction": "" }), "instruction"),
        ("redirect", json!({ "instruction": "  " }), "instruction"),
        ("redirect", json!({ "instruction": long((8 << 10) + 1) }), "instruction"),
        // 4,097 characters of two bytes each: the bound is in bytes.
        ("redirect", json!({ "instruction": "é".repeat((4 << 10) + 1) }), "instruction"),
        ("redirect", json!({ "instruction": 7 }), "instruction"),
        ("redirect", json!({ "instruction": "x", "mode": "agent" }), "agent"),
        ("redirect", json!({ "instruction": "x", "agent": "data-cleaner" }), "agent"),
        ("redirect", json!({ "instruction": "x", "mode": "swap" }), "mode"),
        ("kill", json!({ "reason": long(513) }), "reason"),
        ("pause", json!({ "reason": ["because"] }), "reason"),
        ("pause", json!({ "now": "yes" }), "now"),
        ("resume", json!({ "if_seq": -1 }), "if_seq"),
        ("kill", json!({ "request_id": "" }), "request_id"),
        ("kill", json!({ "request_id": long(513) }), "request_id"),
    ] {
        let (status, response) = transports.over_http(name, &body).await;
        assert_eq!(status, 422, "{name}: {response}");
        let reply = transports.over_socket(name, &body).await;
        let error = &reply["error"];
        assert_eq!((&error["code"], &error["reason"]), (&json!(2400), &json!("bad_request")), "{name}: {reply}");
        let over_http = fields(&response["detail"], &["body"]);
        assert_eq!(fields(&error["details"]["fields"], &["command", "args"]), over_http, "{name} {location}");
        let (path, _, message, _) = &over_http[0];
        assert_eq!(path, &[location.to_owned()], "{name}: {response}");
        assert_eq!(error["message"], format!("{location}: {}", message.as_str().unwrap()), "{name}");
    }
}

#[tokio::test]
async fn several_invalid_fields_are_reported_together_over_http_and_over_a_socket() {
    let muster = server();
    let mut transports = Transports::open(&muster).await;
    let body = json!({ "if_seq": "first", "instruction": 1, "mode": "swap", "unknown": true });
    let (status, response) = transports.over_http("redirect", &body).await;
    assert_eq!(status, 422, "{response}");
    let over_http = fields(&response["detail"], &["body"]);
    assert_eq!(over_http.len(), 4, "{response}");
    let reply = transports.over_socket("redirect", &body).await;
    assert_eq!(fields(&reply["error"]["details"]["fields"], &["command", "args"]), over_http);
}

#[tokio::test]
async fn a_valid_control_is_accepted_alike_over_http_and_over_a_socket() {
    let muster = server();
    let mut transports = Transports::open(&muster).await;
    for (name, body) in [
        ("pause", json!({ "now": true, "request_id": "r".repeat(512) })),
        ("redirect", json!({ "instruction": "x", "request_id": "r0" })),
        ("redirect", json!({ "instruction": "x".repeat(8 << 10), "reason": "y".repeat(512), "request_id": "r1" })),
        ("redirect", json!({ "instruction": "x", "mode": "interrupt", "request_id": "r2", "reason": null })),
        ("kill", json!({ "request_id": "r3", "if_seq": null })),
        ("kill", json!({ "request_id": "r4" })),
    ] {
        let (status, mut response) = transports.over_http(name, &body).await;
        let mut reply = transports.over_socket(name, &body).await["ok"].take();
        assert!(matches!(status, 200 | 202), "{name}: {response}");
        for (answer, task) in [(&mut response, &transports.tasks[0]), (&mut reply, &transports.tasks[1])] {
            let answer = answer.as_object_mut().unwrap_or_else(|| panic!("{name} was rejected over the socket"));
            assert_eq!(answer.remove("task_id"), Some(json!(task)), "{name}");
            // Each task has its own journal.
            assert!(answer.remove("seq").is_some_and(|seq| seq.is_u64()), "{name}");
        }
        assert_eq!(reply, response, "{name}");
        assert_eq!(reply["request_id"], body["request_id"]);
        if name == "pause" {
            for task in &transports.tasks {
                reaches(&transports.client, task, &["paused"]).await;
            }
        }
    }
}
