//! Readers that do not read, and a hub that dies.

use muster_actors::feed::Event;
use serde_json::json;

use super::world::{server, tell};
use crate::support::socket::{Raw, Socket, admin_token};

#[tokio::test]
async fn a36_a_reader_that_stalls_is_cut_off_and_nobody_else_notices() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut stalled = Raw::open(&muster, &token).await;
    assert!(stalled.frame(0x81, br#"{"id":1,"subscribe":{"ch":"system"}}"#).await);
    let mut reader = Socket::connect(&muster, &token).await;
    reader.subscribe(json!({ "ch": "system" })).await;
    let publisher = muster.app.feed.publisher();
    let (pad, mut told) = ("x".repeat(4000), 0_u64);
    // 4 KB frames, paced by the reader that reads: the kernel takes some MB for the one that does not.
    while muster.app.sockets.evicted() == 0 && told < 20_000 {
        let batch = (0..50).map(|n| {
            Event::new("a", muster.app.clock.now(), vec!["system".into()], &json!({ "n": told + n, "pad": pad }))
        });
        publisher.publish(batch.collect());
        for n in 0..50 {
            assert_eq!(reader.frame().await["data"]["n"], told + n);
        }
        told += 50;
    }
    assert_eq!(muster.app.sockets.evicted(), 1, "after {told} frames");
    assert_eq!(stalled.close_code().await, 1006, "no close frame fits a full socket");
    tell(&muster, &["system"], "a", json!({ "n": "last" }));
    assert_eq!(reader.frame().await["data"]["n"], "last");
}

#[tokio::test]
async fn sockets_outlive_the_hub() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    socket.subscribe(json!({ "ch": "system" })).await;
    tell(&muster, &["system"], "a", json!({ "n": 1 }));
    assert_eq!(socket.frame().await["data"]["n"], 1);
    assert!(muster.tree.inject_panic("feed/hub"));
    // The answer comes once the hub is back and this connection has subscribed anew.
    let presence = loop {
        let reply = socket.ask(json!({ "presence": { "ch": "system" } })).await;
        if reply["ok"]["present"][0]["connections"] == 1 {
            break reply;
        }
    };
    assert!(presence["ok"].is_object());
    tell(&muster, &["system"], "a", json!({ "n": 2 }));
    assert_eq!(socket.frame().await["data"]["n"], 2);
}
