//! A scripted upstream that speaks a provider's API over a real socket, with every way to break.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::wire::Wire;

/// What the upstream does with each request.
#[derive(Debug, Clone)]
pub enum Act {
    /// A whole answer of these words, streamed or not as asked.
    Answer(&'static [&'static str]),
    /// This status, these header lines and this body.
    Status(u16, &'static str, &'static str),
    HangBeforeHeaders,
    /// Headers, keep-alive comments, nothing else.
    HangBeforeContent,
    /// So many deltas, then the connection is cut; a whole answer is cut in its middle.
    CutAfter(usize),
    /// So many deltas, then silence until the client leaves; a whole answer falls silent in its middle.
    HangAfter(usize),
    /// So many deltas, then an error event; where no stream was asked for, an error with the status of a success.
    ErrorAfter(usize),
    /// Deltas without an end, until the client leaves.
    Endless,
    /// So many deltas; the rest, a proper end, when the test lets it go.
    HeldAfter(usize),
    /// Headers of success and a body that is not JSON.
    Malformed,
    /// So many deltas, then an event that is not JSON; a whole answer is not JSON.
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
    act: Mutex<Act>,
    requests: watch::Sender<usize>,
    /// The body of each request.
    bodies: Mutex<Vec<serde_json::Value>>,
    /// How many connections the client has closed in the middle of an answer.
    left: watch::Sender<usize>,
    /// Held answers may go on.
    free: watch::Sender<bool>,
}

impl Upstream {
    /// One of OpenAI's wire.
    pub fn start(act: Act) -> Self {
        Self::speaking(Wire::OpenAi, act)
    }

    pub fn speaking(wire: Wire, act: Act) -> Self {
        let act = Mutex::new(act);
        let (requests, left, free) = (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(false));
        let bodies = Mutex::default();
        let script = Arc::new(Script { wire, act, requests, bodies, left, free });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let played = Arc::clone(&script);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    stream.set_nodelay(true).unwrap();
                    let script = Arc::clone(&played);
                    tokio::spawn(async move {
                        let _ = connection(stream, &script).await;
                    });
                }
            });
        });
        Self { address, wire, script }
    }

    /// What it does from the next request on.
    pub fn now(&self, act: Act) {
        *self.script.act.lock().unwrap() = act;
    }

    pub fn requests(&self) -> usize {
        *self.script.requests.borrow()
    }

    /// The body of the latest request.
    pub fn last_body(&self) -> serde_json::Value {
        self.script.bodies.lock().unwrap().last().cloned().expect("it was asked")
    }

    /// The bodies of all requests, in their order.
    pub fn bodies(&self) -> Vec<serde_json::Value> {
        self.script.bodies.lock().unwrap().clone()
    }

    /// Lets every held answer go.
    pub fn let_go(&self) {
        self.script.free.send_replace(true);
    }

    /// Waits until it was asked.
    pub async fn asked(&self) {
        self.script.requests.subscribe().wait_for(|&requests| requests > 0).await.unwrap();
    }

    /// Waits until a client has closed a connection in the middle of an answer.
    pub async fn client_left(&self) {
        self.script.left.subscribe().wait_for(|&left| left > 0).await.unwrap();
    }

    /// A `[[provider]]` table for it, with one model.
    pub fn provider(&self, id: &str, model: &str) -> String {
        self.wire.provider(self.address, id, model)
    }
}

/// An address where nobody listens: port 1 is given to no program that asks for a free one. A free port let go of would
/// soon be another test's.
pub fn nobody() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1))
}

/// The provider of such an address.
pub fn refused_provider(id: &str, model: &str) -> String {
    Wire::OpenAi.provider(nobody(), id, model)
}

async fn connection(mut stream: TcpStream, script: &Script) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some((path, body)) = request(&mut stream, &mut buffer).await? else { return Ok(()) };
        let streamed = script.wire.streamed(&path, &body);
        script.bodies.lock().unwrap().push(body);
        script.requests.send_modify(|requests| *requests += 1);
        let act = script.act.lock().unwrap().clone();
        let done = if streamed {
            stream_events(&mut stream, act, script).await
        } else {
            answer(&mut stream, act, script.wire).await
        };
        if !matches!(done, Ok(true)) {
            script.left.send_modify(|left| *left += 1);
            return Ok(());
        }
    }
}

/// Reads one request, its path and its body; `None` when the client is gone.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<(String, serde_json::Value)>> {
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
                let body = serde_json::from_slice(&buffer[head + 4..end]).unwrap_or_default();
                buffer.drain(..end);
                return Ok(Some((path, body)));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Ends once the client closes its side.
async fn until_gone(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut rest = [0; 64];
    while stream.read(&mut rest).await? > 0 {}
    Ok(false)
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
/// The head of a whole answer that is never finished.
const LONGER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
const OOPS: &str = "{\"choices\": [oops";

/// Answers in one piece; true where the connection may go on.
async fn answer(stream: &mut TcpStream, act: Act, wire: Wire) -> std::io::Result<bool> {
    match act {
        Act::Answer(words) => whole(stream, 200, "", &wire.whole(words)).await,
        Act::Status(status, headers, body) => whole(stream, status, headers, body).await,
        Act::HangBeforeHeaders => until_gone(stream).await,
        Act::HangBeforeContent => {
            stream.write_all(LONGER.as_bytes()).await?;
            until_gone(stream).await
        }
        Act::HangAfter(_) => {
            stream.write_all(format!("{LONGER}{{").as_bytes()).await?;
            until_gone(stream).await
        }
        Act::CutAfter(_) => {
            stream.write_all(format!("{LONGER}{{").as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::ErrorAfter(_) => whole(stream, 200, "", wire.exploded()).await,
        Act::Malformed | Act::MalformedAfter(_) => whole(stream, 200, "", OOPS).await,
        Act::Endless | Act::HeldAfter(_) => panic!("only a stream can be that: {act:?}"),
    }
}

/// Answers with events; true where the connection may go on.
async fn stream_events(stream: &mut TcpStream, act: Act, script: &Script) -> std::io::Result<bool> {
    let wire = script.wire;
    match act {
        Act::Answer(words) => {
            let mut out = wire.opening();
            out.extend(words.iter().map(|word| wire.delta(word)));
            out.push_str(&wire.ending(words.len()));
            // In chunks, so that the connection can be used again.
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}{:x}\r\n{out}\r\n0\r\n\r\n", out.len()).as_bytes()).await?;
            Ok(true)
        }
        Act::Status(..) | Act::HangBeforeHeaders | Act::Malformed => answer(stream, act, wire).await,
        Act::HangBeforeContent => {
            deltas(stream, wire, 0).await?;
            stream.write_all(b": keep-alive\n\n: keep-alive\n\n").await?;
            until_gone(stream).await
        }
        Act::HangAfter(count) => {
            deltas(stream, wire, count).await?;
            until_gone(stream).await
        }
        Act::CutAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::ErrorAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.write_all(wire.exploding().as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::MalformedAfter(count) => {
            deltas(stream, wire, count).await?;
            stream.write_all(wire.event(OOPS).as_bytes()).await?;
            // What would be a proper end, were it not for what came before it.
            stream.write_all(wire.ending(count).as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::Endless => {
            deltas(stream, wire, 0).await?;
            loop {
                stream.write_all(wire.delta("on and on ").as_bytes()).await?;
                tokio::task::yield_now().await;
            }
        }
        Act::HeldAfter(count) => {
            deltas(stream, wire, count).await?;
            // The sender lives as long as the script.
            let _ = script.free.subscribe().wait_for(|&free| free).await;
            stream.write_all(wire.ending(count).as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
    }
}

/// Headers, what comes before a first delta, and so many of these: `w0 `, `w1 ` and so on.
async fn deltas(stream: &mut TcpStream, wire: Wire, count: usize) -> std::io::Result<()> {
    stream.write_all(format!("{EVENTS}{}", wire.opening()).as_bytes()).await?;
    for n in 0..count {
        stream.write_all(wire.delta(&format!("w{n} ")).as_bytes()).await?;
    }
    Ok(())
}

async fn whole(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<bool> {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    Ok(true)
}
