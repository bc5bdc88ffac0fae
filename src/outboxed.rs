//! The way into the feed while no feed runs in this process.

use muster_actors::feed::{Event, Latest, Publish};

/// What is published stays in the outbox, where a feed finds it at its start.
#[derive(Debug)]
pub struct Outboxed;

impl Publish for Outboxed {
    fn publish(&self, events: Vec<Event>) {
        tracing::debug!(events = events.len(), "no feed runs: events stay in the outbox");
    }

    fn latest(&self, value: Latest) {
        tracing::debug!(channel = value.channel, "no feed runs: a value that is not stored is not told");
    }
}
