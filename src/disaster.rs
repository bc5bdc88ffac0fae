//! What the disaster network's features are started with.

use muster_actors::feed::{Event, Latest, Publish};

/// A publisher for a server without a live feed: what is told stays in the outbox, where it was committed, and the feed
/// finds it there when it starts.
#[derive(Debug, Clone, Copy)]
pub struct Outbox;

impl Publish for Outbox {
    fn publish(&self, _: Vec<Event>) {}

    fn latest(&self, _: Latest) {}
}
