//! A pool in a system of its own, and a look at this program's children.

use std::future::Future;
use std::process::Command;
use std::time::{Duration, Instant};

use actix_rt::{Arbiter, System};
use muster_core::Error;
use muster_core::clock::Clock;
use muster_core::supervise::Tree;
use muster_engines::Engine;
use muster_identity::By;
use muster_store::MemStore;
use muster_tasks::{
    engine::Behalf, engine::EngineAnswer, engine::EngineCall, engine::EngineOptions, engine::EngineRunner as _,
    engine::Engines, engine::Worker,
};
use serde_json::{Value, json};

use crate::{MEMORY, WORKER};

/// Runs a test with a pool; afterwards no process is left.
pub fn with<F, Fut>(change: impl FnOnce(&mut EngineOptions), test: F)
where
    F: FnOnce(Engines) -> Fut,
    Fut: Future<Output = ()>,
{
    System::new().block_on(async {
        let tree = Tree::new(Arbiter::current(), Clock::system());
        let mut options = EngineOptions {
            worker: Worker { program: std::env::current_exe().unwrap(), args: vec![WORKER.into()] },
            workers: 2,
            queue: 64,
            time: Duration::from_secs(30),
            memory_mib: MEMORY,
            idle: Duration::from_secs(60),
            store: std::sync::Arc::new(MemStore::default()),
            clock: Clock::system(),
        };
        change(&mut options);
        let engines = Engines::start(&tree.group("engines"), Arbiter::current(), options);
        engines.up().await;
        test(engines.clone()).await;
        tree.stop().await;
        until(|| children().is_empty()).await;
    });
}

pub fn call(engine: &'static Engine, input: Value) -> EngineCall {
    EngineCall { engine, input, behalf: Behalf::of(&By::System) }
}

/// Runs an engine with nothing.
pub async fn run(engines: &Engines, engine: &'static Engine) -> Result<EngineAnswer, Error> {
    engines.run(call(engine, json!({}))).await
}

/// The process that the next call gets.
pub async fn pid(engines: &Engines) -> u32 {
    let pid = run(engines, &crate::bad::PROCESS).await.unwrap().output["pid"].as_u64().unwrap();
    u32::try_from(pid).unwrap()
}

/// Processes that this one started and that are not gone, zombies among them.
pub fn children() -> Vec<u32> {
    let own = std::process::id();
    let entries =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    entries.filter(|pid: &u32| parent(*pid) == Some(own)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    // Behind the name, which may hold anything: the state, then the parent.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Kills a process, from outside.
pub fn kill(pid: u32) {
    // It may be gone already: then there is nothing left to kill.
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
}

/// Lets the pool go on until it holds.
pub async fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "what was awaited did not come");
        // Elapsing is what is awaited.
        let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
    }
}
