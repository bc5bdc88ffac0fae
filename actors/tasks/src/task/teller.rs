//! Tells the feed what steps log and write, gathered over a moment: what comes close together goes out together.

use std::sync::Arc;
use std::time::Duration;

use super::events;
use super::tray::Trays;
use muster_core::Clock;
use muster_core::event::Publisher;

/// How long news is gathered.
const GATHER: Duration = Duration::from_millis(50);
/// Most tasks whose news is told in one go; others follow after the next moment.
const MOST: usize = 128;

/// Tells for ever.
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
