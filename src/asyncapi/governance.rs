//! The events of governance.

use serde_json::{Value, json};

use super::events::{Data, EventRow};

/// The events of the channel.
pub(super) const EVENTS: [EventRow; 2] = [
    row(&["audit.checkpoint"], "Entries of the audit log were signed", checkpoint, || json!({})),
    row(&["audit.alarm"], "The audit log differs from what was made or signed of it", alarm, || {
        let description = "Number of the entry, if it is known";
        json!({ "seq": { "type": ["integer", "null"], "minimum": 0, "description": description } })
    }),
];

const fn row(
    names: &'static [&'static str],
    summary: &'static str,
    example: fn() -> Value,
    types: fn() -> Value,
) -> EventRow {
    EventRow { channels: &["governance"], names, summary, data: Data::Example(example, types), may_be_left_out: false }
}

fn checkpoint() -> Value {
    json!({ "origin": "muster.example.org/audit/1", "size": 1042, "root": "ipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=" })
}

fn alarm() -> Value {
    json!({ "at": "2026-11-26T02:00:00.000Z", "seq": 17, "what": "entry 17 is not the one whose hash is in the tree" })
}
