//! Measures a post and a reservation beside the bare write that a post consists of, in the same run.
//!
//! `cargo bench -p muster-limits --bench ledger` prints a table. The journal is in a real (temporary) folder; the store
//! is in memory, because a request never waits for it.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::{Arbiter, ArbiterHandle};
use futures::stream::{self, StreamExt};
use muster_core::Clock;
use muster_core::supervise::{Group, Tree};
use muster_limits::ledger::{Attribution, Entry, Hold, Ledger, LedgerOptions, Outcome, Reserve};
use muster_providers::Usage;
use muster_store::{MemStore, StoreHandle};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Bounded so that a reader that is not scheduled does not lag too far behind.
const POSTS: usize = 100_000;
const RESERVATIONS: usize = 50_000;
const IN_FLIGHT: usize = 64;

fn main() -> Result<()> {
    actix_rt::System::new().block_on(async {
        let other = Arbiter::new();
        let (here, there) = (Arbiter::current(), other.handle());
        let tree = Tree::new(here.clone(), Clock::system());
        println!("{:<52} {:>10} {:>10} {:>10}", "", "mean", "p50", "p99");
        floor()?;
        for (place, arbiter) in [("same arbiter", &here), ("other arbiter", &there)] {
            let home = tempfile::tempdir()?;
            let ledger = start(&tree.group(place), arbiter, home.path())?;
            ledger.up().await;
            posts(&ledger, place).await?;
            reservations(&ledger, place).await;
            ledger.flush().await?;
        }
        tree.stop().await;
        other.stop();
        Ok(())
    })
}

fn start(group: &Group, arbiter: &ArbiterHandle, folder: &std::path::Path) -> Result<Ledger> {
    let store: StoreHandle = Arc::new(MemStore::default());
    Ok(Ledger::start(group, arbiter.clone(), &store, folder, &Clock::system(), LedgerOptions::default())?)
}

/// Measures a single write of the size of a post's frame.
fn floor() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut file = File::create(home.path().join("floor"))?;
    let mut times = Vec::with_capacity(POSTS);
    for _ in 0..POSTS {
        let begun = Instant::now();
        file.write_all(&[7; 80])?;
        times.push(begun.elapsed());
    }
    row("floor: a write of 80 bytes", times);
    Ok(())
}

fn entry<'a>(clock: &Clock, key: &'a str) -> Entry<'a> {
    let usage = Usage { prompt_tokens: 812, completion_tokens: 211, estimated: false };
    Entry {
        at: clock.now(),
        key_id: key,
        attribution: Attribution::default(),
        model_id: "openai/gpt-4o-mini",
        outcome: Outcome::Ok,
        usage,
        images: 0,
        cost_nanos: Some(248_400),
    }
}

async fn posts(ledger: &Ledger, place: &str) -> Result<()> {
    let clock = Clock::system();
    let keys: Vec<String> = (0..1_000).map(|n| format!("key_01J0000000000000000000{n:04}")).collect();
    let mut times = Vec::with_capacity(POSTS);
    for key in keys.iter().cycle().take(POSTS) {
        let begun = Instant::now();
        ledger.post(&entry(&clock, key), Hold::none());
        times.push(begun.elapsed());
    }
    row(&format!("post, 1,000 keys, {place}"), times);
    let begun = Instant::now();
    ledger.status().await?;
    println!("  … counted by the actor: {:.0} ns each", begun.elapsed().as_secs_f64() * 1e9 / POSTS as f64);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for key in keys.iter().cycle().take(POSTS / 2) {
                    ledger.post(&entry(&clock, key), Hold::none());
                }
            });
        }
    });
    println!("  … from 2 threads at once: {:.0} posts/s", POSTS as f64 / begun.elapsed().as_secs_f64());
    // All posts are counted before the next row begins.
    ledger.status().await?;
    Ok(())
}

async fn reservations(ledger: &Ledger, place: &str) {
    let clock = Clock::system();
    let request = || Reserve {
        key_id: "key_01J00000000000000000000001".to_owned(),
        key_limit: Some(u64::MAX),
        owner: String::new(),
        owner_limit: None,
        team: String::new(),
        team_limit: None,
        model_id: "openai/gpt-4o-mini".to_owned(),
        model_limit: Some(u64::MAX),
        nanos: 500_000,
    };
    let once = async || match ledger.reserve(request()).await {
        Ok(hold) => {
            ledger.post(&entry(&clock, "key_01J00000000000000000000001"), hold);
            true
        }
        Err(_) => false,
    };
    let (mut times, mut failed) = (Vec::with_capacity(RESERVATIONS), 0);
    for _ in 0..RESERVATIONS {
        let begun = Instant::now();
        failed += usize::from(!once().await);
        times.push(begun.elapsed());
    }
    row(&format!("reserve and settle, {place}"), times);
    let begun = Instant::now();
    let together = stream::iter(0..RESERVATIONS).map(|_| once()).buffer_unordered(IN_FLIGHT);
    failed += together.fold(0, async |failed, passed| failed + usize::from(!passed)).await;
    println!(
        "  … with {IN_FLIGHT} in flight: {:.0} ns each",
        begun.elapsed().as_secs_f64() * 1e9 / RESERVATIONS as f64
    );
    if failed > 0 {
        println!("  {failed} were not granted: the row is void");
    }
}

fn row(name: &str, mut times: Vec<Duration>) {
    let mean = times.iter().sum::<Duration>().as_nanos() / times.len().max(1) as u128;
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default().as_nanos();
    println!(
        "{name:<52} {:>10} {:>10} {:>10}",
        format!("{mean} ns"),
        format!("{} ns", at(50)),
        format!("{} ns", at(99))
    );
}
