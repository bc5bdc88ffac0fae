//! What a durable commit costs: alone and with 20 and 200 waiting, beside the floor of the same disk in the same
//! run, before and after: one raw append and `fdatasync` after another. `cargo bench -p muster-store`.

use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use muster_store::{Batch, Options, Rec, SledStore, Store, StoreError, Tree};

const KEY: usize = 16;
const VALUE: usize = 128;
const SPAN: Duration = Duration::from_secs(2);
/// Writes that are not counted: the first ones pay for new blocks.
const WARM_UP: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::temp_dir().join(format!("muster-store-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let outcome = run(&home);
    std::fs::remove_dir_all(&home)?;
    outcome
}

fn run(home: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let floor = raw_appends(&home.join("floor"))?;
    let store = SledStore::open(Options::new(home.join("store")))?.store;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut out = io::stdout().lock();
    writeln!(out, "durable writes of {KEY} + {VALUE} bytes, {} s each", SPAN.as_secs())?;
    writeln!(out, "{:<34}{:>12}{:>10}{:>10}{:>12}", "", "commits/s", "p50 us", "p99 us", "of floor")?;
    floor.print(&mut out, "floor: append + fdatasync, 1 writer", &floor)?;
    for writers in [1, 20, 200] {
        let before = store.stats();
        let figures = runtime.block_on(commits(&store, writers))?;
        let stats = store.stats();
        figures.print(&mut out, &format!("store, {writers} waiting"), &floor)?;
        let shared = (stats.commits - before.commits) as f64 / (stats.groups - before.groups).max(1) as f64;
        writeln!(out, "{:<34}{shared:>12.1}", "  commits sharing a sync")?;
    }
    raw_appends(&home.join("floor"))?.print(&mut out, "floor again", &floor)?;
    Ok(())
}

fn raw_appends(path: &std::path::Path) -> io::Result<Figures> {
    let mut file = File::create(path)?;
    let line = [7; KEY + VALUE];
    let mut append = || -> io::Result<Duration> {
        let started = Instant::now();
        file.write_all(&line)?;
        file.sync_data()?;
        Ok(started.elapsed())
    };
    for _ in 0..WARM_UP {
        append()?;
    }
    let (started, mut each) = (Instant::now(), Vec::new());
    while started.elapsed() < SPAN {
        each.push(append()?);
    }
    Ok(Figures { each, took: started.elapsed() })
}

async fn commits(store: &std::sync::Arc<SledStore>, writers: usize) -> Result<Figures, StoreError> {
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = std::sync::Arc::clone(store);
            tokio::spawn(async move {
                let mut each = Vec::new();
                for n in 0_u64.. {
                    if started.elapsed() >= SPAN {
                        break;
                    }
                    let key = [(writer as u64).to_be_bytes(), n.to_be_bytes()].concat();
                    let sent = Instant::now();
                    store.commit(Batch::put(Tree::Ledger, key, Rec { schema: 1, bytes: vec![7; VALUE] })).await?;
                    each.push(sent.elapsed());
                }
                Ok::<_, StoreError>(each)
            })
        })
        .collect();
    let mut each = Vec::new();
    for task in tasks {
        each.extend(task.await.map_err(|e| StoreError::Io(e.to_string()))??);
    }
    Ok(Figures { each, took: started.elapsed() })
}

struct Figures {
    each: Vec<Duration>,
    took: Duration,
}

impl Figures {
    fn rate(&self) -> f64 {
        self.each.len() as f64 / self.took.as_secs_f64()
    }

    fn print(&self, out: &mut impl Write, name: &str, floor: &Self) -> io::Result<()> {
        let mut us: Vec<_> = self.each.iter().map(Duration::as_micros).collect();
        us.sort_unstable();
        let at = |percent: usize| us.get(us.len() * percent / 100).copied().unwrap_or_default();
        let (rate, ratio) = (self.rate(), self.rate() / floor.rate());
        writeln!(out, "{name:<34}{rate:>12.0}{:>10}{:>10}{ratio:>11.2}x", at(50), at(99))
    }
}
