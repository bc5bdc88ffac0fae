//! Publications of the channels, read in pages from the end of the previous read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::client::Client;

/// Each channel up to its last read position.
#[derive(Default)]
pub struct History {
    positions: BTreeMap<String, (String, u64)>,
    /// Channel and key of the publications.
    published: BTreeSet<(String, String)>,
    /// Channel and identifier of each event.
    eids: BTreeSet<(String, String)>,
    /// Channel, name and key: a change is published once under a name.
    names_by_key: BTreeSet<(String, String, String)>,
}

/// The subject of an event in the form in which a response names it too.
pub fn key(data: &Value) -> String {
    match data["command"]["id"].as_str() {
        Some(command) => format!("{command}@{}", data["command"]["state"]),
        None => format!("{}@{}", data["id"].as_str().unwrap_or_default(), data["version"]),
    }
}

impl History {
    /// Reads all channels further. Returns whether each was continuous; a channel that was not is read anew.
    pub async fn read(&mut self, client: &Client, channels: Vec<String>) -> bool {
        let mut gapless = true;
        for channel in channels {
            gapless &= self.follow(client, &channel).await;
        }
        gapless
    }

    async fn follow(&mut self, client: &Client, channel: &str) -> bool {
        let mut gapless = true;
        loop {
            let since = self.positions.get(channel).map(|(epoch, offset)| format!("&since={epoch}-{offset}"));
            let path = format!("/api/v1/realtime/channels/{channel}/history?limit=500{}", since.unwrap_or_default());
            let got = client.get(&path).await;
            assert_eq!(got.status, 200, "{path}: {}", got.text);
            let page = &got.json()["data"];
            let epoch = page["epoch"].as_str().unwrap().to_owned();
            if page["recovered"] == false {
                assert!(["gap", "epoch", "limit"].contains(&page["why"].as_str().unwrap()), "{page}");
                self.positions.remove(channel);
                gapless = false;
            }
            let known = self.positions.get(channel).map(|(_, offset)| *offset);
            let reached = self.take(channel, known, page["publications"].as_array().unwrap());
            let end = page["offset"].as_u64().unwrap();
            let more = page["more"] == true;
            self.positions.insert(channel.to_owned(), (epoch, if more { reached.unwrap_or(end) } else { end }));
            if !more {
                assert!(reached.is_none_or(|reached| reached == end), "{channel} ends at {reached:?}, not at {end}");
                return gapless;
            }
        }
    }

    fn take(&mut self, channel: &str, mut last: Option<u64>, pubs: &[Value]) -> Option<u64> {
        for frame in pubs {
            let offset = frame["off"].as_u64();
            assert!(
                last.is_none() || offset == last.map(|last| last + 1),
                "{channel} is gapless: {last:?} then {frame}"
            );
            last = offset;
            let text = |name: &str| frame[name].as_str().unwrap().to_owned();
            assert!(self.eids.insert((channel.to_owned(), text("eid"))), "published twice: {frame}");
            let key = key(&frame["data"]);
            // A geofence crossing has no version.
            if frame["data"]["version"].is_u64() {
                let first = self.names_by_key.insert((channel.to_owned(), text("ev"), key.clone()));
                assert!(first, "one change under two events: {frame}");
            }
            self.published.insert((channel.to_owned(), key));
        }
        last
    }

    pub fn published(&self, channel: &str, key: &str) -> bool {
        self.published.contains(&(channel.to_owned(), key.to_owned()))
    }
}
