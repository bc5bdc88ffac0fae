//! The disaster network's part of the load: records of each kind are created while a follower receives their events.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use super::LoadResults;
use crate::support::PASSWORD;
use crate::support::client::{Client, answer};
use crate::support::server::Muster;
use crate::support::socket::{Socket, SocketMessage};

/// A kind of record: the path, a body for a name, and the pointer to the record in the response.
type Creation = (&'static str, fn(&str) -> Value, &'static str);

const CREATIONS: [Creation; 5] = [
    ("/api/v1/incidents", |name| json!({ "title": name, "kind": "flood", "severity": "Severe" }), "/data"),
    ("/api/v1/devices", |name| json!({ "name": name, "kind": "siren" }), "/data/device"),
    ("/api/v1/geofences", fence, "/data"),
    ("/api/v1/firmware/artifacts", image, "/data"),
    (
        "/api/v1/users",
        |name| json!({ "email": format!("{name}@example.org"), "password": PASSWORD, "role": "viewer" }),
        "/data",
    ),
];

fn fence(name: &str) -> Value {
    let ring = json!([[[20, -1], [22, -1], [22, 1], [20, 1], [20, -1]]]);
    json!({ "name": name, "kind": "evacuation", "geometry": { "type": "Polygon", "coordinates": ring } })
}

fn image(name: &str) -> Value {
    json!({ "name": name, "version": "2.0.0", "sequence": 2, "vendor": "acme", "hw_class": "siren-2",
            "hw_revisions": [], "size": 4096, "sha256": "0".repeat(64), "format": "raw", "expires_at": null,
            "min_current_sequence": null })
}

/// Creates records of every kind in turn, changes incidents, and records what was acknowledged.
pub(super) async fn run_writes(client: &Client, results: &LoadResults, prefix: &str) {
    for turn in 0.. {
        for (path, body, pointer) in CREATIONS {
            if !results.is_running() {
                return;
            }
            let got = client.post(path, &body(&format!("{prefix}-{turn}"))).await;
            results.record_response(path, &got);
            if got.status != 201 {
                continue;
            }
            let record = got.json().pointer(pointer).unwrap().clone();
            let own = format!("{path}/{}", record["id"].as_str().unwrap());
            results.record_acknowledged(&own, &record);
            if path == "/api/v1/incidents" {
                let assessed = json!({ "urgency": "Immediate", "certainty": "Observed" });
                let moved =
                    answer(client.post_request(&format!("{own}/triage"), &assessed).header("if-match", "*")).await;
                results.record_response("triage", &moved);
                if moved.status == 200 {
                    results.record_acknowledged(&own, &moved.json()["data"]);
                }
            }
        }
    }
}

/// Reads a session's own data and lists while identity actors are killed.
pub(super) async fn run_reads(client: &Client, results: &LoadResults) {
    while results.is_running() {
        for path in ["/api/v1/auth/me", "/api/v1/incidents?limit=5", "/api/v1/firmware/jobs", "/api/v1/alerts"] {
            results.record_response(path, &answer(client.request(Method::GET, path)).await);
        }
    }
}

/// A follower of two channels on one socket that resumes wherever it was cut off.
pub(super) struct Follower {
    socket: Socket,
    positions: BTreeMap<&'static str, (Value, u64)>,
    eids: BTreeSet<String>,
    /// How often each version was published, by channel, record and version.
    pub(super) notifications: BTreeMap<(String, String, u64), usize>,
}

const CHANNELS: [&str; 2] = ["incidents", "devices"];

impl Follower {
    pub(super) async fn open(muster: &Muster, token: &str) -> Self {
        let mut socket = Socket::open(muster, token).await;
        let mut positions = BTreeMap::new();
        for channel in CHANNELS {
            let subscribed = socket.subscribe(json!({ "ch": channel })).await;
            positions.insert(channel, (subscribed["epoch"].clone(), subscribed["offset"].as_u64().unwrap()));
        }
        Self { socket, positions, eids: BTreeSet::new(), notifications: BTreeMap::new() }
    }

    /// Follows until the record of that title is published.
    pub(super) async fn follow(mut self, muster: &Muster, token: &str, last: &str) -> Self {
        loop {
            match self.socket.next().await {
                SocketMessage::Closed(code) => {
                    println!("the follower was closed with {code}");
                    self.socket = Socket::open(muster, token).await;
                    self.resume().await;
                }
                SocketMessage::Frame(frame) if frame["unsubscribed"].is_object() => self.resume().await,
                SocketMessage::Frame(frame) => {
                    self.take(&frame);
                    if frame["data"]["title"] == last {
                        return self;
                    }
                }
            }
        }
    }

    async fn resume(&mut self) {
        for channel in CHANNELS {
            let (epoch, offset) = &self.positions[channel];
            let since = json!({ "epoch": epoch, "offset": offset });
            let reply = self.socket.request(json!({ "subscribe": { "ch": channel, "since": since } })).await;
            // It is subscribed already, or it is resumed without a gap.
            let subscribed = reply["error"]["code"] == 2405 || reply["ok"]["recovered"] == true;
            assert!(subscribed, "{channel}: {reply}");
        }
    }

    fn take(&mut self, frame: &Value) {
        let Some(channel) = CHANNELS.into_iter().find(|channel| frame["ch"] == *channel) else { return };
        let Some(offset) = frame["off"].as_u64() else { return };
        let (_, last) = self.positions.get_mut(channel).unwrap();
        assert_eq!(offset, *last + 1, "gapless: {frame}");
        *last = offset;
        assert!(self.eids.insert(frame["eid"].as_str().unwrap().to_owned()), "published twice: {frame}");
        let id = frame["data"]["id"].as_str().unwrap_or_default().to_owned();
        let version = frame["data"]["version"].as_u64().unwrap_or_default();
        *self.notifications.entry((channel.to_owned(), id, version)).or_default() += 1;
    }
}

/// Asserts that every acknowledged record exists and that each of its versions was published once.
pub(super) async fn assert_nothing_lost(
    client: &Client,
    acknowledged: &BTreeMap<String, Vec<u64>>,
    follower: &Follower,
) {
    for (path, versions) in acknowledged {
        let got = client.get(path).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text);
        let (collection, id) = path.rsplit_once('/').unwrap();
        let Some(channel) = CHANNELS.into_iter().find(|channel| collection.ends_with(channel)) else { continue };
        for version in versions {
            let notifications = follower.notifications.get(&(channel.to_owned(), id.to_owned(), *version));
            assert_eq!(notifications, Some(&1), "{path} at version {version}");
        }
    }
}
