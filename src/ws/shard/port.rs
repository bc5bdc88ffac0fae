//! The hub's interface to a shard: a bounded queue that never blocks the hub.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use muster_feed::{Delivery, Overflow, ShardPort};
use tokio::sync::mpsc;

#[derive(Debug)]
struct Fill {
    waiting: AtomicUsize,
    /// A delivery was dropped, so the shard has missed something.
    lost: AtomicBool,
}

/// The hub's end.
#[derive(Debug)]
pub(super) struct Port {
    send: mpsc::UnboundedSender<Vec<Delivery>>,
    fill: Arc<Fill>,
    most: usize,
}

/// The shard's end.
#[derive(Debug)]
pub(super) struct Deliveries {
    receive: mpsc::UnboundedReceiver<Vec<Delivery>>,
    fill: Arc<Fill>,
}

/// What the shard receives.
#[derive(Debug)]
pub(super) enum Received {
    Deliveries(Vec<Delivery>),
    /// Everything before it is invalid, because a delivery was dropped.
    Lost,
}

/// Creates a queue for that many deliveries, counted individually even if they are bundled.
pub(super) fn queue(most: usize) -> (Port, Deliveries) {
    let (send, receive) = mpsc::unbounded_channel();
    let fill = Arc::new(Fill { waiting: AtomicUsize::new(0), lost: AtomicBool::new(false) });
    (Port { send, fill: Arc::clone(&fill), most }, Deliveries { receive, fill })
}

impl ShardPort for Port {
    fn deliver(&self, what: Vec<Delivery>) -> Result<(), Overflow> {
        let before = self.fill.waiting.fetch_add(what.len(), Ordering::AcqRel);
        // An empty queue accepts a bundle of any size, because the hub limits bundles itself.
        if before > 0 && before + what.len() > self.most {
            self.fill.waiting.fetch_sub(what.len(), Ordering::AcqRel);
            self.fill.lost.store(true, Ordering::Release);
            // Wakes the shard, which is busy anyway.
            let _ = self.send.send(Vec::new());
            return Err(Overflow);
        }
        self.send.send(what).map_err(|_| Overflow)
    }
}

impl Deliveries {
    /// Returns everything that waits; `None` once the hub's end is closed. Bundles that arrived during a write are
    /// combined, which makes one write per connection.
    pub(super) async fn next(&mut self) -> Option<Received> {
        let mut what = self.receive.recv().await?;
        while let Ok(more) = self.receive.try_recv() {
            what.extend(more);
        }
        self.fill.waiting.fetch_sub(what.len(), Ordering::AcqRel);
        if self.fill.lost.swap(false, Ordering::AcqRel) {
            return Some(Received::Lost);
        }
        Some(Received::Deliveries(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_delivery_beyond_the_limit_is_rejected_and_reported_to_the_shard() {
        let (port, mut deliveries) = queue(2);
        assert!(port.deliver(vec![Delivery::Reset, Delivery::Reset]).is_ok());
        assert_eq!(port.deliver(vec![Delivery::Reset]), Err(Overflow));
        assert!(matches!(deliveries.next().await, Some(Received::Lost)));
        assert!(port.deliver(vec![Delivery::Reset]).is_ok());
        assert!(port.deliver(vec![Delivery::Reset]).is_ok());
        assert!(matches!(deliveries.next().await, Some(Received::Deliveries(both)) if both.len() == 2));
    }
}
