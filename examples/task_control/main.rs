//! Thousands of tasks in the middle of their models' answers, monitors that watch, and one control after another.
//!
//! Each task is started over HTTP and uses a provider in this program; each monitor follows its share of the tasks
//! with their logs, and all of them follow `agents`. Kills, pauses and redirects go over the monitors' sockets. Prints
//! one line of JSON: how soon controls took effect (by the response, by the event, by the provider whose connection
//! closed), whether pauses kept their text and redirects their order, and whether every monitor received one end of
//! every control.
//!
//! `task_control --url http://127.0.0.1:8080 --key KEY --upstream 127.0.0.1:9090 [--agent no-op] [--tasks 5000]
//! [--monitors 100] [--rate 4] [--kills 500]`: a rate of 0 is as many words a second as are read.

mod monitor;
mod phases;
mod upstream;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::{Value, json};

use monitor::Monitor;
use upstream::{MARK, TaskStreams};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Concurrent requests while tasks are started.
const CONCURRENCY: usize = 64;
/// Channels that a monitor may follow besides `agents`: two of each task.
const MAX_FOLLOWED: usize = 60;
/// Time limit of every wait.
const TIMEOUT: Duration = Duration::from_secs(180);

pub(crate) struct ControlBench {
    url: String,
    key: String,
    agent: String,
    http: reqwest::Client,
    pub(crate) streams: Arc<TaskStreams>,
    pub(crate) monitors: Vec<Monitor>,
    /// Task ids by number.
    pub(crate) tasks: Vec<String>,
}

fn main() -> Result<(), Failure> {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return Err("the cryptography is installed twice".into());
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: HashMap<&str, &str> =
        arguments.iter().map(String::as_str).zip(arguments.iter().skip(1).map(String::as_str)).step_by(2).collect();
    let of = |name: &str, otherwise: &str| (*arguments.get(name).unwrap_or(&otherwise)).to_owned();
    let (tasks, monitors): (usize, usize) = (of("--tasks", "5000").parse()?, of("--monitors", "100").parse()?);
    let streams = TaskStreams::start(of("--upstream", "127.0.0.1:9090").parse()?, tasks, of("--rate", "4").parse()?)?;
    let kills: usize = of("--kills", "500").parse()?;
    let mut bench = ControlBench {
        url: of("--url", "http://127.0.0.1:8080"),
        key: of("--key", ""),
        agent: of("--agent", "no-op"),
        http: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(CONCURRENCY).build()?,
        streams,
        monitors: Vec::new(),
        tasks: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    println!("{}", runtime.block_on(measure(&mut bench, tasks, monitors, kills))?);
    Ok(())
}

async fn measure(bench: &mut ControlBench, tasks: usize, monitors: usize, kills: usize) -> Result<Value, Failure> {
    for _ in 0..monitors {
        bench.monitors.push(Monitor::open(&bench.url, &bench.key).await?);
    }
    let begun = Instant::now();
    bench.tasks = stream::iter(0..tasks).map(|number| bench.run(number)).buffered(CONCURRENCY).try_collect().await?;
    let talking = || bench.streams.begun.load(Ordering::Acquire) >= tasks;
    wait_until("every task's model talks", talking).await?;
    let started_s = begun.elapsed().as_secs_f64();
    let followed = stream::iter(bench.followed()).map(Ok::<_, Failure>);
    followed.try_for_each_concurrent(monitors, |(monitor, task)| follow(monitor, task)).await?;

    let (words, events, at) = (bench.words(), bench.events(), Instant::now());
    let (before, mut idems) = (bench.kill_latency().await?, Vec::new());
    let killed = phases::kill(bench, 0..kills, &mut idems).await?;
    let kill_latency = bench.kill_latency().await?.since(&before);
    let secs = at.elapsed().as_secs_f64();
    let rates = json!({
        "words_s": (bench.words() - words) as f64 / secs, "events_s": (bench.events() - events) as f64 / secs,
    });
    let share = (tasks.saturating_sub(kills) / 4).min(200);
    let paused = phases::pause(bench, kills..kills + share, &mut idems).await?;
    let redirected = phases::redirect(bench, kills + share..kills + 2 * share, &mut idems).await?;
    phases::overtake(bench, kills + 2 * share..kills + 3 * share, &mut idems).await?;
    let ends = phases::ends(bench, &idems).await?;
    let begun = Instant::now();
    let rest = bench.kill_rest().await?;
    let closed: Vec<_> = bench.monitors.iter().filter_map(|monitor| monitor.state.closed.get()).collect();
    let left_out: u64 = bench.monitors.iter().map(|monitor| monitor.state.conflated.load(Ordering::Acquire)).sum();
    Ok(json!({
        "tasks": tasks, "monitors": monitors, "started_s": started_s, "rates": rates, "kills": killed, "server": kill_latency.json(),
        "pauses": paused, "redirects": redirected, "controls": ends, "closed": closed, "left_out": left_out,
        "killed_together": rest, "killed_together_s": begun.elapsed().as_secs_f64(),
    }))
}

async fn follow(monitor: &Monitor, task: &str) -> Result<(), Failure> {
    monitor.subscribe(&format!("tasks:{task}")).await?;
    monitor.subscribe(&format!("tasks:{task}:logs")).await
}

/// Polls until the condition holds.
pub(crate) async fn wait_until(mutex: &str, mut condition: impl FnMut() -> bool) -> Result<(), Failure> {
    let waiting = async {
        let mut interval = tokio::time::interval(Duration::from_millis(5));
        while !condition() {
            interval.tick().await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting).await.map_err(|_| format!("it is not so: {mutex}").into())
}

impl ControlBench {
    async fn run(&self, number: usize) -> Result<String, Failure> {
        let body = json!({ "task": format!("{MARK}{number}."), "timeout_seconds": 3_600 });
        let made = self.post(&format!("/api/v1/agents/{}/run", self.agent), &body).await?;
        let id = made.get("task_id").and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| format!("no task: {made}").into())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let post = self.http.post(format!("{}{path}", self.url)).header("content-type", "application/json");
        let answer = post.bearer_auth(&self.key).body(body.to_string()).send().await?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
    }

    async fn text(&self, path: &str) -> Result<String, Failure> {
        Ok(self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.key).send().await?.text().await?)
    }

    pub(crate) async fn task(&self, number: usize) -> Result<Value, Failure> {
        Ok(serde_json::from_str(&self.text(&format!("/api/v1/tasks/{}", self.id(number))).await?)?)
    }

    pub(crate) fn id(&self, number: usize) -> &str {
        self.tasks.get(number).map(String::as_str).unwrap_or_default()
    }

    /// The monitor that follows a task.
    pub(crate) fn monitor(&self, number: usize) -> Result<&Monitor, Failure> {
        self.monitors.get(number % self.monitors.len().max(1)).ok_or_else(|| "there are no monitors".into())
    }

    /// Pairs of monitors and the tasks they follow.
    fn followed(&self) -> impl Iterator<Item = (&Monitor, &str)> {
        let each = self.monitors.len().max(1);
        let most = MAX_FOLLOWED * each;
        let tasks = self.tasks.iter().take(most).enumerate();
        tasks.filter_map(move |(number, task)| Some((self.monitors.get(number % each)?, task.as_str())))
    }

    fn words(&self) -> u64 {
        self.streams.words.load(Ordering::Acquire)
    }

    fn events(&self) -> u64 {
        self.monitors.iter().map(|monitor| monitor.state.events.load(Ordering::Acquire)).sum()
    }

    async fn kill_latency(&self) -> Result<KillLatency, Failure> {
        Ok(KillLatency::read(&self.text("/metrics").await?))
    }

    /// Kills all live tasks in one request; returns how many.
    async fn kill_rest(&self) -> Result<usize, Failure> {
        let body = json!({ "verb": "kill", "filter": {}, "request_id": "the rest" });
        let streamed = self.post("/api/v1/tasks/control", &body).await?;
        let matched =
            streamed.get("matched").and_then(Value::as_u64).ok_or_else(|| format!("not killed: {streamed}"))?;
        Ok(usize::try_from(matched)?)
    }
}

/// The server's own histogram of kills: how many took effect within each bound, in seconds.
struct KillLatency(Vec<(f64, u64)>);

impl KillLatency {
    fn read(metrics: &str) -> Self {
        let bucket = |line: &str| {
            let (bound, count) = line.strip_prefix("muster_task_kill_seconds_bucket{le=\"")?.split_once("\"} ")?;
            Some((if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? }, count.trim().parse().ok()?))
        };
        Self(metrics.lines().filter_map(bucket).collect())
    }

    fn since(&self, before: &Self) -> Self {
        let buckets = self.0.iter().zip(&before.0);
        Self(buckets.map(|((bound, now), (_, before))| (*bound, now - before)).collect())
    }

    /// For each share of the kills the bound that they stayed within, in milliseconds.
    fn json(&self) -> Value {
        let all = self.0.last().map_or(0, |(_, count)| *count);
        let at = |share: f64| {
            let within = self.0.iter().find(|(_, count)| *count as f64 >= share * all as f64);
            within.filter(|(bound, _)| bound.is_finite()).map(|(bound, _)| bound * 1e3)
        };
        let in_time = self.0.iter().find(|(bound, _)| *bound >= 0.02).map_or(0, |(_, count)| *count);
        json!({ "count": all, "p50_within_ms": at(0.5), "p99_within_ms": at(0.99), "within_20_ms": in_time })
    }
}
