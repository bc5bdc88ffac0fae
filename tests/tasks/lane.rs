//! The control lane: neither a run nor the number of runs delays a kill.

use std::io::{self, Write};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use serde_json::json;

use super::world::{RUN, begin, endless, key, quick, runs, server_with, verb};
use crate::support::server::Muster;
use crate::support::socket::Socket;

fn limited(limits: &str) -> Muster {
    let settings = "[server]\nshutdown_grace_seconds = 1\n[engines]\ntime_seconds = 60\n[limits.agent]\n";
    Muster::start(&format!("{settings}{limits}\n"))
}

#[tokio::test]
async fn a_kill_is_accepted_after_the_runs_of_a_minute_are_spent() {
    let muster = limited("agents = 3");
    let client = key(&muster, &["agents"], &[]).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(begin(&client, &endless()).await);
    }
    assert_eq!(client.post(RUN, &quick()).await.status, 429, "the runs of this minute are spent");
    let bodies = [("pause", json!({})), ("redirect", json!({ "instruction": "another" })), ("kill", json!({}))];
    for (id, (name, body)) in ids.iter().zip(bodies) {
        let controlled = verb(&client, id, name, &body).await;
        assert!(matches!(controlled.status, 200 | 202), "{name}: {} {}", controlled.status, controlled.text);
        assert_eq!(controlled.header("x-ratelimit-limit"), Some("600"));
    }
    let all = client.post("/api/v1/tasks/control", &json!({ "filter": {}, "verb": "kill" })).await;
    assert_eq!(all.status, 200, "{}", all.text);
    assert!(all.number("x-ratelimit-remaining").is_some_and(|left| left >= 590), "a meter of its own");
    assert_eq!(client.post(RUN, &quick()).await.status, 429);
}

#[tokio::test]
async fn http_and_sockets_share_the_meter_of_controls() {
    let muster = limited("control = 2\nagents = 60");
    let made = muster.client().make_key(&json!({ "name": "k", "scopes": ["agents"] })).await;
    let client = muster.client().with(made.clone());
    let id = begin(&client, &endless()).await;
    runs(&muster, &client, &id).await;
    assert_eq!(verb(&client, &id, "pause", &json!({ "now": true })).await.status, 202);
    let bearer = format!("Bearer {made}");
    let path = "/api/q62/dashboard/agents";
    let mut socket = Socket::handshake(&muster, path, &[("authorization", &bearer)]).await.unwrap();
    let command =
        |name: &str, idem: &str| json!({ "command": { "name": name, "target": id, "args": {}, "idem": idem } });
    let resumed = socket.request(command("agent.resume", "r1")).await;
    assert_eq!(resumed["ok"]["phase"], "accepted", "{resumed}");
    let over = verb(&client, &id, "pause", &json!({})).await;
    assert_eq!(over.status, 429, "{}", over.text);
    assert_eq!((over.header("x-ratelimit-limit"), over.header("x-ratelimit-remaining")), (Some("2"), Some("0")));
    assert!(over.number("retry-after").is_some_and(|wait| wait >= 1));
    let refused = socket.request(command("agent.pause", "p1")).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the limit of 2 requests per minute is reached"), "{refused}");
    assert_eq!(client.post(RUN, &quick()).await.status, 201, "runs have another meter");
}

/// A reader of a snapshot that stops in its middle: the store accepts no commit until it continues.
struct Gate {
    reached: Option<mpsc::Sender<()>>,
    open: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(reached) = self.reached.take() {
            reached.send(()).unwrap();
            // Released at the latest at the end of the test.
            let _ = self.open.lock().unwrap().recv();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_kill_is_taken_while_the_queue_of_the_task_actor_is_full_of_submissions() {
    let muster = server_with("[agents]\nqueue_per_key = 100000\n");
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &endless()).await;
    runs(&muster, &client, &id).await;
    // What the meter writes ahead is written before the store is blocked.
    assert_eq!(verb(&client, &id, "kill", &json!({ "if_seq": 0 })).await.status, 409);
    let (open, opened) = mpsc::channel();
    let (reached, is_reached) = mpsc::channel();
    let store = muster.app.store.0.clone();
    let mut gate = Gate { reached: Some(reached), open: Arc::new(Mutex::new(opened)) };
    let held = std::thread::spawn(move || store.snapshot(&mut gate).map(drop));
    is_reached.recv().unwrap();

    let tasks = muster.app.agency.tasks.clone();
    let requester = muster_tasks::task::Requester::of(muster_identity::By::System);
    let new = muster_tasks::task::NewTask {
        agent: "json-wrangler".to_owned(),
        task: "double them".to_owned(),
        params: quick()["params"].clone(),
        timeout_seconds: 60,
        priority: muster_tasks::task::Priority::Normal,
        start: muster_tasks::task::Start::AtOnce,
    };
    let depth = || {
        let actors = muster.tree.snapshot();
        let actor = actors.into_iter().find(|actor| actor.path == "tasks/tasks").unwrap();
        (actor.mailbox_depth, actor.mailbox_capacity)
    };
    let capacity = depth().1;
    let submissions = join_all((0..capacity).map(|_| tasks.run(new.clone(), &requester, None)));
    let controlling = async {
        crate::support::socket::wait_until("a full queue", || depth().0 >= capacity).await;
        let refused = client.post(RUN, &quick()).await;
        assert_eq!(refused.status, 503, "{}", refused.text);
        let kill = json!({});
        let killing = verb(&client, &id, "kill", &kill);
        let opening = async {
            crate::support::socket::wait_until("a control beside the full queue", || depth().0 > capacity).await;
            open.send(()).unwrap();
        };
        let (killed, ()) = tokio::join!(killing, opening);
        assert_eq!(killed.status, 202, "{}", killed.text);
        assert_eq!(killed.json()["status"], "killed");
    };
    let (accepted, ()) = tokio::join!(submissions, controlling);
    assert!(accepted.iter().filter(|accepted| accepted.is_ok()).count() > capacity / 2);
    held.join().unwrap().unwrap();
}
