//! Load for semantic memory: entries stored and searched by concurrent clients.
//!
//! Entries and queries consist of words drawn by Zipf's law, the same in each run. Prints one line of JSON for each
//! measurement.
//!
//! `memory_load --url http://127.0.0.1:8080 --key KEY --act store --clients 1,64 --secs 5 [--pid N]`
//! `memory_load … --act fill --from 0 --entries 10000 --clients 8`
//! `memory_load … --act search --mode text --filter none|tenth|rare --queries fresh|known --clients 1 --secs 5`

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Size of the generated vocabulary.
const WORDS: f64 = 60_000.0;
/// Words of an entry and of a query.
const ENTRY: usize = 30;
const QUERY: usize = 3;
/// Entries of a batch.
const BATCH: u64 = 100;
/// Number of distinct queries of the mode `known`.
const KNOWN: u64 = 64;

struct LoadOptions {
    url: String,
    key: String,
    arguments: HashMap<String, String>,
    /// The next entry or query.
    next: AtomicU64,
    stop: AtomicBool,
}

impl LoadOptions {
    fn of(&self, name: &str, otherwise: &str) -> String {
        self.arguments.get(name).cloned().unwrap_or_else(|| otherwise.to_owned())
    }
}

fn main() -> Result<(), Failure> {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return Err("the cryptography is installed twice".into());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: HashMap<String, String> =
        arguments.iter().cloned().zip(arguments.iter().skip(1).cloned()).step_by(2).collect();
    let of = |name: &str, otherwise: &str| arguments.get(name).cloned().unwrap_or_else(|| otherwise.to_owned());
    let (url, key) = (of("--url", "http://127.0.0.1:8080"), of("--key", ""));
    let clients: Vec<usize> = of("--clients", "1").split(',').map(str::parse).collect::<Result<_, _>>()?;
    let (secs, pid): (f64, Option<u32>) = (of("--secs", "5").parse()?, of("--pid", "").parse().ok());
    let from: u64 = of("--from", "0").parse()?;
    let options =
        Arc::new(LoadOptions { url, key, arguments, next: AtomicU64::new(from), stop: AtomicBool::new(false) });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        for count in clients {
            println!("{}", measure(&options, count, Duration::from_secs_f64(secs), pid).await?);
        }
        Ok(())
    })
}

async fn measure(
    options: &Arc<LoadOptions>,
    clients: usize,
    time: Duration,
    pid: Option<u32>,
) -> Result<Value, Failure> {
    options.stop.store(false, Ordering::Release);
    let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(clients).build()?;
    let (begun, before) = (Instant::now(), pid.and_then(cpu));
    let mut running: Vec<_> = (0..clients).map(|_| tokio::spawn(work(Arc::clone(options), http.clone()))).collect();
    let mut ended = Vec::new();
    if options.of("--act", "search") != "fill" {
        let load = std::future::pending::<()>();
        tokio::time::timeout(time, load).await.unwrap_or_default();
        options.stop.store(true, Ordering::Release);
    }
    for client in running.drain(..) {
        ended.push(client.await?);
    }
    let secs = begun.elapsed().as_secs_f64();
    let cpu_s = before.zip(pid.and_then(cpu)).map(|(before, after)| after - before);
    let (mut took, mut errors, mut found) = (Vec::new(), HashMap::<String, u64>::new(), 0);
    for done in ended {
        took.extend(done.took);
        found += done.found;
        done.errors.into_iter().for_each(|error| *errors.entry(error).or_default() += 1);
    }
    took.sort_by(f64::total_cmp);
    let at = |share: f64| took.get(((took.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default();
    let count = took.len() as f64;
    Ok(json!({
        "act": options.of("--act", "search"), "mode": options.of("--mode", "text"), "filter": options.of("--filter", "none"),
        "queries": options.of("--queries", "fresh"), "clients": clients, "calls": took.len(),
        "calls_s": (count / secs).round(), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0),
        "found": found as f64 / count.max(1.0), "cpu_us_call": cpu_s.map(|cpu| cpu * 1e6 / count.max(1.0)),
        "secs": secs, "errors": errors,
    }))
}

#[derive(Default)]
struct Done {
    /// Milliseconds of each call.
    took: Vec<f64>,
    /// Hits of all searches.
    found: u64,
    errors: Vec<String>,
}

async fn work(options: Arc<LoadOptions>, http: reqwest::Client) -> Done {
    let mut done = Done::default();
    let act = options.of("--act", "search");
    let until: u64 = options.of("--entries", "0").parse().unwrap_or(0);
    while !options.stop.load(Ordering::Acquire) && done.errors.len() <= 100 {
        let step = if act == "fill" { BATCH } else { 1 };
        let number = options.next.fetch_add(step, Ordering::AcqRel);
        if act == "fill" && number >= until {
            break;
        }
        let begun = Instant::now();
        let one = match act.as_str() {
            "fill" => fill(&options, &http, number, until).await,
            "store" => store(&options, &http, number).await,
            _ => search(&options, &http, number).await,
        };
        match one {
            Ok(found) => {
                done.took.push(begun.elapsed().as_secs_f64() * 1e3);
                done.found += found;
            }
            Err(error) => done.errors.push(error.to_string()),
        }
    }
    done
}

async fn post(options: &LoadOptions, http: &reqwest::Client, path: &str, body: &Value) -> Result<Value, Failure> {
    let body = serde_json::to_vec(body)?;
    let post = http.post(format!("{}{path}", options.url)).bearer_auth(&options.key);
    let response = post.header("content-type", "application/json").body(body).send().await?;
    let status = response.status();
    let bytes = response.bytes().await?;
    if !status.is_success() {
        return Err(format!("{path}: {status}").into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}

async fn store(options: &LoadOptions, http: &reqwest::Client, number: u64) -> Result<u64, Failure> {
    let mut entry = entry(number);
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("namespace".to_owned(), "stores".into());
    }
    post(options, http, "/api/memory/store", &entry).await.map(|_| 0)
}

async fn fill(options: &LoadOptions, http: &reqwest::Client, number: u64, until: u64) -> Result<u64, Failure> {
    let entries: Vec<Value> = (number..until.min(number + BATCH)).map(entry).collect();
    let response = post(options, http, "/api/memory/batch", &json!({ "entries": entries })).await?;
    let results = response.get("results").and_then(Value::as_array).ok_or("no results")?;
    let refused = results.iter().find(|result| result.get("entry").is_none());
    refused.map_or(Ok(0), |refused| Err(refused.to_string().into()))
}

async fn search(options: &LoadOptions, http: &reqwest::Client, number: u64) -> Result<u64, Failure> {
    let number = if options.of("--queries", "fresh") == "known" { number % KNOWN } else { number };
    let mut words = SplitMix64(number ^ 0xdead_beef);
    let q = (0..QUERY).map(|_| words.word()).collect::<Vec<_>>().join("+");
    let filter = match options.of("--filter", "none").as_str() {
        "tenth" => "&tags=tenth3",
        "rare" => "&tags=rare7",
        _ => "",
    };
    let mode = options.of("--mode", "text");
    let path = format!("{}/api/memory/search?q={q}&mode={mode}&namespace=default{filter}", options.url);
    let response = http.get(path).bearer_auth(&options.key).send().await?;
    let (status, bytes) = (response.status(), response.bytes().await?);
    if status != 200 {
        return Err(format!("search: {status}").into());
    }
    let response: Value = serde_json::from_slice(&bytes)?;
    if response.get("mode").and_then(Value::as_str) != Some(mode.as_str()) {
        return Err(format!("the search was by {:?}", response.get("mode")).into());
    }
    Ok(response.get("results").and_then(Value::as_array).map_or(0, Vec::len) as u64)
}

/// The entry of that number: a tenth of them shares a tag, a thousandth another.
fn entry(number: u64) -> Value {
    let mut words = SplitMix64(number);
    let value = (0..ENTRY).map(|_| words.word()).collect::<Vec<_>>().join(" ");
    let tags = [format!("tenth{}", number % 10), format!("rare{}", number % 1_000)];
    json!({ "key": format!("entry/{number}"), "value": value, "tags": tags })
}

/// SplitMix64, as in Steele, Lea and Flood's paper.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A word whose frequency falls as one by its rank.
    fn word(&mut self) -> String {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut rank = WORDS.powf(share) as u64;
        let mut word = String::new();
        while rank > 0 {
            let syllable =
                ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "zu", "ka"];
            let _ = write!(word, "{}", syllable.get((rank % 16) as usize).unwrap_or(&"ba"));
            rank /= 16;
        }
        word
    }
}

/// Seconds of CPU that a process and its threads took.
fn cpu(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}
