//! Bounds of connections, over all protocols.

use std::time::Duration;

use futures::future::join_all;
use reqwest::{Body, Method};
use tokio::time::Instant;

use super::raw::Raw;
use crate::support::client::TEST_TIMEOUT;
use crate::support::server::Muster;
use crate::support::socket::{Socket, admin_token};

/// A connection that was served a request.
async fn served(muster: &Muster) -> Option<Raw> {
    let mut raw = Raw::open(muster).await;
    if !raw.send(b"GET /api/health/live HTTP/1.1\r\nHost: test\r\n\r\n").await {
        return None;
    }
    raw.try_response().await.then_some(raw)
}

/// Waits until a place is free again.
async fn served_again(muster: &Muster) -> Raw {
    let begun = Instant::now();
    while begun.elapsed() < TEST_TIMEOUT {
        if let Some(raw) = served(muster).await {
            return raw;
        }
    }
    panic!("no connection is accepted any more");
}

#[tokio::test]
async fn one_address_has_so_many_connections_of_sockets_and_http_together() {
    // The default exempts this machine.
    let settings = "[server]\nmax_connections_per_address = 4\nunlimited_networks = []\nidle_seconds = 3600\n";
    let muster = Muster::start(settings);
    let token = admin_token(&muster).await;
    // The connection of that login ends with its client.
    let _first = served_again(&muster).await;
    let mut socket = Socket::open(&muster, &token).await;
    let mut raws = vec![served_again(&muster).await, served_again(&muster).await];
    assert!(served(&muster).await.is_none(), "the fifth is closed");
    let reply = socket.request(serde_json::json!({ "subscribe": { "ch": "system" } })).await;
    assert!(reply["ok"].is_object(), "those that are open go on: {reply}");
    raws.pop();
    raws.push(served_again(&muster).await);
    drop(socket);
    raws.push(served_again(&muster).await);
}

#[tokio::test]
async fn this_machine_and_proxies_are_bounded_by_the_number_of_all_connections() {
    let muster = Muster::start("[server]\nmax_connections_per_address = 1\nmax_connections = 6\n");
    let open: Vec<_> = join_all((0..6).map(|_| served(&muster))).await.into_iter().map(Option::unwrap).collect();
    assert!(served(&muster).await.is_none());
    drop(open);
    served_again(&muster).await;
}

#[tokio::test]
async fn an_http_2_connection_has_a_hundred_requests_at_once() {
    let muster = Muster::start_under_tls("[server]\nbody_window_seconds = 3600\n");
    let client = muster.client();
    let post = || {
        let request = client.request(Method::POST, "/api/memory/store").header("content-type", "application/json");
        let open = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
        request.body(Body::wrap_stream(open)).timeout(Duration::from_secs(3600)).send()
    };
    // The first request opens the connection.
    assert_eq!(client.get("/v1/models").await.status, 200);
    let mut open = futures::stream::FuturesUnordered::new();
    for _ in 0..150 {
        open.push(tokio::spawn(post()));
    }
    for _ in 0..50 {
        let refused = futures::StreamExt::next(&mut open).await.unwrap().unwrap().unwrap();
        assert_eq!((refused.status().as_u16(), refused.version()), (503, reqwest::Version::HTTP_2));
        assert!(refused.headers().contains_key("retry-after"));
        assert!(refused.text().await.unwrap().contains("100 requests in progress"));
    }
    // The others wait for their bodies.
    assert!(futures::FutureExt::now_or_never(futures::StreamExt::next(&mut open)).is_none());
    // Another connection is served.
    assert_eq!(muster.client().get("/v1/models").await.status, 200);
    open.iter().for_each(tokio::task::JoinHandle::abort);
}
