//! Publishes step output to the feed, batched over a short period.

use std::sync::Arc;
use std::time::Duration;

use super::events;
use super::step_output::OutputBuffers;
use muster_core::Clock;
use muster_core::event::Publisher;

/// Period over which output is batched.
const GATHER: Duration = Duration::from_millis(50);
/// Maximum number of tasks whose output is published in one batch; others follow in the next.
const MOST: usize = 128;

/// Runs until it is dropped.
pub(super) async fn run(buffers: Arc<OutputBuffers>, publisher: Publisher, clock: Clock) {
    loop {
        buffers.wake.notified().await;
        tokio::time::sleep(GATHER).await;
        let listed = buffers.listed(MOST);
        if listed.len() == MOST {
            buffers.wake.notify_one();
        }
        let now = clock.now();
        let events: Vec<_> =
            listed.iter().flat_map(|buffer| events::unpublished(buffer, buffer.unpublished(), now)).collect();
        if !events.is_empty() {
            publisher.publish_transient(events);
        }
    }
}
