//! The process that the crash tests kill, and the checker of what it left behind.
//!
//! `store-burst DIR [--no-sync] [--threads N]` writes numbered records until it is killed and prints each number once
//! it is acknowledged. `store-burst DIR --check ACKS` reopens the store and looks up every number in the file. Exit
//! codes: 0 all records found, 1 the store failed, 2 acknowledged writes are lost. The last line of the file may be
//! incomplete, because the process is killed while printing.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use muster_store::{
    Batch, Durability, Expect, Options, PageRequest, Rec, SledStore, Store, StoreError, Tree, key_number,
};

fn main() -> ExitCode {
    let outcome = Job::parse(std::env::args().skip(1)).and_then(|job| match &job.check {
        Some(acks) => check(&job, acks),
        None => burst(&job).map(|()| ExitCode::SUCCESS),
    });
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "store-burst: {error}");
        ExitCode::FAILURE
    })
}

struct Job {
    dir: PathBuf,
    durability: Durability,
    threads: u64,
    check: Option<PathBuf>,
}

impl Job {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, StoreError> {
        let usage = || StoreError::BadRequest("usage: store-burst DIR [--no-sync] [--threads N] [--check ACKS]".into());
        let dir = args.next().ok_or_else(usage)?.into();
        let mut job = Self { dir, durability: Durability::PowerCut, threads: 4, check: None };
        while let Some(flag) = args.next() {
            match flag.as_str() {
                "--no-sync" => job.durability = Durability::ProcessEnd,
                "--threads" => job.threads = args.next().and_then(|n| n.parse().ok()).ok_or_else(usage)?,
                "--check" => job.check = Some(args.next().ok_or_else(usage)?.into()),
                _ => return Err(usage()),
            }
        }
        Ok(job)
    }

    fn open(&self) -> Result<std::sync::Arc<SledStore>, StoreError> {
        let opened = SledStore::open(Options { durability: self.durability, ..Options::new(&self.dir) })?;
        if let Some(printed) = opened.quarantined {
            let _ = writeln!(io::stderr(), "store-burst: {printed}");
        }
        Ok(opened.store)
    }
}

/// Combines a thread and the thread's own count into a record number.
fn number(thread: u64, count: u64) -> u64 {
    thread << 40 | count
}

fn tree(number: u64) -> Tree {
    if number.is_multiple_of(2) { Tree::Keys } else { Tree::Ledger }
}

/// Returns the content of the record with that number. It is derived from the number, so the checker needs no other
/// state. One in 32 exceeds `MAX_INLINE` and is stored as a file of its own.
fn record(number: u64) -> Rec {
    let len = if number % 32 == 31 { 20_000 } else { 16 + number % 400 };
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let bytes = (0..len).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    Rec { schema: 1, bytes: bytes.collect() }
}

/// Returns the appended record of a commit: its number.
fn entry(number: u64) -> Rec {
    Rec { schema: 1, bytes: number.to_be_bytes().to_vec() }
}

/// Returns the record with a thread's latest count, which every commit of the thread overwrites.
fn latest(count: u64) -> Rec {
    Rec { schema: 1, bytes: count.to_be_bytes().to_vec() }
}

fn latest_key(thread: u64) -> Vec<u8> {
    format!("latest/{thread}").into_bytes()
}

fn burst(job: &Job) -> Result<(), StoreError> {
    let store = job.open()?;
    let acks = Mutex::new(io::stdout());
    let failed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..job.threads)
            .map(|thread| {
                scope.spawn({
                    let (store, acks) = (&store, &acks);
                    move || write(&**store, acks, thread)
                })
            })
            .collect();
        threads.into_iter().find_map(|thread| thread.join().ok().and_then(Result::err))
    });
    failed.map_or(Ok(()), Err)
}

fn write(store: &dyn Store, acks: &Mutex<io::Stdout>, thread: u64) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|e| StoreError::Io(e.to_string()))?;
    let found = store.get(Tree::Limits, &latest_key(thread))?;
    let mut before = found.as_ref().and_then(|rec| rec.bytes.as_slice().try_into().ok()).map(u64::from_be_bytes);
    loop {
        let count = before.map_or(0, |count| count + 1);
        let number = number(thread, count);
        let expect = before.map_or(Expect::Absent, |count| Expect::Is(latest(count)));
        let batch = Batch::put(tree(number), number.to_be_bytes(), record(number))
            .and_put(Tree::Limits, latest_key(thread), latest(count))
            .and_append(Tree::AuditLog, entry(number))
            .when(Tree::Limits, latest_key(thread), expect);
        runtime.block_on(store.commit(batch))?;
        let mut acks = acks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A closed standard output ends the burst.
        writeln!(acks, "{number}.").and_then(|()| acks.flush()).map_err(|e| StoreError::Io(e.to_string()))?;
        before = Some(count);
    }
}

fn check(job: &Job, acks: &PathBuf) -> Result<ExitCode, StoreError> {
    let acks = std::fs::read_to_string(acks).map_err(|e| StoreError::Io(e.to_string()))?;
    let store = job.open()?;
    let (mut checked, mut lost) = (0_u64, 0_u64);
    let entries = entries(&*store)?;
    for line in acks.lines() {
        let Some(number) = line.strip_suffix('.').and_then(|line| line.parse::<u64>().ok()) else {
            continue;
        };
        checked += 1;
        let there = store.get(tree(number), &number.to_be_bytes()) == Ok(Some(record(number)));
        let (thread, count) = (number >> 40, number & ((1 << 40) - 1));
        let reached = store.get(Tree::Limits, &latest_key(thread)).ok().flatten();
        let reached = reached.and_then(|rec| rec.bytes.try_into().ok()).map(u64::from_be_bytes);
        if !there || !entries.contains(&number) || reached.is_none_or(|reached| reached < count) {
            lost += 1;
        }
    }
    let _ = writeln!(io::stdout(), "checked {checked} lost {lost}");
    Ok(if lost == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

/// Reads the appended records: each number of a commit once, under consecutive keys.
fn entries(store: &dyn Store) -> Result<HashSet<u64>, StoreError> {
    let mut found = HashSet::new();
    for entry in store.entries(Tree::AuditLog, [], PageRequest::default()) {
        let (key, rec) = entry?;
        if key_number(&key) != Some(found.len() as u64) {
            return Err(StoreError::Corrupt(format!("after {} appended records there is a gap", found.len())));
        }
        let number = rec.bytes.try_into().map(u64::from_be_bytes);
        if !number.is_ok_and(|number| found.insert(number)) {
            return Err(StoreError::Corrupt("an appended record is damaged or stored twice".into()));
        }
    }
    if *store.appended(Tree::AuditLog).borrow() == found.len() as u64 {
        Ok(found)
    } else {
        Err(StoreError::Corrupt("the length of the appended records is wrong".into()))
    }
}
