//! Many concurrent controls of many tasks from several clients: each accepted control has one outcome.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde_json::{Value, json};

use super::world::{begin, key, quick, verb, with_model};
use crate::support::KEY;
use crate::support::client::Client;
use crate::support::server::Muster;
use crate::support::socket::Socket;
use crate::support::upstream::{Upstream, UpstreamAction};

const TASKS: usize = 48;
/// Requests of each client over HTTP.
const CALLS: usize = 120;
/// Requests of each socket: a burst of 40 is admitted.
const COMMANDS: usize = 35;

/// Task and request of each accepted control.
type Accepted = BTreeSet<(String, String)>;

/// A client's next step: the same in each run.
struct Script {
    client: usize,
    turn: usize,
}

impl Script {
    /// Task, verb, arguments and request.
    fn next(&mut self, tasks: &[String]) -> (String, &'static str, Value, String) {
        let (client, turn) = (self.client, self.turn);
        self.turn += 1;
        // Strides without a common factor: every client visits every task, each in another order.
        let task = tasks[(turn * [5, 7, 11, 13, 17][client % 5] + client) % tasks.len()].clone();
        let redirected = |mode: &str| json!({ "instruction": format!("{client} says {turn}"), "mode": mode });
        let (verb, args) = match (turn * 3 + client) % 16 {
            0 | 5 | 8 | 11 => ("pause", json!({})),
            1 | 7 => ("pause", json!({ "now": true })),
            2 | 6 | 9 => ("resume", json!({})),
            3 | 10 | 12 | 15 => ("redirect", redirected("steer")),
            4 | 14 => ("redirect", redirected("interrupt")),
            // Few kills: most tasks keep running.
            _ if turn % 4 == 3 => ("kill", json!({})),
            _ => ("resume", json!({})),
        };
        (task, verb, args, format!("c{client}-{turn}"))
    }
}

async fn over_http(client: Client, number: usize, tasks: &[String]) -> Accepted {
    let mut script = Script { client: number, turn: 0 };
    let mut accepted = Accepted::new();
    for _ in 0..CALLS {
        let (task, name, mut body, request) = script.next(tasks);
        body["request_id"] = json!(request);
        let got = verb(&client, &task, name, &body).await;
        let phase = got.json()["phase"].clone();
        match got.status {
            202 => assert_eq!(phase, "accepted", "{}", got.text),
            200 => assert_eq!(phase, "already", "{}", got.text),
            status => assert_eq!(status, 409, "{}", got.text),
        }
        accepted.extend((got.status == 202).then_some((task, request)));
    }
    accepted
}

async fn over_q62(muster: &Muster, number: usize, tasks: &[String]) -> Accepted {
    let bearer = format!("Bearer {KEY}");
    let headers = [("authorization", bearer.as_str())];
    let mut socket = Socket::handshake(muster, "/api/q62/dashboard/agents", &headers).await.unwrap();
    let mut script = Script { client: number, turn: 0 };
    let mut accepted = Accepted::new();
    for _ in 0..COMMANDS {
        let (task, name, args, idem) = script.next(tasks);
        let command = json!({ "name": format!("agent.{name}"), "target": task, "args": args, "idem": idem });
        let reply = socket.request(json!({ "command": command })).await;
        match reply["ok"]["phase"].as_str() {
            Some("accepted") => drop(accepted.insert((task, idem))),
            Some(phase) => assert_eq!(phase, "already", "{reply}"),
            None => assert_eq!(reply["error"]["details"]["phase"], "refused", "{reply}"),
        }
    }
    accepted
}

/// How each control of a task ended, from its journal; the task ended too.
async fn outcomes(client: &Client, id: &str) -> Vec<((String, String), String)> {
    let (mut outcomes, mut after, mut ended) = (Vec::new(), 0, 0);
    loop {
        let page = client.get(&format!("/api/v1/tasks/{id}/events?limit=1000&after={after}")).await.json();
        for entry in page["events"].as_array().unwrap() {
            ended += usize::from(entry["event"] == "task.end");
            if let Some(outcome) = entry["event"].as_str().unwrap().strip_prefix("control.") {
                assert!(["applied", "superseded", "missed"].contains(&outcome), "{entry}");
                let request = entry["data"]["idem"].as_str().unwrap().to_owned();
                outcomes.push(((id.to_owned(), request), outcome.to_owned()));
            }
        }
        after = page["after"].as_u64().unwrap();
        if page["more"] == false {
            assert_eq!(ended, 1, "{id} ends once");
            return outcomes;
        }
    }
}

/// Waits until every live task has ended; returns what was accepted for that.
async fn all_end(client: &Client, tasks: &[String]) -> Accepted {
    let mut accepted = Accepted::new();
    for id in tasks {
        let path = format!("/api/v1/tasks/{id}");
        let mut task = client.get(&path).await.json();
        while task["finished_at"].is_null() {
            let request = format!("last-{}", task["seq"]);
            if ["paused", "pausing"].contains(&task["status"].as_str().unwrap()) {
                let got = verb(client, id, "resume", &json!({ "request_id": request })).await;
                accepted.extend((got.status == 202).then(|| (id.clone(), request)));
            }
            task = client.get(&format!("{path}?wait=20&after_seq={}", task["seq"])).await.json();
        }
        assert!(["succeeded", "killed"].contains(&task["status"].as_str().unwrap()), "{task}");
        assert_eq!(task["control"]["pending"], json!([]), "{task}");
    }
    accepted
}

#[tokio::test]
async fn every_control_of_a_flood_comes_to_one_end() {
    let upstream = Upstream::start(UpstreamAction::HeldAfter(3));
    let muster = with_model(&upstream);
    let (owner, operations) = (key(&muster, &["agents"], &[]).await, key(&muster, &["agents"], &["operations"]).await);
    let body = quick();
    let tasks = join_all((0..TASKS).map(|_| begin(&owner, &body))).await;
    // Both transports at once, and each by several clients.
    let http = [(owner.clone(), 0), (operations.clone(), 1)];
    let http = join_all(http.into_iter().map(|(client, number)| over_http(client, number, &tasks)));
    let q62 = join_all([2, 3, 4].map(|number| over_q62(&muster, number, &tasks)));
    let (http, q62) = tokio::join!(http, q62);
    assert!(http.iter().chain(&q62).all(|accepted| accepted.len() > 5), "every client had an accepted control");
    upstream.set_action(UpstreamAction::Answer(&["All ", "is ", "well."]));
    upstream.release_held();
    let mut accepted: Accepted = http.into_iter().chain(q62).flatten().collect();
    accepted.extend(all_end(&operations, &tasks).await);

    let mut ends: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (control, outcome) in join_all(tasks.iter().map(|id| outcomes(&owner, id))).await.into_iter().flatten() {
        ends.entry(control).or_default().push(outcome);
    }
    for control in &accepted {
        assert_eq!(ends.get(control).map(Vec::len), Some(1), "{control:?} ends once: {:?}", ends.get(control));
    }
    let strange: Vec<_> = ends.keys().filter(|control| !accepted.contains(*control)).collect();
    assert!(strange.is_empty(), "what was not accepted has no end: {strange:?}");
    let count = |outcome: &str| ends.values().flatten().filter(|it| *it == outcome).count();
    let (applied, superseded, missed) = (count("applied"), count("superseded"), count("missed"));
    println!("{} accepted: {applied} applied, {superseded} superseded, {missed} missed", accepted.len());
    assert!(applied > 0 && superseded > 0, "{applied} applied, {superseded} superseded");
}
