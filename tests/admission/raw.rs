//! Requests whose bytes are written by the test.

use std::net::SocketAddr;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::client::{Answer, Client};
use crate::support::server::Muster;
use crate::support::socket::{Transport, admin_token, with_timeout};

/// A connection of HTTP/1.
pub struct Raw(Box<dyn Transport>);

impl Raw {
    pub async fn connect(address: SocketAddr) -> Self {
        Self(Box::new(TcpStream::connect(address).await.unwrap()))
    }

    pub async fn open(muster: &Muster) -> Self {
        Self(muster.connect().await)
    }

    /// Sends bytes; false if the server has closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        with_timeout(self.0.write_all(bytes)).await.is_ok() && self.0.flush().await.is_ok()
    }

    /// Sends the head of a request, and nothing else.
    pub async fn head(&mut self, method: &str, path: &str, key: &str, more: &str) {
        let credential = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
        let head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n{credential}{more}\r\n");
        assert!(self.send(head.as_bytes()).await);
    }

    /// Reads the next head of a response: its status and the text.
    pub async fn response_head(&mut self) -> (u16, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = with_timeout(self.0.read_u8()).await;
            head.push(byte.unwrap_or_else(|error| panic!("{error} after {:?}", String::from_utf8_lossy(&head))));
        }
        let head = String::from_utf8(head).unwrap();
        (head[9..12].parse().unwrap(), head)
    }

    /// Reads a response with a known length.
    pub async fn response(&mut self) -> Answer {
        let (status, head) = self.response_head().await;
        let mut headers = HeaderMap::new();
        for line in head.lines().skip(1).filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let length = headers.get("content-length").map_or(0, |length| length.to_str().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        with_timeout(self.0.read_exact(&mut body)).await.unwrap();
        Answer { status, headers, text: String::from_utf8(body).unwrap() }
    }

    /// Whether a response begins before the connection ends.
    pub async fn try_response(&mut self) -> bool {
        with_timeout(self.0.read_u8()).await.is_ok()
    }

    /// Waits until the server has closed the connection; returns the bytes before that.
    pub async fn closed(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = with_timeout(self.0.read_to_end(&mut rest)).await;
        rest
    }
}

pub const JSON: &str = "Content-Type: application/json\r\n";

/// A route that takes a JSON body by POST.
#[derive(Clone)]
pub struct Route {
    pub path: String,
    /// Whether it takes the token of a user; else it takes an API key.
    pub for_people: bool,
    /// A body that is accepted.
    pub good: Value,
    /// Status of a body that is JSON and invalid.
    pub invalid: u16,
}

/// Routes with bodies, of every dialect and category. `model` is one that the server has.
pub fn routes(model: &str) -> Vec<Route> {
    let turns = json!([{ "role": "user", "content": "hi" }]);
    let route = |path: &str, good: Value| Route { path: path.to_owned(), for_people: false, good, invalid: 400 };
    let agent = |path: &str, good: Value| Route { invalid: 422, ..route(path, good) };
    let person = |path: &str, good: Value| Route { for_people: true, ..route(path, good) };
    vec![
        route("/api/chat", json!({ "message": "hi", "model": model })),
        route("/v1/chat/completions", json!({ "model": model, "messages": turns })),
        route("/v1/responses", json!({ "model": model, "input": "hi" })),
        route("/v1/messages", json!({ "model": model, "max_tokens": 9, "messages": turns })),
        route("/v1/messages/count_tokens", json!({ "model": model, "messages": turns })),
        agent("/api/llm/chat", json!({ "model": model, "messages": turns })),
        agent("/api/memory/store", json!({ "key": "k", "value": "v" })),
        agent("/api/memory/batch", json!({ "entries": [{ "key": "k", "value": "v" }] })),
        agent("/api/v1/keys", json!({ "name": "n", "scopes": ["chat"] })),
        person("/api/v1/incidents", json!({ "title": "Flood", "kind": "flood" })),
        person("/api/v1/devices/within", json!({ "geometry": { "type": "Circle", "center": [8, 50], "radius_m": 9 } })),
    ]
}

/// The credential of a route: the given key, or a user's token.
pub async fn credential(muster: &Muster, route: &Route, key: &str) -> String {
    if route.for_people { admin_token(muster).await } else { key.to_owned() }
}

/// A key with every scope and these limits.
pub async fn key_with(admin: &Client, limits: Value) -> String {
    let body = json!({ "name": "all", "scopes": ["agents", "chat", "memory", "engines", "admin"],
        "plan_a": "enterprise", "plan_b": "enterprise", "limits": limits });
    admin.make_key(&body).await
}
