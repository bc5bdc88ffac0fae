//! The disaster network's part of the load: records of each kind are made, and somebody follows what is told of them.

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Method;
use serde_json::{Value, json};

use super::Met;
use crate::support::PASSWORD;
use crate::support::client::{Client, answer};
use crate::support::server::Muster;
use crate::support::socket::{Came, Socket};

/// What is made over and over: the path, a body with a name of its own, and where in the answer the record is.
type Make = (&'static str, fn(&str) -> Value, &'static str);

const MADE: [Make; 5] = [
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

/// Makes one record after another of every kind, changes incidents, and keeps in mind what was acknowledged.
pub(super) async fn works(client: &Client, met: &Met, who: &str) {
    for turn in 0.. {
        for (path, body, pointer) in MADE {
            if !met.going_on() {
                return;
            }
            let got = client.post(path, &body(&format!("{who}-{turn}"))).await;
            met.note(path, &got);
            if got.status != 201 {
                continue;
            }
            let record = got.json().pointer(pointer).unwrap().clone();
            let own = format!("{path}/{}", record["id"].as_str().unwrap());
            met.keep(&own, &record);
            if path == "/api/v1/incidents" {
                let assessed = json!({ "urgency": "Immediate", "certainty": "Observed" });
                let moved = answer(client.posting(&format!("{own}/triage"), &assessed).header("if-match", "*")).await;
                met.note("triage", &moved);
                if moved.status == 200 {
                    met.keep(&own, &moved.json()["data"]);
                }
            }
        }
    }
}

/// A session's person, read and listed while identity dies.
pub(super) async fn reads(client: &Client, met: &Met) {
    while met.going_on() {
        for path in ["/api/v1/auth/me", "/api/v1/incidents?limit=5", "/api/v1/firmware/jobs", "/api/v1/alerts"] {
            met.note(path, &answer(client.request(Method::GET, path)).await);
        }
    }
}

/// Somebody who follows two channels by one socket and goes on wherever it was cut off.
pub(super) struct Follower {
    socket: Socket,
    positions: BTreeMap<&'static str, (Value, u64)>,
    eids: BTreeSet<String>,
    /// Channel, record, version: how often it was told of.
    pub(super) told: BTreeMap<(String, String, u64), usize>,
}

const CHANNELS: [&str; 2] = ["incidents", "devices"];

impl Follower {
    pub(super) async fn open(muster: &Muster, token: &str) -> Self {
        let mut socket = Socket::open(muster, token).await;
        let mut positions = BTreeMap::new();
        for channel in CHANNELS {
            let stands = socket.subscribe(json!({ "ch": channel })).await;
            positions.insert(channel, (stands["epoch"].clone(), stands["offset"].as_u64().unwrap()));
        }
        Self { socket, positions, eids: BTreeSet::new(), told: BTreeMap::new() }
    }

    /// Follows until the record of that title was told of.
    pub(super) async fn follow(mut self, muster: &Muster, token: &str, last: &str) -> Self {
        loop {
            match self.socket.next().await {
                Came::Closed(code) => {
                    println!("the follower was closed with {code}");
                    self.socket = Socket::open(muster, token).await;
                    self.resume().await;
                }
                Came::Frame(frame) if frame["unsubscribed"].is_object() => self.resume().await,
                Came::Frame(frame) => {
                    self.take(&frame);
                    if frame["data"]["data"]["title"] == last {
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
            let reply = self.socket.ask(json!({ "subscribe": { "ch": channel, "since": since } })).await;
            // It stands already, or it goes on without a gap.
            let stands = reply["error"]["code"] == 2405 || reply["ok"]["recovered"] == true;
            assert!(stands, "{channel}: {reply}");
        }
    }

    fn take(&mut self, frame: &Value) {
        let Some(channel) = CHANNELS.into_iter().find(|channel| frame["ch"] == *channel) else { return };
        let Some(offset) = frame["off"].as_u64() else { return };
        let (_, last) = self.positions.get_mut(channel).unwrap();
        assert_eq!(offset, *last + 1, "gapless: {frame}");
        *last = offset;
        assert!(self.eids.insert(frame["eid"].as_str().unwrap().to_owned()), "told twice: {frame}");
        let id = frame["data"]["id"].as_str().unwrap_or_default().to_owned();
        let version = frame["data"]["version"].as_u64().unwrap_or_default();
        *self.told.entry((channel.to_owned(), id, version)).or_default() += 1;
    }
}

/// What was acknowledged is there, and of what is followed each version was told once.
pub(super) async fn nothing_is_lost(client: &Client, kept: &BTreeMap<String, Vec<u64>>, follower: &Follower) {
    for (path, versions) in kept {
        let got = client.get(path).await;
        assert_eq!(got.status, 200, "{path}: {}", got.text);
        let (collection, id) = path.rsplit_once('/').unwrap();
        let Some(channel) = CHANNELS.into_iter().find(|channel| collection.ends_with(channel)) else { continue };
        for version in versions {
            let told = follower.told.get(&(channel.to_owned(), id.to_owned(), *version));
            assert_eq!(told, Some(&1), "{path} at version {version}");
        }
    }
}
