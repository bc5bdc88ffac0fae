//! A scripted upstream that serves a provider's API over a real socket, with every kind of fault.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::wire::Wire;

/// The upstream's behaviour for each request.
#[derive(Debug, Clone)]
pub enum UpstreamAction {
    /// A complete answer of these words, streamed or not as requested.
    Answer(&'static [&'static str]),
    /// This status, these header lines and this body.
    Status(u16, &'static str, &'static str),
    HangBeforeHeaders,
    /// Headers and keep-alive comments only.
    HangBeforeContent,
    /// This many deltas, then the connection is cut; a complete answer is cut in its middle.
    CutAfter(usize),
    /// This many deltas, then silence until the client disconnects; a complete answer stops in its middle.
    HangAfter(usize),
    /// This many deltas, then an error event; where no stream was requested, an error with a success status.
    ErrorAfter(usize),
    /// Deltas without an end, until the client disconnects.
    Endless,
    /// This many deltas; the rest, with a normal end, when the test releases it.
    HeldAfter(usize),
    /// Nothing until the test releases it; then the other action.
    Held(Box<UpstreamAction>),
    /// A complete answer of these words with this content type, also where a stream was requested.
    WholeAs(&'static str, &'static [&'static str]),
    /// An answer of these words as events with this content type.
    EventsAs(&'static str, &'static [&'static str]),
    /// A success status and a body that is not JSON.
    Malformed,
    /// This many deltas, then an event that is not JSON; a complete answer is not JSON.
    MalformedAfter(usize),
}

/// A running upstream.
pub struct Upstream {
    pub address: SocketAddr,
    wire: Wire,
    script: Arc<Script>,
}

struct Script {
    wire: Wire,
    action: Mutex<UpstreamAction>,
    requests: watch::Sender<usize>,
    /// The body of each request.
    bodies: Mutex<Vec<serde_json::Value>>,
    /// The text of the latest body.
    text: Mutex<String>,
    /// How many connections the client has closed during an answer.
    disconnects: watch::Sender<usize>,
    /// Held answers may continue.
    released: watch::Sender<bool>,
}

impl Upstream {
    /// An upstream with OpenAI's wire.
    pub fn start(action: UpstreamAction) -> Self {
        Self::with_wire(Wire::OpenAi, action)
    }

    pub fn with_wire(wire: Wire, action: UpstreamAction) -> Self {
        let action = Mutex::new(action);
        let (requests, disconnects, released) =
            (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(false));
        let (bodies, text) = (Mutex::default(), Mutex::default());
        let script = Arc::new(Script { wire, action, requests, bodies, text, disconnects, released });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&script);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let script = Arc::clone(&shared);
                    tokio::spawn(async move {
                        let _ = connection(stream, &script).await;
                    });
                }
            });
        });
        Self { address, wire, script }
    }

    /// Sets the behaviour from the next request on.
    pub fn set_action(&self, action: UpstreamAction) {
        *self.script.action.lock().unwrap() = action;
    }

    pub fn requests(&self) -> usize {
        *self.script.requests.borrow()
    }

    /// The body of the latest request.
    pub fn last_request(&self) -> serde_json::Value {
        self.script.bodies.lock().unwrap().last().cloned().expect("it got a request")
    }

    /// The body of the latest request as it arrived.
    pub fn last_text(&self) -> String {
        self.script.text.lock().unwrap().clone()
    }

    /// The bodies of all requests, in order.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        self.script.bodies.lock().unwrap().clone()
    }

    /// Releases every held answer.
    pub fn release_held(&self) {
        self.script.released.send_replace(true);
    }

    /// Waits for the first request.
    pub async fn first_request(&self) {
        self.script.requests.subscribe().wait_for(|&requests| requests > 0).await.unwrap();
    }

    /// Waits until a client has closed a connection during an answer.
    pub async fn client_disconnected(&self) {
        self.script.disconnects.subscribe().wait_for(|&disconnects| disconnects > 0).await.unwrap();
    }

    /// The upstream's `[[provider]]` table, with one model.
    pub fn provider(&self, id: &str, model: &str) -> String {
        self.wire.provider(self.address, id, model)
    }
}

/// An address without a listener: port 1 is never assigned to a program that requests a free port. A released free port
/// could soon belong to another test.
pub fn unused_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

/// A `[[provider]]` table for that address.
pub fn refused_provider(id: &str, model: &str) -> String {
    Wire::OpenAi.provider(unused_address(), id, model)
}

async fn connection(mut stream: TcpStream, script: &Script) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some((path, text)) = request(&mut stream, &mut buffer).await? else { return Ok(()) };
        let body = serde_json::from_str(&text).unwrap_or_default();
        *script.text.lock().unwrap() = text;
        let streamed = script.wire.streamed(&path, &body);
        script.bodies.lock().unwrap().push(body);
        script.requests.send_modify(|requests| *requests += 1);
        let mut action = script.action.lock().unwrap().clone();
        if let UpstreamAction::Held(then) = action {
            let mut released = script.released.subscribe();
            let released = async { released.wait_for(|&released| released).await.is_ok() };
            // A client that leaves meanwhile is noticed.
            let left =
                async { stream.readable().await.is_ok() && stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 };
            tokio::select! {
                true = released => {}
                true = left => {
                    script.disconnects.send_modify(|disconnects| *disconnects += 1);
                    return Ok(());
                }
                else => return Ok(()),
            }
            action = *then;
        }
        let done = if streamed {
            stream_events(&mut stream, action, script).await
        } else {
            answer(&mut stream, action, script.wire).await
        };
        if !matches!(done, Ok(true)) {
            script.disconnects.send_modify(|disconnects| *disconnects += 1);
            return Ok(());
        }
    }
}

/// Reads one request with its path and body; `None` when the client is gone.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<(String, String)>> {
    loop {
        if let Some(head) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).into_owned();
            let length = text
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok())
                .unwrap_or(0);
            let end = head + 4 + length;
            if buffer.len() >= end {
                let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
                let body = String::from_utf8_lossy(&buffer[head + 4..end]).into_owned();
                buffer.drain(..end);
                return Ok(Some((path, body)));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Waits until the client closes its side.
async fn wait_for_disconnect(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut rest = [0; 64];
    while stream.read(&mut rest).await? > 0 {}
    Ok(false)
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
/// The head of a complete answer whose body is never finished.
const LONGER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
const OOPS: &str = "{\"choices\": [oops";

/// Answers with a complete body; returns whether the connection may be used again.
async fn answer(stream: &mut TcpStream, action: UpstreamAction, wire: Wire) -> std::io::Result<bool> {
    match action {
        UpstreamAction::Answer(words) => whole(stream, 200, "", &wire.whole(words)).await,
        UpstreamAction::Status(status, headers, body) => whole(stream, status, headers, body).await,
        UpstreamAction::HangBeforeHeaders => wait_for_disconnect(stream).await,
        UpstreamAction::HangBeforeContent => {
            stream.write_all(LONGER.as_bytes()).await?;
            wait_for_disconnect(stream).await
        }
        UpstreamAction::HangAfter(_) => {
            stream.write_all(format!("{LONGER}{{").as_bytes()).await?;
            wait_for_disconnect(stream).await
        }
        UpstreamAction::CutAfter(_) => {
            stream.write_all(format!("{LONGER}{{").as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        UpstreamAction::ErrorAfter(_) => whole(stream, 200, "", wire.exploded()).await,
        UpstreamAction::Malformed | UpstreamAction::MalformedAfter(_) => whole(stream, 200, "", OOPS).await,
        UpstreamAction::WholeAs(kind, words) => whole_as(stream, 200, "", kind, &wire.whole(words)).await,
        UpstreamAction::Held(_) => unreachable!("it was released"),
        UpstreamAction::Endless | UpstreamAction::HeldAfter(_) | UpstreamAction::EventsAs(..) => {
            panic!("only a stream can be that: {action:?}")
        }
    }
}

/// Answers with events; returns whether the connection may be used again.
async fn stream_events(stream: &mut TcpStream, action: UpstreamAction, script: &Script) -> std::io::Result<bool> {
    let wire = script.wire;
    match action {
        UpstreamAction::Answer(words) => {
            let mut out = wire.opening();
            out.extend(words.iter().map(|word| wire.delta(word)));
            out.push_str(&wire.ending(words.len()));
            // In chunks, so that the connection can be used again.
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}{:x}\r\n{out}\r\n0\r\n\r\n", out.len()).as_bytes()).await?;
            Ok(true)
        }
        UpstreamAction::EventsAs(kind, words) => {
            let mut out = wire.opening();
            out.extend(words.iter().map(|word| wire.delta(word)));
            out.push_str(&wire.ending(words.len()));
            whole_as(stream, 200, "", kind, &out).await
        }
        UpstreamAction::Held(_) => unreachable!("it was released"),
        UpstreamAction::Status(..)
        | UpstreamAction::HangBeforeHeaders
        | UpstreamAction::WholeAs(..)
        | UpstreamAction::Malformed => answer(stream, action, wire).await,
        UpstreamAction::HangBeforeContent => {
            deltas(stream, wire, 0).await?;
            stream.write_all(b": keep-alive\n\n: keep-alive\n\n").await?;
            wait_for_disconnect(stream).await
        }
        UpstreamAction::HangAfter(count) => {
            deltas(stream, wire, count).await?;
            wait_for_disconnect(stream).await
        }
        UpstreamAction::CutAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        UpstreamAction::ErrorAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.write_all(wire.exploding().as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        UpstreamAction::MalformedAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.write_all(wire.event(OOPS).as_bytes()).await?;
            // A normal end, were it not for the event before it.
            stream.write_all(wire.ending(count).as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        UpstreamAction::Endless => {
            deltas(stream, wire, 0).await?;
            loop {
                stream.write_all(wire.delta("on and on ").as_bytes()).await?;
                tokio::task::yield_now().await;
            }
        }
        UpstreamAction::HeldAfter(count) => {
            deltas(stream, wire, count).await?;
            // The sender exists as long as the script.
            let _ = script.released.subscribe().wait_for(|&released| released).await;
            stream.write_all(wire.ending(count).as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
    }
}

/// Headers, the events before a first delta, and this many deltas: `w0 `, `w1 ` and so on.
async fn deltas(stream: &mut TcpStream, wire: Wire, count: usize) -> std::io::Result<()> {
    stream.write_all(format!("{EVENTS}{}", wire.opening()).as_bytes()).await?;
    for n in 0..count {
        stream.write_all(wire.delta(&format!("w{n} ")).as_bytes()).await?;
    }
    Ok(())
}

async fn whole(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<bool> {
    whole_as(stream, status, headers, "application/json", body).await
}

async fn whole_as(stream: &mut TcpStream, status: u16, headers: &str, kind: &str, body: &str) -> std::io::Result<bool> {
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    Ok(true)
}
