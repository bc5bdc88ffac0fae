//! The lifecycle of an entry: stored, read, found, deleted.

use muster_core::Millis;
use reqwest::Method;
use serde_json::json;

use super::world::{STORE, encoded, found, get, key, keys, put, scoped, search, search_response, server, store};
use crate::support::client::answer;

#[tokio::test]
async fn the_two_calls_of_the_platform_s_document_work() {
    let muster = server();
    let client = key(&muster).await;
    let body = json!({ "key": "oncall", "value": "Ada has the pager this week", "tags": ["ops"], "ttl_seconds": 3600 });
    let stored = client.post(STORE, &body).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    let stored = stored.json();
    assert!(stored["id"].as_str().unwrap().starts_with("mem_"));
    assert_eq!(stored["key"], "oncall");
    let at = |field: &str| Millis::parse_rfc3339(stored[field].as_str().unwrap()).unwrap().0;
    assert_eq!(at("expires_at") - at("stored_at"), 3_600_000);

    let found = search(&client, &[("q", "who has the pager")]).await;
    assert_eq!((&found["query"], found["total"].as_u64()), (&json!("who has the pager"), Some(1)), "{found}");
    assert_eq!(found["mode"], "text", "there is no model here");
    assert!(found["took_ms"].is_u64(), "whole milliseconds");
    assert!(!found["warnings"].as_array().unwrap().is_empty(), "with a warning: {found}");
    let hit = &found["results"][0];
    for field in ["id", "key", "value", "tags", "stored_at", "expires_at"] {
        let response = if field == "value" || field == "tags" { &body[field] } else { &stored[field] };
        assert_eq!(&hit[field], response, "{field}");
    }
    assert_eq!((&hit["rank"], &hit["namespace"], &hit["version"]), (&json!(1), &json!("default"), &json!(1)));
    let score = hit["score"].as_f64().unwrap();
    assert!(score > 0.0 && score <= 1.0, "{hit}");
    assert!(hit["scores"]["text"].as_f64().unwrap() > 0.0 && hit["scores"]["semantic"].is_null(), "{hit}");
    assert!(hit["highlights"].to_string().contains("pager"), "{hit}");
}

#[tokio::test]
async fn an_entry_is_returned_in_full_and_without_a_ttl_it_does_not_expire() {
    let muster = server();
    let client = key(&muster).await;
    let stored = store(&client, &json!({ "key": "k", "value": "v", "ttl_seconds": null })).await;
    let read = get(&client, "k").await;
    assert_eq!((read.status, read.header("etag")), (200, Some("\"1\"")));
    let read = read.json();
    for field in ["id", "key", "stored_at", "created_at", "version", "namespace", "tags"] {
        assert_eq!(read[field], stored[field], "{field}");
    }
    assert_eq!((&read["value"], &read["tags"], &read["namespace"]), (&json!("v"), &json!([]), &json!("default")));
    assert!(read.as_object().unwrap().get("expires_at").is_none_or(|at| at.is_null()), "{read}");
    let by_id = client.get(&format!("/api/memory/{}", stored["id"].as_str().unwrap())).await;
    assert_eq!((by_id.status, by_id.json()), (200, read));
    assert_eq!(stored["index_state"], "text", "found by text at once, and by vector never, as there is no model");
}

#[tokio::test]
async fn a_stored_entry_is_found_by_the_next_search_and_a_deleted_one_is_not() {
    let muster = server();
    let client = key(&muster).await;
    for round in 0..20 {
        let (name, word) = (format!("k{round}"), format!("zebra{round}"));
        put(&client, &name, &format!("the {word} crossed")).await;
        assert_eq!(found(&client, &word).await, [name.as_str()]);
        put(&client, &name, "something else altogether").await;
        assert!(found(&client, &word).await.is_empty(), "a replaced value is not found any more");
        assert_eq!(client.delete(&format!("/api/memory/{name}")).await.status, 204);
        assert!(!found(&client, "something else altogether").await.contains(&name));
        assert_eq!(get(&client, &name).await.status, 404);
        assert_eq!(client.delete(&format!("/api/memory/{name}")).await.status, 404);
    }
}

#[tokio::test]
async fn a_key_is_any_text_and_is_reached_by_its_encoded_path() {
    let muster = server();
    let client = key(&muster).await;
    let names =
        ["a/b/c", "100%", "%2F", "?q=1&x=#", "Schlüssel", "ключ", "钥匙 🔑", "a b", "..%2f..", "+", "é", "e\u{301}"];
    for (nth, name) in names.into_iter().enumerate() {
        put(&client, name, &format!("value {nth}")).await;
    }
    for (nth, name) in names.into_iter().enumerate() {
        let read = get(&client, name).await;
        assert_eq!(read.status, 200, "{name}: {}", read.text);
        assert_eq!((&read.json()["key"], &read.json()["value"]), (&json!(name), &json!(format!("value {nth}"))));
        let listed = client.get(&format!("/api/memory?key={}", encoded(name))).await.json();
        assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "{name}");
        assert_eq!(client.delete(&format!("/api/memory/{}", encoded(name))).await.status, 204, "{name}");
        assert_eq!(get(&client, name).await.status, 404);
    }
    // Keys that are paths of routes are reached by id, or as `key` of the list.
    for name in ["search", "stats", "history", "store", "batch", ".", ".."] {
        let stored = put(&client, name, "hidden by a route").await;
        let listed = client.get(&format!("/api/memory?key={}", encoded(name))).await.json();
        assert_eq!(listed["entries"][0]["id"], stored["id"], "{name}");
        let by_id = format!("/api/memory/{}", stored["id"].as_str().unwrap());
        assert_eq!(client.get(&by_id).await.json()["key"], name);
        assert_eq!(client.delete(&format!("/api/memory?key={}", encoded(name))).await.status, 204);
        assert_eq!(client.get(&by_id).await.status, 404, "{name}");
    }
}

#[tokio::test]
async fn tags_namespace_thread_key_and_importance_are_kept_and_filtered_by() {
    let muster = server();
    let client = key(&muster).await;
    let full = json!({ "key": "site/7/door", "value": "the door sticks", "tags": ["door", "site 7"],
        "namespace": "ops", "thread": "incident-9", "importance": 0.9, "language": "en" });
    let stored = store(&client, &full).await;
    let read = client.get(&format!("/api/memory/{}?namespace=ops", encoded("site/7/door"))).await.json();
    for field in ["key", "value", "tags", "namespace", "thread", "language"] {
        assert_eq!(read[field], full[field], "{field}");
    }
    assert!((read["importance"].as_f64().unwrap() - 0.9).abs() < 1e-6);
    assert_eq!(get(&client, "site/7/door").await.status, 404, "it is not in the default namespace");
    put(&client, "site/8/door", "the door is open").await;

    let hits = async |pairs: &[(&str, &str)]| {
        let pairs = [&[("q", "door")], pairs].concat();
        let found = search(&client, &pairs).await;
        keys(&found).into_iter().map(|key| key.chars().nth(5).unwrap()).collect::<String>()
    };
    assert_eq!(hits(&[("namespace", "ops")]).await, "7");
    assert_eq!(hits(&[("namespace", "default")]).await, "8");
    assert_eq!(hits(&[]).await.len(), 2, "without one, all of the owner's");
    assert_eq!(hits(&[("tags", "door,site 7")]).await, "7");
    assert_eq!(hits(&[("tags", "door"), ("tags", "site 7")]).await, "7");
    assert_eq!(hits(&[("tags", "door,site 8")]).await, "");
    assert_eq!(hits(&[("tags_any", "site 8,site 7")]).await, "7");
    assert_eq!(hits(&[("key_prefix", "site/8")]).await, "8");
    assert_eq!(hits(&[("thread", "incident-9")]).await, "7");
    assert_eq!(hits(&[("thread", "incident-8")]).await, "");
    assert_eq!(stored["version"], 1);
}

#[tokio::test]
async fn it_needs_the_scope_and_a_role_that_has_it() {
    let muster = server();
    let chat = scoped(&muster, &["chat"]).await;
    for path in
        ["/api/memory/search?q=x", "/api/memory", "/api/memory/k", "/api/memory/stats", "/api/memory/history?key=k"]
    {
        let refused = chat.get(path).await;
        assert_eq!(refused.status, 403, "{path}");
        assert!(refused.text.contains("memory"), "{}", refused.text);
        assert_eq!(chat.without_key().get(path).await.status, 401, "{path}");
    }
    assert_eq!(chat.post(STORE, &json!({ "key": "k", "value": "v" })).await.status, 403);
    assert_eq!(chat.delete("/api/memory/k").await.status, 403);
    assert_eq!(muster.person("vera", "viewer").await.get("/api/memory").await.status, 403);
    let person = muster.person("rita", "responder").await;
    put(&person, "k", "a person remembers too").await;
    assert_eq!(found(&person, "person remembers").await, ["k"]);
}

#[tokio::test]
async fn methods_head_requests_and_unknown_paths_behave_as_on_other_routes() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "v").await;
    let head = answer(client.request(Method::HEAD, "/api/memory/k")).await;
    assert_eq!((head.status, head.text.as_str(), head.header("etag")), (200, "", Some("\"1\"")));
    let wrong = answer(client.request(Method::PUT, "/api/memory/store")).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, Some("POST")));
    let gone = client.get("/api/memory/k/and/more").await;
    assert_eq!((gone.status, gone.json()["error_code"].as_str()), (404, Some("NOT_FOUND")));
    for limited in [&client.get("/api/memory/stats").await, &search_response(&client, &[("q", "v")]).await] {
        assert_eq!(limited.status, 200, "{}", limited.text);
    }
}

#[tokio::test]
async fn memory_has_a_limit_of_its_own() {
    let settings = super::world::settings().replace("memory = \"unlimited\"", "memory = 3");
    let muster = crate::support::server::Muster::start(&settings);
    let client = key(&muster).await;
    let stored = client.post(STORE, &json!({ "key": "k", "value": "v" })).await;
    assert_eq!((stored.status, stored.number("x-ratelimit-limit")), (201, Some(3)));
    assert_eq!(stored.number("x-ratelimit-remaining"), Some(2));
    assert_eq!(client.get("/api/memory").await.status, 200);
    assert_eq!(search_response(&client, &[("q", "v")]).await.status, 200);
    let refused = search_response(&client, &[("q", "v")]).await;
    assert_eq!((refused.status, refused.json()["error_code"].as_str()), (429, Some("RATE_LIMIT_EXCEEDED")));
    assert!(refused.number("retry-after").is_some());
}
