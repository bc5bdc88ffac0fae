//! Load for tasks: clients that run one after the other to its end, and monitors that watch.
//!
//! Each client posts a run, then waits for its end by long poll, and starts again: a task counts once its client
//! received its success. Prints one line of JSON for each number of clients.
//!
//! `task_load --url http://127.0.0.1:8080 --key KEY --agent no-op --clients 1,64,512 --secs 5 [--monitors 100] [--pid N]`

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct LoadOptions {
    url: String,
    key: String,
    agent: String,
    secs: f64,
}

fn main() -> Result<(), Failure> {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return Err("the cryptography is installed twice".into());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: HashMap<&str, &str> =
        arguments.iter().map(String::as_str).zip(arguments.iter().skip(1).map(String::as_str)).step_by(2).collect();
    let of = |name: &str, otherwise: &str| (*arguments.get(name).unwrap_or(&otherwise)).to_owned();
    let options = Arc::new(LoadOptions {
        url: of("--url", "http://127.0.0.1:8080"),
        key: of("--key", ""),
        agent: of("--agent", "no-op"),
        secs: of("--secs", "5").parse()?,
    });
    let clients: Vec<usize> = of("--clients", "1,64,512").split(',').map(str::parse).collect::<Result<_, _>>()?;
    let monitors: usize = of("--monitors", "0").parse()?;
    let pid: Option<u32> = arguments.get("--pid").map(|pid| pid.parse()).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        for count in clients {
            println!("{}", measure(&options, count, monitors, pid).await?);
        }
        Ok(())
    })
}

async fn measure(
    options: &Arc<LoadOptions>,
    clients: usize,
    monitors: usize,
    pid: Option<u32>,
) -> Result<Value, Failure> {
    let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut watching = Vec::new();
    for _ in 0..monitors {
        watching.push(tokio::spawn(watch(monitor(options).await?, Arc::clone(&seen))));
    }
    let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(clients).build()?;
    let (begun, before) = (Instant::now(), pid.and_then(cpu));
    let running: Vec<_> =
        (0..clients).map(|_| tokio::spawn(work(Arc::clone(options), http.clone(), Arc::clone(&stop)))).collect();
    let load = std::future::pending::<()>();
    tokio::time::timeout(Duration::from_secs_f64(options.secs), load).await.unwrap_or_default();
    stop.store(true, Ordering::Release);
    let (mut took, mut errors) = (Vec::new(), HashMap::<String, u64>::new());
    for client in running {
        let (times, failed) = client.await?;
        took.extend(times);
        failed.into_iter().for_each(|error| *errors.entry(error).or_default() += 1);
    }
    let secs = begun.elapsed().as_secs_f64();
    let cpu_s = before.zip(pid.and_then(cpu)).map(|(before, after)| after - before);
    for watcher in watching {
        if watcher.is_finished() {
            return Err(format!("a monitor was closed: {}", watcher.await?).into());
        }
        watcher.abort();
    }
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((took.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default();
    let (tasks, events) = (took.len() as f64, seen.load(Ordering::Acquire));
    Ok(json!({
        "clients": clients, "monitors": monitors, "tasks": took.len(), "tasks_s": (tasks / secs).round(),
        "p50_ms": at(0.5), "p99_ms": at(0.99), "cpu_us_task": cpu_s.map(|cpu| cpu * 1e6 / tasks.max(1.0)),
        "events_s": events as f64 / secs, "errors": errors,
    }))
}

/// Runs until stopped; returns the milliseconds of each task, and the errors.
async fn work(options: Arc<LoadOptions>, http: reqwest::Client, stop: Arc<AtomicBool>) -> (Vec<f64>, Vec<String>) {
    let (mut took, mut errors) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::Acquire) {
        let begun = Instant::now();
        match one(&options, &http).await {
            Ok(()) => took.push(begun.elapsed().as_secs_f64() * 1e3),
            Err(error) => {
                errors.push(error.to_string());
                if errors.len() > 100 {
                    break;
                }
            }
        }
    }
    (took, errors)
}

async fn one(options: &LoadOptions, http: &reqwest::Client) -> Result<(), Failure> {
    let run = format!("{}/api/v1/agents/{}/run", options.url, options.agent);
    let body = serde_json::to_vec(&json!({ "task": "nothing" }))?;
    let post = http.post(run).bearer_auth(&options.key).header("content-type", "application/json").body(body);
    let accepted = post.send().await?;
    if accepted.status() != 201 {
        return Err(format!("run: {}", accepted.status()).into());
    }
    let made: Value = serde_json::from_slice(&accepted.bytes().await?)?;
    let id = made.get("task_id").and_then(Value::as_str).ok_or("no task_id")?.to_owned();
    loop {
        let poll = http.get(format!("{}/api/v1/tasks/{id}?wait=30", options.url)).bearer_auth(&options.key);
        let task: Value = serde_json::from_slice(&poll.send().await?.bytes().await?)?;
        match task.get("status").and_then(Value::as_str) {
            Some("succeeded") => return Ok(()),
            Some("pending" | "queued" | "running") => {}
            other => return Err(format!("ended {other:?}").into()),
        }
    }
}

type Socket = tokio_tungstenite::WebSocketStream<tokio::net::TcpStream>;

async fn monitor(options: &LoadOptions) -> Result<Socket, Failure> {
    let address = options.url.trim_start_matches("http://").to_owned();
    let mut request = format!("ws://{address}/api/q62/dashboard/agents").into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {}", options.key).parse()?);
    request.headers_mut().insert("sec-websocket-protocol", "muster.v1.json".parse()?);
    let stream = tokio::net::TcpStream::connect(address).await?;
    Ok(tokio_tungstenite::client_async(request, stream).await?.0)
}

/// Counts received events, and answers heartbeats; returns at the end why the stream ended.
async fn watch(mut socket: Socket, seen: Arc<AtomicU64>) -> String {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) if text.as_str() == "{}" => {
                let _ = socket.send(Message::text("{}")).await;
            }
            Some(Ok(Message::Text(text))) => {
                seen.fetch_add(text.lines().filter(|line| line.contains("\"ev\"")).count() as u64, Ordering::AcqRel);
            }
            Some(Ok(Message::Close(frame))) => return format!("{frame:?}"),
            Some(Ok(_)) => {}
            other => return format!("{other:?}"),
        }
    }
}

/// Seconds of CPU that a process and its threads took.
fn cpu(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}
