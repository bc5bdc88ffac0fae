//! A pool in an actix system of its own, and access to this program's child processes.

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
    engine::EngineAnswer, engine::EngineCall, engine::EngineCaller, engine::EngineOptions, engine::EngineRunner as _,
    engine::Engines, engine::NoEffects, engine::SandboxMode, engine::SandboxStatus, engine::Worker,
};
use serde_json::{Value, json};

use crate::{MEMORY, WORKER};

/// Options of a pool whose processes are this program.
pub fn options() -> EngineOptions {
    EngineOptions {
        worker: Worker { program: std::env::current_exe().unwrap(), args: vec![WORKER.into()], workspace: None },
        workers: 2,
        per_key: 0,
        queue: 64,
        queue_per_key: 64,
        time: Duration::from_secs(30),
        memory_mib: MEMORY,
        sandbox: SandboxMode::Prefer,
        idle: Duration::from_secs(60),
        store: std::sync::Arc::new(MemStore::default()),
        clock: Clock::system(),
        effects: std::sync::Arc::new(NoEffects),
    }
}

/// Runs a test with a pool, and checks that no process is left.
pub fn with<F, Fut>(change: impl FnOnce(&mut EngineOptions), test: F)
where
    F: FnOnce(Engines) -> Fut,
    Fut: Future<Output = ()>,
{
    System::new().block_on(async {
        let tree = Tree::new(Arbiter::current(), Clock::system());
        let mut options = options();
        change(&mut options);
        let engines = Engines::start(&tree.group("engines"), Arbiter::current(), options, SandboxStatus::default());
        engines.up().await;
        test(engines.clone()).await;
        tree.stop().await;
        until(|| children().is_empty()).await;
    });
}

pub fn call(engine: &'static Engine, input: Value) -> EngineCall {
    EngineCall::new(engine, input, EngineCaller::of(&By::System))
}

/// A call of this principal.
pub fn call_of(principal: &str, engine: &'static Engine, input: Value) -> EngineCall {
    EngineCall::new(engine, input, EngineCaller { actor: principal.to_owned(), ..EngineCaller::default() })
}

/// Runs an engine with empty input.
pub async fn run(engines: &Engines, engine: &'static Engine) -> Result<EngineAnswer, Error> {
    engines.run(call(engine, json!({}))).await
}

/// Returns the process that the next call gets.
pub async fn pid(engines: &Engines) -> u32 {
    let pid = run(engines, &crate::bad::PROCESS).await.unwrap().output["pid"].as_u64().unwrap();
    u32::try_from(pid).unwrap()
}

/// Returns the child processes of this program, including zombies.
pub fn children() -> Vec<u32> {
    let own = std::process::id();
    let entries =
        std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    entries.filter(|pid: &u32| parent(*pid) == Some(own)).collect()
}

fn parent(pid: u32) -> Option<u32> {
    // After the name, which may contain anything: the state, then the parent.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Kills a process from outside.
pub fn kill(pid: u32) {
    // It may have ended already.
    Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
}

/// Waits until the condition holds.
pub async fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "timed out waiting for the condition");
        // The timeout is expected to elapse.
        let _ = tokio::time::timeout(Duration::from_millis(2), std::future::pending::<()>()).await;
    }
}
