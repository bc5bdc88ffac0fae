//! Event streams of tasks: their limits, and their end when the reader's credential ends.

use serde_json::json;

use super::world::{begin, endless, key, runs, server, server_with};
use crate::support::client::{Client, Events};
use crate::support::server::Muster;

fn path(id: &str) -> String {
    format!("/api/v1/tasks/{id}/events")
}

/// A stream that has reached its task's first step.
async fn follow(client: &Client, id: &str) -> Events {
    let mut events = client.follow(&path(id)).await;
    assert_eq!(events.status, 200);
    events.wait_for("task_id").await;
    events
}

/// The last event, and whether the stream ended as HTTP requires.
async fn end(mut events: Events) -> (Option<String>, String, bool) {
    let last = events.rest().await.pop().unwrap();
    (last.name, last.data, events.whole)
}

fn revoked() -> (Option<String>, String, bool) {
    (Some("close".to_owned()), json!({ "code": 4011, "reason": "session_revoked" }).to_string(), true)
}

async fn busy(muster: &Muster, client: &Client) -> String {
    let id = begin(client, &endless()).await;
    runs(muster, client, &id).await;
    id
}

#[tokio::test]
async fn a_key_has_so_many_streams_and_a_closed_one_makes_room() {
    let muster = server_with("[agents]\nstreams_per_key = 2\n");
    let (client, other) = (key(&muster, &["agents"], &[]).await, key(&muster, &["agents"], &["auditor"]).await);
    let id = busy(&muster, &client).await;
    let (first, second) = (follow(&client, &id).await, follow(&client, &id).await);
    let refused = client.follow(&path(&id)).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.headers["retry-after"], "10");
    follow(&other, &id).await;
    assert_eq!(client.get(&path(&id)).await.status, 200, "a page is no stream");
    drop(first);
    let begun = std::time::Instant::now();
    while client.follow(&path(&id)).await.status == 429 {
        assert!(begun.elapsed().as_secs() < 30, "no room is made");
    }
    drop(second);
}

#[tokio::test]
async fn a_revoked_keys_streams_end_at_once_and_others_go_on() {
    let muster = server();
    let admin = muster.client();
    let made = admin.post("/api/v1/keys", &json!({ "name": "k", "scopes": ["agents"] })).await.json();
    let client = admin.with(made["key"].as_str().unwrap());
    let id = busy(&muster, &client).await;
    let (mine, mut other) = (follow(&client, &id).await, follow(&admin, &id).await);
    let gone = admin.delete(&format!("/api/v1/keys/{}", made["id"].as_str().unwrap())).await;
    assert_eq!(gone.status, 200, "{}", gone.text);
    assert_eq!(end(mine).await, revoked());
    assert_eq!(admin.post(&format!("/api/v1/tasks/{id}/kill"), &json!({})).await.status, 202);
    other.wait_for("killed").await;
}

#[tokio::test]
async fn a_logout_ends_a_persons_streams() {
    let muster = server();
    let person = muster.admin().await;
    let id = busy(&muster, &person).await;
    let events = follow(&person, &id).await;
    assert_eq!(person.post("/api/v1/auth/logout-all", &json!({})).await.status, 200);
    assert_eq!(end(events).await, revoked());
}
