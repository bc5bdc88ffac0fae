//! Clients of the live feed: one that implements the protocol, and one that sends arbitrary bytes.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::client::TEST_TIMEOUT;
use super::server::Muster;
use super::{EMAIL, PASSWORD};

/// The transport of a socket: plain TCP or TLS.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// The connection of a socket, which a test keeps where the handshake is rejected: the library returns only as much of
/// the body as arrived with the head.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Transport>>>);

impl AsyncRead for Shared {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_read(context, bytes)
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock().unwrap()).poll_shutdown(context)
    }
}

/// A live socket.
pub struct Socket {
    ws: WebSocketStream<Shared>,
    next_id: u32,
    /// Frames that were received while waiting for a reply.
    buffered: VecDeque<Value>,
}

/// A rejected handshake.
#[derive(Debug)]
pub struct HandshakeRejection {
    pub status: u16,
    pub body: String,
}

/// A frame, or the end of the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum SocketMessage {
    Frame(Value),
    /// A close frame with this code; 1006 where there was none.
    Closed(u16),
}

/// Logs in a person and returns the token.
pub async fn token(muster: &Muster, email: &str) -> String {
    let (_, answer) = muster.client().without_key().login(email, PASSWORD).await;
    answer.json()["data"]["token"].as_str().unwrap().to_owned()
}

/// Logs in the first administrator and returns the token.
pub async fn admin_token(muster: &Muster) -> String {
    token(muster, EMAIL).await
}

impl Socket {
    /// Tries a handshake with these headers besides the necessary ones.
    pub async fn handshake(
        muster: &Muster,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, HandshakeRejection> {
        let url = format!("{}{path}", muster.url().replacen("http", "ws", 1));
        Self::handshake_over(muster.connect().await, &url, headers).await
    }

    /// Attempts a handshake with the server at this URL.
    pub async fn handshake_at(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, HandshakeRejection> {
        let address = url.strip_prefix("http://").unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        Self::handshake_over(Box::new(stream), &format!("ws://{address}/api/v1/realtime"), headers).await
    }

    /// Opens a socket with a token at the handshake, at this URL.
    pub async fn at(url: &str, token: &str) -> Self {
        Self::handshake_at(url, &[("authorization", &format!("Bearer {token}"))]).await.unwrap()
    }

    /// Attempts a handshake over an open connection.
    pub async fn handshake_over(
        stream: Box<dyn Transport>,
        url: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, HandshakeRejection> {
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("muster.v1.json"));
        for (name, value) in headers {
            request.headers_mut().append(*name, HeaderValue::from_str(value).unwrap());
        }
        let mut stream = Shared(Arc::new(Mutex::new(stream)));
        match with_timeout(client_async(request, stream.clone())).await {
            Ok((ws, response)) => {
                assert_eq!(response.headers()["sec-websocket-protocol"], "muster.v1.json");
                Ok(Self { ws, next_id: 0, buffered: VecDeque::new() })
            }
            Err(Error::Http(response)) => {
                let status = response.status().as_u16();
                let mut body = response.body().clone().unwrap_or_default();
                let length = response.headers().get("content-length").map_or("0", |it| it.to_str().unwrap());
                let mut rest = vec![0; length.parse::<usize>().unwrap() - body.len()];
                with_timeout(stream.read_exact(&mut rest)).await.unwrap();
                body.append(&mut rest);
                Err(HandshakeRejection { status, body: String::from_utf8(body).unwrap() })
            }
            Err(error) => panic!("no handshake: {error}"),
        }
    }

    /// Opens a socket with a token at the handshake, as programs do.
    pub async fn open(muster: &Muster, token: &str) -> Self {
        Self::handshake(muster, "/api/v1/realtime", &[("authorization", &format!("Bearer {token}"))]).await.unwrap()
    }

    /// Opens a socket without a token, as a page of the server does.
    pub async fn page(muster: &Muster) -> Self {
        Self::handshake(muster, "/api/v1/realtime", &[("origin", &muster.url())]).await.unwrap()
    }

    /// Opens a page's socket and authenticates it by a `connect` frame.
    pub async fn connect(muster: &Muster, token: &str) -> Self {
        let mut socket = Self::page(muster).await;
        let reply = socket.request(json!({ "connect": { "token": token } })).await;
        assert!(reply["ok"].is_object(), "{reply}");
        socket
    }

    pub async fn send(&mut self, frame: &Value) {
        self.ws.send(Message::text(frame.to_string())).await.unwrap();
    }

    pub async fn send_raw(&mut self, message: Message) {
        self.ws.send(message).await.unwrap();
    }

    /// Sends a request under a new id.
    pub async fn begin(&mut self, mut request: Value) -> u32 {
        self.next_id += 1;
        request["id"] = json!(self.next_id);
        self.send(&request).await;
        self.next_id
    }

    /// Sends a request and waits for its reply; other frames can still be read.
    pub async fn request(&mut self, request: Value) -> Value {
        let id = self.begin(request).await;
        self.reply(id).await
    }

    /// Waits for the reply to a request.
    pub async fn reply(&mut self, id: u32) -> Value {
        if let Some(at) = self.buffered.iter().position(|frame| frame["id"] == json!(id)) {
            return self.buffered.remove(at).unwrap();
        }
        loop {
            match self.read().await {
                SocketMessage::Frame(frame) if frame["id"] == json!(id) => return frame,
                SocketMessage::Frame(frame) => self.buffered.push_back(frame),
                SocketMessage::Closed(code) => panic!("closed with {code} before the reply to {id}"),
            }
        }
    }

    /// Subscribes and asserts success.
    pub async fn subscribe(&mut self, body: Value) -> Value {
        let reply = self.request(json!({ "subscribe": body })).await;
        assert!(reply["ok"].is_object(), "{reply}");
        reply["ok"].clone()
    }

    /// The next frame other than a heartbeat; heartbeats are answered.
    pub async fn next(&mut self) -> SocketMessage {
        match self.buffered.pop_front() {
            Some(frame) => SocketMessage::Frame(frame),
            None => self.read().await,
        }
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Value {
        match self.next().await {
            SocketMessage::Frame(frame) => frame,
            SocketMessage::Closed(code) => panic!("closed with {code}"),
        }
    }

    /// The code that the socket is closed with; frames before it are skipped.
    pub async fn closed(&mut self) -> u16 {
        loop {
            if let SocketMessage::Closed(code) = self.next().await {
                return code;
            }
        }
    }

    /// The next heartbeat, unanswered.
    pub async fn heartbeat(&mut self) {
        loop {
            match with_timeout(self.ws.next()).await {
                Some(Ok(Message::Text(text))) if text.as_str() == "{}" => return,
                Some(Ok(_)) => {}
                other => panic!("no heartbeat but {other:?}"),
            }
        }
    }

    async fn read(&mut self) -> SocketMessage {
        loop {
            match with_timeout(self.ws.next()).await {
                Some(Ok(Message::Text(text))) if text.as_str() == "{}" => {
                    self.ws.send(Message::text("{}")).await.unwrap();
                }
                Some(Ok(Message::Text(text))) => return SocketMessage::Frame(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => {
                    return SocketMessage::Closed(frame.map_or(1005, |frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return SocketMessage::Closed(1006),
            }
        }
    }
}

/// A socket whose bytes are written by the test.
pub struct Raw {
    pub stream: Box<dyn Transport>,
}

impl Raw {
    /// A socket with that token; its receive buffer is a few KiB.
    pub async fn open(muster: &Muster, token: &str) -> Self {
        Self::open_at(muster, "/api/v1/realtime", token).await
    }

    /// The same at another endpoint.
    pub async fn open_at(muster: &Muster, path: &str, token: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = muster.secure(socket.connect(muster.address).await.unwrap()).await;
        stream.write_all(Self::request(muster, path, token).as_bytes()).await.unwrap();
        Self::over(stream).await
    }

    /// The request of a handshake.
    pub fn request(muster: &Muster, path: &str, token: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Authorization: Bearer {token}\r\n\r\n",
            muster.address
        )
    }

    /// A socket whose request was sent: reads the response.
    pub async fn over(mut stream: Box<dyn Transport>) -> Self {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(with_timeout(stream.read_u8()).await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101"), "{head}");
        // RFC 6455, section 1.3: the answer to that key.
        assert!(head.contains("s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        Self { stream }
    }

    /// Sends bytes; returns false if the server has closed the connection.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// A masked frame with this first byte.
    pub async fn frame(&mut self, first: u8, payload: &[u8]) -> bool {
        self.send(&masked(first, payload)).await
    }

    /// Everything received up to the connection's end.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = with_timeout(self.stream.read_to_end(&mut rest)).await;
        rest
    }

    /// The code of the close frame; 1006 where the connection ends without one.
    pub async fn close_code(&mut self) -> u16 {
        loop {
            match self.read().await {
                Some((0x88, payload)) => return u16::from_be_bytes([payload[0], payload[1]]),
                Some(_) => {}
                None => return 1006,
            }
        }
    }

    /// Reads one frame.
    pub async fn skip(&mut self) {
        assert!(self.read().await.is_some(), "the connection ended");
    }

    /// The next frame's first byte and payload; `None` at the connection's end.
    pub async fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = with_timeout(self.stream.read_u8()).await.ok()?;
        let length = match with_timeout(self.stream.read_u8()).await.ok()? {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => short.into(),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        with_timeout(self.stream.read_exact(&mut payload)).await.ok()?;
        Some((first, payload))
    }
}

/// A frame as RFC 6455, section 5.2 requires of a client.
pub fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut out = vec![first];
    match payload.len() {
        short @ 0..=125 => out.push(0x80 | u8::try_from(short).unwrap()),
        middle @ 126..=0xffff => {
            out.push(0x80 | 126);
            out.extend(u16::try_from(middle).unwrap().to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend((long as u64).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// Awaits a future with the time limit of the tests.
pub async fn with_timeout<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(TEST_TIMEOUT, future).await.expect("nothing was received")
}

/// Waits for a condition that is observable only inside the server.
pub async fn wait_until(description: &str, condition: impl Fn() -> bool) {
    let polling = async {
        let mut interval = tokio::time::interval(Duration::from_millis(10));
        while !condition() {
            interval.tick().await;
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, polling).await.is_ok(), "{description}");
}
