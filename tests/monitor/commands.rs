//! Commands of a monitor: the reply is the first phase, an event the second.

use muster_tasks::task::Status;
use serde_json::{Value, json};

use super::double::{Tasks, event, key, monitor};
use crate::support::KEY;
use crate::support::server::Muster;
use crate::support::socket::Socket;

fn command(name: &str, target: &str, args: Value, idem: &str) -> Value {
    json!({ "command": { "name": name, "target": target, "args": args, "idem": idem } })
}

#[tokio::test]
async fn each_command_is_answered_and_its_outcome_published() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    let (mut socket, _) = monitor(&muster, &ann.text).await;
    let (mut other, _) = monitor(&muster, KEY).await;
    for (name, args, status) in [
        ("agent.pause", json!({ "now": true }), "paused"),
        ("agent.resume", json!({}), "queued"),
        ("agent.redirect", json!({ "instruction": "the tests first" }), "queued"),
        ("agent.kill", json!({ "reason": "enough" }), "killed"),
    ] {
        let reply = socket.request(command(name, "task_a", args, name)).await;
        assert_eq!((&reply["ok"]["phase"], &reply["ok"]["status"]), (&json!("accepted"), &json!(status)), "{reply}");
        assert_eq!(reply["ok"]["effective"], "now");
        for socket in [&mut socket, &mut other] {
            assert_eq!(event(socket, "control.applied").await["data"]["idem"], name);
        }
    }
    let refused = socket.request(command("agent.resume", "task_a", json!({}), "late")).await;
    let error = &refused["error"];
    assert_eq!((&error["code"], &error["details"]), (&json!(2409), &json!({ "phase": "refused", "status": "killed" })));
}

#[tokio::test]
async fn the_same_command_twice_is_done_once_from_wherever_it_comes() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    let (mut one, _) = monitor(&muster, &ann.text).await;
    let (mut other, _) = monitor(&muster, &ann.text).await;
    let kill = || command("agent.pause", "task_a", json!({}), "c1");
    let (first, again) = (one.request(kill()).await["ok"].clone(), other.request(kill()).await["ok"].clone());
    assert_eq!(first, again);
    assert_eq!(tasks.done.lock().unwrap().len(), 1);
    let conflict = one.request(command("agent.kill", "task_a", json!({}), "c1")).await;
    assert_eq!(conflict["error"]["reason"], "idempotency_conflict", "{conflict}");
}

#[tokio::test]
async fn commands_require_ownership_and_readers_may_send_none() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let admin = muster.client();
    let (ann, auditor) = (key(&admin, &["agents"], &[]).await, key(&admin, &["agents"], &["auditor"]).await);
    tasks.put("task_b", "key_other", Status::Running);
    let (mut of_ann, _) = monitor(&muster, &ann.text).await;
    let (mut of_auditor, _) = monitor(&muster, &auditor.text).await;
    let kill = || command("agent.kill", "task_b", json!({}), "k");
    assert_eq!(of_ann.request(kill()).await["error"]["code"], 2404);
    assert_eq!(of_auditor.request(kill()).await["error"]["code"], 2403);
    // Keys may command only agents.
    let order = of_ann.request(command("device.command", "dev_1", json!({ "name": "x" }), "d")).await;
    assert_eq!(order["error"]["reason"], "unknown_command", "{order}");
    assert!(tasks.done.lock().unwrap().is_empty());
}

#[tokio::test]
async fn forty_commands_at_once_are_taken_and_a_flood_is_closed() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_b", "key_other", Status::Running);
    let (mut socket, _) = monitor(&muster, KEY).await;
    let flood = async |socket: &mut Socket, count: u32, from: u32| {
        let mut ids = Vec::new();
        for n in from..from + count {
            ids.push(socket.begin(command("agent.pause", "task_b", json!({}), &format!("c{n}"))).await);
        }
        ids
    };
    for id in flood(&mut socket, 40, 0).await {
        assert!(socket.reply(id).await["ok"].is_object());
    }
    flood(&mut socket, 200, 40).await;
    assert_eq!(socket.closed().await, 4102);
}
