//! kill -9 of the server during stores, replacements, deletions and sweeps of memory, repeatedly: acknowledged entries
//! exist and are found, deleted and expired ones stay absent, no version decreases.

mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;

use crate::support::process::start;
use crate::support::rng::SplitMix64;
use crate::support::socket::wait_until;
use work::Worker;

/// Kills in each of the two tests.
const KILLS: usize = 25;
/// Graceful ends in between: the index that they save is the start of the next round.
const TERM_EACH: usize = 9;
const WORKERS: usize = 6;

const SETTINGS: &str = "
[server]
shutdown_grace_seconds = 2
[limits.agent]
memory = \"unlimited\"
health = \"unlimited\"
[memory]
checkpoint_seconds = 1
[llm]
cache = \"/nowhere\"
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_twenty_five_kills() {
    survives(6).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_twenty_five_more_kills() {
    survives(60).await;
}

async fn survives(seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, mut client) = start(folder.path(), SETTINGS);
    let mut workers: Vec<Worker> = (0..WORKERS).map(Worker::new).collect();
    let (mut rng, mut acts, mut doubts) = (SplitMix64(seed), 0, 0);
    for round in 1..=KILLS + KILLS / TERM_EACH {
        let enough = 20 + rng.below(120);
        let done = Arc::new(AtomicUsize::new(0));
        let going: Vec<_> =
            workers.drain(..).map(|worker| tokio::spawn(worker.goes_on(client.clone(), Arc::clone(&done)))).collect();
        wait_until("they write", || done.load(Ordering::Acquire) >= enough).await;
        let signal = if round % TERM_EACH == 0 { "TERM" } else { "KILL" };
        server.signal(signal);
        workers.extend(join_all(going).await.into_iter().map(Result::unwrap));
        let ended = server.ended();
        assert_eq!(ended.success(), signal == "TERM", "{ended}: {}", server.log());
        acts += done.load(Ordering::Acquire);
        doubts += workers.iter().map(Worker::doubts).sum::<usize>();
        (server, client) = start(folder.path(), SETTINGS);
        for worker in &mut workers {
            worker.verify(&client, round).await;
        }
    }
    println!("{KILLS} kills: {acts} acts were acknowledged, {doubts} were under way");
    assert!(doubts >= KILLS / 2, "the kills hit the work: {doubts}");
    let words: Vec<String> = workers.iter().flat_map(Worker::past).collect();
    for word in words {
        let answered_at = client.get(&format!("/api/memory/search?q={word}&limit=200")).await;
        assert_eq!(answered_at.status, 200, "{}", answered_at.text);
        assert!(
            !answered_at.text.contains(&format!("\"{word} ")),
            "{word} was replaced, deleted or over: {}",
            answered_at.text
        );
    }
}
