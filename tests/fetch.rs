//! Pictures by URL: what may be reached, what is refused, and that nothing is sent where nothing may be.

pub mod web;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::client::{Answer, Client};
use crate::support::server::Muster;
use crate::support::upstream::{Upstream, UpstreamAction, unused_address};

use web::{Web, picture};

const PATH: &str = "/api/vision";

/// A listener that must stay silent.
struct Silent {
    address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Silent {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, connections }
    }

    fn assert_silent(&self) {
        assert_eq!(self.connections.load(Ordering::SeqCst), 0, "nothing may be sent to an inner address");
    }
}

/// A server that may fetch from these addresses.
fn muster(allowed: &[std::net::SocketAddr], more: &str) -> Muster {
    let allowed: Vec<String> = allowed.iter().map(|address| format!("\"{address}\"")).collect();
    Muster::start(&format!(
        "{more}\n[llm]\nmodel = \"none\"\ncache = \"/nonexistent\"\n[media]\nfetch_allow = [{}]\n",
        allowed.join(", ")
    ))
}

async fn see(client: &Client, url: &str) -> Answer {
    client.post(PATH, &json!({ "image": url, "task": "describe", "model": "facts" })).await
}

/// Checks that a URL is refused with this code and reason, and that the message has no address and no content.
fn assert_refused(refused: &Answer, code: &str, reason: &str, what: &str) {
    assert_eq!(refused.status, 400, "{what}: {}", refused.text);
    let error = &refused.json()["error"];
    assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!("image")), "{what}: {error}");
    assert_eq!(error["details"]["reason"], reason, "{what}: {error}");
    for secret in ["127.0.0.1", "169.254", "secret", "doctype"] {
        assert!(!refused.text.contains(secret), "{what}: {}", refused.text);
    }
}

#[tokio::test]
async fn no_spelling_of_an_inner_address_is_reached() {
    let silent = Silent::start();
    let muster = muster(&[], "");
    let client = muster.client();
    let port = silent.address.port();
    let hosts = [
        "127.0.0.1",
        "127.1",
        "0177.0.0.1",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "１２７.0.0.1",
        "127。0。0。1",
        "0.0.0.0",
        "localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::1]",
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "[fc00::1]",
        "[fe80::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "[2001:0:7f00:1::1]",
        "[::127.0.0.1]",
        "[100::1]",
        "[3fff::1]",
        "[5f00::1]",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "240.0.0.1",
    ];
    for host in hosts {
        let refused = see(&client, &format!("http://{host}/a.png")).await;
        assert_refused(&refused, "url_not_allowed", "address", host);
        let refused = see(&client, &format!("http://{host}:{port}/a.png")).await;
        assert_refused(&refused, "url_not_allowed", "port", host);
    }
    let inner = silent.address;
    for (url, reason) in [
        (format!("http://me:secret@{inner}/a.png"), "user_info"),
        (format!("https://{inner}/a.png"), "port"),
        ("http://example.org:22/".to_owned(), "port"),
    ] {
        assert_refused(&see(&client, &url).await, "url_not_allowed", reason, &url);
    }
    let other = see(&client, "ftp://example.org/a.png").await;
    assert_eq!((other.status, &other.json()["error"]["code"]), (400, &json!("url_not_allowed")), "{}", other.text);
    silent.assert_silent();
    let counted = client.get("/metrics").await.text;
    assert!(counted.contains("muster_media_fetches_total{outcome=\"not_allowed\"}"), "{counted}");
}

#[tokio::test]
async fn a_picture_is_fetched_without_a_trace_of_the_caller() {
    let silent = Silent::start();
    let web = Web::start(silent.address);
    let muster = muster(&[web.address], "");
    for path in ["/picture.png", "/moved"] {
        let seen = see(&muster.client(), &web.url(path)).await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        let image = &seen.json()["image"];
        assert_eq!((&image["width"], &image["height"], &image["format"]), (&json!(3), &json!(2), &json!("png")));
        assert_eq!(image["bytes"], picture().len());
    }
    let head = web.last_head().to_ascii_lowercase();
    assert!(
        head.contains(&format!("host: {}\r\n", web.address)) && head.contains("accept-encoding: identity\r\n"),
        "{head}"
    );
    for absent in ["cookie", "authorization", "referer", "x-api-key", "forwarded", "traceparent"] {
        assert!(!head.contains(absent), "{head}");
    }
}

#[tokio::test]
async fn each_way_to_fail_has_its_word() {
    let silent = Silent::start();
    let web = Web::start(silent.address);
    let muster = muster(&[web.address, unused_address()], "");
    let client = muster.client();
    for (path, code, reason) in [
        ("/inwards", "url_not_allowed", "port"),
        ("/metadata", "url_not_allowed", "address"),
        ("/octal", "url_not_allowed", "address"),
        ("/file", "url_not_allowed", "scheme"),
        ("/round", "url_failed", "redirects"),
        ("/nowhere", "url_failed", "status"),
        ("/missing", "url_failed", "status"),
        ("/html", "url_failed", "not_a_picture"),
        ("/short", "url_failed", "not_a_picture"),
        ("/gzip", "url_failed", "not_a_picture"),
        ("/declared", "url_failed", "size"),
        ("/endless", "url_failed", "size"),
        ("/text", "url_failed", "not_a_picture"),
        ("/silent", "url_failed", "timeout"),
        ("/stalled", "url_failed", "timeout"),
    ] {
        assert_refused(&see(&client, &web.url(path)).await, code, reason, path);
    }
    assert!(web.written() < 48 << 20, "{} bytes: an endless answer is left", web.written());
    let refused = see(&client, &format!("http://{}/a.png", unused_address())).await;
    assert_refused(&refused, "url_failed", "connect", "a port without a listener");
    let refused = see(&client, &format!("https://{}/a.png", web.address)).await;
    assert_refused(&refused, "url_failed", "tls", "a server without TLS");
    let refused = see(&client, "http://nowhere.invalid/a.png").await;
    assert_refused(&refused, "url_failed", "dns", "a name that does not exist (RFC 6761)");
    silent.assert_silent();
}

/// A chat of each dialect with a picture by URL: path, body.
fn chats(url: &str) -> Vec<(&'static str, Value)> {
    let openai = json!([{ "type": "image_url", "image_url": { "url": url, "detail": "low" } }]);
    let messages = json!([{ "role": "user", "content": openai }]);
    let anthropic = json!([{ "type": "image", "source": { "type": "url", "url": url } }]);
    let responses = json!([{ "type": "input_image", "image_url": url }]);
    vec![
        ("/v1/chat/completions", json!({ "model": "alpha", "messages": messages, "seed": 7 })),
        ("/api/llm/chat", json!({ "model": "alpha", "messages": messages })),
        (
            "/v1/messages",
            json!({ "model": "alpha", "max_tokens": 9, "messages": [{ "role": "user", "content": anthropic }] }),
        ),
        ("/v1/responses", json!({ "model": "alpha", "input": [{ "role": "user", "content": responses }] })),
    ]
}

#[tokio::test]
async fn pictures_of_chats_take_the_same_way_and_go_on_as_data() {
    let silent = Silent::start();
    let web = Web::start(silent.address);
    let upstream = Upstream::start(UpstreamAction::Answer(&["a cat"]));
    let provider = upstream.provider("one", "alpha");
    let muster = muster(&[web.address], &format!("{provider}[chain]\norder = [\"one\"]\n"));
    let client = muster.client();
    let url = web.url("/picture.png");
    for (path, body) in chats(&url) {
        let before = web.connections();
        let answered = client.post(path, &body).await;
        assert_eq!(answered.status, 200, "{path}: {}", answered.text);
        let sent = upstream.last_request().to_string();
        assert!(sent.contains("data:image/png;base64,iVBORw0KGgo"), "{path}: {sent}");
        assert!(!sent.contains(&url), "{path}: {sent}");
        assert_eq!(web.connections(), before + 1, "{path}");
    }
    let first = &upstream.bodies()[0];
    assert_eq!(
        (&first["seed"], &first["messages"][0]["content"][0]["image_url"]["detail"]),
        (&json!(7), &json!("low"))
    );
    let before = upstream.requests();
    for (path, body) in chats(&format!("http://{}/a.png", silent.address)) {
        let refused = client.post(path, &body).await;
        assert!(matches!(refused.status, 400 | 422), "{path}: {} {}", refused.status, refused.text);
        if path.starts_with("/v1/chat") || path == "/v1/responses" {
            let error = &refused.json()["error"];
            assert_eq!((&error["code"], &error["param"]), (&json!("url_not_allowed"), &Value::Null), "{error}");
        }
    }
    assert_eq!(upstream.requests(), before, "no provider is called");
    silent.assert_silent();
}
