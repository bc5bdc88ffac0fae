//! kill -9 of the whole disaster network under load: every acknowledged record exists in at least the acknowledged
//! version, and the feed published each change once.

mod history;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::process::{Launch, Process};
use crate::support::socket::wait_until;
use crate::support::{EMAIL, PASSWORD};
use history::History;
use work::{AcknowledgedChange, Fleet, Session, Worker};

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
struct AcknowledgedState {
    /// The newest acknowledged version of each record, by its path.
    records: BTreeMap<String, u64>,
    /// Events that the feed must publish: channel and key.
    events: Vec<(String, String)>,
}

impl AcknowledgedState {
    fn take(&mut self, acknowledged: Vec<AcknowledgedChange>) {
        for AcknowledgedChange { path, version, event } in acknowledged {
            let newest = self.records.entry(path).or_default();
            *newest = version.max(*newest);
            self.events.extend(event);
        }
    }

    /// A record may be one change ahead of the last response: that change was in flight.
    async fn check_all_present(&self, admin: &Client, round: usize) {
        for (path, version) in &self.records {
            let got = admin.get(path).await;
            assert_eq!(got.status, 200, "round {round}: {path}: {}", got.text);
            let body = got.json();
            let found = body["data"]["version"].as_u64().unwrap_or_else(|| panic!("{path}: {body}"));
            assert!(found >= *version, "round {round}: {path} was acknowledged at {version} and is at {found}");
        }
    }
}

#[tokio::test]
async fn acknowledged_changes_survive_fifteen_kills_and_are_published_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = launch(folder.path());
    let (mut admin, _) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let mut fleet = Fleet::new(&admin).await;
    let mut session = Session::open(&admin).await;
    let mut history = History::default();
    let (mut all, mut pending) = (AcknowledgedState::default(), Vec::new());
    history.read(&admin, fleet.channels()).await;
    let mut recovered = 0;
    for round in 0..KILLS {
        let done = Arc::new(AtomicUsize::new(0));
        let worker = |seed: usize| Worker { client: admin.clone(), done: Arc::clone(&done), seed };
        let work = (0..4).map(|n| tokio::spawn(worker(round * 100 + n).mixed(fleet.clone()))).collect::<Vec<_>>();
        let rollout = tokio::spawn(worker(round * 100 + 50).rollout(fleet.clone()));
        let refreshes = tokio::spawn(session.clone().refreshes(admin.clone(), Arc::clone(&done)));
        // At a different point of the load in each round.
        let enough = 20 + round * 7 % 30;
        wait_until("the load progresses", || done.load(Ordering::Acquire) >= enough).await;
        server.kill();
        let acknowledged = join_all(work).await.into_iter().flat_map(Result::unwrap);
        let acknowledged: Vec<AcknowledgedChange> = acknowledged.chain(rollout.await.unwrap()).collect();
        session = refreshes.await.unwrap();
        pending.extend(acknowledged.iter().filter_map(|acknowledged| acknowledged.event.clone()));
        all.take(acknowledged);

        server = launch(folder.path());
        admin = admin.at(&server.url);
        fleet = fleet.at(&server.url);
        all.check_all_present(&admin, round).await;
        session.check_refresh(&admin).await;
        if history.read(&admin, fleet.channels()).await {
            recovered += 1;
            for (channel, key) in pending.drain(..) {
                assert!(history.published(&channel, &key), "round {round}: {channel} never published {key}");
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
