//! Many monitors over real sockets, all of them watching and some of them controlling, while models produce text as
//! fast as it is read: each monitor sees one end of each accepted control.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde_json::{Value, json};

use super::world::{begin, key, quick, reaches, verb, with_model};
use crate::support::KEY;
use crate::support::client::Client;
use crate::support::server::Muster;
use crate::support::socket::{Socket, wait_until};
use crate::support::upstream::{Upstream, UpstreamAction};

/// Number of concurrent tasks.
const TASKS: usize = 50;
/// The limit of a key.
const MONITORS: usize = 10;
/// Words that each model produces before it is held.
const WORDS: usize = 300;
/// The last control: a monitor reads events up to its end.
const FENCE: &str = "fence";

/// Task and request of controls.
type Controls = BTreeSet<(String, String)>;

struct Monitor {
    socket: Socket,
    accepted: Controls,
}

impl Monitor {
    /// Receives the events of all tasks, and the logs of its share of them.
    async fn open(muster: &Muster, mine: &[String]) -> Self {
        let bearer = format!("Bearer {KEY}");
        let headers = [("authorization", bearer.as_str())];
        let mut socket = Socket::handshake(muster, "/api/q62/dashboard/agents", &headers).await.unwrap();
        for id in mine {
            socket.subscribe(json!({ "ch": format!("tasks:{id}") })).await;
            socket.subscribe(json!({ "ch": format!("tasks:{id}:logs") })).await;
        }
        Self { socket, accepted: Controls::new() }
    }

    async fn command(&mut self, verb: &str, task: &str, args: Value, request_id: &str) -> Value {
        let command = json!({ "name": format!("agent.{verb}"), "target": task, "args": args, "idem": request_id });
        let reply = self.socket.request(json!({ "command": command })).await;
        assert_eq!(reply["ok"]["phase"], "accepted", "{verb} {request_id}: {reply}");
        self.accepted.insert((task.to_owned(), request_id.to_owned()));
        reply["ok"].clone()
    }

    /// Every end of a control published on `agents`, up to the last control, in order.
    async fn ends(mut self) -> Vec<((String, String), String)> {
        let (mut ends, mut last) = (Vec::new(), 0);
        loop {
            let frame = self.socket.frame().await;
            let Some(outcome) = frame["ev"].as_str().and_then(|name| name.strip_prefix("control.")) else { continue };
            if frame["ch"] != "agents" {
                continue;
            }
            let (at, data) = (frame["off"].as_u64().unwrap(), &frame["data"]);
            assert!(at > last, "in order and once: {last} then {frame}");
            last = at;
            let of = |field: &str| data[field].as_str().unwrap().to_owned();
            assert_eq!(of("outcome"), outcome, "{frame}");
            let request_id = of("idem");
            ends.push(((of("task_id"), request_id.clone()), outcome.to_owned()));
            if request_id == FENCE {
                return ends;
            }
        }
    }
}

/// The text that a task's model has produced, as published.
async fn streamed_text(client: &Client, id: &str) -> String {
    let page = client.get(&format!("/api/v1/realtime/channels/tasks:{id}/history?limit=500")).await.json();
    let deltas = page["data"]["publications"].as_array().unwrap().iter().filter(|event| event["ev"] == "task.delta");
    deltas.map(|event| event["data"]["text"].as_str().unwrap()).collect()
}

/// All controls of a monitor on its share of the tasks, in rotation.
async fn control(monitor: &mut Monitor, client: &Client, mine: &[String]) {
    for (turn, id) in mine.iter().enumerate() {
        let request_id = |verb: &str| format!("{verb}-{id}");
        match turn {
            0 => {
                let reply = monitor.command("kill", id, json!({}), &request_id("kill")).await;
                assert_eq!(reply["abort"], "dropped", "{reply}");
            }
            1 => {
                let before = streamed_text(client, id).await;
                monitor.command("pause", id, json!({ "now": true }), &request_id("pause")).await;
                let task = reaches(client, id, &["paused"]).await;
                let (kept, whole) =
                    (task["partial"].as_str().unwrap_or_default(), (0..WORDS).map(|n| format!("w{n} ")));
                assert!(
                    whole.collect::<String>().starts_with(kept) && kept.starts_with(&before),
                    "{before:?} in {task}"
                );
            }
            2 => {
                for direction in ["roof", "doors", "cellar"] {
                    let args = json!({ "instruction": format!("look at the {direction} of {id}") });
                    monitor.command("redirect", id, args, &request_id(direction)).await;
                }
            }
            // The kill overtakes the controls that wait for a boundary.
            3 => {
                monitor.command("redirect", id, json!({ "instruction": "look elsewhere" }), &request_id("steer")).await;
                monitor.command("pause", id, json!({}), &request_id("hold")).await;
                monitor.command("kill", id, json!({}), &request_id("kill")).await;
            }
            _ => drop(monitor.command("pause", id, json!({}), &request_id("hold")).await),
        }
    }
}

/// Whether the three redirects of a task were in the request to its model at the next boundary, in order.
fn directions_in_order(bodies: &[Value], id: &str) -> bool {
    let directions = ["roof", "doors", "cellar"].map(|direction| format!("look at the {direction} of {id}"));
    let before = bodies.iter().map(Value::to_string).find(|body| body.contains(&directions[0]));
    let at = before.map(|body| directions.each_ref().map(|direction| body.find(direction)));
    at.is_some_and(|at| at.iter().all(Option::is_some) && at.is_sorted())
}

#[tokio::test]
async fn every_monitor_sees_one_end_of_every_control() {
    let upstream = Upstream::start(UpstreamAction::HeldAfter(WORDS));
    let muster = with_model(&upstream);
    let owner = key(&muster, &["agents"], &[]).await;
    let body = quick();
    let tasks = join_all((0..TASKS).map(|_| begin(&owner, &body))).await;
    let shares: Vec<&[String]> = tasks.chunks(TASKS / MONITORS).collect();
    let mut monitors = join_all(shares.iter().map(|mine| Monitor::open(&muster, mine))).await;
    wait_until("all of them are in the middle of an answer", || upstream.requests() == TASKS).await;
    join_all(monitors.iter_mut().zip(&shares).map(|(monitor, mine)| control(monitor, &owner, mine))).await;

    upstream.set_action(UpstreamAction::Answer(&["All ", "is ", "well."]));
    upstream.release_held();
    for mine in &shares {
        // The redirected one runs to its end, the held one is paused at the boundary.
        reaches(&owner, &mine[2], &["succeeded"]).await;
        reaches(&owner, &mine[4], &["paused"]).await;
        assert!(directions_in_order(&upstream.bodies(), &mine[2]), "three redirects of {}", mine[2]);
    }
    let mut accepted: Controls = monitors.iter().flat_map(|monitor| monitor.accepted.clone()).collect();
    let resumed = shares[0][1].clone();
    assert_eq!(verb(&owner, &resumed, "resume", &json!({ "request_id": "again" })).await.status, 202);
    reaches(&owner, &resumed, &["succeeded"]).await;
    // The others that are paused are killed in one request.
    let rest = json!({ "verb": "kill", "filter": { "status": ["paused"] }, "request_id": "rest" });
    let killed = owner.post("/api/v1/tasks/control", &rest).await;
    assert_eq!(killed.json()["matched"], 2 * MONITORS - 1, "{}", killed.text);
    let others = shares.iter().flat_map(|mine| [&mine[1], &mine[4]]).filter(|id| **id != resumed);
    accepted.extend(others.map(|id| (id.clone(), "rest".to_owned())));
    upstream.set_action(UpstreamAction::HangAfter(1));
    let fence = begin(&owner, &body).await;
    assert_eq!(verb(&owner, &fence, "kill", &json!({ "request_id": FENCE })).await.status, 202);
    accepted.extend([(resumed, "again".to_owned()), (fence, FENCE.to_owned())]);

    for ends in join_all(monitors.into_iter().map(Monitor::ends)).await {
        let mut by_control: BTreeMap<_, Vec<String>> = BTreeMap::new();
        ends.into_iter().for_each(|(control, outcome)| by_control.entry(control).or_default().push(outcome));
        let twice: Vec<_> = by_control.iter().filter(|(_, outcomes)| outcomes.len() != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        let seen: Controls = by_control.keys().cloned().collect();
        let missed: Vec<_> = accepted.symmetric_difference(&seen).collect();
        assert!(missed.is_empty(), "of {}: {missed:?}", accepted.len());
        let count = |outcome: &str| by_control.values().flatten().filter(|it| *it == outcome).count();
        // Controls of each monitor's share that waited for a boundary and were overtaken by a kill.
        assert_eq!((count("superseded"), count("missed")), (2 * MONITORS, 0));
    }
}
