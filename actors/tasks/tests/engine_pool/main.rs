//! Tests of the pool with processes of this program and engines that misbehave.
//!
//! Without the usual test harness, because its output would be mixed with the frames of a process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod bad;
mod fixture;
mod tests;

use std::io::{stdin, stdout};

use muster_tasks::engine::{WorkerLimits, run_worker};

/// First argument of a process.
const WORKER: &str = "engine-worker";
/// Memory limit of a call, in MiB.
const MEMORY: u64 = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has(WORKER) {
        run_worker(WorkerLimits { memory_mib: MEMORY, workspace: None }, bad::by_number, stdin(), stdout()).unwrap();
        return;
    }
    // The arguments with which cargo-nextest and `cargo test` query a test program.
    if has("--list") {
        let listed = if has("--ignored") { &[] } else { tests::ALL };
        listed.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let chosen = |name: &str| {
        wanted.is_empty() || wanted.iter().any(|want| if has("--exact") { name == *want } else { name.contains(*want) })
    };
    for (name, test) in tests::ALL.iter().filter(|(name, _)| chosen(name)) {
        println!("test {name}");
        test();
    }
}
