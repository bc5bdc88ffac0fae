//! Access to the monitor: handshakes, scopes, revocation.

use serde_json::json;

use super::double::{PATH, Tasks, event, key, monitor, tasks_of};
use crate::support::server::Muster;
use crate::support::socket::{Socket, token};
use crate::tasks::world;
use muster_tasks::task::Status;

#[tokio::test]
async fn a_plain_request_is_rejected_with_how_to_connect() {
    let muster = Muster::start("");
    let got = muster.client().without_key().get(PATH).await;
    assert_eq!((got.status, got.header("upgrade")), (426, Some("websocket")));
    assert!(got.text.contains("muster.v1.json") && got.text.contains("agents"), "{}", got.text);
}

#[tokio::test]
async fn keys_see_their_own_tasks_and_an_administrators_key_and_a_reader_all() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let admin = muster.client();
    let (ann, bob) = (key(&admin, &["agents"], &[]).await, key(&admin, &["agents"], &[]).await);
    let all = key(&admin, &["agents", "admin"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    tasks.put("task_b", &bob.id, Status::Queued);
    let (mut of_ann, state) = monitor(&muster, &ann.text).await;
    assert_eq!(tasks_of(&state), ["task_a"]);
    let (mut of_bob, state) = monitor(&muster, &bob.text).await;
    assert_eq!(tasks_of(&state), ["task_b"]);
    let (mut of_all, state) = monitor(&muster, &all.text).await;
    assert_eq!(tasks_of(&state), ["task_a", "task_b"]);
    muster.person("otto", "operator").await;
    let (_, state) = monitor(&muster, &token(&muster, "otto@example.org").await).await;
    assert_eq!(tasks_of(&state), ["task_a", "task_b"]);

    tasks.put("task_a", &ann.id, Status::Paused);
    tasks.put("task_b", &bob.id, Status::Running);
    tasks.put("task_a", &ann.id, Status::Killed);
    for (socket, received) in [(&mut of_ann, vec!["task_a", "task_a"]), (&mut of_bob, vec!["task_b"])] {
        for id in received {
            assert_eq!(event(socket, "task.state").await["data"]["task_id"], id);
        }
    }
    for id in ["task_a", "task_b", "task_a"] {
        assert_eq!(event(&mut of_all, "task.state").await["data"]["task_id"], id);
    }
    // Another owner's task does not exist for the caller.
    for channel in ["tasks:task_b", "tasks:task_b:logs", "tasks:task_none"] {
        let refused = of_ann.request(json!({ "subscribe": { "ch": channel } })).await;
        assert_eq!(refused["error"]["code"], 2404, "{refused}");
    }
    let own = of_ann.request(json!({ "history": { "ch": "agents" } })).await;
    let received: Vec<_> =
        own["ok"]["publications"].as_array().unwrap().iter().map(|it| it["data"]["task_id"].clone()).collect();
    assert_eq!(received, [json!("task_a"), json!("task_a"), json!("task_a")], "{own}");
    let denied = of_ann.request(json!({ "presence": { "ch": "agents" } })).await;
    assert_eq!(denied["error"]["code"], 2403, "{denied}");
    // The disaster network's channels are not open to keys.
    let denied = of_all.request(json!({ "subscribe": { "ch": "incidents" } })).await;
    assert_eq!(denied["error"]["code"], 2403, "{denied}");
}

#[tokio::test]
async fn who_may_not_watch_agents_is_refused_before_anything_is_upgraded() {
    let muster = Muster::start("");
    let chat = key(&muster.client(), &["chat"], &[]).await;
    muster.person("vera", "viewer").await;
    let viewer = token(&muster, "vera@example.org").await;
    let wrong = format!("mst_abcdefghijkl_{}", "A".repeat(43));
    for (sent, status) in [(&chat.text, 403), (&viewer, 403), (&wrong, 401)] {
        let refused =
            Socket::handshake(&muster, PATH, &[("authorization", &format!("Bearer {sent}"))]).await.err().unwrap();
        assert_eq!(refused.status, status, "{}", refused.body);
    }
    let origin = format!("http://{}", muster.address);
    for (sent, code) in [(&chat.text, 4003), (&viewer, 4003), (&wrong, 4001)] {
        let mut page = Socket::handshake(&muster, PATH, &[("origin", &origin)]).await.unwrap();
        page.send(&json!({ "id": 1, "connect": { "token": sent } })).await;
        assert_eq!(page.closed().await, code);
    }
}

#[tokio::test]
async fn a_revoked_key_is_closed_at_once_and_another_stays() {
    let muster = Muster::start("");
    let _tasks = Tasks::attach(&muster);
    let admin = muster.client();
    let (ended, stays) = (key(&admin, &["agents"], &[]).await, key(&admin, &["agents"], &[]).await);
    let (mut gone, _) = monitor(&muster, &ended.text).await;
    let (mut alive, _) = monitor(&muster, &stays.text).await;
    let revoked = admin.delete(&format!("/api/v1/keys/{}", ended.id)).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert_eq!(gone.closed().await, 4011);
    assert!(alive.request(json!({ "history": { "ch": "agents" } })).await["ok"].is_object());
    let rotated = admin.post(&format!("/api/v1/keys/{}/rotate", stays.id), &json!({ "grace_seconds": 0 })).await;
    assert!(rotated.status < 300, "{}", rotated.text);
    assert_eq!(alive.closed().await, 4011, "its secret is no longer valid");
}

#[tokio::test]
async fn a_page_sends_its_key_in_the_first_frame_and_gets_the_state_in_the_reply() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let ann = key(&muster.client(), &["agents"], &[]).await;
    tasks.put("task_a", &ann.id, Status::Running);
    let origin = format!("http://{}", muster.address);
    let mut page = Socket::handshake(&muster, PATH, &[("origin", &origin)]).await.unwrap();
    let hello = page.request(json!({ "connect": { "token": ann.text } })).await;
    assert_eq!(
        (&hello["ok"]["user"], tasks_of(&hello["ok"]["subs"]["agents"])),
        (&json!(ann.id), vec!["task_a".into()])
    );
}

#[tokio::test]
async fn history_and_events_over_http_are_the_keys_too() {
    let muster = Muster::start("");
    let tasks = Tasks::attach(&muster);
    let admin = muster.client();
    let (ann, chat) = (key(&admin, &["agents"], &[]).await, key(&admin, &["chat"], &[]).await);
    tasks.put("task_a", &ann.id, Status::Running);
    tasks.put("task_b", "key_other", Status::Running);
    let client = muster.client().without_key().with(ann.text);
    let path = |channel: &str| format!("/api/v1/realtime/channels/{channel}/history");
    let page = client.get(&path("agents")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.json()["data"]["publications"].as_array().unwrap().len(), 1, "{}", page.text);
    assert_eq!(client.get(&path("tasks:task_a")).await.status, 200);
    assert_eq!(client.get(&path("tasks:task_b")).await.status, 404);
    assert_eq!(client.get(&path("incidents")).await.status, 403);
    let other = muster.client().without_key().with(chat.text);
    assert_eq!(other.get(&path("agents")).await.status, 403);
    let request = client.request(reqwest::Method::GET, "/api/v1/realtime/sse?ch=agents");
    let mut stream = request.send().await.unwrap();
    assert_eq!(stream.status().as_u16(), 200);
    let mut text = String::new();
    while !text.contains("\n\n") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("task_a") && !text.contains("task_b"), "{text}");
}

#[tokio::test]
async fn an_agent_sees_the_tasks_of_the_key_for_which_it_works_and_no_others() {
    let muster = world::server();
    let (own, other) = (world::key(&muster, &["agents"], &[]).await, world::key(&muster, &["agents"], &[]).await);
    let unseen = world::begin(&other, &world::endless()).await;
    world::runs(&muster, &other, &unseen).await;
    let began = own.post("/api/v1/agents/platform-operator/run", &json!({ "task": "What runs?" })).await;
    let id = began.json()["task_id"].as_str().unwrap().to_owned();
    let done = world::reaches(&own, &id, &["succeeded"]).await;
    let live = &done["result"]["outputs"]["live"];
    assert_eq!((&live["totals"]["tasks"], &live["agents"][0]["task_id"]), (&json!(1.0), &json!(id)), "{done}");
}
