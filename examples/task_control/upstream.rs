//! A provider whose models produce text continuously. Each stream belongs to a task, identified by a mark in the task's
//! instruction.

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

/// Precedes a task's number in its instruction.
pub const MARK: &str = "run-number-";
/// A stream pauses after this many bytes: agents read up to 256 KiB of an answer.
const MOST_BYTES: usize = 200 << 10;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The state of all streams.
pub struct TaskStreams {
    of: Vec<TaskStream>,
    /// Words a second of each stream; 0 is as many as are read.
    rate: f64,
    pub words: AtomicU64,
    pub begun: AtomicUsize,
}

/// The state of one task.
#[derive(Default)]
struct TaskStream {
    /// Bodies of its requests after the first.
    more: Mutex<Vec<String>>,
    /// When the server closed the connection in the middle of the answer.
    left: Mutex<Option<Instant>>,
    /// Whether its answers should end.
    finish: watch::Sender<bool>,
}

/// The text up to and with a word.
pub fn text(words: u64) -> String {
    (0..words).map(word).collect()
}

/// Each word has its number, which determines the text before it.
fn word(at: u64) -> String {
    format!("w{at} ")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskStreams {
    /// Serves on a separate thread.
    pub fn start(address: SocketAddr, tasks: usize, rate: f64) -> io::Result<Arc<Self>> {
        let of = (0..tasks).map(|_| TaskStream::default()).collect();
        let streams = Arc::new(Self { of, rate, words: AtomicU64::new(0), begun: AtomicUsize::new(0) });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            socket.listen(4_096)
        })?;
        let served = Arc::clone(&streams);
        std::thread::Builder::new()
            .name("upstream".to_owned())
            .spawn(move || runtime.block_on(serve(listener, served)))?;
        Ok(streams)
    }

    /// Ends the answers of a task's model.
    pub fn finish(&self, number: usize) {
        self.of.get(number).into_iter().for_each(|stream| stream.finish.send_modify(|finish| *finish = true));
    }

    pub fn left(&self, number: usize) -> Option<Instant> {
        self.of.get(number).and_then(|stream| *locked(&stream.left))
    }

    /// The requests for a task after its first.
    pub fn later_requests(&self, number: usize) -> Vec<String> {
        self.of.get(number).map(|stream| locked(&stream.more).clone()).unwrap_or_default()
    }
}

async fn serve(listener: TcpListener, streams: Arc<TaskStreams>) {
    while let Ok((stream, _)) = listener.accept().await {
        let streams = Arc::clone(&streams);
        // A broken connection is reported by the server.
        tokio::spawn(async move { connection(stream, &streams).await.unwrap_or_default() });
    }
}

async fn connection(mut socket: TcpStream, streams: &TaskStreams) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let Some(body) = request(&mut socket).await? else { return Ok(()) };
    let marked = body.split(MARK).nth(1).unwrap_or_default();
    let digits: String = marked.chars().take_while(char::is_ascii_digit).collect();
    let Some(stream) = digits.parse::<usize>().ok().and_then(|number| streams.of.get(number)) else {
        return socket.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    };
    socket.write_all(HEAD.as_bytes()).await?;
    if *stream.finish.borrow() {
        locked(&stream.more).push(body);
        socket.write_all(format!("{}{}", delta("Well."), ending()).as_bytes()).await?;
        return socket.shutdown().await;
    }
    streams.begun.fetch_add(1, Ordering::AcqRel);
    let (reader, mut writer) = socket.split();
    tokio::select! {
        () = gone(reader) => *locked(&stream.left) = Some(Instant::now()),
        streamed = stream_words(&mut writer, stream, streams) => streamed?,
    }
    Ok(())
}

/// The body of a request; `None` at the end of the connection.
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

/// Waits until the other side has closed.
async fn gone(mut reader: ReadHalf<'_>) {
    let mut rest = [0; 64];
    while matches!(reader.read(&mut rest).await, Ok(1..)) {}
}

/// Writes words until the stream should finish.
async fn stream_words(writer: &mut WriteHalf<'_>, stream: &TaskStream, streams: &TaskStreams) -> io::Result<()> {
    let pace = (streams.rate > 0.0).then(|| Duration::from_secs_f64(1.0 / streams.rate));
    let mut ticks = pace.map(tokio::time::interval);
    let (mut finish, mut at, mut bytes) = (stream.finish.subscribe(), 0, 0);
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
        streams.words.fetch_add(1, Ordering::Relaxed);
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
