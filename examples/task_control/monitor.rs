//! A monitor on q62 that commands tasks and records the events it receives.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::SplitStream;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::Failure;

/// For a reply, and for the events after it.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Monitor {
    sender: mpsc::UnboundedSender<String>,
    last_id: AtomicU32,
    pub state: Arc<MonitorState>,
}

/// The events that a monitor received.
#[derive(Default)]
pub struct MonitorState {
    replies: Mutex<HashMap<u32, oneshot::Sender<(Instant, Value)>>>,
    /// How each control ended, by its `idem`, and when the event was received.
    pub ends: Mutex<HashMap<String, Vec<(String, Instant)>>>,
    /// When the end of each task was received.
    tasks: Mutex<HashMap<String, Instant>>,
    /// Number of words received of each task's model.
    words: Mutex<HashMap<String, u64>>,
    news: Notify,
    pub events: AtomicU64,
    /// Reports of omitted events.
    pub conflated: AtomicU64,
    /// Why the connection was closed.
    pub closed: OnceLock<String>,
}

/// An accepted command: when it was sent and answered.
pub struct Accepted {
    pub sent: Instant,
    pub answered: Instant,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Monitor {
    pub async fn open(url: &str, key: &str) -> Result<Self, Failure> {
        let address = url.trim_start_matches("http://").to_owned();
        let mut request = format!("ws://{address}/api/q62/dashboard/agents").into_client_request()?;
        request.headers_mut().insert("authorization", format!("Bearer {key}").parse()?);
        request.headers_mut().insert("sec-websocket-protocol", "muster.v1.json".parse()?);
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut sink, stream) = tokio_tungstenite::client_async(request, stream).await?.0.split();
        let (sender, mut receiver) = mpsc::unbounded_channel::<String>();
        tokio::spawn(async move {
            while let Some(text) = receiver.recv().await {
                if sink.send(Message::text(text)).await.is_err() {
                    return;
                }
            }
        });
        let state = Arc::<MonitorState>::default();
        tokio::spawn(listen(stream, sender.clone(), Arc::clone(&state)));
        Ok(Self { sender, last_id: AtomicU32::new(0), state })
    }

    async fn request(&self, mut request: Value) -> Result<(Instant, Instant, Value), Failure> {
        let id = self.last_id.fetch_add(1, Ordering::AcqRel) + 1;
        request.as_object_mut().ok_or("a request is an object")?.insert("id".to_owned(), json!(id));
        let (to, from) = oneshot::channel();
        locked(&self.state.replies).insert(id, to);
        let sent = Instant::now();
        let gone = || format!("the monitor was closed: {:?}", self.state.closed.get());
        self.sender.send(request.to_string()).map_err(|_| gone())?;
        let (answered, reply) = tokio::time::timeout(TIMEOUT, from).await.map_err(|_| gone())??;
        Ok((sent, answered, reply))
    }

    pub async fn subscribe(&self, channel: &str) -> Result<(), Failure> {
        let (.., reply) = self.request(json!({ "subscribe": { "ch": channel } })).await?;
        reply.get("ok").map(drop).ok_or_else(|| format!("{channel}: {reply}").into())
    }

    /// Sends a command that must be accepted.
    pub async fn command(&self, name: &str, task: &str, args: Value, idem: &str) -> Result<Accepted, Failure> {
        let command = json!({ "name": format!("agent.{name}"), "target": task, "args": args, "idem": idem });
        let (sent, answered, reply) = self.request(json!({ "command": command })).await?;
        if reply.pointer("/ok/phase").and_then(Value::as_str) != Some("accepted") {
            return Err(format!("{name} of {task}: {reply}").into());
        }
        Ok(Accepted { sent, answered })
    }

    /// Waits for the end of a control; returns when it was received.
    pub async fn end_of(&self, idem: &str) -> Result<Instant, Failure> {
        self.wait_until(|| locked(&self.state.ends).get(idem)?.first().map(|(_, at)| *at)).await
    }

    /// Waits for the end of a task; returns when it was received.
    pub async fn task_end(&self, task: &str) -> Result<Instant, Failure> {
        self.wait_until(|| locked(&self.state.tasks).get(task).copied()).await
    }

    /// Number of words of a task's model received so far.
    pub fn words(&self, task: &str) -> u64 {
        locked(&self.state.words).get(task).copied().unwrap_or_default()
    }

    async fn wait_until(&self, look: impl Fn() -> Option<Instant>) -> Result<Instant, Failure> {
        let waiting = async {
            loop {
                let news = self.state.news.notified();
                if let Some(at) = look() {
                    return at;
                }
                news.await;
            }
        };
        Ok(tokio::time::timeout(TIMEOUT, waiting).await?)
    }
}

async fn listen(
    mut from: SplitStream<WebSocketStream<TcpStream>>,
    sender: mpsc::UnboundedSender<String>,
    state: Arc<MonitorState>,
) {
    let reason = loop {
        match from.next().await {
            Some(Ok(Message::Text(text))) => {
                let at = Instant::now();
                for line in text.lines() {
                    if line == "{}" {
                        // If the reply cannot be sent, the end of the stream gives the reason.
                        sender.send("{}".to_owned()).unwrap_or_default();
                    } else {
                        state.take(line, at);
                    }
                }
            }
            Some(Ok(Message::Close(frame))) => break frame.map_or("1006".to_owned(), |frame| frame.code.to_string()),
            Some(Ok(_)) => {}
            Some(Err(error)) => break error.to_string(),
            None => break "1006".to_owned(),
        }
    };
    state.closed.get_or_init(|| reason);
}

impl MonitorState {
    /// Parses only the events that are counted: the others are too many.
    fn take(&self, line: &str, at: Instant) {
        if line.starts_with("{\"id\":") {
            return self.reply(line, at);
        }
        if line.contains("\"conflated\":") {
            self.conflated.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let Some((_, named)) = line.split_once("\"ev\":\"") else { return };
        self.events.fetch_add(1, Ordering::AcqRel);
        let control = named.starts_with("control.") && line.starts_with("{\"ch\":\"agents\",");
        if control || named.starts_with("task.end") || named.starts_with("task.delta") {
            self.note(line, at);
        }
    }

    fn reply(&self, line: &str, at: Instant) {
        let Ok(reply) = serde_json::from_str::<Value>(line) else { return };
        let id = reply.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        if let Some(to) = id.and_then(|id| locked(&self.replies).remove(&id)) {
            // The caller may have timed out.
            to.send((at, reply)).unwrap_or_default();
        }
    }

    fn note(&self, line: &str, at: Instant) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { return };
        let of = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        match of("/ev").as_str() {
            "task.end" => drop(locked(&self.tasks).insert(of("/data/task_id"), at)),
            "task.delta" => {
                let last = of("/data/text").trim_end().rsplit('w').next().and_then(|last| last.parse::<u64>().ok());
                if let Some(last) = last {
                    let (task, streamed) = (of("/data/task_id"), last + 1);
                    locked(&self.words).insert(task, streamed);
                }
                return;
            }
            _ => locked(&self.ends).entry(of("/data/idem")).or_default().push((of("/data/outcome"), at)),
        }
        self.news.notify_waiters();
    }
}
