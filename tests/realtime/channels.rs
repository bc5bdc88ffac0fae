//! Subscriptions: state and position, resuming, filters, newest values, presence.

use muster_core::event::{EventAttributes, LatestValue};
use serde_json::{json, value::to_raw_value};

use super::world::{publish, publish_with, server};
use crate::support::socket::{Socket, admin_token};

#[tokio::test]
async fn what_follows_a_subscription_begins_right_behind_its_position() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::page(&muster).await;
    let hello = socket.request(json!({ "connect": { "token": token, "client": "test/1" } })).await;
    assert!(hello["ok"]["conn"].as_str().unwrap().starts_with("con_"), "{hello}");
    assert_eq!(hello["ok"]["ping"], 25);
    assert_eq!(hello["ok"]["limits"], json!({ "subs": 128, "frame": 65536 }));
    let subscribed = socket.subscribe(json!({ "ch": "incidents", "snapshot": true })).await;
    assert_eq!(subscribed["state"], json!([{ "id": "inc_1", "version": 7, "data": { "state": "reported" } }]));
    let offset = subscribed["offset"].as_u64().unwrap();
    let eid = publish(&muster, &["incidents"], "incident.updated", json!({ "id": "inc_1", "version": 8 }));
    let push = socket.frame().await;
    assert_eq!(push["off"], offset + 1);
    assert_eq!((push["ch"].as_str(), push["ev"].as_str()), (Some("incidents"), Some("incident.updated")));
    assert_eq!((push["eid"].as_str(), &push["data"]["version"]), (Some(eid.as_str()), &json!(8)));
    assert!(push["ts"].as_str().unwrap().ends_with('Z'));
    let gone = socket.request(json!({ "unsubscribe": { "ch": "incidents" } })).await;
    assert_eq!(gone["ok"], json!({ "ch": "incidents" }));
}

#[tokio::test]
async fn a_socket_resumes_where_it_was_in_one_round_trip() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    let subscribed = socket.subscribe(json!({ "ch": "system" })).await;
    publish(&muster, &["system"], "a", json!({ "n": 1 }));
    assert_eq!(socket.frame().await["data"]["n"], 1);
    drop(socket);
    for n in 2..=30 {
        publish(&muster, &["system"], "a", json!({ "n": n }));
    }
    let since = json!({ "epoch": subscribed["epoch"], "offset": subscribed["offset"].as_u64().unwrap() + 1 });
    let mut socket = Socket::page(&muster).await;
    let hello =
        socket.request(json!({ "connect": { "token": token, "subs": { "system": { "since": since } } } })).await;
    let resumed = &hello["ok"]["subs"]["system"];
    assert_eq!((&resumed["recovered"], &resumed["pubs"]), (&json!(true), &json!(29)), "{hello}");
    for n in 2..=30 {
        assert_eq!(socket.frame().await["data"]["n"], n);
    }
    let mut lost = Socket::connect(&muster, &token).await;
    let other = lost.subscribe(json!({ "ch": "system", "since": { "epoch": "none", "offset": 1 } })).await;
    assert_eq!((&other["recovered"], &other["why"]), (&json!(false), &json!("epoch")), "{other}");
}

#[tokio::test]
async fn a41_positions_that_cannot_be_resumed_have_a_reason() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    let subscribed = socket.subscribe(json!({ "ch": "incidents" })).await;
    let other = socket.subscribe(json!({ "ch": "alerts" })).await;
    let offset = subscribed["offset"].as_u64().unwrap();
    for n in 0..501 {
        publish(&muster, &["incidents"], "a", json!({ "n": n }));
    }
    for (name, epoch, offset, why) in [
        ("another epoch", json!("none"), offset, "epoch"),
        ("another channel's", other["epoch"].clone(), offset, "epoch"),
        ("the future", subscribed["epoch"].clone(), offset + 1_000_000, "gap"),
        ("more than 500 ago", subscribed["epoch"].clone(), offset, "limit"),
    ] {
        let mut late = Socket::connect(&muster, &token).await;
        let since = json!({ "epoch": epoch, "offset": offset });
        let reply = late.subscribe(json!({ "ch": "incidents", "since": since, "snapshot": true })).await;
        assert_eq!((&reply["recovered"], &reply["why"]), (&json!(false), &json!(why)), "{name}: {reply}");
        assert!(reply["state"].is_array(), "{name}: a snapshot is sent instead: {reply}");
    }
}

#[tokio::test]
async fn a_filter_passes_matching_events_and_positions_cover_the_rest() {
    let muster = server("[feed]\npositions_ms = 200\n");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    let filter = json!({ "bbox": [177.0, -20.0, -178.0, -16.0], "min_severity": "Severe", "types": ["a"] });
    let subscribed = socket.subscribe(json!({ "ch": "system", "filter": filter })).await;
    let offset = subscribed["offset"].as_u64().unwrap();
    assert_eq!(socket.frame().await, json!({ "ch": "system", "pos": offset }));
    let fiji = Some([179.0, -18.0, 179.0, -18.0]);
    let at = |bbox, severity| EventAttributes { bbox, severity, ..EventAttributes::default() };
    publish_with(&muster, &["system"], "a", json!({ "n": 1 }), at(Some([8.0, 50.0, 9.0, 51.0]), Some(4)));
    publish_with(&muster, &["system"], "a", json!({ "n": 2 }), at(fiji, Some(2)));
    publish_with(&muster, &["system"], "b", json!({ "n": 3 }), at(fiji, Some(4)));
    publish_with(&muster, &["system"], "a", json!({ "n": 4 }), at(fiji, Some(3)));
    publish_with(&muster, &["system"], "a", json!({ "n": 5 }), at(None, None));
    let mut positions = Vec::new();
    let (mut pushed, mut last) = (Vec::new(), offset);
    while last < offset + 5 {
        let frame = socket.frame().await;
        match frame["pos"].as_u64() {
            Some(position) => {
                last = position;
                positions.push(position);
            }
            None => pushed.push((frame["data"]["n"].as_u64().unwrap(), frame["off"].as_u64().unwrap())),
        }
    }
    assert_eq!(pushed, [(4, offset + 4)]);
    assert!(positions.is_sorted() && positions.last() == Some(&(offset + 5)), "{positions:?}");
    let wrong = socket.request(json!({ "subscribe": { "ch": "alerts", "filter": { "min_severity": "bad" } } })).await;
    assert_eq!(wrong["error"]["code"], 2400, "{wrong}");
}

#[tokio::test]
async fn of_newest_values_the_last_one_always_arrives() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    let channel = "devices:dev_9:telemetry";
    socket.subscribe(json!({ "ch": channel })).await;
    let publisher = muster.app.feed.publisher();
    for n in 1..=500 {
        let data = to_raw_value(&json!({ "n": n })).unwrap();
        let at = muster.app.clock.now();
        let (channel, name, key) = (channel.to_owned(), "telemetry".to_owned(), "t".to_owned());
        publisher.publish_latest(LatestValue { channel, name, at, key, data });
    }
    let mut seen = Vec::new();
    while seen.last() != Some(&500) {
        let frame = socket.frame().await;
        if let Some(n) = frame["data"]["n"].as_u64() {
            seen.push(n);
        } else {
            assert!(frame["conflated"]["from"].as_u64() <= frame["conflated"]["to"].as_u64(), "{frame}");
        }
    }
    assert!(seen.is_sorted(), "{seen:?}");
}

#[tokio::test]
async fn history_and_presence_require_the_permission_to_subscribe() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    socket.subscribe(json!({ "ch": "incidents:inc_1" })).await;
    for n in 1..=3 {
        publish(&muster, &["incidents:inc_1"], "a", json!({ "n": n }));
        socket.frame().await;
    }
    let history = socket.request(json!({ "history": { "ch": "incidents:inc_1", "limit": 2 } })).await;
    let pubs = history["ok"]["publications"].as_array().unwrap();
    assert_eq!(pubs.iter().map(|one| one["data"]["n"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2], "{history}");
    assert_eq!(history["ok"]["more"], true);
    let presence = socket.request(json!({ "presence": { "ch": "incidents:inc_1" } })).await;
    assert_eq!(presence["ok"]["present"][0]["connections"], 1, "{presence}");
    let none = socket.request(json!({ "presence": { "ch": "incidents:none" } })).await;
    assert_eq!(none["error"]["reason"], "not_found", "{none}");
}

#[tokio::test]
async fn ones_own_channel_needs_no_subscription() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::page(&muster).await;
    let hello = socket.request(json!({ "connect": { "token": token } })).await;
    let own = format!("user:{}", hello["ok"]["user"].as_str().unwrap());
    // Subscribed at `connect`, in the hub's order before the events after this reply.
    socket.subscribe(json!({ "ch": "system" })).await;
    publish(&muster, &[&own], "notice", json!({ "n": 1 }));
    let push = socket.frame().await;
    assert_eq!((push["ch"].as_str(), &push["data"]["n"]), (Some(own.as_str()), &json!(1)));
}
