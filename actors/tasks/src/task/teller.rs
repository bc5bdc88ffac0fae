//! Publishes step output to the feed, batched over a short period.

use std::sync::Arc;
use std::time::Duration;

use super::events;
use super::tray::Trays;
use muster_core::Clock;
use muster_core::event::Publisher;

/// Period over which output is batched.
const GATHER: Duration = Duration::from_millis(50);
/// Maximum number of tasks whose output is published in one batch; others follow in the next.
const MOST: usize = 128;

/// Runs until it is dropped.
pub(super) async fn run(trays: Arc<Trays>, publisher: Publisher, clock: Clock) {
    loop {
        trays.wake.notified().await;
        tokio::time::sleep(GATHER).await;
        let listed = trays.listed(MOST);
        if listed.len() == MOST {
            trays.wake.notify_one();
        }
        let now = clock.now();
        let told: Vec<_> = listed.iter().flat_map(|tray| events::news(tray, tray.news(), now)).collect();
        if !told.is_empty() {
            publisher.publish_transient(told);
        }
    }
}
