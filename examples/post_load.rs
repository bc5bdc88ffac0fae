//! Load for a route: clients that post the bodies of a file, one a line, in turn.
//!
//! Without a rate each client posts its next body when the last is answered. With one, calls are due at even times
//! whatever the answers take, and the time of a call counts from when it was due.
//!
//! Prints one line of JSON for each number of clients.
//!
//! `post_load --url http://127.0.0.1:8080/api/q108/run --bodies FILE --key KEY --clients 1,64 --secs 5 [--rate 2000] [--pid N]`

use std::collections::HashMap;
use std::io::BufRead as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct LoadOptions {
    url: String,
    key: String,
    secs: f64,
    /// Time between two calls of one client.
    every: Option<Duration>,
    /// Most clients of a measurement.
    clients: usize,
    bodies: Vec<String>,
}

fn main() -> Result<(), Failure> {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return Err("the cryptography is installed twice".into());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: HashMap<&str, &str> =
        arguments.iter().map(String::as_str).zip(arguments.iter().skip(1).map(String::as_str)).step_by(2).collect();
    let of = |name: &str, otherwise: &str| (*arguments.get(name).unwrap_or(&otherwise)).to_owned();
    let clients: Vec<usize> = of("--clients", "1,64").split(',').map(str::parse).collect::<Result<_, _>>()?;
    let rate: Option<f64> = arguments.get("--rate").map(|rate| rate.parse()).transpose()?;
    let count = clients.iter().copied().max().unwrap_or(1);
    let options = Arc::new(LoadOptions {
        url: of("--url", ""),
        key: of("--key", ""),
        secs: of("--secs", "5").parse()?,
        clients: count,
        every: rate.map(|rate| Duration::from_secs_f64(count as f64 / rate)),
        bodies: std::fs::read(of("--bodies", ""))?.lines().collect::<Result<_, _>>()?,
    });
    let pid: Option<u32> = arguments.get("--pid").map(|pid| pid.parse()).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        for count in clients {
            println!("{}", measure(&options, count, pid).await?);
        }
        Ok(())
    })
}

async fn measure(options: &Arc<LoadOptions>, clients: usize, pid: Option<u32>) -> Result<Value, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(clients).build()?;
    let (begun, before) = (Instant::now(), pid.and_then(cpu));
    let run = |first| tokio::spawn(work(Arc::clone(options), http.clone(), Arc::clone(&stop), first));
    let running: Vec<_> = (0..clients).map(run).collect();
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
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((took.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default();
    let calls = took.len() as f64;
    Ok(json!({
        "clients": clients, "calls": took.len(), "calls_s": (calls / secs).round(), "p50_ms": at(0.5), "p99_ms": at(0.99),
        "cpu_us_call": cpu_s.map(|cpu| cpu * 1e6 / calls.max(1.0)), "errors": errors,
    }))
}

/// Runs until stopped; returns the milliseconds of each call, and the errors.
async fn work(
    options: Arc<LoadOptions>,
    http: reqwest::Client,
    stop: Arc<AtomicBool>,
    first: usize,
) -> (Vec<f64>, Vec<String>) {
    let (mut took, mut errors) = (Vec::new(), Vec::new());
    // Clients begin one after the other, so that their calls are due at different times. A late one is not left out.
    let mut due = options.every.map(|every| {
        let first = Instant::now() + every.mul_f64(first as f64 / options.clients as f64);
        tokio::time::interval_at(first.into(), every)
    });
    for body in options.bodies.iter().cycle().skip(first % options.bodies.len()) {
        if stop.load(Ordering::Acquire) || errors.len() > 100 {
            break;
        }
        let begun = match &mut due {
            Some(due) => due.tick().await.into_std(),
            None => Instant::now(),
        };
        match one(&options, &http, body).await {
            Ok(()) => took.push(begun.elapsed().as_secs_f64() * 1e3),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (took, errors)
}

async fn one(options: &LoadOptions, http: &reqwest::Client, body: &str) -> Result<(), Failure> {
    let call = http.post(&options.url).bearer_auth(&options.key);
    let answer = call.header("content-type", "application/json").body(body.to_owned()).send().await?;
    let status = answer.status();
    let text = answer.bytes().await?;
    if status != 200 || text.is_empty() {
        return Err(format!("the answer is {status}").into());
    }
    Ok(())
}

/// Seconds of CPU that a process and its threads took.
fn cpu(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}
