//! kill -9 of the whole disaster network in the middle of its work: what was acknowledged is there in the version that
//! was told, and the feed told each change once.

mod history;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::process::{Launch, Process};
use crate::support::socket::until;
use crate::support::{EMAIL, PASSWORD};
use history::History;
use work::{Fleet, Session, Told, Worker};

const KILLS: usize = 15;

fn launch(folder: &std::path::Path) -> Process {
    let launch = Launch::new(folder).with("MUSTER__LIMITS__PERSON", "\"unlimited\"");
    let launch = launch.with("MUSTER__LIMITS__DEVICE", "\"unlimited\"").with("MUSTER__LIMITS__LOGIN", "\"unlimited\"");
    let launch = launch.with("MUSTER__AUTH__ARGON2_MEMORY_KIB", "64").with("MUSTER__FIRMWARE__APPROVALS", "0");
    let launch = launch.with("MUSTER__AUTH__LOGINS_PER_ADDRESS", "100000");
    launch.with("MUSTER__AUTH__LOGINS_PER_MINUTE", "100000").start()
}

/// Everything that was acknowledged, over all rounds.
#[derive(Default)]
struct Acknowledged {
    /// The newest version that was told of each record, by its path.
    records: BTreeMap<String, u64>,
    /// What the feed has to tell: channel and key.
    events: Vec<(String, String)>,
}

impl Acknowledged {
    fn take(&mut self, told: Vec<Told>) {
        for Told { path, version, event } in told {
            let newest = self.records.entry(path).or_default();
            *newest = version.max(*newest);
            self.events.extend(event);
        }
    }

    /// One change more may have been made than was answered: that one was on its way.
    async fn all_there(&self, admin: &Client, round: usize) {
        for (path, version) in &self.records {
            let got = admin.get(path).await;
            assert_eq!(got.status, 200, "round {round}: {path}: {}", got.text);
            let body = got.json();
            let found = body["data"]["version"].as_u64().unwrap_or_else(|| panic!("{path}: {body}"));
            assert!(found >= *version, "round {round}: {path} was told to be at {version} and is at {found}");
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_fifteen_kills_and_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = launch(folder.path());
    let (mut admin, _) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let mut fleet = Fleet::new(&admin).await;
    let mut session = Session::open(&admin).await;
    let mut history = History::default();
    let (mut all, mut pending) = (Acknowledged::default(), Vec::new());
    history.read(&admin, fleet.channels()).await;
    let mut recovered = 0;
    for round in 0..KILLS {
        let done = Arc::new(AtomicUsize::new(0));
        let worker = |seed: usize| Worker { client: admin.clone(), done: Arc::clone(&done), seed };
        let work = (0..4).map(|n| tokio::spawn(worker(round * 100 + n).mixed(fleet.clone()))).collect::<Vec<_>>();
        let rollout = tokio::spawn(worker(round * 100 + 50).rollout(fleet.clone()));
        let refreshes = tokio::spawn(session.clone().refreshes(admin.clone(), Arc::clone(&done)));
        // Each time elsewhere in the work.
        let enough = 20 + round * 7 % 30;
        until("the work goes on", || done.load(Ordering::Acquire) >= enough).await;
        server.kill();
        let told = join_all(work).await.into_iter().flat_map(Result::unwrap);
        let told: Vec<Told> = told.chain(rollout.await.unwrap()).collect();
        session = refreshes.await.unwrap();
        pending.extend(told.iter().filter_map(|told| told.event.clone()));
        all.take(told);

        server = launch(folder.path());
        admin = admin.at(&server.url);
        fleet = fleet.at(&server.url);
        all.all_there(&admin, round).await;
        session.leads_on(&admin).await;
        if history.read(&admin, fleet.channels()).await {
            recovered += 1;
            for (channel, key) in pending.drain(..) {
                assert!(history.told(&channel, &key), "round {round}: {channel} never told of {key}");
            }
        } else {
            pending.clear();
        }
    }
    let (records, events) = (all.records.len(), all.events.len());
    println!("{records} records and {events} events acknowledged; {recovered} of {KILLS} kills were resumed over");
    assert!(recovered > 0 && records > KILLS && events > KILLS, "there was something to lose");
    let kinds = ["users", "devices", "incidents", "alerts", "geofences", "firmware/jobs"];
    for kind in kinds {
        let prefix = format!("/api/v1/{kind}/");
        assert!(all.records.keys().any(|path| path.starts_with(&prefix)), "nothing of {kind} was acknowledged");
    }
    let listed = admin.get("/api/v1/incidents?limit=1").await.json();
    assert_ne!(listed["data"]["incidents"], json!([]) as Value);
}
