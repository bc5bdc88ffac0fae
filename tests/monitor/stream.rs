//! Events of a monitor: complete and without duplicates, independent of slow readers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use muster_tasks::task::Status;
use serde_json::{Value, json};

use super::double::{PATH, Tasks, event, key, monitor};
use crate::support::KEY;
use crate::support::server::Muster;
use crate::support::socket::{Raw, Socket};
use crate::support::upstream::unused_address;
use crate::support::wire::Wire;

#[tokio::test]
async fn a_snapshot_and_what_follows_it_are_the_whole_without_loss_or_double() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let mover = std::sync::Arc::clone(&tasks);
    // Changes continue while monitors connect.
    let moving = std::thread::spawn(move || {
        for round in 0..400 {
            let status = if round % 2 == 0 { Status::Running } else { Status::Paused };
            mover.put(&format!("task_{}", round % 7), "key_other", status);
        }
        mover.put("task_last", "key_other", Status::Running);
    });
    for _ in 0..5 {
        let (mut socket, state) = monitor(&muster, KEY).await;
        let items = state["state"].as_array().unwrap();
        let version = |item: &Value| (item["id"].as_str().unwrap().to_owned(), item["version"].as_u64().unwrap());
        let mut seen: BTreeMap<String, u64> = items.iter().map(version).collect();
        let mut offset = state["offset"].as_u64().unwrap();
        while !seen.contains_key("task_last") {
            let frame = event(&mut socket, "task.state").await;
            offset += 1;
            assert_eq!(frame["off"], offset);
            let (id, seq) = (frame["data"]["task_id"].as_str().unwrap(), frame["data"]["seq"].as_u64().unwrap());
            let before = seen.insert(id.to_owned(), seq).unwrap_or(0);
            assert_eq!(seq, before + 1, "{id}: neither lost nor duplicated");
        }
    }
    moving.join().unwrap();
}

#[tokio::test]
async fn a_subscription_to_an_ended_task_returns_its_last_state() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_1", "key_other", Status::Succeeded);
    let (mut socket, _) = monitor(&muster, KEY).await;
    let subscribed = socket.subscribe(json!({ "ch": "tasks:task_1", "snapshot": true })).await;
    assert_eq!(subscribed["state"][0]["data"]["status"], "succeeded", "{subscribed}");
    assert_eq!(subscribed["state"][0]["data"]["ended"], true);
}

#[tokio::test]
async fn a_monitor_resumes_at_its_position() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    let (socket, state) = monitor(&muster, &ann.text).await;
    drop(socket);
    for n in 0..10 {
        tasks.put(&format!("task_{n}"), if n % 2 == 0 { &ann.id } else { "key_other" }, Status::Queued);
    }
    let bearer = format!("Bearer {}", ann.text);
    let mut socket = Socket::handshake(&muster, PATH, &[("authorization", &bearer)]).await.unwrap();
    let since = json!({ "epoch": state["epoch"], "offset": state["offset"] });
    let hello =
        socket.request(json!({ "connect": { "subs": { "agents": { "since": since, "snapshot": true } } } })).await;
    let sub = &hello["ok"]["subs"]["agents"];
    assert_eq!((&sub["recovered"], &sub["pubs"], &sub["state"]), (&json!(true), &json!(5), &Value::Null), "{hello}");
    for n in [0, 2, 4, 6, 8] {
        assert_eq!(event(&mut socket, "task.state").await["data"]["task_id"], format!("task_{n}"));
    }
}

#[tokio::test]
async fn a_monitor_too_slow_for_states_is_closed_and_another_gets_everything() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_1", "key_other", Status::Running);
    let (mut reader, _) = monitor(&muster, KEY).await;
    let mut stalled = Raw::open_at(&muster, PATH, KEY).await;
    let pad = "x".repeat(8_000);
    let (began, mut received) = (Instant::now(), 0_u64);
    while muster.app.sockets.evicted() == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "after {received} states no connection was closed");
        for n in received..received + 50 {
            tasks.publish("task_1", "key_other", "task.state", &json!({ "n": n, "pad": pad }));
        }
        for n in received..received + 50 {
            assert_eq!(event(&mut reader, "task.state").await["data"]["n"], n);
        }
        received += 50;
    }
    // A close frame does not fit a full socket: it arrives where the kernel accepted one more.
    assert!(matches!(stalled.close_code().await, 1006 | 4101));
}

#[tokio::test]
async fn logs_that_a_stalled_monitor_does_not_take_are_left_out_and_counted() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    tasks.put("task_1", "key_other", Status::Running);
    let (mut slow, _) = monitor(&muster, KEY).await;
    let subscribed = slow.subscribe(json!({ "ch": "tasks:task_1:logs" })).await;
    let (mut reader, _) = monitor(&muster, KEY).await;
    reader.subscribe(json!({ "ch": "tasks:task_1:logs" })).await;
    let pad = "x".repeat(8_000);
    // 24 MB: more than the kernel buffers for a client that reads nothing.
    for n in 1..=3_000 {
        tasks.log("task_1", "key_other", n, &pad);
        if n % 100 == 0 {
            // A reader whose own pace is fast enough to lose nothing.
            while event(&mut reader, "log").await["data"]["n"] != n {}
        }
    }
    tasks.put("task_1", "key_other", Status::Paused);
    assert_eq!(muster.app.sockets.evicted(), 0, "logs alone do not make a slow reader");
    let (mut offset, mut left_out, mut states) = (subscribed["offset"].as_u64().unwrap(), 0, 0);
    while offset < 3_000 || states == 0 {
        let frame = slow.frame().await;
        if frame["ev"] == "task.state" {
            states += 1;
        } else if let Some(range) = frame.get("conflated") {
            assert_eq!(range["from"], offset + 1, "{frame}");
            left_out += range["to"].as_u64().unwrap() - offset;
            offset = range["to"].as_u64().unwrap();
        } else if frame["ev"] == "log" {
            offset += 1;
            assert_eq!((&frame["off"], &frame["data"]["n"]), (&json!(offset), &json!(offset)));
        }
    }
    assert!(left_out > 0 && left_out < 3_000, "{left_out} were left out");
    assert_eq!(states, 1);
}

#[tokio::test]
async fn restarts_are_published_and_metrics_have_their_latest_value() {
    let muster = Muster::start("");
    let _tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    let (mut socket, _) = monitor(&muster, &ann.text).await;
    socket.subscribe(json!({ "ch": "system" })).await;
    assert!(muster.tree.inject_panic("limits/rate-0"));
    let received = event(&mut socket, "supervisor.restarted").await;
    assert_eq!(
        (&received["data"]["actor"], &received["data"]["restarts"]),
        (&json!("limits/rate-0"), &json!(1)),
        "{received}"
    );
    // The server's own figures are published there too, each second.
    let ours = |subscribed: &Value| -> Option<Value> {
        let figures = subscribed["state"].as_array().unwrap().iter().find(|figures| figures["id"] == "ours")?;
        Some(figures["data"].clone())
    };
    let subscribed = socket.subscribe(json!({ "ch": "agents:metrics", "snapshot": true })).await;
    assert_eq!(ours(&subscribed), None);
    let data = serde_json::value::to_raw_value(&json!({ "running": 3 })).unwrap();
    let (channel, name, at) = ("agents:metrics".to_owned(), "ours".to_owned(), muster.app.clock.now());
    let figures = muster_core::event::LatestValue { channel, name: name.clone(), at, key: name, data };
    muster.app.feed.publisher().publish_latest(figures);
    assert_eq!(event(&mut socket, "ours").await["data"], json!({ "running": 3 }));
    let (mut socket, _) = monitor(&muster, &ann.text).await;
    let subscribed = socket.subscribe(json!({ "ch": "agents:metrics", "snapshot": true })).await;
    assert_eq!(ours(&subscribed), Some(json!({ "running": 3 })), "{subscribed}");
}

#[tokio::test]
async fn an_opening_breaker_is_published() {
    let provider = Wire::OpenAi.provider(unused_address(), "one", "alpha");
    let muster = Muster::start(&format!("{provider}[chain]\norder = [\"one\"]\nretries = 0\n"));
    let _tasks = Tasks::attach(&muster);
    let (mut socket, _) = monitor(&muster, KEY).await;
    socket.subscribe(json!({ "ch": "system" })).await;
    let body = json!({ "model": "alpha", "messages": [{ "role": "user", "content": "hi" }] });
    for _ in 0..20 {
        let answer = muster.client().post("/v1/chat/completions", &body).await;
        assert!(answer.status >= 500, "{}", answer.text);
    }
    let received = event(&mut socket, "breaker.changed").await;
    let data = &received["data"];
    assert_eq!((&data["provider"], &data["from"], &data["to"]), (&json!("one"), &json!("closed"), &json!("open")));
}
