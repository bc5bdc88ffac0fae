//! Hostile input: a clear error or an answer, never a stall or a server error.

use std::io::{Read, Write};
use std::net::TcpStream;

use reqwest::Method;
use serde_json::{Value, json};

use super::world::{
    SEARCH, STORE, encoded, found, get, key, keys, places, put, query, search, search_response, server,
};
use crate::support::KEY;
use crate::support::client::{TEST_TIMEOUT, answer};
use crate::support::server::Muster;

#[tokio::test]
async fn keys_values_and_tags_are_bounded_and_all_failures_are_reported() {
    let muster = server();
    let client = key(&muster).await;
    let long = "k".repeat(513);
    let tags: Vec<String> = (0..10_000).map(|nth| format!("tag{nth}")).collect();
    for (field, bad) in [
        ("key", json!("")),
        ("key", json!(long)),
        ("key", json!("a\u{0}b")),
        ("key", json!("line\nbreak")),
        ("key", json!("\u{1b}[31mred")),
        ("key", json!(7)),
        ("key", Value::Null),
        ("value", json!("v".repeat(262_145))),
        ("value", json!({ "not": "a string" })),
        ("tags", json!(tags)),
        ("tags", json!("one")),
        ("tags", json!([""])),
        ("tags", json!(["fine", "t".repeat(1_000)])),
        ("tags", json!(["bell\u{7}"])),
        ("tags", json!([7])),
        ("ttl_seconds", json!(0)),
        ("ttl_seconds", json!(-1)),
        ("ttl_seconds", json!(1.5)),
        ("ttl_seconds", json!("60")),
        ("ttl_seconds", json!(u64::MAX)),
        ("namespace", json!("")),
        ("namespace", json!("n".repeat(129))),
        ("namespace", json!("no spaces")),
        ("namespace", json!("null\u{0}")),
        ("thread", json!("t".repeat(10_000))),
        ("importance", json!(1.1)),
        ("importance", json!("high")),
    ] {
        let mut body = json!({ "key": "k", "value": "v" });
        body[field] = bad;
        let refused = client.post(STORE, &body).await;
        let response = places(&refused);
        assert!(response.iter().all(|place| place.starts_with(&format!("body.{field}"))), "{field}: {response:?}");
        assert!(refused.text.len() < 20_000, "a refusal does not send everything back");
    }
    let all = json!({ "key": "", "value": 7, "tags": "x", "ttl_seconds": 0, "namespace": "a b", "importance": 2 });
    let wrong = ["body.importance", "body.key", "body.namespace", "body.tags", "body.ttl_seconds", "body.value"];
    assert_eq!(places(&client.post(STORE, &all).await), wrong);
    assert_eq!(places(&client.post(STORE, &json!({})).await), ["body.key", "body.value"]);
    assert_eq!(client.get("/api/memory").await.json()["entries"], json!([]), "nothing of it was stored");
}

#[tokio::test]
async fn what_is_just_within_its_bounds_is_taken() {
    let muster = server();
    let client = key(&muster).await;
    let name = "ä".repeat(256);
    let value = format!("{}needle", "x ".repeat((262_144 - 6) / 2));
    let stored = client.post(STORE, &json!({ "key": name, "value": value, "thread": "t", "importance": 1 })).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    assert_eq!(get(&client, &name).await.json()["value"].as_str().unwrap().len(), 262_144);
    assert_eq!(found(&client, "needle").await, [name]);
    for value in ["", "\u{0}\u{1}\u{2}", "\u{feff}", "\u{202e}gnp.exe", "🏳️‍🌈"] {
        put(&client, "odd", value).await;
        assert_eq!(get(&client, "odd").await.json()["value"], value);
    }
}

#[tokio::test]
async fn malformed_bodies_are_rejected_as_on_other_routes() {
    let muster = server();
    let client = key(&muster).await;
    let send = |body: Vec<u8>| {
        answer(client.request(Method::POST, STORE).header("content-type", "application/json").body(body))
    };
    let surrogate = send(br#"{"key": "k", "value": "\ud800"}"#.to_vec()).await;
    assert_eq!((surrogate.status, surrogate.json()["error_code"].as_str()), (400, Some("INVALID_JSON")));
    assert_eq!(send(b"{\"key\": \"k\", \"value\": \"\xff\"}".to_vec()).await.status, 400);
    assert_eq!(send(b"{\"key\": \"k".to_vec()).await.status, 400);
    assert_eq!(places(&send(b"[]".to_vec()).await), ["body"]);
    // A key of one megabyte: the body exceeds its limit.
    let huge = json!({ "key": "k".repeat(1 << 20), "value": "v" }).to_string();
    assert_eq!(send(huge.into_bytes()).await.status, 413);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    // JSON, and deeper than any request is.
    assert_eq!(places(&send(deep.into_bytes()).await), ["body"]);
    let plain = answer(client.request(Method::POST, STORE).body("key=k&value=v")).await;
    assert_eq!(plain.status, 415);
}

#[tokio::test]
async fn a_query_is_text_and_nothing_else() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "the quick brown fox AND the lazy dog").await;
    put(&client, "other", "nothing of that kind").await;
    for q in [
        "fox AND dog",
        "fox NOT dog",
        "\"brown fox\"",
        "key:k",
        "fo*",
        "f?x",
        "/f.x/",
        "fox~2",
        "+fox -dog",
        "(fox",
        "fox)",
        "fox^100",
        "[a TO z]",
        "{fox}",
        "\\fox",
        "fox && dog || cat",
        "' OR 1=1 --",
        "\"; DROP TABLE memory; --",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "<script>fox</script>",
        "fox\u{0}dog",
        "fox\r\nX-Evil: 1",
        "../../etc/passwd fox",
        "(a+)+$ fox",
        "(.*a){30} fox",
        "^(([a-z])+.)+[A-Z]([a-z])+$ fox",
        "%s%s%n fox",
        "\u{202e}fox",
        "fox\u{ad}",
        "ﬁ fox",
        "FOX",
        "\u{fffd}\u{fffd} fox",
    ] {
        let response = search(&client, &[("q", q)]).await;
        assert_eq!(response["query"], q);
        assert!(keys(&response).len() <= 2, "{q}: {response}");
    }
    for q in ["*", "?", "%", "_", "\\", "...", "\u{0}", "💥", "AND", "()", "\"\""] {
        let response = search_response(&client, &[("q", q)]).await;
        assert!([200, 422].contains(&response.status), "{q}: {} {}", response.status, response.text);
        if response.status == 200 && q != "AND" {
            assert_eq!(response.json()["results"], json!([]), "{q} is no wildcard");
        }
    }
}

#[tokio::test]
async fn long_queries_are_answered_or_refused() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "needle in a haystack").await;
    let many: String = (0..2_000).map(|nth| format!("word{nth} ")).collect();
    for q in [many.clone() + "needle", "needle ".repeat(2_000), "(a+)+".repeat(2_000), "a".repeat(15_000)] {
        let response = search_response(&client, &[("q", &q)]).await;
        assert!([200, 422].contains(&response.status), "{} {}", response.status, response.text);
    }
    let response = search(&client, &[("q", &format!("needle {}", many.get(..7_000).unwrap()))]).await;
    assert_eq!(keys(&response), ["k"], "what is cut is its end");
    assert!(response["warnings"].to_string().contains("512"), "with a warning: {}", response["warnings"]);
    for (length, status) in [(65_536, 200), (65_537, 422), (100_000, 422), (2 << 20, 413)] {
        let response = client.post(SEARCH, &json!({ "q": "a".repeat(length) })).await;
        assert_eq!(response.status, status, "{length}: {}", response.text);
    }
    assert_eq!(places(&client.post(SEARCH, &json!({ "q": "a".repeat(100_000) })).await), ["body.q"]);
    // 60 KB fit a request line, 100 KB do not: the HTTP layer rejects those and keeps serving.
    for (length, status) in [(60_000, "200"), (100_000, "4"), (300_000, "4")] {
        let response = raw(&muster, &format!("GET /api/memory/search?q={} HTTP/1.1", "a".repeat(length)));
        let begin = format!("HTTP/1.1 {status}");
        assert!(response.starts_with(&begin), "{length}: {}", response.get(..60).unwrap_or(&response));
    }
    assert_eq!(found(&client, "needle").await, ["k"]);
}

/// The beginning of the response to a hand-written request, with its status.
fn raw(muster: &Muster, line: &str) -> String {
    let mut stream = TcpStream::connect(muster.address).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let request = format!("{line}\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\r\n");
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(request.as_bytes());
    let mut response = vec![0; 64];
    let read = stream.read(&mut response).unwrap_or(0);
    String::from_utf8_lossy(response.get(..read).unwrap()).into_owned()
}

#[tokio::test]
async fn filters_and_paths_are_bounded_too() {
    let muster = server();
    let client = key(&muster).await;
    put(&client, "k", "needle").await;
    let tags = vec!["t"; 1_000].join(",");
    let many: String = (0..1_000).map(|nth| format!("&tags=t{nth}")).collect();
    for path in [
        format!("/api/memory/search?q=needle&tags={tags}"),
        format!("/api/memory/search?q=needle{many}"),
        format!("/api/memory?tags={tags}"),
        format!("/api/memory/search?q=needle&key_prefix={}", "p".repeat(5_000)),
        format!("/api/memory/search?q=needle&thread={}", "p".repeat(5_000)),
        format!("/api/memory/{}", "k".repeat(20_000)),
        format!("/api/memory/{}", encoded(&"\u{0}".repeat(100))),
        "/api/memory/%ff%fe".to_owned(),
        "/api/memory/mem_".to_owned(),
        "/api/memory/mem_%00".to_owned(),
        format!("/api/memory/mem_{}", "7".repeat(26)),
        "/api/memory/history?key=%00".to_owned(),
        format!("/api/memory/search?{}", query(&[("q", "needle"), ("cursor", &"A".repeat(10_000))])),
        "/api/memory/search?q=%ff%fe".to_owned(),
        "/api/memory/search?q=needle&limit=1e3".to_owned(),
        "/api/memory/search?q=needle&min_score=NaN&mmr=inf&half_life_days=1e400".to_owned(),
    ] {
        let response = client.get(&path).await;
        let fine = [200, 400, 404, 422].contains(&response.status);
        assert!(fine, "{}: {} {}", path.get(..60).unwrap_or(&path), response.status, response.text);
        if response.status != 200 {
            assert!(response.json()["detail"].is_string() || response.json()["detail"].is_array(), "{}", response.text);
        }
    }
    let twice = client.get("/api/memory/search?q=nothing&q=needle").await;
    assert!([200, 422].contains(&twice.status), "{}", twice.text);
}
