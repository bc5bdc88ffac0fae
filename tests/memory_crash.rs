//! kill -9 of the server in the middle of stores, replacements, deletions and sweeps of memory, again and again: what was
//! acknowledged is there and found, what was deleted or is over stays away, no version goes back.

mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;

use crate::support::dice::Dice;
use crate::support::process::start;
use crate::support::socket::until;
use work::Worker;

/// Of each of the two tests.
const KILLS: usize = 25;
/// Ends in order in between: what they save of the index is what the next crash starts from.
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
    let (mut dice, mut acts, mut doubts) = (Dice(seed), 0, 0);
    for round in 1..=KILLS + KILLS / TERM_EACH {
        let enough = 20 + dice.below(120);
        let done = Arc::new(AtomicUsize::new(0));
        let going: Vec<_> =
            workers.drain(..).map(|worker| tokio::spawn(worker.goes_on(client.clone(), Arc::clone(&done)))).collect();
        until("they write", || done.load(Ordering::Acquire) >= enough).await;
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
        let told = client.get(&format!("/api/memory/search?q={word}&limit=200")).await;
        assert_eq!(told.status, 200, "{}", told.text);
        assert!(!told.text.contains(&format!("\"{word} ")), "{word} was replaced, deleted or over: {}", told.text);
    }
}
