//! Readers that do not read, and a hub that fails.

use std::time::{Duration, Instant};

use muster_core::event::Event;
use serde_json::json;

use super::world::{STALLED_KIB, publish, server};
use crate::support::server::Muster;
use crate::support::socket::{Raw, Socket, admin_token};

/// Publishes 50 events of 4 KB and reads them all; returns how long that took.
async fn round(muster: &Muster, reader: &mut Socket, published: &mut u64, pad: &str) -> Duration {
    let began = Instant::now();
    let event = |n| Event::new("a", muster.app.clock.now(), vec!["system".into()], &json!({ "n": n, "pad": pad }));
    muster.app.feed.publisher().publish((*published..*published + 50).map(event).collect());
    for n in *published..*published + 50 {
        assert_eq!(reader.frame().await["data"]["n"], n);
    }
    *published += 50;
    began.elapsed()
}

/// Resident memory of this process, in KiB: the server and the clients of this test.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn a36_a_stalled_reader_is_disconnected_and_others_are_not_affected() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut reader = Socket::connect(&muster, &token).await;
    reader.subscribe(json!({ "ch": "system" })).await;
    let (pad, mut published) = ("x".repeat(4000), 0_u64);
    // The channel's ring is full, and memory stable, before a reader stalls.
    let mut usual = Vec::new();
    for _ in 0..60 {
        usual.push(round(&muster, &mut reader, &mut published, &pad).await);
    }
    let before = resident();
    let mut stalled = Raw::open(&muster, &token).await;
    assert!(stalled.frame(0x81, br#"{"id":1,"subscribe":{"ch":"system"}}"#).await);
    // Paced by the active reader: the kernel buffers some MB for the one that does not read.
    let (began, mut with_it) = (Instant::now(), Vec::new());
    while muster.app.sockets.evicted() == 0 && began.elapsed() < Duration::from_secs(60) {
        with_it.push(round(&muster, &mut reader, &mut published, &pad).await);
    }
    let (evicted_after, grown) = (began.elapsed(), resident().saturating_sub(before));
    assert_eq!(muster.app.sockets.evicted(), 1, "after {published} frames");
    // A close frame does not fit a full socket: it arrives where the kernel accepted one more.
    assert!(matches!(stalled.close_code().await, 1006 | 4101));
    usual.sort_unstable();
    with_it.sort_unstable();
    let (usual, with_it) = (usual[usual.len() / 2], with_it[with_it.len() / 2]);
    println!("evicted after {evicted_after:?}, {grown} KiB more, rounds took {usual:?} before and {with_it:?} then");
    // The bounds are 15 s, 2 MiB and no change, with an allowance for a shared machine and both sides in one process.
    assert!(evicted_after < Duration::from_secs(30), "{evicted_after:?}");
    assert!(grown < STALLED_KIB, "{grown} KiB more");
    assert!(with_it < usual * 5 + Duration::from_millis(50), "{usual:?} before and {with_it:?} then");
    publish(&muster, &["system"], "a", json!({ "n": "last" }));
    assert_eq!(reader.frame().await["data"]["n"], "last");
}

#[tokio::test]
async fn sockets_outlive_the_hub() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    socket.subscribe(json!({ "ch": "alerts" })).await;
    publish(&muster, &["alerts"], "a", json!({ "n": 1 }));
    assert_eq!(socket.frame().await["data"]["n"], 1);
    assert!(muster.tree.inject_panic("feed/hub"));
    // The reply arrives once the hub is back and this connection has subscribed again.
    let presence = loop {
        let reply = socket.request(json!({ "presence": { "ch": "alerts" } })).await;
        if reply["ok"]["present"][0]["connections"] == 1 {
            break reply;
        }
    };
    assert!(presence["ok"].is_object());
    publish(&muster, &["alerts"], "a", json!({ "n": 2 }));
    assert_eq!(socket.frame().await["data"]["n"], 2);
}
