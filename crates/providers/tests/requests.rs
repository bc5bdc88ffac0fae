//! What is sent, over a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails; clippy.toml exempts only the test functions themselves"
)]

mod support;

use muster_providers::{Adapter, HttpConfig, OpenAiAdapter};
use support::{DONE, KEY, adapter, call, collect, delta, finish, recording, serve};

#[tokio::test]
async fn requests_carry_key_and_trace_and_no_other_header() {
    let (addr, mut requests) = recording().await;
    adapter(addr).complete(call()).await.unwrap();
    let (_, request) = requests.recv().await.unwrap();
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("x-request-id"), Some("req_01TEST"));
    assert_eq!(request.header("traceparent"), call().traceparent.as_deref());
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("transfer-encoding"), None);
    assert_eq!(request.header("cookie"), None);
    assert_eq!(request.header("host"), Some(addr.to_string().as_str()));
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["messages"][0]["content"], *call().request.messages[0].content.text());
    assert_eq!(body["stream"], false);
}

#[tokio::test]
async fn without_a_key_nothing_is_authorized() {
    let (addr, mut requests) = recording().await;
    let config = HttpConfig::new("local", format!("http://{addr}/v1"));
    OpenAiAdapter::new(config).unwrap().complete(call()).await.unwrap();
    assert_eq!(requests.recv().await.unwrap().1.header("authorization"), None);
}

#[tokio::test]
async fn streams_request_events_and_usage() {
    let (addr, mut requests) = recording().await;
    collect(adapter(addr).stream(call()).await.unwrap()).await;
    let (_, request) = requests.recv().await.unwrap();
    assert_eq!(request.header("accept"), Some("text/event-stream"));
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn connections_are_reused() {
    let (addr, mut requests) = recording().await;
    let adapter = adapter(addr);
    for _ in 0..3 {
        adapter.complete(call()).await.unwrap();
        assert_eq!(requests.recv().await.unwrap().0, 0, "a second connection");
    }
    // A stream that was read to its marker releases its connection too.
    collect(adapter.stream(call()).await.unwrap()).await;
    assert_eq!(requests.recv().await.unwrap().0, 0);
    adapter.complete(call()).await.unwrap();
    assert_eq!(requests.recv().await.unwrap().0, 0, "the stream kept its connection");
}

/// The end of the body comes only after the client has the end of the answer.
#[tokio::test]
async fn streams_whose_body_ends_late_release_their_connection() {
    let (go_on, wait) = tokio::sync::watch::channel(false);
    let (report, mut reports) = tokio::sync::mpsc::channel(4);
    let addr = serve(move |mut conn| {
        let (mut wait, report) = (wait.clone(), report.clone());
        async move {
            for n in 0.. {
                if conn.request().await.is_none() {
                    return;
                }
                report.send(n).await.unwrap();
                let body = format!("{}{}{DONE}", delta("ok"), finish("stop"));
                conn.send(&format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n",
                    body.len()
                ))
                .await;
                wait.wait_for(|go_on| *go_on).await.unwrap();
                conn.send("0\r\n\r\n").await;
            }
        }
    })
    .await;
    let adapter = adapter(addr);
    assert_eq!(collect(adapter.stream(call()).await.unwrap()).await.len(), 2);
    assert_eq!(reports.recv().await, Some(0));
    go_on.send(true).unwrap();
    // The end is on its way to the client: one of the next calls finds the connection free again.
    for _ in 0..100 {
        collect(adapter.stream(call()).await.unwrap()).await;
        if reports.recv().await.unwrap() > 0 {
            return;
        }
    }
    panic!("each call opened a connection of its own");
}

#[test]
fn the_adapter_does_not_show_its_key() {
    let config = HttpConfig::new("p", "http://127.0.0.1:1/v1").with_key(muster_providers::Secret::new(KEY));
    let debug_output = format!("{config:?} {:?}", OpenAiAdapter::new(config.clone()).unwrap());
    assert!(!debug_output.contains(KEY), "{debug_output}");
}
