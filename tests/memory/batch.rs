//! Batches of entries: each entry is atomic and has its own result.

use serde_json::{Value, json};

use super::world::{found, get, key, places, put, server};
use crate::support::client::answer;

const BATCH: &str = "/api/memory/batch";

#[tokio::test]
async fn each_entry_of_a_batch_has_its_own_answer() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "known", "before").await;
    let entries = json!({ "entries": [
        { "key": "new", "value": "a heron", "tags": ["bird"] },
        { "key": "known", "value": "a kingfisher" },
        { "key": "new", "value": "a heron again" },
        { "key": "short", "value": "a wren", "ttl_seconds": 60, "namespace": "birds" },
    ] });
    let response = client.post(BATCH, &entries).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let response = response.json();
    let results = response["results"].as_array().unwrap();
    let statuses: Vec<u64> = results.iter().map(|it| it["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [201, 200, 200, 201], "{response}");
    let versions: Vec<u64> = results.iter().map(|it| it["entry"]["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [1, 2, 2, 1], "in their order");
    assert_eq!(get(&client, "new").await.json()["value"], "a heron again");
    assert_eq!(found(&client, "kingfisher").await, ["known"]);
    assert_eq!(found(&client, "wren").await, ["short"]);
}

#[tokio::test]
async fn a_batch_with_an_invalid_entry_reports_its_location_and_stores_nothing() {
    let muster = server();
    let client = key(&muster).await;
    let bad = json!({ "entries": [
        { "key": "good", "value": "v" },
        { "key": "", "value": "v" },
        { "value": 7, "ttl_seconds": 0 },
        "none",
    ] });
    let refused = client.post(BATCH, &bad).await;
    let wrong = [
        "body.entries.1.key",
        "body.entries.2.key",
        "body.entries.2.ttl_seconds",
        "body.entries.2.value",
        "body.entries.3",
    ];
    assert_eq!(places(&refused), wrong);
    assert_eq!(get(&client, "good").await.status, 404);
    assert_eq!(places(&client.post(BATCH, &json!({})).await), ["body.entries"]);
    assert_eq!(places(&client.post(BATCH, &json!({ "entries": [] })).await), ["body.entries"]);
    let many: Vec<Value> = (0..101).map(|nth| json!({ "key": nth.to_string(), "value": "v" })).collect();
    assert_eq!(places(&client.post(BATCH, &json!({ "entries": many })).await), ["body.entries"]);
    let fits: Vec<Value> = many.into_iter().take(100).collect();
    let response = client.post(BATCH, &json!({ "entries": fits })).await;
    assert_eq!((response.status, response.json()["results"].as_array().unwrap().len()), (200, 100));
}

#[tokio::test]
async fn a_batch_with_an_idempotency_key_is_stored_once() {
    let muster = server();
    let client = key(&muster).await;
    let body = json!({ "entries": [{ "key": "a", "value": "1" }, { "key": "b", "value": "2" }] });
    let send = |body: &Value| answer(client.post_request(BATCH, body).header("idempotency-key", "batch-1"));
    let (first, again) = (send(&body).await, send(&body).await);
    assert_eq!((first.status, again.status), (200, 200), "{}", again.text);
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), (None, Some("true")));
    let ids = |response: &Value| {
        response["results"].as_array().unwrap().iter().map(|it| it["entry"]["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first.json()), ids(&again.json()));
    assert_eq!(get(&client, "a").await.json()["version"], 1);
    assert_eq!(send(&json!({ "entries": [{ "key": "a", "value": "other" }] })).await.status, 409);
}
