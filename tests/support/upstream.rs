//! A scripted upstream that speaks OpenAI's API over a real socket, with every way to break.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

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
    /// So many deltas, then an error event; where no stream was asked for, an error with the status of a success.
    ErrorAfter(usize),
    /// Deltas without an end, until the client leaves.
    Endless,
    /// So many deltas; the rest, a proper end, when the test lets it go.
    HeldAfter(usize),
    /// Headers of success and a body that is not JSON.
    Malformed,
}

/// A running upstream.
pub struct Upstream {
    pub address: SocketAddr,
    script: Arc<Script>,
}

struct Script {
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
    pub fn start(act: Act) -> Self {
        let act = Mutex::new(act);
        let (requests, left, free) = (watch::Sender::new(0), watch::Sender::new(0), watch::Sender::new(false));
        let bodies = Mutex::default();
        let script = Arc::new(Script { act, requests, bodies, left, free });
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
        Self { address, script }
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
        provider(self.address, id, model)
    }
}

/// The provider of an address where nobody listens.
pub fn refused_provider(id: &str, model: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    provider(listener.local_addr().unwrap(), id, model)
}

fn provider(address: SocketAddr, id: &str, model: &str) -> String {
    format!(
        "[[provider]]\nid = \"{id}\"\nkind = \"openai\"\nbase_url = \"http://{address}/v1\"\nmodels = [\"{model}\"]\n"
    )
}

async fn connection(mut stream: TcpStream, script: &Script) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some(body) = request(&mut stream, &mut buffer).await? else { return Ok(()) };
        let streamed = body.get("stream") == Some(&serde_json::Value::Bool(true));
        script.bodies.lock().unwrap().push(body);
        script.requests.send_modify(|requests| *requests += 1);
        let act = script.act.lock().unwrap().clone();
        let done = perform(&mut stream, act, streamed, script).await;
        if !matches!(done, Ok(true)) {
            script.left.send_modify(|left| *left += 1);
            return Ok(());
        }
    }
}

/// Reads one request; `None` when the client is gone.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<serde_json::Value>> {
    loop {
        if let Some(head) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
            let end = head + 4 + length;
            if buffer.len() >= end {
                let body = serde_json::from_slice(&buffer[head + 4..end]).unwrap_or_default();
                buffer.drain(..end);
                return Ok(Some(body));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn delta(text: &str) -> String {
    let chunk = serde_json::json!({"id": "up-1", "object": "chat.completion.chunk", "created": 1, "model": "up-model",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
    format!("data: {chunk}\n\n")
}

/// A proper end of a stream after so many tokens: reason, usage, `[DONE]`.
fn ending(tokens: usize) -> String {
    let usage = serde_json::json!({"prompt_tokens": 7, "completion_tokens": tokens, "total_tokens": 7 + tokens});
    let end = serde_json::json!({"id": "up-1", "object": "chat.completion.chunk", "created": 1, "model": "up-model",
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let tail = serde_json::json!({"id": "up-1", "object": "chat.completion.chunk", "created": 1, "model": "up-model",
        "choices": [], "usage": usage});
    format!("data: {end}\n\ndata: {tail}\n\ndata: [DONE]\n\n")
}

/// Ends once the client closes its side.
async fn until_gone(stream: &mut TcpStream) -> std::io::Result<bool> {
    let mut rest = [0; 64];
    while stream.read(&mut rest).await? > 0 {}
    Ok(false)
}

const EXPLODED: &str = r#"{"error": {"message": "upstream exploded", "type": "server_error"}}"#;
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// True where the connection may go on.
async fn perform(stream: &mut TcpStream, act: Act, streamed: bool, script: &Script) -> std::io::Result<bool> {
    match act {
        Act::Answer(words) if streamed => {
            let mut out = String::new();
            out.extend(words.iter().map(|word| delta(word)));
            out.push_str(&ending(words.len()));
            // In chunks, so that the connection can be used again.
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(format!("{head}{:x}\r\n{out}\r\n0\r\n\r\n", out.len()).as_bytes()).await?;
            Ok(true)
        }
        Act::Answer(words) => {
            let body = serde_json::json!({"id": "up-1", "object": "chat.completion", "created": 1, "model": "up-model",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": words.concat()}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": words.len(), "total_tokens": 7 + words.len()}})
            .to_string();
            whole(stream, 200, "", &body).await
        }
        Act::Status(status, headers, body) => whole(stream, status, headers, body).await,
        Act::HangBeforeHeaders => until_gone(stream).await,
        Act::HangBeforeContent if !streamed => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n")
                .await?;
            until_gone(stream).await
        }
        Act::HangBeforeContent => {
            stream.write_all(EVENTS.as_bytes()).await?;
            stream.write_all(b": keep-alive\n\n: keep-alive\n\n").await?;
            until_gone(stream).await
        }
        Act::CutAfter(_) if !streamed => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
            stream.write_all(format!("{head}{{\"choices\": [").as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::CutAfter(count) => {
            stream.write_all(EVENTS.as_bytes()).await?;
            for n in 0..count {
                stream.write_all(delta(&format!("w{n} ")).as_bytes()).await?;
            }
            stream.shutdown().await?;
            Ok(true)
        }
        Act::ErrorAfter(_) if !streamed => whole(stream, 200, "", EXPLODED).await,
        Act::ErrorAfter(count) => {
            stream.write_all(EVENTS.as_bytes()).await?;
            for n in 0..count {
                stream.write_all(delta(&format!("w{n} ")).as_bytes()).await?;
            }
            stream.write_all(format!("data: {EXPLODED}\n\n").as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::Endless => {
            stream.write_all(EVENTS.as_bytes()).await?;
            loop {
                stream.write_all(delta("on and on ").as_bytes()).await?;
                tokio::task::yield_now().await;
            }
        }
        Act::HeldAfter(count) => {
            stream.write_all(EVENTS.as_bytes()).await?;
            for n in 0..count {
                stream.write_all(delta(&format!("w{n} ")).as_bytes()).await?;
            }
            // The sender lives as long as the script.
            let _ = script.free.subscribe().wait_for(|&free| free).await;
            stream.write_all(ending(count).as_bytes()).await?;
            stream.shutdown().await?;
            Ok(true)
        }
        Act::Malformed => whole(stream, 200, "", "{\"choices\": [oops").await,
    }
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
