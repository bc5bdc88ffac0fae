//! Cost of semantic memory without its indexes: durable stores per second, their latency, reads, and a start with many
//! entries.
//!
//! `cargo bench -p muster-memory --bench memory` prints a table; `-- stores`, `-- reads` or `-- start` a part of it,
//! and `-- million` the start and the reads with 1,000,000 entries. The store is on the local disk; an entry is a
//! sentence of 120 characters with three tags.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use futures::stream::{self, StreamExt, TryStreamExt};
use muster_core::Clock;
use muster_core::supervise::Tree;
use muster_identity::By;
use muster_memory::{
    Applied, ApplyOutcome, Candidates, IndexHealth, IndexSearch, IndexSink, ListParams, Memory, MemoryOptions,
    MemorySettings, Mode, NewEntry, Owner, OwnerIndexStats, Precondition, Searcher,
};
use muster_store::{Options, SledStore, StoreHandle};

type Outcome<T> = Result<T, Box<dyn Error>>;

const READS: usize = 20_000;

/// An index without cost.
#[derive(Debug)]
struct NoIndex;

impl IndexSink for NoIndex {
    fn apply(&self, _: Arc<[Applied]>) -> BoxFuture<'static, ApplyOutcome> {
        ready(ApplyOutcome::Complete).boxed()
    }
}

impl Searcher for NoIndex {
    fn search(&self, _: IndexSearch) -> BoxFuture<'static, Result<Candidates, muster_core::Error>> {
        let index = IndexHealth::Ready;
        ready(Ok(Candidates { hits: Vec::new(), total: 0, mode: Mode::Text, warnings: Vec::new(), index })).boxed()
    }

    fn owner_stats(&self, _: &Owner) -> BoxFuture<'static, Result<OwnerIndexStats, muster_core::Error>> {
        ready(Ok(OwnerIndexStats::default())).boxed()
    }

    fn health(&self) -> IndexHealth {
        IndexHealth::Ready
    }
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let parts: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
        let selected = |part: &str| parts.is_empty() && part != "million" || parts.iter().any(|each| each == part);
        if selected("stores") {
            for (waiting, count) in [(1, 1_000), (64, 20_000), (512, 40_000)] {
                stores(waiting, count).await?;
            }
            replaced().await?;
            large().await?;
        }
        for (part, count) in [("start", 100_000), ("million", 1_000_000)] {
            if selected(part) {
                filled(count).await?;
            }
        }
        Ok(())
    })
}

struct BenchServer {
    tree: Tree,
    writer: Arbiter,
    memory: Memory,
}

impl BenchServer {
    async fn on(store: &StoreHandle) -> Self {
        let (tree, writer) = (Tree::new(Arbiter::current(), Clock::system()), Arbiter::new());
        let options = MemoryOptions {
            store: Arc::clone(store),
            clock: Clock::system(),
            settings: MemorySettings { max_entries: 10_000_000, ..MemorySettings::default() },
            index: Arc::new(NoIndex),
        };
        let memory = Memory::start(&tree.group("memory"), writer.handle(), options);
        memory.up().await;
        Self { tree, writer, memory }
    }

    async fn stop(self) {
        self.tree.stop().await;
        self.writer.stop();
    }

    async fn store(&self, n: usize) -> Result<Duration, muster_core::Error> {
        let begun = Instant::now();
        self.memory.store(entry(n), &By::System, Precondition::None, None).await?;
        Ok(begun.elapsed())
    }
}

fn entry(n: usize) -> NewEntry {
    let sentence = "the ferry to the islands leaves at noon when the wind is below six and nobody has asked for the \
                    early boat again";
    NewEntry {
        key: format!("notes/{n}"),
        value: format!("{n:08} {sentence}"),
        tags: vec!["travel".to_owned(), format!("year:{}", 2000 + n % 26), format!("user:{}", n % 1_000)],
        ..NewEntry::default()
    }
}

async fn stores(waiting: usize, count: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = BenchServer::on(&store).await;
    let begun = Instant::now();
    let all = stream::iter(0..count).map(|n| server.store(n)).buffer_unordered(waiting);
    let times: Vec<Duration> = all.try_collect().await?;
    rate(&format!("new entries, {waiting} waiting"), count, begun.elapsed(), times);
    server.stop().await;
    Ok(())
}

/// A thousand keys, each replaced repeatedly, with history.
async fn replaced() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = BenchServer::on(&store).await;
    let (count, begun) = (20_000, Instant::now());
    let server_of = &server;
    let one = |n: usize| async move { server_of.store(n % 1_000).await };
    let times: Vec<Duration> = stream::iter(0..count).map(one).buffer_unordered(64).try_collect().await?;
    rate("replaced entries, 64 waiting", count, begun.elapsed(), times);
    server.stop().await;
    Ok(())
}

/// Values that the store keeps in separate files.
async fn large() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = BenchServer::on(&store).await;
    let (count, begun) = (500, Instant::now());
    let one = |n: usize| {
        let memory = server.memory.clone();
        async move {
            let begun = Instant::now();
            let value = format!("{n} ").repeat(256 << 10).chars().take(256 << 10).collect();
            let new = NewEntry { key: format!("large/{n}"), value, ..NewEntry::default() };
            memory.store(new, &By::System, Precondition::None, None).await?;
            Ok::<_, muster_core::Error>(begun.elapsed())
        }
    };
    let times: Vec<Duration> = stream::iter(0..count).map(one).buffer_unordered(16).try_collect().await?;
    rate("values of 256 KiB, 16 waiting", count, begun.elapsed(), times);
    server.stop().await;
    Ok(())
}

/// Many entries: the cost of reads and of a start.
async fn filled(count: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    let server = BenchServer::on(&store).await;
    let begun = Instant::now();
    let batch = |chunk: usize| {
        let entries = (chunk * 100..(chunk + 1) * 100).map(entry).collect();
        server.memory.store_many(entries, &By::System, None)
    };
    let all = stream::iter(0..count / 100).map(batch).buffer_unordered(8);
    all.try_for_each(|_| ready(Ok(()))).await?;
    let per_second = count as f64 / begun.elapsed().as_secs_f64();
    println!("{:<58} {per_second:>9.0} /s", format!("{count} entries by the hundred"));
    reads(&server, count).await?;
    server.stop().await;
    let begun = Instant::now();
    let server = BenchServer::on(&store).await;
    row(&format!("the writer's start with {count} entries"), begun.elapsed());
    server.stop().await;
    drop(store);
    let begun = Instant::now();
    let store: StoreHandle = SledStore::open(Options::new(folder.path()))?.store;
    row("the store's before it", begun.elapsed());
    let server = BenchServer::on(&store).await;
    println!("{:<58} {:>9} KiB", "resident", resident());
    server.stop().await;
    Ok(())
}

async fn reads(server: &BenchServer, count: usize) -> Outcome<()> {
    let mut times = Vec::with_capacity(READS);
    for n in 0..READS {
        let begun = Instant::now();
        let key = format!("notes/{}", n * 7_919 % count);
        server.memory.get(None, &key, &By::System)?.ok_or("an entry is lost")?;
        times.push(begun.elapsed());
    }
    percentiles("an entry by its key", times);
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = Instant::now();
        server.memory.list(ListParams::default(), &By::System).await?;
        times.push(begun.elapsed());
    }
    percentiles("the newest 50", times);
    Ok(())
}

/// Resident memory, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn at(times: &[Duration], hundredths: usize) -> Duration {
    times.get(times.len() * hundredths / 100).copied().unwrap_or_default()
}

fn rate(name: &str, count: usize, took: Duration, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (rate, p50, p99) = (count as f64 / took.as_secs_f64(), at(&times, 50), at(&times, 99));
    println!("{name:<58} {rate:>9.0} /s   p50 {p50:>8.1?}   p99 {p99:>8.1?}");
}

fn percentiles(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("{name:<58} p50 {:>8.1?}   p99 {:>8.1?}", at(&times, 50), at(&times, 99));
}

fn row(name: &str, took: Duration) {
    println!("{name:<58} {took:>12.1?}");
}
