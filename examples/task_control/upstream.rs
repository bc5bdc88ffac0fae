//! A provider whose models talk on and on. Each stream belongs to a task, told by a mark in the task's instruction.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

/// Stands before a task's number in its instruction.
pub const MARK: &str = "run-number-";
/// A stream falls silent then: agents take up to 256 KiB of an answer.
const MOST_BYTES: usize = 200 << 10;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// What the provider knows of all its streams.
pub struct Talks {
    of: Vec<Talk>,
    /// Words a second of each stream; 0 is as many as are taken.
    rate: f64,
    pub words: AtomicU64,
    pub begun: AtomicUsize,
}

/// What it knows of one task.
#[derive(Default)]
struct Talk {
    /// Bodies of its requests behind the first.
    more: Mutex<Vec<String>>,
    /// When the server closed the connection in the middle of the answer.
    left: Mutex<Option<Instant>>,
    /// Its answers are to end.
    finish: watch::Sender<bool>,
}

/// The text up to and with a word.
pub fn text(words: u64) -> String {
    (0..words).map(word).collect()
}

/// Each word has its number: who sees one knows what came before.
fn word(at: u64) -> String {
    format!("w{at} ")
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Talks {
    /// Serves on a thread of its own.
    pub fn start(address: SocketAddr, tasks: usize, rate: f64) -> io::Result<Arc<Self>> {
        let of = (0..tasks).map(|_| Talk::default()).collect();
        let talks = Arc::new(Self { of, rate, words: AtomicU64::new(0), begun: AtomicUsize::new(0) });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(4_096)
        })?;
        let served = Arc::clone(&talks);
        std::thread::Builder::new()
            .name("upstream".to_owned())
            .spawn(move || runtime.block_on(serve(listener, served)))?;
        Ok(talks)
    }

    /// The answers of a task's model end from here on.
    pub fn finish(&self, number: usize) {
        self.of.get(number).into_iter().for_each(|talk| talk.finish.send_modify(|finish| *finish = true));
    }

    pub fn left(&self, number: usize) -> Option<Instant> {
        self.of.get(number).and_then(|talk| *locked(&talk.left))
    }

    /// What was asked for a task behind its first request.
    pub fn asked_again(&self, number: usize) -> Vec<String> {
        self.of.get(number).map(|talk| locked(&talk.more).clone()).unwrap_or_default()
    }
}

async fn serve(listener: TcpListener, talks: Arc<Talks>) {
    while let Ok((stream, _)) = listener.accept().await {
        let talks = Arc::clone(&talks);
        // A connection that breaks is the server's to tell.
        tokio::spawn(async move { connection(stream, &talks).await.unwrap_or_default() });
    }
}

async fn connection(mut stream: TcpStream, talks: &Talks) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(body) = request(&mut stream).await? else { return Ok(()) };
    let marked = body.split(MARK).nth(1).unwrap_or_default();
    let digits: String = marked.chars().take_while(char::is_ascii_digit).collect();
    let Some(talk) = digits.parse::<usize>().ok().and_then(|number| talks.of.get(number)) else {
        return stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    };
    stream.write_all(HEAD.as_bytes()).await?;
    if *talk.finish.borrow() {
        locked(&talk.more).push(body);
        stream.write_all(format!("{}{}", delta("Well."), ending()).as_bytes()).await?;
        return stream.shutdown().await;
    }
    talks.begun.fetch_add(1, Ordering::AcqRel);
    let (reader, mut writer) = stream.split();
    tokio::select! {
        () = gone(reader) => *locked(&talk.left) = Some(Instant::now()),
        told = tell(&mut writer, talk, talks) => told?,
    }
    Ok(())
}

/// The body of a request; `None` where none comes.
async fn request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut read = Vec::new();
    loop {
        if stream.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&read);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        if read.len() >= head.len() + 4 + length.unwrap_or(0) {
            return Ok(Some(body.to_owned()));
        }
    }
}

/// Ends once the other side has closed.
async fn gone(mut reader: ReadHalf<'_>) {
    let mut rest = [0; 64];
    while matches!(reader.read(&mut rest).await, Ok(1..)) {}
}

/// Talks until it is to finish.
async fn tell(writer: &mut WriteHalf<'_>, talk: &Talk, talks: &Talks) -> io::Result<()> {
    let pace = (talks.rate > 0.0).then(|| Duration::from_secs_f64(1.0 / talks.rate));
    let mut ticks = pace.map(tokio::time::interval);
    let (mut finish, mut at, mut bytes) = (talk.finish.subscribe(), 0, 0);
    loop {
        let turn = async {
            match &mut ticks {
                _ if bytes > MOST_BYTES => std::future::pending().await,
                Some(ticks) => drop(ticks.tick().await),
                None => tokio::task::yield_now().await,
            }
        };
        tokio::select! {
            biased;
            _ = finish.wait_for(|finish| *finish) => break,
            () = turn => {}
        }
        let word = word(at);
        writer.write_all(delta(&word).as_bytes()).await?;
        talks.words.fetch_add(1, Ordering::Relaxed);
        (at, bytes) = (at + 1, bytes + word.len());
    }
    writer.write_all(ending().as_bytes()).await?;
    writer.shutdown().await
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn chunk(choices: &Value) -> Value {
    json!({ "id": "up-1", "object": "chat.completion.chunk", "created": 1, "model": "up-model", "choices": choices })
}

fn delta(text: &str) -> String {
    event(&chunk(&json!([{ "index": 0, "delta": { "content": text }, "finish_reason": null }])))
}

fn ending() -> String {
    let end = chunk(&json!([{ "index": 0, "delta": {}, "finish_reason": "stop" }]));
    let mut tail = chunk(&json!([]));
    if let Some(tail) = tail.as_object_mut() {
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
        tail.insert("usage".to_owned(), usage);
    }
    format!("{}{}data: [DONE]\n\n", event(&end), event(&tail))
}
