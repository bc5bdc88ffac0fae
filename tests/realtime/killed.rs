//! Resuming after kill -9 of the program.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::support::client::{Client, try_answer};
use crate::support::process::Launch;
use crate::support::socket::{Socket, SocketMessage};
use crate::support::{EMAIL, PASSWORD};

const KILLS: usize = 12;
const WRITERS: usize = 6;

/// A follower of `incidents` that resumes wherever it was cut off.
struct Follower {
    socket: Socket,
    epoch: Value,
    offset: u64,
    /// Identifiers of the received events, by the mark of each change.
    received: BTreeMap<String, Vec<String>>,
    eids: BTreeSet<String>,
}

impl Follower {
    async fn open(url: &str, token: &str) -> Self {
        let mut socket = Socket::at(url, token).await;
        let subscribed = socket.subscribe(json!({ "ch": "incidents", "snapshot": true })).await;
        let (epoch, offset) = (subscribed["epoch"].clone(), subscribed["offset"].as_u64().unwrap());
        Self { socket, epoch, offset, received: BTreeMap::new(), eids: BTreeSet::new() }
    }

    /// Records a publication: the next one, and not a duplicate.
    fn take(&mut self, frame: &Value) {
        assert_eq!(frame["off"].as_u64(), Some(self.offset + 1), "gapless: {frame}");
        self.offset += 1;
        let eid = frame["eid"].as_str().unwrap().to_owned();
        assert!(self.eids.insert(eid.clone()), "published twice: {frame}");
        let data = &frame["data"];
        if let Some(mark) = data["entry"]["note"].as_str().or_else(|| data["patch"]["summary"].as_str()) {
            self.received.entry(mark.to_owned()).or_default().push(eid);
        }
    }

    /// Reads until this many more publications were received.
    async fn read(&mut self, more: u64) {
        let until = self.offset + more;
        while self.offset < until {
            let frame = self.socket.frame().await;
            self.take(&frame);
        }
    }

    /// Reads what is in flight, up to the connection's end.
    async fn drain(&mut self) {
        while let SocketMessage::Frame(frame) = self.socket.next().await {
            self.take(&frame);
        }
    }

    /// Resumes: `Err` with the snapshot where the server cannot prove that nothing is missing.
    async fn resume(&mut self, url: &str, token: &str) -> Result<(), Value> {
        self.socket = Socket::at(url, token).await;
        let since = json!({ "epoch": self.epoch, "offset": self.offset });
        let subscribed = self.socket.subscribe(json!({ "ch": "incidents", "since": since, "snapshot": true })).await;
        if subscribed["recovered"] == true {
            assert_eq!(subscribed["epoch"], self.epoch);
            return Ok(());
        }
        assert!(["gap", "epoch", "limit"].contains(&subscribed["why"].as_str().unwrap()), "{subscribed}");
        (self.epoch, self.offset) = (subscribed["epoch"].clone(), subscribed["offset"].as_u64().unwrap());
        Err(subscribed["state"].clone())
    }

    /// Reads until that mark is received.
    async fn wait_until(&mut self, mark: &str) {
        while !self.received.contains_key(mark) {
            self.read(1).await;
        }
    }
}

/// Sends notes and changes until the server is gone; returns what was acknowledged.
async fn writes(client: Client, path: String, mark: String) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let mark = format!("{mark}-{n}");
        let request = if n % 2 == 0 {
            client.post_request(&format!("{path}/notes"), &json!({ "text": mark }))
        } else {
            let change = client.request(reqwest::Method::PATCH, &path).header("if-match", "*");
            change.header("content-type", "application/json").body(json!({ "summary": mark }).to_string())
        };
        match try_answer(request).await {
            Ok(got) => {
                assert!(matches!(got.status, 200 | 201), "{} {}", got.status, got.text);
                acknowledged.push(mark);
            }
            Err(_) => break,
        }
    }
    acknowledged
}

#[tokio::test]
async fn a40_a_kill_during_a_burst_loses_no_event_and_repeats_none() {
    let folder = tempfile::tempdir().unwrap();
    let launch = || Launch::new(folder.path()).with("MUSTER__LIMITS__PERSON", "1000000").start();
    let mut server = launch();
    let (mut admin, login) = Client::new(&server.url).login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].as_str().unwrap().to_owned();
    let mut paths = Vec::new();
    for n in 0..WRITERS {
        let body = json!({ "title": format!("Flood {n}"), "kind": "flood", "severity": "Severe" });
        let made = admin.post("/api/v1/incidents", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        paths.push(format!("/api/v1/incidents/{}", made.json()["data"]["id"].as_str().unwrap()));
    }
    let mut follower = Follower::open(&server.url, &token).await;
    let (mut acknowledged, mut recovered) = (BTreeSet::new(), 0);
    for round in 0..KILLS {
        let burst = join_all(
            paths
                .iter()
                .enumerate()
                .map(|(n, path)| tokio::spawn(writes(admin.clone(), path.clone(), format!("r{round}-w{n}")))),
        );
        let reading = async {
            // At a different point of the burst in each round.
            follower.read(3 + 7 * round as u64 % 40).await;
            server.kill();
            follower.drain().await;
        };
        let (written, ()) = tokio::join!(burst, reading);
        acknowledged.extend(written.into_iter().flat_map(Result::unwrap));
        server = launch();
        admin = admin.at(&server.url);
        match follower.resume(&server.url, &token).await {
            Ok(()) => recovered += 1,
            Err(state) => {
                assert_eq!(state.as_array().unwrap().len(), WRITERS, "a snapshot of all: {state}");
                acknowledged.clear();
            }
        }
        let mark = format!("after-{round}");
        assert_eq!(admin.post(&format!("{}/notes", paths[0]), &json!({ "text": mark })).await.status, 201);
        follower.wait_until(&mark).await;
        for mark in &acknowledged {
            let eids =
                follower.received.get(mark).unwrap_or_else(|| panic!("round {round}: {mark} was never published"));
            assert_eq!(eids.len(), 1, "{mark}");
        }
    }
    println!("{recovered} of {KILLS} kills were resumed over, {} changes acknowledged", acknowledged.len());
    assert!(recovered > 0 && acknowledged.len() > KILLS, "there was something to lose");
}
