//! Tasks after the end of their server.

use tempfile::TempDir;

use super::world::{begin, endless, key, quick, reaches, verb, with_model};
use crate::support::KEY;
use crate::support::client::Client;
use crate::support::process::{Launch, Process};
use crate::support::socket::{wait_until, with_timeout};
use crate::support::upstream::{Upstream, UpstreamAction};
use serde_json::json;

fn start(folder: &TempDir) -> (Process, Client) {
    let server = Launch::new(folder.path())
        .with("MUSTER__SERVER__SHUTDOWN_GRACE_SECONDS", "1")
        .with("MUSTER__ENGINES__TIME_SECONDS", "60")
        .start();
    let client = Client::new(server.url.clone()).with(KEY);
    (server, client)
}

#[tokio::test]
async fn what_was_accepted_is_done_though_the_server_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, client) = start(&folder);
    let busy = begin(&client, &endless()).await;
    reaches(&client, &busy, &["running"]).await;
    let mut accepted = Vec::new();
    for _ in 0..20 {
        accepted.push(begin(&client, &quick()).await);
    }
    server.signal("KILL");
    server.child.wait().unwrap();

    let (_server, client) = start(&folder);
    for id in &accepted {
        let task = reaches(&client, id, &["succeeded"]).await;
        for step in task["steps"].as_array().unwrap() {
            assert!(step["attempts"].as_u64().unwrap() <= 2, "one duplicate of a step in flight at most: {task}");
        }
    }
    let task = reaches(&client, &busy, &["running", "queued"]).await;
    assert_eq!(task["recovered"], true, "{task}");
    assert_eq!(verb(&client, &busy, "kill", &json!({})).await.status, 202);
    reaches(&client, &busy, &["killed"]).await;
}

#[tokio::test]
async fn a_graceful_shutdown_leaves_tasks_resumable() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, client) = start(&folder);
    let busy = begin(&client, &endless()).await;
    reaches(&client, &busy, &["running"]).await;
    server.signal("TERM");
    assert!(server.child.wait().unwrap().success());

    let (_server, client) = start(&folder);
    let task = reaches(&client, &busy, &["running", "queued"]).await;
    assert_eq!(task["recovered"], false, "an end in order is no crash: {task}");
    assert_eq!(verb(&client, &busy, "kill", &json!({})).await.status, 202);
}

#[tokio::test]
async fn tasks_come_to_their_end_while_requests_are_still_served() {
    let upstream = Upstream::start(UpstreamAction::HangAfter(1));
    let muster = with_model(&upstream);
    let client = key(&muster, &["agents"], &[]).await;
    let id = begin(&client, &quick()).await;
    wait_until("its model talks", || upstream.requests() == 1).await;
    muster.app.drain();
    with_timeout(upstream.client_disconnected()).await;
    let task = client.get(&format!("/api/v1/tasks/{id}")).await.json();
    assert_eq!((&task["steps"][0]["status"], &task["recovered"]), (&json!("aborted"), &json!(false)), "{task}");
    assert!(task["finished_at"].is_null(), "it continues on the next server: {task}");
    let refused = client.post(super::world::RUN, &quick()).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
}
