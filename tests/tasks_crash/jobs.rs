//! Tasks that are requested, and followed to their end over a sequence of servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, try_answer};

const AGENTS: [&str; 5] = ["json-wrangler", "test-analyst", "api-designer", "config-engineer", "dependency-auditor"];

/// The input of an agent, the same for every task of it.
fn params(agent: &str) -> Value {
    match agent {
        "json-wrangler" => json!({ "document": { "a": [1, 2] }, "query": "$.a[*]", "program": "[.a[] * 2]",
            "after": { "a": [1, 3] }, "sheet_csv": "x,y\n1,2\n" }),
        "test-analyst" => json!({ "reports": [{ "name": "j", "content": "<testsuite tests=\"2\" failures=\"1\">\
                <testcase classname=\"s\" name=\"a\"/><testcase classname=\"s\" name=\"b\"><failure message=\"m\"/>\
                </testcase></testsuite>" }], "lines": ["door 1 opens", "door 2 opens", "alarm"] }),
        "api-designer" => json!({ "openapi": { "openapi": "3.1.0", "info": { "title": "Doors", "version": "1" },
                "paths": { "/doors": { "get": { "responses": { "200": { "description": "All" } } } } } },
            "samples": [{ "id": 1, "name": "front" }, { "id": 2, "name": "back" }],
            "example": { "id": 3, "name": "side" } }),
        "config-engineer" => json!({ "config": "server:\n  port: 80\n", "template": "port {{ port }}",
            "data": { "port": 80 } }),
        "dependency-auditor" => json!({ "manifests": [{ "path": "Cargo.toml",
                "content": "[package]\nname = \"doors\"\nversion = \"1.0.0\"\n[dependencies]\nserde = \"1\"\n" }],
            "licences": [{ "name": "serde", "licence": "MIT OR Apache-2.0" }] }),
        other => panic!("what does {other} take?"),
    }
}

/// Work that is done while a server is running.
#[derive(Debug, Default)]
pub struct Meter {
    /// Number of accepted runs and observed changes.
    done: AtomicUsize,
    /// Jobs that have not ended.
    open: AtomicUsize,
    /// Those of them that must end before the server may be killed.
    due: AtomicUsize,
}

impl Meter {
    pub fn expect(&self, due: bool) {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.due.fetch_add(usize::from(due), Ordering::AcqRel);
    }

    fn ends(&self, due: bool) {
        self.open.fetch_sub(1, Ordering::AcqRel);
        self.due.fetch_sub(usize::from(due), Ordering::AcqRel);
    }

    /// Waits until this much is done, or nothing is left to do.
    pub fn is_at(&self, enough: usize) -> bool {
        let spent = self.open.load(Ordering::Acquire) == 0;
        (self.done.load(Ordering::Acquire) >= enough || spent) && self.due.load(Ordering::Acquire) == 0
    }
}

/// A requested task.
#[derive(Debug)]
pub struct Job {
    number: usize,
    id: Option<String>,
    ended: Option<Value>,
    /// Index of the server that accepted it.
    pub accepted_in: Option<usize>,
}

/// Response of a live server; `None` where it is gone or stops.
async fn send(request: reqwest::RequestBuilder) -> Option<Answer> {
    try_answer(request).await.ok().filter(|got| got.status != 503)
}

impl Job {
    pub fn new(number: usize) -> Self {
        Self { number, id: None, ended: None, accepted_in: None }
    }

    pub fn is_new(&self) -> bool {
        self.id.is_none()
    }

    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub fn agent(&self) -> &'static str {
        AGENTS[self.number % AGENTS.len()]
    }

    pub fn id(&self) -> &str {
        self.id.as_deref().expect("it was accepted")
    }

    /// Its state when it ended.
    pub fn task(&self) -> &Value {
        self.ended.as_ref().expect("it ended")
    }

    /// Requests the task unless it is known to be accepted, and follows it until it or the server ends.
    pub async fn goes_on(mut self, client: Client, meter: Arc<Meter>, round: usize, due: bool) -> Self {
        if self.follow(&client, &meter, round).await.is_some() {
            meter.ends(due);
        }
        self
    }

    async fn follow(&mut self, client: &Client, meter: &Meter, round: usize) -> Option<()> {
        if self.id.is_none() {
            let body = json!({ "task": "as ever", "params": params(self.agent()) });
            let request = client.post_request(&format!("/api/v1/agents/{}/run", self.agent()), &body);
            let got = send(request.header("idempotency-key", format!("job-{}", self.number))).await?;
            assert_eq!(got.status, 201, "{}", got.text);
            self.id = Some(got.json()["task_id"].as_str().unwrap().to_owned());
            self.accepted_in = Some(round);
            meter.done.fetch_add(1, Ordering::AcqRel);
        }
        let mut seq = 0;
        loop {
            let path = format!("/api/v1/tasks/{}?wait=20&after_seq={seq}", self.id());
            let got = send(client.request(reqwest::Method::GET, &path)).await?;
            assert_eq!(got.status, 200, "an accepted task is there: {}", got.text);
            let task = got.json();
            let at = task["seq"].as_u64().unwrap();
            assert!(at >= seq, "its sequence number never decreases: {seq} then {task}");
            meter.done.fetch_add(usize::from(at > seq), Ordering::AcqRel);
            seq = at;
            if !task["finished_at"].is_null() {
                self.ended = Some(task);
                return Some(());
            }
        }
    }
}

/// The identifiers of all tasks.
pub async fn listed(client: &Client) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/v1/tasks?limit=50{cursor}")).await.json();
        let tasks = page["tasks"].as_array().unwrap();
        ids.extend(tasks.iter().map(|task| task["task_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}
