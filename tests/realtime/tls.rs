//! Behaviour of sockets that depends on the TLS session below them.

use muster_core::event::Event;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::world::{publish, server};
use crate::support::socket::{Raw, Socket, admin_token, masked, wait_until, with_timeout};

#[tokio::test]
async fn a_thousand_events_arrive_in_order_and_without_gaps() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::open(&muster, &token).await;
    let offset = socket.subscribe(json!({ "ch": "system" })).await["offset"].as_u64().unwrap();
    let pad = "x".repeat(500);
    let event = |n| Event::new("a", muster.app.clock.now(), vec!["system".into()], &json!({ "n": n, "pad": pad }));
    // In bursts that the limit of frames waiting for one reader permits.
    for burst in 0..4 {
        muster.app.feed.publisher().publish((burst * 250..(burst + 1) * 250).map(event).collect());
        for n in burst * 250..(burst + 1) * 250 {
            let frame = socket.frame().await;
            assert_eq!((frame["data"]["n"].as_u64(), frame["off"].as_u64()), (Some(n), Some(offset + n + 1)));
        }
    }
}

#[tokio::test]
async fn frames_in_the_record_of_the_handshake_are_processed() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut stream = muster.connect().await;
    let mut bytes = Raw::request(&muster, "/api/v1/realtime", &token).into_bytes();
    bytes.extend(masked(0x81, br#"{"id":1,"subscribe":{"ch":"system"}}"#));
    bytes.extend(masked(0x81, br#"{"id":2,"history":{"ch":"system"}}"#));
    stream.write_all(&bytes).await.unwrap();
    let mut raw = Raw::over(stream).await;
    let mut replies = Vec::new();
    while replies.len() < 2 {
        let (first, payload) = raw.read().await.unwrap();
        let frame: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!(first, 0x81, "{frame}");
        // An event of the server may be published after the subscription.
        replies.extend(frame["id"].as_u64());
    }
    // The hub is asked for each apart: under load one answer may overtake the other.
    replies.sort_unstable();
    assert_eq!(replies, [1, 2]);
}

#[tokio::test]
async fn a_closed_socket_ends_with_close_notify() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut raw = Raw::open(&muster, &token).await;
    raw.frame(0x88, &1000_u16.to_be_bytes()).await;
    assert_eq!(raw.close_code().await, 1000);
    // Without `close_notify`, the end would be an error: the stream could have been truncated.
    assert_eq!(with_timeout(raw.stream.read_to_end(&mut Vec::new())).await.unwrap(), 0);
    wait_until("the connection is removed", || muster.app.sockets.counts.total() == 0).await;
}

#[tokio::test]
async fn a_client_that_disconnects_without_a_close_is_removed() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let socket = Socket::open(&muster, &token).await;
    wait_until("the connection is counted", || muster.app.sockets.counts.total() == 1).await;
    drop(socket);
    wait_until("the connection is removed", || muster.app.sockets.counts.total() == 0).await;
    let mut next = Socket::open(&muster, &token).await;
    next.subscribe(json!({ "ch": "system" })).await;
    publish(&muster, &["system"], "a", json!({ "n": 1 }));
    assert_eq!(next.frame().await["data"]["n"], 1);
}

#[tokio::test]
async fn a_page_of_the_same_host_without_tls_is_another_origin() {
    let muster = server("");
    let origin = format!("http://{}", muster.address);
    let refused = Socket::handshake(&muster, "/api/v1/realtime", &[("origin", &origin)]).await.err().unwrap();
    assert_eq!(refused.status, 403, "{}", refused.body);
}
