//! Clients that stop sending, and clients that are slow.

use std::time::{Duration, Instant};

use futures::future::join_all;
use reqwest::{Body, Method};
use serde_json::{Value, json};

use super::raw::{JSON, Raw, credential, key_with, routes};
use crate::support::KEY;
use crate::support::client::{Client, answer};
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token, with_timeout};
use crate::support::upstream::{Upstream, UpstreamAction};

/// 2,048 bytes in each second.
const SETTINGS: &str = "[server]\nbody_window_seconds = 1\nbody_min_bytes_per_second = 2048\n";

#[tokio::test]
async fn two_hundred_clients_that_stop_are_answered_and_disconnected() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    // All of them announce more than one caller may hold by default.
    let settings = format!("{SETTINGS}max_body_bytes_in_flight = 1073741824\n");
    let muster = Muster::start(&(upstream.provider("one", "alpha") + &settings));
    let paths = ["/v1/chat/completions", "/api/llm/chat", "/v1/messages", "/v1/responses"];
    let stopping = (0..200).map(|n: usize| {
        let (address, path) = (muster.address, paths[n % paths.len()]);
        async move {
            let mut raw = Raw::connect(address).await;
            raw.head("POST", path, KEY, &format!("{JSON}Content-Length: 2000000\r\n")).await;
            assert!(raw.send(&vec![b' '; 1_000_000]).await);
            let late = raw.response().await;
            assert_eq!((late.status, late.header("connection")), (408, Some("close")), "{}", late.text);
            assert!(late.text.contains("fewer than 2048 bytes of the body arrived within 1 s"), "{}", late.text);
            raw.closed().await;
        }
    });
    join_all(stopping).await;
    assert_eq!(muster.app.bodies.held(), 0);
}

#[tokio::test]
async fn a_client_that_stops_is_answered_in_every_dialect() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + SETTINGS));
    let lengths = ["Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n"];
    let stopping = routes("alpha").into_iter().flat_map(|route| lengths.map(|length| (route.clone(), length)));
    join_all(stopping.map(async |(route, length)| {
        let key = credential(&muster, &route, KEY).await;
        let mut raw = Raw::open(&muster).await;
        raw.head("POST", &route.path, &key, &format!("{JSON}{length}")).await;
        let late = raw.response().await;
        assert_eq!(late.status, 408, "{}: {}", route.path, late.text);
        raw.closed().await;
    }))
    .await;
    let token = admin_token(&muster).await;
    let mut raw = Raw::open(&muster).await;
    let xml = "Content-Type: application/cap+xml\r\nContent-Length: 1000\r\n";
    raw.head("POST", "/api/v1/cap", &token, xml).await;
    assert_eq!(raw.response().await.status, 408);
    // Nobody reads the body of a path that does not exist, whether its length is known or not.
    for length in ["Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n"] {
        let mut raw = Raw::open(&muster).await;
        raw.head("POST", "/none", KEY, &format!("{JSON}{length}")).await;
        assert_eq!(raw.response().await.status, 404);
        raw.closed().await;
    }
}

/// Announces a firmware image of that size; returns the path of its content.
async fn announced(people: &Client, size: usize) -> String {
    let manifest = json!({ "name": "siren", "version": "2.0.0", "sequence": 2, "vendor": "acme",
        "hw_class": "siren-2", "hw_revisions": [], "size": size, "sha256": "0".repeat(64), "format": "raw",
        "expires_at": null, "min_current_sequence": null });
    let made = people.post("/api/v1/firmware/artifacts", &manifest).await;
    assert_eq!(made.status, 201, "{}", made.text);
    format!("/api/v1/firmware/artifacts/{}/content", made.json()["data"]["id"].as_str().unwrap())
}

#[tokio::test]
async fn an_image_whose_client_stops_is_kept_up_to_there() {
    let muster = Muster::start(SETTINGS);
    let people = muster.admin().await;
    let (token, path) = (admin_token(&muster).await, announced(&people, 100_000).await);
    let mut raw = Raw::open(&muster).await;
    raw.head("PUT", &path, &token, "Content-Length: 100000\r\n").await;
    assert!(raw.send(&[7; 60_000]).await);
    let late = raw.response().await;
    assert_eq!(late.status, 408, "{}", late.text);
    raw.closed().await;
    let rest = people.request(Method::PUT, &path).header("content-range", "bytes 60000-99999/100000");
    let rest = answer(rest.body(vec![7; 40_000])).await;
    assert_eq!((rest.status, &rest.json()["data"]["complete"]), (200, &json!(true)), "{}", rest.text);
}

#[tokio::test]
async fn over_http_2_a_client_that_stops_is_answered_and_others_of_its_connection_go_on() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start_under_tls(&(upstream.provider("one", "alpha") + SETTINGS));
    let client = muster.client();
    for path in ["/v1/chat/completions", "/api/llm/chat", "/api/memory/store", "/none"] {
        let endless = futures::stream::once(async { Ok::<_, std::io::Error>(vec![b' '; 1000]) });
        let endless = futures::StreamExt::chain(endless, futures::stream::pending());
        let request = client.request(Method::POST, path).header("content-type", "application/json");
        let late = with_timeout(request.body(Body::wrap_stream(endless)).send()).await.unwrap();
        assert_eq!(late.version(), reqwest::Version::HTTP_2);
        assert_eq!(late.status().as_u16(), if path == "/none" { 404 } else { 408 }, "{path}");
        assert_eq!(client.get("/v1/models").await.status, 200);
    }
}

#[tokio::test]
async fn slow_clients_above_the_least_speed_are_served() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + SETTINGS));
    let key = key_with(&muster.client(), Value::Null).await;
    let bystander = muster.client();
    let turns = json!([{ "role": "user", "content": "word ".repeat(20_000) }]);
    let body = json!({ "model": "alpha", "messages": turns }).to_string();
    let mut raw = Raw::open(&muster).await;
    let head = format!("{JSON}Content-Length: {}\r\n", body.len());
    raw.head("POST", "/v1/chat/completions", &key, &head).await;
    let (mut pieces, begun) = (body.as_bytes().chunks(2_500).peekable(), Instant::now());
    let mut next = Duration::ZERO;
    while pieces.peek().is_some() {
        // Three pieces within each window, for several windows; then the rest at once.
        assert_eq!(bystander.get("/v1/models").await.status, 200);
        if begun.elapsed() >= next {
            next += Duration::from_millis(300);
            assert!(raw.send(pieces.next().unwrap()).await);
        }
        if begun.elapsed() > Duration::from_secs(4) {
            assert!(raw.send(&pieces.by_ref().flatten().copied().collect::<Vec<_>>()).await);
        }
    }
    let served = raw.response().await;
    assert_eq!(served.status, 200, "{}", served.text);
}

#[tokio::test]
async fn long_responses_outlive_the_times_of_bodies_and_idle_connections() {
    let upstream = Upstream::start(UpstreamAction::HeldAfter(1));
    let settings = "[server]\nbody_window_seconds = 1\nbody_seconds = 1\nidle_seconds = 1\n";
    let muster = Muster::start(&(upstream.provider("one", "alpha") + settings));
    let token = admin_token(&muster).await;
    let mut socket = Socket::open(&muster, &token).await;
    let people = muster.admin().await;
    let mut feed = people.follow("/api/v1/realtime/sse?ch=system").await;
    assert_eq!(feed.status, 200);
    let body = json!({ "model": "alpha", "stream": true, "messages": [{ "role": "user", "content": "hi" }] });
    let mut chat = muster.client().stream("/v1/chat/completions", &body).await;
    assert!(chat.next().await.is_some());

    // A connection that does nothing ends, also in the middle of its second head.
    let mut idle = Raw::open(&muster).await;
    idle.head("GET", "/api/health/live", "", "").await;
    assert_eq!(idle.response().await.status, 200);
    assert!(idle.send(b"GET /api/health/live HT").await);
    idle.closed().await;
    // By then a second has passed since all others began to wait; wait for two more.
    for _ in 0..2 {
        let mut idle = Raw::open(&muster).await;
        idle.head("GET", "/api/health/live", "", "").await;
        assert_eq!(idle.response().await.status, 200);
        assert!(idle.send(b"GET /api/health/live HT").await);
        idle.closed().await;
    }

    upstream.release_held();
    let rest = chat.rest().await;
    assert_eq!(rest.last().map(|event| event.data.as_str()), Some("[DONE]"), "{rest:?}");
    assert!(chat.whole);
    let reply = socket.request(json!({ "subscribe": { "ch": "system" } })).await;
    assert!(reply["ok"].is_object(), "{reply}");
    crate::realtime::world::publish(&muster, &["system"], "still.there", json!({}));
    feed.wait_for("still.there").await;
}
