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
mod doors;
mod fixture;
mod hostile;
mod rounds;
mod tests;

use std::io::{stdin, stdout};

use muster_tasks::engine::{LanguageFiles, Programs, SandboxMode, WorkerLimits, run_worker};

/// First argument of a process.
const WORKER: &str = "engine-worker";
/// Memory limit of a call, in MiB.
const MEMORY: u64 = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    if has(WORKER) {
        let after = |flag: &str| args.iter().skip_while(|arg| *arg != flag).nth(1);
        let sandbox: SandboxMode = after("--sandbox").map_or(SandboxMode::Prefer, |mode| mode.parse().unwrap());
        let limits = WorkerLimits {
            memory_mib: MEMORY,
            cpu_seconds: 600,
            workspace: after("--workspace").map(Into::into),
            sandbox,
            languages: LanguageFiles::default(),
        };
        let programs = Programs { engines: bad::by_number, jobs: bad::JOBS };
        run_worker(limits, programs, stdin(), stdout()).unwrap();
        return;
    }
    // The arguments with which cargo-nextest and `cargo test` query a test program.
    if has("--list") {
        let listed = (!has("--ignored")).then(all).into_iter().flatten();
        listed.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let wanted: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let chosen = |name: &str| {
        wanted.is_empty() || wanted.iter().any(|want| if has("--exact") { name == *want } else { name.contains(*want) })
    };
    for (name, test) in all().filter(|(name, _)| chosen(name)) {
        println!("test {name}");
        test();
    }
}

fn all() -> impl Iterator<Item = &'static (&'static str, fn())> {
    tests::ALL.iter().chain(rounds::ALL).chain(doors::ALL)
}
