//! kill -9 of the server during agents' tasks, repeatedly: accepted tasks complete, finished steps are not repeated.
//! The same with SIGTERM, where no step at all is repeated.

mod history;
mod jobs;

use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;

use crate::support::client::Client;
use crate::support::process::{Process, start};
use crate::support::rng::SplitMix64;
use crate::support::socket::wait_until;
use history::{Journal, now};
use jobs::{Job, Meter};

const TASKS: usize = 200;
const KILLS: usize = 20;
/// A graceful end waits for steps in flight: fewer of them are enough.
const TERMS: usize = 5;

/// Enough concurrent tasks for a crash to hit several of them; those that run at a SIGTERM have enough time to finish.
const SETTINGS: &str = "
[server]
shutdown_grace_seconds = 20
[engines]
time_seconds = 60
[agents]
per_key = 16
[limits.agent]
agents = \"unlimited\"
health = \"unlimited\"
";

/// The servers' data folder and logs: kept where a test fails, so that the failure can be explained.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the store and the servers' logs are kept in {}", self.0.path().display());
            self.0.disable_cleanup(true);
        }
    }
}

/// Works until this much is done and the server was ended by that signal; then continues on a new server.
struct Rounds<'a> {
    folder: &'a Path,
    server: Process,
    client: Client,
    jobs: Vec<Job>,
    /// When each server was ended.
    ends: Vec<u64>,
}

impl<'a> Rounds<'a> {
    fn new(folder: &'a Path, tasks: usize) -> Self {
        let (server, client) = start(folder, SETTINGS);
        Self { folder, server, client, jobs: (0..tasks).map(Job::new).collect(), ends: Vec::new() }
    }

    /// Continues those that have not ended; at most `new` of them were not begun.
    async fn work(&mut self, new: usize, meter: &Arc<Meter>) -> Vec<tokio::task::JoinHandle<Job>> {
        let round = self.ends.len();
        let (mut going, mut begun) = (Vec::new(), 0);
        for job in self.jobs.extract_if(.., |job| {
            let fresh = job.is_new();
            begun += usize::from(fresh);
            !job.has_ended() && (!fresh || begun <= new)
        }) {
            // A task that two crashes have hit ends before a third one: that would be a crash loop.
            let due = job.accepted_in.is_some_and(|accepted| accepted + 2 <= round);
            meter.expect(due);
            going.push(tokio::spawn(job.goes_on(self.client.clone(), Arc::clone(meter), round, due)));
        }
        going
    }

    async fn round(&mut self, new: usize, enough: usize, signal: &str) {
        let meter = Arc::new(Meter::default());
        let going = self.work(new, &meter).await;
        wait_until("the load progresses", || meter.is_at(enough)).await;
        self.server.signal(signal);
        // Before any client disconnects: a request during the server's end is answered or rejected, nothing else.
        let (jobs, ended) = (join_all(going).await, self.server.ended());
        self.jobs.extend(jobs.into_iter().map(Result::unwrap));
        let log = self.server.log();
        assert_eq!(ended.success(), signal == "TERM", "{ended}: {log}");
        // Printed with a failure: a step is also repeated where an engine's process crashed.
        for line in log.lines().filter(|line| line.contains("ERROR") || line.contains("process")) {
            println!("server {}: {line}", self.ends.len());
        }
        std::fs::write(self.folder.join(format!("server-{}.log", self.ends.len())), log).unwrap();
        self.ends.push(now());
        (self.server, self.client) = start(self.folder, SETTINGS);
    }

    /// Waits until everything has ended; returns each task's journal.
    async fn rest(&mut self) -> Vec<Journal> {
        let going = self.work(TASKS, &Arc::default()).await;
        self.jobs.extend(join_all(going).await.into_iter().map(Result::unwrap));
        let mut journals = Vec::new();
        for job in &self.jobs {
            journals.push(Journal::read(&self.client, job.id()).await);
        }
        journals
    }
}

/// Nothing was lost or duplicated: as many tasks as were requested, each with the result that its agent
/// returns for these params without crashes.
async fn all_done(rounds: &Rounds<'_>) {
    let mut listed = jobs::listed(&rounds.client).await;
    let mut created: Vec<String> = rounds.jobs.iter().map(|job| job.id().to_owned()).collect();
    listed.sort();
    created.sort();
    assert_eq!(listed, created, "each request that was made again under its key is one task");
    for job in &rounds.jobs {
        let task = job.task();
        assert_eq!(task["status"], "succeeded", "{task}");
        assert_eq!(task["progress"]["percent"], 100, "{task}");
        let same = rounds.jobs.iter().find(|other| other.agent() == job.agent()).unwrap();
        assert!(task["result"]["outputs"].as_object().is_some_and(|outputs| !outputs.is_empty()), "{task}");
        assert_eq!(task["result"]["outputs"], same.task()["result"]["outputs"], "{}", job.agent());
    }
}

#[tokio::test]
async fn two_hundred_tasks_survive_twenty_kills() {
    let home = Home::new();
    let mut rounds = Rounds::new(home.0.path(), TASKS);
    let mut rng = SplitMix64(5);
    for _ in 0..KILLS {
        rounds.round(TASKS / KILLS, 1 + rng.below(40), "KILL").await;
    }
    let journals = rounds.rest().await;
    all_done(&rounds).await;
    let (mut again, mut hit) = (0, 0);
    for journal in &journals {
        journal.finished_once();
        let repeated = journal.repeated_at_most_once_a_crash(&rounds.ends);
        again += repeated;
        hit += usize::from(repeated > 0);
    }
    println!("{KILLS} kills: {again} steps in flight of {hit} tasks were repeated");
    assert!(again >= KILLS / 2, "the kills hit the work: {again}");
}

#[tokio::test]
async fn an_end_in_order_repeats_nothing() {
    let home = Home::new();
    let mut rounds = Rounds::new(home.0.path(), TERMS * 10);
    let mut rng = SplitMix64(7);
    let mut open = 0;
    for _ in 0..TERMS {
        rounds.round(10, 1 + rng.below(20), "TERM").await;
        open += rounds.jobs.iter().filter(|job| !job.is_new() && !job.has_ended()).count();
    }
    let journals = rounds.rest().await;
    all_done(&rounds).await;
    for journal in &journals {
        journal.finished_once();
        journal.begun_once();
    }
    println!("{TERMS} ends in order: {open} tasks went on after one");
    assert!(open > 0, "they were sent during the work");
    assert!(rounds.jobs.iter().all(|job| job.task()["recovered"] == false), "an end in order is no crash");
}
