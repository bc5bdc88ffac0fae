//! An entry past its TTL is never returned, from that second on.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_core::Millis;
use serde_json::{Value, json};

use super::world::{get, key, keys, put, search, server, store, wait_until};
use crate::support::client::Client;

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn end(entry: &Value) -> u64 {
    Millis::parse_rfc3339(entry["expires_at"].as_str().unwrap()).unwrap().0
}

/// Every route that returns an entry, and whether it returns this one.
async fn sights(client: &Client, id: &str) -> Vec<(&'static str, bool)> {
    let found = search(client, &[("q", "ephemeral heron")]).await;
    let listed = client.get("/api/memory").await.json();
    let history = client.get("/api/memory/history?key=gone").await;
    vec![
        ("search", keys(&found).contains(&"gone")),
        ("get", get(client, "gone").await.status == 200),
        ("id", client.get(&format!("/api/memory/{id}")).await.status == 200),
        ("list", listed["entries"].to_string().contains("\"gone\"")),
        ("history", history.status == 200),
    ]
}

#[tokio::test]
async fn an_entry_is_there_until_its_second_and_not_a_moment_longer() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "stays", "an ephemeral heron too").await;
    store(&client, &json!({ "key": "gone", "value": "an older ephemeral heron" })).await;
    let stored = store(&client, &json!({ "key": "gone", "value": "an ephemeral heron", "ttl_seconds": 2 })).await;
    let (end, id) = (end(&stored), stored["id"].as_str().unwrap().to_owned());
    let (mut before, mut after) = (0, 0);
    let mut interval = tokio::time::interval(Duration::from_millis(5));
    while after < 20 {
        interval.tick().await;
        let began = now();
        let seen = sights(&client, &id).await;
        let done = now();
        if done < end {
            assert!(seen.iter().all(|(_, seen)| *seen), "it expires in {} ms: {seen:?}", end - done);
            before += 1;
        }
        if began >= end {
            assert!(seen.iter().all(|(_, seen)| !*seen), "it is over for {} ms: {seen:?}", began - end);
            after += 1;
        }
    }
    assert!(before > 0, "it was looked at while it lived");
    assert_eq!(keys(&search(&client, &[("q", "ephemeral heron")]).await), ["stays"]);
}

#[tokio::test]
async fn a_key_whose_entry_is_over_begins_anew() {
    let muster = server();
    let client = key(&muster).await;
    let old = store(&client, &json!({ "key": "k", "value": "old", "ttl_seconds": 1 })).await;
    wait_until("it is over", async || get(&client, "k").await.status == 404).await;
    assert!(now() >= end(&old), "not before its time");
    let new = client.post(super::world::STORE, &json!({ "key": "k", "value": "new" })).await;
    assert_eq!((new.status, &new.json()["version"]), (201, &json!(1)), "{}", new.text);
    let response = client.get("/api/memory/history?key=k").await.json();
    assert_eq!(response["versions"].as_array().unwrap().len(), 1, "what is over is no history: {response}");
}

#[tokio::test]
async fn expired_entries_are_swept() {
    let muster = server();
    let client = key(&muster).await;
    for nth in 0..50 {
        let body = json!({ "key": format!("k{nth}"), "value": "short lived", "ttl_seconds": 1 });
        store(&client, &body).await;
    }
    put(&client, "stays", "long lived").await;
    wait_until("only live entries are counted", async || client.get("/api/memory/stats").await.json()["entries"] == 1)
        .await;
    assert_eq!(keys(&search(&client, &[("q", "lived")]).await), ["stays"]);
}
