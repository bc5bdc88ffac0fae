//! Limits of what a client may send and hold, and the codes that it is closed with.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::world::{RECONNECTS, publish, server};
use crate::support::socket::{Raw, Socket, admin_token, wait_until};

#[tokio::test]
async fn a37_silent_connections_are_closed_in_time_and_their_number_is_limited() {
    let muster = server("[feed]\nconnect_within_ms = 1500\nmax_unauthenticated = 20\n");
    let mut silent = join_all((0..20).map(|_| Socket::page(&muster))).await;
    let origin = muster.url();
    let full = Socket::handshake(&muster, "/api/v1/realtime", &[("origin", &origin)]).await.err().unwrap();
    assert_eq!(full.status, 503, "{}", full.body);
    // Connections with a token do not count against that limit.
    let token = admin_token(&muster).await;
    Socket::open(&muster, &token).await;
    for code in join_all(silent.iter_mut().map(Socket::closed)).await {
        assert_eq!(code, 4010);
    }
    Socket::page(&muster).await;
}

/// First byte and payload of a frame, and the code that the socket is closed with.
type Case<'a> = (&'a str, Vec<(u8, &'a [u8])>, u16);

#[tokio::test]
async fn a38_what_breaks_the_websocket_protocol_is_closed_by_its_code() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let over = vec![b'x'; 65537];
    let piece = vec![b'x'; 40_000];
    let cases: Vec<Case<'_>> = vec![
        ("64 KiB and one byte", vec![(0x81, &over)], 1009),
        ("a bomb in pieces", vec![(0x01, &piece), (0x00, &piece)], 1009),
        ("a reserved bit", vec![(0xc1, b"{}")], 1002),
        ("an unknown opcode", vec![(0x83, b"")], 1002),
        ("bad UTF-8", vec![(0x81, &[0xff, 0xfe])], 1007),
        ("binary", vec![(0x82, b"{}")], 4004),
        ("close code 1005", vec![(0x88, &[0x03, 0xed])], 1002),
        ("no JSON", vec![(0x81, b"{")], 4004),
        ("no object", vec![(0x81, b"[1]")], 4004),
        ("a proper close", vec![(0x88, &[0x03, 0xe8])], 1000),
    ];
    for (name, frames, code) in cases {
        let mut raw = Raw::open(&muster, &token).await;
        for (first, payload) in frames {
            raw.frame(first, payload).await;
        }
        assert_eq!(raw.close_code().await, code, "{name}");
    }
    let mut unmasked = Raw::open(&muster, &token).await;
    unmasked.send(&[0x81, 2, b'{', b'}']).await;
    assert_eq!(unmasked.close_code().await, 1002);
    for (name, first) in [("empty frames", 0x81), ("pings", 0x89)] {
        let mut raw = Raw::open(&muster, &token).await;
        let mut sent = 0;
        while sent < 1_000_000 && raw.frame(first, b"").await {
            sent += 1;
            // The server answers, and closes within its burst; what is sent after that is not waited for.
            if sent == 5_000 {
                break;
            }
        }
        assert_eq!(raw.close_code().await, 4102, "{name}");
    }
}

#[tokio::test]
async fn a39_names_and_numbers_of_subscriptions_are_bounded_and_nothing_leaks() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    for n in 0..128 {
        socket.subscribe(json!({ "ch": format!("incidents:inc_{n}") })).await;
    }
    let subscribe = |ch: &str| json!({ "subscribe": { "ch": ch } });
    let one_more = socket.request(subscribe("incidents:inc_128")).await;
    assert_eq!(one_more["error"]["code"], 2413, "{one_more}");
    let again = socket.request(subscribe("incidents:inc_1")).await;
    assert_eq!(again["error"]["code"], 2405, "{again}");
    let mut socket = Socket::connect(&muster, &token).await;
    for wrong in ["x".repeat(256), "incidents:*".into(), "incidents:>".into(), String::new(), "a b".into(), "ä".into()]
    {
        let refused = socket.request(subscribe(&wrong)).await;
        assert_eq!(refused["error"]["code"], 2400, "{wrong:?}: {refused}");
    }
    let mut refusals: Vec<Value> = Vec::new();
    for hidden in ["incidents:none_1", "no.such.channel", "user:usr_01ARZ3NDEKTSV4RRFFQ69G5FAV", "incidents:none_2"] {
        refusals.push(socket.request(subscribe(hidden)).await["error"].clone());
    }
    assert_eq!(refusals[0]["code"], 2404);
    assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "they look the same: {refusals:?}");
}

#[tokio::test]
async fn the_number_of_subscriptions_is_a_setting() {
    let muster = server("[feed]\nmax_subscriptions = 2\n");
    let mut socket = Socket::connect(&muster, &admin_token(&muster).await).await;
    for n in 0..2 {
        socket.subscribe(json!({ "ch": format!("incidents:inc_{n}") })).await;
    }
    let third = socket.request(json!({ "subscribe": { "ch": "incidents:inc_2" } })).await;
    assert_eq!(third["error"]["code"], 2413, "{third}");
}

#[tokio::test]
async fn a_person_has_ten_connections() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let sockets = join_all((0..10).map(|_| Socket::open(&muster, &token))).await;
    let mut eleventh = Socket::open(&muster, &token).await;
    assert_eq!(eleventh.closed().await, 4009);
    let mut page = Socket::page(&muster).await;
    page.send(&json!({ "id": 1, "connect": { "token": token } })).await;
    assert_eq!(page.closed().await, 4009);
    drop(sockets);
    wait_until("the places are free again", || muster.app.sockets.counts.total() == 0).await;
    Socket::connect(&muster, &token).await;
}

#[tokio::test]
async fn a42_a_storm_of_reconnecting_clients_is_served_while_people_log_in() {
    let muster = server("[feed]\nmax_per_person = 2000\n[limits.agent]\nhealth = 10000\n");
    let token = admin_token(&muster).await;
    let mut first = Socket::connect(&muster, &token).await;
    let subscribed = first.subscribe(json!({ "ch": "system" })).await;
    publish(&muster, &["system"], "a", json!({ "n": 1 }));
    first.frame().await;
    let since = json!({ "epoch": subscribed["epoch"], "offset": subscribed["offset"] });
    let storm = join_all((0..RECONNECTS).map(|_| async {
        let mut socket = Socket::open(&muster, &token).await;
        let hello = socket.request(json!({ "connect": { "subs": { "system": { "since": since } } } })).await;
        assert_eq!(hello["ok"]["subs"]["system"]["pubs"], 1, "{hello}");
        assert_eq!(socket.frame().await["data"]["n"], 1);
        socket
    }));
    let logins = join_all((0..5).map(|_| admin_token(&muster)));
    let (sockets, _) = futures::join!(storm, logins);
    assert_eq!(muster.app.sockets.counts.total(), RECONNECTS + 1);
    publish(&muster, &["system"], "a", json!({ "n": 2 }));
    for mut socket in sockets {
        assert_eq!(socket.frame().await["data"]["n"], 2);
    }
}

#[tokio::test]
async fn a43_the_same_command_twice_in_parallel_is_done_once() {
    let muster = server("");
    let admin = muster.admin().await;
    let made = admin.post("/api/v1/devices", &json!({ "name": "Siren", "kind": "siren" })).await;
    let device = made.json()["data"]["device"]["id"].as_str().unwrap().to_owned();
    let token = admin_token(&muster).await;
    let (mut one, mut other) = (Socket::connect(&muster, &token).await, Socket::connect(&muster, &token).await);
    let command = |idem: &str, args: Value| {
        let args = json!({ "name": "siren.on", "args": args });
        json!({ "command": { "name": "device.command", "target": device, "args": args, "idem": idem } })
    };
    let (mut of_one, mut of_other) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        of_one.push(one.begin(command("c1", json!({ "s": 5 }))).await);
        of_other.push(other.begin(command("c1", json!({ "s": 5 }))).await);
    }
    let mut done = BTreeSet::new();
    for (socket, ids) in [(&mut one, of_one), (&mut other, of_other)] {
        for id in ids {
            let reply = socket.reply(id).await;
            done.insert(reply["ok"]["id"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned());
        }
    }
    assert_eq!(done.len(), 1, "every response has the same command");
    let listed = admin.get(&format!("/api/v1/devices/{device}/commands")).await.json();
    assert_eq!(listed["data"]["commands"].as_array().unwrap().len(), 1, "{listed}");
    let conflict = other.request(command("c1", json!({ "s": 6 }))).await;
    assert_eq!(conflict["error"]["reason"], "idempotency_conflict", "{conflict}");
    let next = one.request(command("c2", json!({ "s": 5 }))).await;
    assert!(!done.contains(next["ok"]["id"].as_str().unwrap()), "{next}");
    let unknown = one.request(json!({ "command": { "name": "nothing", "idem": "c3" } })).await;
    assert_eq!(unknown["error"]["reason"], "unknown_command", "{unknown}");
}

#[tokio::test]
async fn more_than_a_burst_of_commands_is_closed() {
    let muster = server("");
    let token = admin_token(&muster).await;
    let mut socket = Socket::connect(&muster, &token).await;
    for _ in 0..100 {
        socket.send_raw(Message::text(r#"{"command":{"name":"x"}}"#)).await;
    }
    assert_eq!(socket.closed().await, 4102);
}
