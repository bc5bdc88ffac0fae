//! Measures the cost of a durable commit with 1, 20 and 200 concurrent writers, beside two floors on the same disk in
//! the same run, measured before and after. The lower floor overwrites allocated blocks of a file and syncs (the least
//! that a durable write can cost); the other one appends, which also syncs the file's length. Run with `cargo bench -p
//! muster-store`.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use muster_store::{Batch, Options, Rec, SledStore, Store, StoreError, Tree};

const KEY: usize = 16;
const VALUE: usize = 128;
const SPAN: Duration = Duration::from_secs(2);
const FLOOR_SPAN: Duration = Duration::from_secs(1);
/// Uncounted writes at the start: the first ones allocate new blocks.
const WARM_UP: usize = 50;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = std::env::temp_dir().join(format!("muster-store-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let outcome = run(&home);
    std::fs::remove_dir_all(&home)?;
    outcome
}

fn run(home: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let floors = |when: &str| -> io::Result<_> {
        let in_place = raw_writes(&home.join("in-place"), Place::Same)?;
        let append = raw_writes(&home.join("append"), Place::End)?;
        Ok([(format!("floor {when}: in place"), in_place), (format!("floor {when}: append"), append)])
    };
    let mut rows = Vec::from(floors("before")?);
    let store = SledStore::open(Options::new(home.join("store")))?.store;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    for writers in [1, 20, 200] {
        let before = store.stats();
        let figures = runtime.block_on(commits(&store, writers))?;
        let stats = store.stats();
        let shared = (stats.commits - before.commits) as f64 / (stats.groups - before.groups).max(1) as f64;
        rows.push((format!("store, {writers} waiting, {shared:.0} a sync"), figures));
    }
    rows.extend(floors("after")?);
    print(&rows)?;
    Ok(())
}

/// Prints the results. A sync on a shared machine takes 0.1 ms in one second and 4 ms in the next, so the ratio
/// compares with a disk that is always as fast as the better half of the floor's syncs.
fn print(rows: &[(String, Figures)]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let floor =
        rows.iter().filter(|(name, _)| name.starts_with("floor")).map(|(_, figures)| figures.percentile(50)).min();
    let floor_rate = 1e6 / floor.unwrap_or(1).max(1) as f64;
    writeln!(out, "durable writes of {KEY} + {VALUE} bytes, {} s each; floor: write + fdatasync", SPAN.as_secs())?;
    writeln!(out, "{:<34}{:>12}{:>10}{:>10}{:>22}", "", "commits/s", "p50 us", "p99 us", "of best floor's p50")?;
    for (name, figures) in rows {
        let (rate, p50, p99) = (figures.rate(), figures.percentile(50), figures.percentile(99));
        writeln!(out, "{name:<34}{rate:>12.0}{p50:>10}{p99:>10}{:>21.2}x", rate / floor_rate)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Same,
    End,
}

fn raw_writes(path: &std::path::Path, place: Place) -> io::Result<Figures> {
    let mut file = File::create(path)?;
    file.write_all(&vec![1; 8 << 20])?;
    file.sync_all()?;
    let line = [7; KEY + VALUE];
    let mut write = || -> io::Result<Duration> {
        let started = Instant::now();
        if place == Place::Same {
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(&line)?;
        file.sync_data()?;
        Ok(started.elapsed())
    };
    for _ in 0..WARM_UP {
        write()?;
    }
    let (started, mut each) = (Instant::now(), Vec::new());
    while started.elapsed() < FLOOR_SPAN {
        each.push(write()?);
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

    /// Returns a percentile in microseconds.
    fn percentile(&self, percent: usize) -> u128 {
        let mut us: Vec<_> = self.each.iter().map(Duration::as_micros).collect();
        us.sort_unstable();
        us.get(us.len() * percent / 100).copied().unwrap_or_default()
    }
}
