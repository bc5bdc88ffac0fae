//! A server with a test double of the incident source.

use std::sync::Arc;

use muster_core::event::{Event, EventAttributes};
use muster_feed::{Denied, SnapshotRequest, SnapshotSource, StateItem};
use serde_json::{Value, json, value::to_raw_value};

use crate::support::server::Muster;

/// Knows one incident; every name that begins with `none` does not exist.
#[derive(Debug)]
struct Incidents;

impl SnapshotSource for Incidents {
    fn request(&self, request: SnapshotRequest) {
        let there = !request.channel.contains(":none");
        let data = to_raw_value(&json!({ "state": "reported" })).unwrap();
        let state = vec![StateItem { id: "inc_1".to_owned(), version: 7, data }];
        request.reply.send(if there { Ok(state) } else { Err(Denied::NotFound) });
    }
}

/// A server with these settings of the feed.
pub(super) fn server(settings: &str) -> Muster {
    with_sources(Muster::start(settings))
}

/// The same server, with snapshots of channels.
pub(crate) fn with_sources(muster: Muster) -> Muster {
    for prefix in ["incidents", "devices", "alerts", "firmware"] {
        muster.app.feed.register_source(prefix, Arc::new(Incidents));
    }
    muster
}

/// Publishes an event on these channels.
pub(crate) fn publish(muster: &Muster, channels: &[&str], name: &str, data: Value) -> String {
    publish_with(muster, channels, name, data, EventAttributes::default())
}

pub(crate) fn publish_with(
    muster: &Muster,
    channels: &[&str],
    name: &str,
    data: Value,
    traits: EventAttributes,
) -> String {
    let channels = channels.iter().map(|channel| (*channel).to_owned()).collect();
    let event = Event::new(name, muster.app.clock.now(), channels, &data).with(traits);
    let id = event.id.clone();
    muster.app.feed.publisher().publish(vec![event]);
    id
}

/// Bound on the memory that a stalled reader may add to this process, in KiB. The bound for a server alone is 2 MiB,
/// checked by the bench: here both sides share an allocator whose arenas grew by 2 to 35 MiB in a second, varying by
/// run.
pub(crate) const STALLED_KIB: u64 = 64 << 10;

/// Number of clients that reconnect at the same time. The benchmark does it with 10,000 in 5 s.
pub(super) const RECONNECTS: usize = 1000;
