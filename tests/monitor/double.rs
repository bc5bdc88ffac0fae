//! A server with a test double of the task source, driven by the test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use muster::agents::{AgentCommands, Controls};
use muster_core::event::{Event, EventAttributes, Publisher};
use muster_core::principal::Permission;
use muster_core::{Clock, Error, Kind};
use muster_feed::{Denied, SnapshotRequest, SnapshotSource, StateItem};
use muster_tasks::task::{Control, ControlReply, Effective, FirstPhase, Requester, Status, Verb};
use serde_json::{Value, json, value::to_raw_value};

use crate::support::client::Client;
use crate::support::server::Muster;
use crate::support::socket::Socket;

pub(super) const PATH: &str = "/api/q62/dashboard/agents";

#[derive(Debug, Clone)]
struct Task {
    owner: String,
    status: Status,
    seq: u64,
}

/// Tasks that change only by the test.
#[derive(Debug)]
pub(super) struct Tasks {
    publisher: Publisher,
    clock: Clock,
    all: Mutex<BTreeMap<String, Task>>,
    /// Controls that were executed.
    pub(super) done: Mutex<Vec<(String, Control)>>,
}

impl Tasks {
    /// Registers itself as the feed's source of tasks, replacing the server's own.
    pub(super) fn attach(muster: &Muster) -> Arc<Self> {
        let tasks = Arc::new(Self {
            publisher: muster.app.feed.publisher(),
            clock: muster.app.clock.clone(),
            all: Mutex::default(),
            done: Mutex::default(),
        });
        for prefix in ["agents", "tasks"] {
            muster.app.feed.register_source(prefix, Arc::new(Source(Arc::clone(&tasks))));
        }
        muster.app.sockets.commands.register(Arc::new(AgentCommands(Arc::clone(&tasks) as _)));
        tasks
    }

    pub(super) fn publish(&self, id: &str, owner: &str, name: &str, data: &Value) {
        let channels = vec!["agents".to_owned(), format!("tasks:{id}")];
        self.publisher.publish_transient(vec![self.event(channels, owner, name, data)]);
    }

    pub(super) fn log(&self, id: &str, owner: &str, n: u64, text: &str) {
        let data = json!({ "n": n, "step": 0, "level": "info", "text": text });
        self.publisher
            .publish_transient(vec![self.event(vec![format!("tasks:{id}:logs")], owner, "log", &data).conflated()]);
    }

    fn event(&self, channels: Vec<String>, owner: &str, name: &str, data: &Value) -> Event {
        let traits = EventAttributes { owner: Some(owner.into()), ..EventAttributes::default() };
        Event::new(name, self.clock.now(), channels, data).with(traits)
    }

    /// Adds or changes a task.
    pub(super) fn put(&self, id: &str, owner: &str, status: Status) {
        let mut all = self.all.lock().unwrap();
        let task = all.entry(id.to_owned()).or_insert(Task { owner: owner.to_owned(), status, seq: 0 });
        let from = task.status;
        (task.status, task.seq) = (status, task.seq + 1);
        let seq = task.seq;
        // Published in the turn that changes it, as by an actor.
        let state = json!({ "task_id": id, "agent": "code-reviewer", "from": from, "to": status, "reason": "test",
            "revision": 1, "seq": seq });
        self.publish(id, owner, "task.state", &state);
    }

    fn items(&self, request: &SnapshotRequest) -> Result<Vec<StateItem>, Denied> {
        let all = self.all.lock().unwrap();
        let sees =
            |task: &Task| request.viewer.permissions.has(Permission::AgentsRead) || *task.owner == *request.viewer.id;
        let item = |(id, task): (&String, &Task)| {
            let data = json!({ "task_id": id, "agent": "code-reviewer", "status": task.status, "owner": task.owner,
                "ended": task.status.ended() });
            StateItem { id: id.clone(), version: task.seq, data: to_raw_value(&data).unwrap() }
        };
        let Some(id) = request.channel.strip_prefix("tasks:") else {
            return Ok(all.iter().filter(|(_, task)| sees(task) && !task.status.ended()).map(item).collect());
        };
        let id = id.trim_end_matches(":logs");
        let found = all.get_key_value(id).filter(|(_, task)| sees(task)).ok_or(Denied::NotFound)?;
        Ok(vec![item(found)])
    }
}

#[derive(Debug)]
struct Source(Arc<Tasks>);

impl SnapshotSource for Source {
    fn request(&self, request: SnapshotRequest) {
        let items = self.0.items(&request);
        request.reply.send(items);
    }
}

impl Controls for Tasks {
    fn control(
        self: Arc<Self>,
        task: String,
        control: Control,
        requester: Requester,
    ) -> BoxFuture<'static, Result<ControlReply, Error>> {
        let found = self.all.lock().unwrap().get(&task).cloned();
        let reply = match found {
            Some(found) if requester.may_read(&found.owner) && !requester.may_control(&found.owner) => {
                Err(Error::new(Kind::Forbidden, "this needs the permission `agents:control`"))
            }
            Some(found) if found.status.ended() && requester.may_read(&found.owner) => {
                Err(Error::new(Kind::Conflict, "the task has ended").detailing(json!({ "status": found.status })))
            }
            Some(found) if requester.may_read(&found.owner) => {
                let status = match control.verb {
                    Verb::Pause { .. } => Status::Paused,
                    Verb::Resume => Status::Queued,
                    Verb::Kill => Status::Killed,
                    Verb::Redirect { .. } => found.status,
                };
                let request_id = control.request_id.clone();
                self.done.lock().unwrap().push((task.clone(), control));
                self.put(&task, &found.owner, status);
                let outcome = json!({ "task_id": task, "idem": request_id, "outcome": "applied" });
                self.publish(&task, &found.owner, "control.applied", &outcome);
                let (phase, effective) = (FirstPhase::Accepted, Effective::Now);
                Ok(ControlReply {
                    task_id: task,
                    request_id,
                    phase,
                    effective,
                    status,
                    seq: found.seq + 1,
                    abort: None,
                })
            }
            _ => Err(Error::new(Kind::NotFound, "there is no such task, or it is not for you")),
        };
        std::future::ready(reply).boxed()
    }
}

/// A key with its identifier.
pub(super) struct Key {
    pub(super) id: String,
    pub(super) text: String,
}

/// Creates a key with these scopes and roles.
pub(super) async fn key(admin: &Client, scopes: &[&str], roles: &[&str]) -> Key {
    let body = json!({ "name": "monitor", "owner": "tests", "scopes": scopes, "roles": roles });
    let made = admin.post("/api/v1/keys", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    Key { id: made["id"].as_str().unwrap().to_owned(), text: made["key"].as_str().unwrap().to_owned() }
}

/// A monitor with that key or token at the handshake, and the snapshot that it receives.
pub(super) async fn monitor(muster: &Muster, token: &str) -> (Socket, Value) {
    let bearer = format!("Bearer {token}");
    let mut socket = Socket::handshake(muster, PATH, &[("authorization", &bearer)]).await.unwrap();
    loop {
        let frame = socket.frame().await;
        if frame["subscribed"].is_object() {
            assert_eq!(frame["ch"], "agents");
            return (socket, frame["subscribed"].clone());
        }
    }
}

/// The tasks of a snapshot, by identifier.
pub(super) fn tasks_of(state: &Value) -> Vec<String> {
    let items = state["state"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// The next event of that name.
pub(super) async fn event(socket: &mut Socket, name: &str) -> Value {
    loop {
        let frame = socket.frame().await;
        if frame["ev"] == name {
            return frame;
        }
    }
}
