//! The bytes of bodies that the server holds at one time.

use std::net::SocketAddr;

use serde_json::json;

use super::raw::{JSON, Raw, credential, key_with, routes};
use crate::support::KEY;
use crate::support::server::Muster;
use crate::support::socket::wait_until;
use crate::support::upstream::{Upstream, UpstreamAction};

const BODY: usize = 1 << 20;
const SETTINGS: &str = "[server]\nmax_body_bytes_in_flight = 2097152\nmax_image_body_bytes = 1048576\n";

/// Announces a body and sends a part of it.
async fn part(address: SocketAddr, path: &str, key: &str, bytes: usize) -> Raw {
    let mut raw = Raw::connect(address).await;
    raw.head("POST", path, key, &format!("{JSON}Content-Length: {bytes}\r\n")).await;
    assert!(raw.send(b"{").await);
    raw
}

#[tokio::test]
async fn bodies_beyond_the_budget_are_refused_in_every_dialect_until_others_end() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + SETTINGS));
    let admin = muster.client();
    let [first, second] = [key_with(&admin, json!(null)).await, key_with(&admin, json!(null)).await];
    let bodies = &muster.app.bodies;
    // Logins have bodies too.
    let mut all = Vec::new();
    for route in routes("alpha") {
        all.push((muster.client().with(credential(&muster, &route, KEY).await), route));
    }
    for ending in ["the client leaves", "the body is refused"] {
        let mut holding = part(muster.address, "/v1/chat/completions", &first, BODY).await;
        let other = part(muster.address, "/api/memory/store", &second, BODY).await;
        wait_until("both bodies are held", || bodies.held() == 2 * BODY).await;
        for (client, route) in &all {
            let refused = client.post(&route.path, &route.good).await;
            assert_eq!(refused.status, 503, "{}: {}", route.path, refused.text);
            assert!(refused.number("retry-after").is_some_and(|seconds| seconds >= 1), "{}", route.path);
            assert!(refused.text.contains("as many bytes of request bodies"), "{}: {}", route.path, refused.text);
        }
        assert_eq!(muster.client().get("/v1/models").await.status, 200, "requests without a body are served");
        if ending == "the body is refused" {
            // As long as announced, and no JSON.
            assert!(holding.send(&vec![b'x'; BODY - 1]).await);
            assert_eq!(holding.response().await.status, 400);
        }
        drop((holding, other));
        wait_until("what is held is released", || bodies.held() == 0).await;
        for (client, route) in &all {
            let served = client.post(&route.path, &route.good).await;
            assert!(served.status < 300, "{}: {} {}", route.path, served.status, served.text);
        }
        wait_until("nothing is held after the responses", || bodies.held() == 0).await;
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_counted_as_it_arrives() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + SETTINGS));
    let bodies = &muster.app.bodies;
    let mut chunked = Raw::open(&muster).await;
    chunked.head("POST", "/api/memory/store", KEY, &format!("{JSON}Transfer-Encoding: chunked\r\n")).await;
    for kib in 1..=100 {
        let chunk = [b"400\r\n".as_slice(), &[b' '; 1024], b"\r\n"].concat();
        assert!(chunked.send(&chunk).await);
        wait_until("the chunk is counted", || bodies.held() == kib << 10).await;
    }
    let body = json!({ "key": "k", "value": "v" }).to_string();
    assert!(chunked.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes()).await);
    assert_eq!(chunked.response().await.status, 201);
    wait_until("it is released", || bodies.held() == 0).await;
}

#[tokio::test]
async fn one_caller_holds_half_of_the_budget_at_most() {
    let upstream = Upstream::start(UpstreamAction::Answer(&["hello"]));
    let muster = Muster::start(&(upstream.provider("one", "alpha") + SETTINGS));
    let other = key_with(&muster.client(), json!(null)).await;
    let bodies = &muster.app.bodies;
    let _first = part(muster.address, "/v1/chat/completions", KEY, BODY * 3 / 4).await;
    wait_until("the body is held", || bodies.held() == BODY * 3 / 4).await;
    let mut second = part(muster.address, "/v1/chat/completions", KEY, BODY / 2).await;
    let refused = second.response().await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert!(refused.text.contains("those of one caller"), "{}", refused.text);
    let _third = part(muster.address, "/v1/chat/completions", &other, BODY / 2).await;
    wait_until("another caller's body is held", || bodies.held() == BODY * 5 / 4).await;
}

#[tokio::test]
async fn a_body_is_held_until_its_stream_has_ended() {
    let upstream = Upstream::start(UpstreamAction::HeldAfter(1));
    let muster = Muster::start(&upstream.provider("one", "alpha"));
    let bodies = &muster.app.bodies;
    let text = "word ".repeat(20_000);
    let body = json!({ "model": "alpha", "stream": true, "messages": [{ "role": "user", "content": text }] });
    let mut events = muster.client().stream("/v1/chat/completions", &body).await;
    assert!(events.next().await.is_some());
    assert_eq!(bodies.held(), body.to_string().len());
    upstream.release_held();
    events.rest().await;
    wait_until("it is released", || bodies.held() == 0).await;
}
