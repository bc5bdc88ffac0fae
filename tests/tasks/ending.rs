//! What is left of tasks when their server ends.

use tempfile::TempDir;

use super::world::{begin, endless, quick, reaches, verb};
use crate::support::KEY;
use crate::support::client::Client;
use crate::support::process::{Launch, Process};
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
async fn a_server_that_ends_in_order_leaves_its_tasks_to_go_on() {
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
