//! Load for a gateway with the HTTP API of OpenAI: keep-alive connections over raw HTTP/1.1, each sending its next request
//! when the response before is complete. With `--rate` requests are sent on a schedule, and latency counts from the
//! scheduled time. Prints one line of JSON: latencies in microseconds, CPU time of the processes in `--pids` with their
//! children, and errors by status.

mod exchange;
mod processes;
mod tally;

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::net::TcpStream;
use tokio::time::{sleep, sleep_until, timeout};

use exchange::exchange;
use processes::Usage;
use tally::Tally;

/// Longest wait for one response.
const PATIENCE: Duration = Duration::from_secs(30);

/// Load for a gateway with the HTTP API of OpenAI.
#[derive(Parser)]
#[command(
    after_help = "Example: gateway-load --url http://127.0.0.1:8080/v1/chat/completions --connections 16 --stream \
    --header 'Authorization: Bearer KEY' --pids 4711"
)]
struct Arguments {
    /// Address of the route, on this machine.
    #[arg(long, default_value = "http://127.0.0.1:9100/v1/chat/completions")]
    url: String,
    /// Connections.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Seconds that are measured.
    #[arg(long, default_value_t = 5.0)]
    secs: f64,
    /// Seconds of load before that.
    #[arg(long, default_value_t = 1.0)]
    warm: f64,
    /// Requests a second over all connections; 0: as many as there are responses.
    #[arg(long, default_value_t = 0.0)]
    rate: f64,
    /// Ask for streams.
    #[arg(long)]
    stream: bool,
    /// Model of the requests.
    #[arg(long, default_value = "gpt-4o-mini")]
    model: String,
    /// File with the body of the requests.
    #[arg(long)]
    body: Option<PathBuf>,
    /// Further headers: 'name: value'.
    #[arg(long)]
    header: Vec<String>,
    /// Processes whose CPU time is counted.
    #[arg(long, value_delimiter = ',')]
    pids: Vec<u32>,
}

impl Arguments {
    /// Returns host with port, and the bytes of a request.
    fn request(&self) -> Result<(String, Vec<u8>), Box<dyn Error>> {
        let rest = self.url.strip_prefix("http://").ok_or("the URL must begin with http://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !(host.starts_with("127.") || host.starts_with("localhost")) {
            return Err("the gateway must be on this machine".into());
        }
        let body = match &self.body {
            Some(path) => std::fs::read_to_string(path)?,
            None => self.default_body(),
        };
        let accept = if self.stream { "text/event-stream" } else { "application/json" };
        let mut head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nAccept: {accept}\r\n\
             Content-Length: {}\r\n",
            body.len()
        );
        for header in &self.header {
            head.push_str(&format!("{header}\r\n"));
        }
        Ok((host.to_owned(), format!("{head}\r\n{body}").into_bytes()))
    }

    fn default_body(&self) -> String {
        let mut body = serde_json::json!({
            "model": self.model,
            "messages": [
                { "role": "system", "content": "You are a helpful assistant." },
                { "role": "user", "content": "Say lorem ipsum sixty-four times, please." },
            ],
            "temperature": 0.7,
            "max_tokens": 256,
        });
        if self.stream {
            body["stream"] = true.into();
            body["stream_options"] = serde_json::json!({ "include_usage": true });
        }
        body.to_string()
    }
}

/// What all connections share.
struct Load {
    host: String,
    request: Vec<u8>,
    rate: f64,
    stream: bool,
    start: Instant,
    scheduled: AtomicU64,
    measuring: AtomicBool,
    stopped: AtomicBool,
    total: Mutex<Tally>,
}

impl Load {
    async fn connection(self: Arc<Self>) {
        let mut tally = Tally::default();
        let mut idle: Option<TcpStream> = None;
        while !self.stopped.load(Ordering::Relaxed) {
            let due = self.next_due().await;
            let reused = idle.is_some();
            let connection = match idle.take() {
                Some(connection) => Ok(connection),
                None => TcpStream::connect(&self.host).await,
            };
            let Ok(mut connection) = connection else {
                tally.error("connect");
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let _ = connection.set_nodelay(true);
            let measured = self.measuring.load(Ordering::Relaxed);
            let sent = Instant::now();
            let got = timeout(PATIENCE, exchange(&mut connection, &self.request, self.stream)).await;
            let measured = measured && !self.stopped.load(Ordering::Relaxed);
            match got {
                Ok(Ok(response)) => {
                    if measured {
                        tally.response(&response, due.map_or(sent, |due| due.min(sent)).elapsed());
                    }
                    idle = response.keep_alive.then_some(connection);
                }
                // A server may close an idle connection while a request is on its way.
                Ok(Err(error)) if reused && error.kind() == std::io::ErrorKind::NotConnected => {}
                Ok(Err(error)) if measured => tally.error(&error.to_string()),
                Err(_) if measured => tally.error("timeout"),
                Ok(Err(_)) | Err(_) => {}
            }
        }
        self.total.lock().unwrap_or_else(PoisonError::into_inner).add(&tally);
    }

    /// Waits for the next scheduled time, if there is a schedule.
    async fn next_due(&self) -> Option<Instant> {
        if self.rate <= 0.0 {
            return None;
        }
        let number = self.scheduled.fetch_add(1, Ordering::Relaxed);
        let due = self.start + Duration::from_secs_f64(number as f64 / self.rate);
        sleep_until(due.into()).await;
        Some(due)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let (host, request) = arguments.request()?;
    let load = Arc::new(Load {
        host,
        request,
        rate: arguments.rate,
        stream: arguments.stream,
        start: Instant::now(),
        scheduled: AtomicU64::new(0),
        measuring: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        total: Mutex::default(),
    });
    let connections: Vec<_> = (0..arguments.connections).map(|_| tokio::spawn(load.clone().connection())).collect();
    sleep(Duration::from_secs_f64(arguments.warm)).await;
    let (before, from) = (Usage::of(&arguments.pids)?, Instant::now());
    load.measuring.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs_f64(arguments.secs)).await;
    load.stopped.store(true, Ordering::Relaxed);
    let (secs, after) = (from.elapsed().as_secs_f64(), Usage::of(&arguments.pids)?);
    for connection in connections {
        // One that still waits for its response is left out.
        let _ = timeout(Duration::from_secs(2), connection).await;
    }
    let total = load.total.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", total.report(secs, &before, &after));
    Ok(())
}
