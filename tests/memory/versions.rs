//! Versions of a key: incremented by each replacement, used in conditions, listed in the history.

use reqwest::Method;
use serde_json::{Value, json};

use super::world::{STORE, encoded, get, key, put, server, store};
use crate::support::client::{Answer, Client, answer};

async fn send(client: &Client, body: &Value, header: (&str, &str)) -> Answer {
    answer(client.post_request(STORE, body).header(header.0, header.1)).await
}

async fn history(client: &Client, name: &str) -> Vec<Value> {
    let response = client.get(&format!("/api/memory/history?key={}", encoded(name))).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.json()["versions"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_known_key_is_replaced_with_the_next_version() {
    let muster = server();
    let client = key(&muster).await;
    let first = client.post(STORE, &json!({ "key": "k", "value": "one", "tags": ["a"] })).await;
    let second = client.post(STORE, &json!({ "key": "k", "value": "two" })).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!((first.header("etag"), second.header("etag")), (Some("\"1\""), Some("\"2\"")));
    let (first, second) = (first.json(), second.json());
    assert_eq!((&second["version"], &second["id"]), (&json!(2), &first["id"]), "the id stays over versions");
    assert_eq!(second["created_at"], first["created_at"]);
    assert!(second["stored_at"].as_str() >= first["stored_at"].as_str());
    let read = get(&client, "k").await.json();
    assert_eq!((&read["value"], &read["tags"]), (&json!("two"), &json!([])), "nothing of the old one stays");
}

#[tokio::test]
async fn a_condition_that_fails_changes_nothing() {
    let muster = server();
    let client = key(&muster).await;
    let body = |value: &str| json!({ "key": "k", "value": value });
    let none = send(&client, &body("x"), ("if-match", "\"1\"")).await;
    assert_eq!((none.status, none.json()["error_code"].as_str()), (412, Some("PRECONDITION_FAILED")));
    assert_eq!(get(&client, "k").await.status, 404);
    assert_eq!(send(&client, &body("one"), ("if-none-match", "*")).await.status, 201);
    assert_eq!(send(&client, &body("x"), ("if-none-match", "*")).await.status, 412);
    assert_eq!(send(&client, &body("two"), ("if-match", "\"1\"")).await.status, 200);
    assert_eq!(send(&client, &body("x"), ("if-match", "\"1\"")).await.status, 412);
    assert_eq!(send(&client, &body("three"), ("if-match", "*")).await.status, 200);
    let wrong = send(&client, &body("x"), ("if-match", "three")).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text);
    let read = get(&client, "k").await.json();
    assert_eq!((&read["value"], &read["version"]), (&json!("three"), &json!(3)));
    let delete =
        |version: &'static str| answer(client.request(Method::DELETE, "/api/memory/k").header("if-match", version));
    assert_eq!(delete("\"2\"").await.status, 412);
    assert_eq!(get(&client, "k").await.status, 200);
    assert_eq!(delete("\"3\"").await.status, 204);
    assert_eq!(get(&client, "k").await.status, 404);
    let again = put(&client, "k", "anew").await;
    assert_eq!(again["version"], 1, "a deleted key begins anew");
}

#[tokio::test]
async fn of_many_writers_with_the_same_condition_one_wins() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "0").await;
    for version in 1..=5 {
        let tag = format!("\"{version}\"");
        let bodies: Vec<Value> = (0..8).map(|nth| json!({ "key": "k", "value": format!("{version} {nth}") })).collect();
        let sent = bodies.iter().map(|body| send(&client, body, ("if-match", &tag)));
        let mut response: Vec<u16> = futures::future::join_all(sent).await.iter().map(|got| got.status).collect();
        response.sort_unstable();
        assert_eq!(response, [200, 412, 412, 412, 412, 412, 412, 412]);
    }
    assert_eq!(get(&client, "k").await.json()["version"], 6);
}

#[tokio::test]
async fn replaced_versions_are_read_newest_first_and_go_with_the_entry() {
    let muster = server();
    let client = key(&muster).await;
    for value in ["one", "two", "three"] {
        put(&client, "a/k", value).await;
    }
    let response = history(&client, "a/k").await;
    let pairs: Vec<(u64, &str)> =
        response.iter().map(|it| (it["version"].as_u64().unwrap(), it["value"].as_str().unwrap())).collect();
    assert_eq!(pairs, [(3, "three"), (2, "two"), (1, "one")], "the present one is among them");
    assert_eq!(client.get("/api/memory/history?key=none").await.status, 404);
    assert_eq!(super::world::places(&client.get("/api/memory/history").await), ["query.key"]);
    client.delete(&format!("/api/memory/{}", encoded("a/k"))).await;
    assert_eq!(client.get(&format!("/api/memory/history?key={}", encoded("a/k"))).await.status, 404);
    put(&client, "a/k", "anew").await;
    let response = history(&client, "a/k").await;
    assert_eq!(
        (response.len(), &response[0]["value"]),
        (1, &json!("anew")),
        "what was deleted does not come back as history"
    );
}

#[tokio::test]
async fn only_so_many_replaced_versions_are_kept() {
    let muster = server();
    let client = key(&muster).await;
    for value in 1..=40 {
        put(&client, "k", &value.to_string()).await;
    }
    let versions: Vec<u64> = history(&client, "k").await.iter().map(|it| it["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, (8..=40).rev().collect::<Vec<u64>>(), "the present one and 32 before it");
}

#[tokio::test]
async fn the_same_idempotency_key_is_stored_once() {
    let muster = server();
    let client = key(&muster).await;
    let body = json!({ "key": "k", "value": "once" });
    let first = send(&client, &body, ("idempotency-key", "one")).await;
    let again = send(&client, &body, ("idempotency-key", "one")).await;
    assert_eq!((first.status, again.status), (201, 201), "{} {}", first.text, again.text);
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), (None, Some("true")));
    for field in ["id", "key", "version", "stored_at"] {
        assert_eq!(again.json()[field], first.json()[field], "{field}");
    }
    assert_eq!(get(&client, "k").await.json()["version"], 1);
    let other = send(&client, &json!({ "key": "k", "value": "other" }), ("idempotency-key", "one")).await;
    assert_eq!((other.status, other.json()["error_code"].as_str()), (409, Some("IDEMPOTENCY_CONFLICT")));
    let stranger = key(&muster).await;
    let own = send(&stranger, &body, ("idempotency-key", "one")).await;
    assert_eq!((own.status, own.header("idempotency-replayed")), (201, None), "keys are each principal's own");
    assert_eq!(send(&client, &body, ("idempotency-key", "two words")).await.status, 422);
}

#[tokio::test]
async fn a_shorter_ttl_counts_from_the_replacement() {
    let muster = server();
    let client = key(&muster).await;
    store(&client, &json!({ "key": "k", "value": "v", "ttl_seconds": 60 })).await;
    let forever = store(&client, &json!({ "key": "k", "value": "w" })).await;
    assert!(forever["expires_at"].is_null(), "{forever}");
    let again = store(&client, &json!({ "key": "k", "value": "x", "ttl_seconds": 60 })).await;
    assert!(again["expires_at"].is_string(), "{again}");
}
