//! Client CPU cost of an answer, whole and per event of a streamed one, from a loopback server whose bytes are ready.
//! `cargo bench -p muster-providers`.
//!
//! Measured is the time that the client's thread was on a processor, so that a busy machine changes little; the best of
//! several rounds counts. Without Linux's `/proc` it is wall-clock time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use muster_providers::{Adapter, Call, ChatRequest, HttpConfig, Message, OpenAiAdapter, Role, Timeouts};

const EVENTS: usize = 64;
const CALLS: usize = 400;
const ROUNDS: usize = 7;

const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"the capital of France is Paris"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}}"#;

/// How the server writes its events.
#[derive(Debug, Clone, Copy)]
enum Writes {
    /// All in one write.
    Together,
    /// Each in one of its own.
    Apiece,
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut out = io::stdout().lock();
    writeln!(out, "client's CPU, best of {ROUNDS} rounds of {CALLS} calls; a stream has {EVENTS} texts")?;
    for verbatim in [None, Some(Bytes::from_static(BODY.as_bytes()))] {
        let name = if verbatim.is_some() { "verbatim" } else { "parsed" };
        let call = call(verbatim);
        let adapter = adapter(serve(Writes::Together)?)?;
        let whole = best(|| runtime.block_on(complete(&adapter, &call)))?;
        writeln!(out, "{name:<10} whole answer          {whole:>8.2} us a call")?;
        for writes in [Writes::Together, Writes::Apiece] {
            let adapter = self::adapter(serve(writes)?)?;
            let mut polls = 0;
            let stream = best(|| {
                polls = runtime.block_on(in_a_task(adapter.clone(), call.clone()))?;
                Ok(())
            })?;
            let event = (stream - whole) / EVENTS as f64;
            let waits = polls as f64 / (CALLS * EVENTS) as f64;
            writeln!(
                out,
                "{name:<10} streamed, {:<11} {stream:>8.2} us a call, {event:>6.2} us and {waits:.2} waits an event",
                write_mode(writes)
            )?;
        }
    }
    Ok(())
}

fn write_mode(writes: Writes) -> &'static str {
    match writes {
        Writes::Together => "together",
        Writes::Apiece => "apiece",
    }
}

const BODY: &str = r#"{"model":"x","messages":[{"role":"user","content":"the capital of France?"}],"temperature":0.7,"max_tokens":100,"stream":true}"#;

fn call(verbatim: Option<Bytes>) -> Call {
    let long = Duration::from_secs(30);
    let request = ChatRequest {
        messages: vec![Message::text(Role::User, "the capital of France?")],
        max_tokens: Some(100),
        verbatim,
        ..ChatRequest::default()
    };
    Call {
        upstream_model: "m".to_owned(),
        takes_sampling: true,
        reasons: false,
        max_output: None,
        request: Arc::new(request),
        timeouts: Timeouts { connect: long, headers: long, first_delta: long, between_deltas: long },
        request_id: "req_01JBENCH".to_owned(),
        traceparent: None,
    }
}

fn adapter(addr: SocketAddr) -> Outcome<OpenAiAdapter> {
    Ok(OpenAiAdapter::new(HttpConfig::new("bench", format!("http://{addr}/v1")))?)
}

async fn complete(adapter: &OpenAiAdapter, call: &Call) -> Outcome<()> {
    for _ in 0..CALLS {
        adapter.complete(call.clone()).await?;
    }
    Ok(())
}

/// Runs in a local task, as a request handler of the server does. Returns how often it had to wait.
async fn in_a_task(adapter: OpenAiAdapter, call: Call) -> Outcome<usize> {
    let tasks = tokio::task::LocalSet::new();
    let task = tasks.spawn_local(async move { stream(&adapter, &call).await.map_err(|e| e.to_string()) });
    tasks.await;
    Ok(task.await??)
}

async fn stream(adapter: &OpenAiAdapter, call: &Call) -> Outcome<usize> {
    let mut waits = 0;
    for _ in 0..CALLS {
        let mut stream = adapter.stream(call.clone()).await?;
        let mut events = 0;
        loop {
            let next = match stream.next().now_or_never() {
                Some(next) => next,
                None => {
                    waits += 1;
                    stream.next().await
                }
            };
            let Some(event) = next else { break };
            event?;
            events += 1;
        }
        // The end is an event too.
        if events != EVENTS + 1 {
            return Err(format!("{events} events").into());
        }
    }
    Ok(waits)
}

/// Returns the best time of a call in microseconds.
fn best(mut round: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let before = cpu();
        round()?;
        best = best.min((cpu() - before).as_secs_f64() * 1e6 / CALLS as f64);
    }
    Ok(best)
}

/// CPU time of this thread: the first value of its `schedstat`, in nanoseconds.
fn cpu() -> Duration {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_cpu = figures.and_then(|f| f.split_whitespace().next()?.parse().ok());
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    on_cpu.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

fn serve(writes: Writes) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // A client that is gone ends its thread.
            std::thread::spawn(move || answer(socket, writes));
        }
    });
    Ok(addr)
}

fn answer(mut socket: TcpStream, writes: Writes) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let events = events();
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{ANSWER}",
        ANSWER.len()
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let together = format!("{head}{}", events.concat());
    let mut read = Vec::new();
    loop {
        let Some(request) = request(&mut socket, &mut read)? else { return Ok(()) };
        match writes {
            _ if !request.contains("\"stream\":true") => socket.write_all(whole.as_bytes())?,
            Writes::Together => socket.write_all(together.as_bytes())?,
            Writes::Apiece => {
                socket.write_all(head.as_bytes())?;
                for event in &events {
                    socket.write_all(event.as_bytes())?;
                }
            }
        }
    }
}

/// The text of the next request; `None` when the client closed.
fn request(socket: &mut TcpStream, read: &mut Vec<u8>) -> io::Result<Option<String>> {
    read.clear();
    let mut piece = [0; 4096];
    loop {
        let got = socket.read(&mut piece)?;
        if got == 0 {
            return Ok(None);
        }
        read.extend(piece.iter().take(got));
        let text = String::from_utf8_lossy(read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if length.is_some_and(|length: usize| body.len() >= length) {
            return Ok(Some(text.into_owned()));
        }
    }
}

/// Each an HTTP chunk, as servers send them.
fn events() -> Vec<String> {
    let chunk = |choices: &str| {
        format!(
            r#"data: {{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","system_fingerprint":"fp_1","choices":{choices}}}"#
        )
    };
    let mut events = vec![chunk(r#"[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]"#)];
    for n in 0..EVENTS {
        events.push(chunk(&format!(
            r#"[{{"index":0,"delta":{{"content":" word{n}"}},"logprobs":null,"finish_reason":null}}]"#
        )));
    }
    events.push(chunk(r#"[{"index":0,"delta":{},"finish_reason":"stop"}]"#));
    events.push("data: [DONE]".to_owned());
    let mut chunks: Vec<String> =
        events.iter().map(|event| format!("{:x}\r\n{event}\n\n\r\n", event.len() + 2)).collect();
    chunks.push("0\r\n\r\n".to_owned());
    chunks
}
