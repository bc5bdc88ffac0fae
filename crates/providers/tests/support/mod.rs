//! A scripted HTTP server on the loopback interface.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test file uses its part, and a broken server is a failed test"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use muster_providers::{
    Call, ChatEvent, ChatRequest, ChatStream, Fault, HttpConfig, Message, OpenAiAdapter, Role, Secret, Timeouts,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The bound of a phase that the test is about.
pub(crate) const SHORT: Duration = Duration::from_millis(80);
/// The bound of every other phase: never reached.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// One connection of the server.
pub(crate) struct Conn(TcpStream);

/// A request as it came over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Conn {
    /// Reads one request; `None` when the client closed instead.
    pub(crate) async fn request(&mut self) -> Option<Request> {
        let mut bytes = Vec::new();
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            if self.0.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let mut request = Request { head: String::from_utf8(bytes[..head_end].to_vec()).unwrap(), body: String::new() };
        let length: usize = request.header("content-length").unwrap().parse().unwrap();
        while bytes.len() < head_end + length {
            self.0.read_buf(&mut bytes).await.ok()?;
        }
        request.body = String::from_utf8(bytes[head_end..].to_vec()).unwrap();
        Some(request)
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        // The client may be gone already, which is what some tests are about.
        let _ = self.0.write_all(bytes).await;
        let _ = self.0.flush().await;
    }

    pub(crate) async fn events(&mut self) {
        self.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").await;
    }

    /// Waits until the client has closed the connection.
    pub(crate) async fn closed(&mut self) {
        let mut rest = [0; 1024];
        while !matches!(self.0.read(&mut rest).await, Ok(0) | Err(_)) {}
    }
}

/// Serves each connection with `script`, until the test's runtime ends.
pub(crate) async fn serve<F, Fut>(script: F) -> SocketAddr
where
    F: Fn(Conn) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            tokio::spawn(script(Conn(socket)));
        }
    });
    addr
}

/// Reads the request, answers `response` and closes.
pub(crate) async fn answering(response: impl Into<String>) -> SocketAddr {
    let response: Arc<str> = response.into().into();
    serve(move |mut conn| {
        let response = response.clone();
        async move {
            if conn.request().await.is_some() {
                conn.send(&response).await;
            }
        }
    })
    .await
}

/// A whole answer with this status line, these further headers (each ending in CRLF) and this body.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A streamed answer that ends with the connection.
pub(crate) fn events(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{body}")
}

/// One chunk with text, as an event.
pub(crate) fn delta(text: &str) -> String {
    let chunk = serde_json::json!({
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]
    });
    format!("data: {chunk}\n\n")
}

/// The chunk that ends an answer, as an event.
pub(crate) fn finish(reason: &str) -> String {
    let chunk = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    format!("data: {chunk}\n\n")
}

const ANSWER: &str = r#"{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}"#;

/// A server that keeps its connections and reports each request with the number of its connection.
pub(crate) async fn recording() -> (SocketAddr, mpsc::Receiver<(usize, Request)>) {
    recording_answer(http("200 OK", "x-ratelimit-remaining-requests: 1\r\n", ANSWER)).await
}

/// The same; requests that are not for a stream get the response `whole`.
pub(crate) async fn recording_answer(whole: String) -> (SocketAddr, mpsc::Receiver<(usize, Request)>) {
    let (report, reports) = mpsc::channel(16);
    let connections = std::sync::atomic::AtomicUsize::new(0);
    let whole: Arc<str> = whole.into();
    let addr = serve(move |mut conn| {
        let number = connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (report, whole) = (report.clone(), whole.clone());
        async move {
            while let Some(request) = conn.request().await {
                let streams = request.body.contains("\"stream\":true");
                report.send((number, request)).await.unwrap();
                if streams {
                    conn.send(&chunked(&format!("{}{}{DONE}", delta("ok"), finish("stop")))).await;
                } else {
                    conn.send(&whole).await;
                }
            }
        }
    })
    .await;
    (addr, reports)
}

/// A streamed answer in one HTTP chunk, after which the connection stays open.
fn chunked(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    )
}

pub(crate) const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2,\"total_tokens\":7}}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";

pub(crate) fn adapter(addr: SocketAddr) -> OpenAiAdapter {
    adapter_at(&format!("http://{addr}/v1"))
}

pub(crate) fn adapter_at(base_url: &str) -> OpenAiAdapter {
    OpenAiAdapter::new(HttpConfig::new("mock", base_url).with_key(Secret::new(KEY))).unwrap()
}

pub(crate) fn call() -> Call {
    call_within(Timeouts { connect: LONG, headers: LONG, first_delta: LONG, between_deltas: LONG })
}

pub(crate) fn call_within(timeouts: Timeouts) -> Call {
    Call {
        upstream_model: "m".to_owned(),
        takes_sampling: true,
        reasons: false,
        max_output: None,
        request: Arc::new(ChatRequest {
            messages: vec![Message::text(Role::User, "a prompt nobody else may read")],
            ..ChatRequest::default()
        }),
        timeouts,
        request_id: "req_01TEST".to_owned(),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    }
}

/// Returns all events of a stream.
pub(crate) async fn collect(stream: ChatStream) -> Vec<Result<ChatEvent, Fault>> {
    stream.collect().await
}

/// The text of the deltas.
pub(crate) fn text(events: &[Result<ChatEvent, Fault>]) -> String {
    events
        .iter()
        .filter_map(|event| match event {
            Ok(ChatEvent::Delta(delta)) => delta.text(),
            _ => None,
        })
        .collect()
}
