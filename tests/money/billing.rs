//! An upstream with OpenAI's wire that keeps its own account of what it would bill, by rules that are independent of the
//! server's: every call that it began to run is billed for its prompt and for what it produced.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What one call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Answers as long as it may, with usage.
    Answer,
    /// Streams some words and then waits until the client leaves; a complete answer is never sent.
    Stall,
    /// Streams some words and cuts the connection; a complete answer is cut before its headers.
    Cut,
    /// Refuses before it runs: not billed.
    Refuse,
}

/// Words of a stream before it stalls or is cut.
const SOME_WORDS: usize = 8;
/// Characters for a token in the text of this upstream.
const CHARS: usize = 4;

/// A running upstream. Prices are one and two billionths of a dollar for a token of prompt and answer.
#[derive(Clone)]
pub struct Billing {
    pub address: SocketAddr,
    account: Arc<Account>,
}

struct Account {
    acts: Mutex<VecDeque<Act>>,
    /// Prompt and answer tokens of each call.
    calls: Mutex<Vec<(u64, u64)>>,
    received: watch::Sender<usize>,
}

/// Price of a token of the prompt and of the answer, in millionths of a dollar.
const PRICES: (u64, u64) = (1, 2);

impl Billing {
    pub fn start() -> Self {
        let account = Account { acts: Mutex::default(), calls: Mutex::default(), received: watch::Sender::new(0) };
        let account = Arc::new(account);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&account);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let account = Arc::clone(&shared);
                    tokio::spawn(async move {
                        let _ = connection(stream, &account).await;
                    });
                }
            });
        });
        Self { address, account }
    }

    /// Sets what the next calls do, in order; later ones answer.
    pub fn then(&self, acts: impl IntoIterator<Item = Act>) {
        let mut queue = self.account.acts.lock().unwrap();
        queue.clear();
        queue.extend(acts);
    }

    /// The `[[provider]]` table with a known price.
    pub fn provider(&self, id: &str, model: &str) -> String {
        format!(
            "[[provider]]\nid = \"{id}\"\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nmodels = [\"{model}\"]\n\
             price = {{ input_per_million = {}, output_per_million = {} }}\n",
            self.address, PRICES.0, PRICES.1
        )
    }

    /// Everything billed so far, in USD.
    pub fn billed(&self) -> f64 {
        self.account.calls.lock().unwrap().iter().map(|&call| cost(call)).sum()
    }

    /// The dearest call so far, in USD.
    pub fn dearest(&self) -> f64 {
        self.account.calls.lock().unwrap().iter().map(|&call| cost(call)).fold(0.0, f64::max)
    }

    /// Number of requests received so far.
    pub fn received(&self) -> usize {
        *self.account.received.borrow()
    }

    /// Waits until more than this many requests were received.
    pub async fn receives_more_than(&self, count: usize) {
        self.account.received.subscribe().wait_for(|&received| received > count).await.unwrap();
    }
}

fn cost((prompt, answer): (u64, u64)) -> f64 {
    (prompt * PRICES.0 + answer * PRICES.1) as f64 / 1e6
}

/// Tokens of everything that this API bills as prompt: text of messages, calls of tools, tools and schemas by their
/// length, images of 1024 × 1024 by OpenAI's published 765.
pub fn prompt_tokens(body: &Value) -> u64 {
    fn walk(value: &Value, texts: &mut usize, images: &mut u64) {
        match value {
            Value::String(text) if text.starts_with("data:image/") => *images += 765,
            Value::String(text) => *texts += text.len(),
            Value::Array(items) => items.iter().for_each(|item| walk(item, texts, images)),
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| !["role", "type", "detail"].contains(&name.as_str()))
                .for_each(|(_, item)| walk(item, texts, images)),
            _ => {}
        }
    }
    let (mut texts, mut images) = (0, 0);
    walk(&body["messages"], &mut texts, &mut images);
    for part in ["tools", "functions", "response_format"] {
        if !body[part].is_null() {
            texts += body[part].to_string().len();
        }
    }
    (texts / CHARS) as u64 + images
}

async fn connection(mut stream: TcpStream, account: &Account) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let Some(body) = request(&mut stream, &mut buffer).await? else { return Ok(()) };
        let act = account.acts.lock().unwrap().pop_front().unwrap_or(Act::Answer);
        let prompt = prompt_tokens(&body);
        let number = {
            let mut calls = account.calls.lock().unwrap();
            calls.push(if act == Act::Refuse { (0, 0) } else { (prompt, 0) });
            calls.len() - 1
        };
        account.received.send_modify(|received| *received += 1);
        if !answer(&mut stream, &body, act, account, number).await? {
            return Ok(());
        }
    }
}

async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Value>> {
    loop {
        if let Some(head) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&buffer[..head]).to_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
            if buffer.len() >= head + 4 + length {
                let body = serde_json::from_slice(&buffer[head + 4..head + 4 + length]).unwrap();
                buffer.drain(..head + 4 + length);
                return Ok(Some(body));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    body: &Value,
    act: Act,
    account: &Account,
    number: usize,
) -> std::io::Result<bool> {
    let streamed = body["stream"] == json!(true);
    let choices = body["n"].as_u64().unwrap_or(1);
    let limit = ["max_tokens", "max_completion_tokens"].iter().find_map(|name| body[*name].as_u64()).unwrap_or(4096);
    let produced = |tokens: u64| account.calls.lock().unwrap()[number].1 = tokens;
    let prompt = prompt_tokens(body);
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": limit * choices, "total_tokens": prompt + limit * choices});
    match act {
        Act::Refuse => {
            let refusal = r#"{"error": {"message": "not now", "type": "server_error"}}"#;
            let head = format!("HTTP/1.1 503 X\r\ncontent-length: {}\r\n\r\n{refusal}", refusal.len());
            stream.write_all(head.as_bytes()).await?;
            Ok(true)
        }
        Act::Answer if streamed => {
            produced(limit * choices);
            let mut out = String::new();
            for choice in 0..choices {
                let delta = json!([{"index": choice, "delta": {"content": "abcd"}, "finish_reason": null}]);
                let end = json!([{"index": choice, "delta": {}, "finish_reason": "stop"}]);
                out.push_str(&format!("data: {}\n\ndata: {}\n\n", chunk(&delta), chunk(&end)));
            }
            let mut last = chunk(&json!([]));
            last["usage"] = usage;
            out.push_str(&format!("data: {last}\n\ndata: [DONE]\n\n"));
            stream.write_all(format!("{EVENTS}{out}").as_bytes()).await?;
            Ok(false)
        }
        Act::Answer => {
            produced(limit * choices);
            let choice = |index: u64| json!({"index": index, "message": {"role": "assistant", "content": "abcd"}, "finish_reason": "stop"});
            let answer = json!({"id": "up", "object": "chat.completion", "created": 1, "model": "m",
                "choices": (0..choices).map(choice).collect::<Vec<_>>(), "usage": usage});
            let answer = answer.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            stream.write_all(format!("{head}{answer}").as_bytes()).await?;
            Ok(true)
        }
        Act::Stall | Act::Cut => {
            if streamed {
                // One token is four characters.
                produced(SOME_WORDS as u64);
                let delta = json!([{"index": 0, "delta": {"content": "abcd"}, "finish_reason": null}]);
                let events = format!("data: {}\n\n", chunk(&delta)).repeat(SOME_WORDS);
                stream.write_all(format!("{EVENTS}{events}").as_bytes()).await?;
            }
            if act == Act::Stall {
                let mut rest = [0; 64];
                while stream.read(&mut rest).await? > 0 {}
            }
            Ok(false)
        }
    }
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn chunk(choices: &Value) -> Value {
    json!({"id": "up", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices})
}
