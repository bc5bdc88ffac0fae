//! The hub's way into a shard: a bounded queue that nobody waits for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use muster_feed::{Delivery, Overflow, ShardPort};
use tokio::sync::mpsc;

#[derive(Debug)]
struct Fill {
    waiting: AtomicUsize,
    /// Something was turned away: the shard does not know everything any more.
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

/// What comes out.
#[derive(Debug)]
pub(super) enum Came {
    Deliveries(Vec<Delivery>),
    /// Everything before it is to be forgotten: something was turned away.
    Lost,
}

/// A queue of that many deliveries, counted one by one however they are bundled.
pub(super) fn queue(most: usize) -> (Port, Deliveries) {
    let (send, receive) = mpsc::unbounded_channel();
    let fill = Arc::new(Fill { waiting: AtomicUsize::new(0), lost: AtomicBool::new(false) });
    (Port { send, fill: Arc::clone(&fill), most }, Deliveries { receive, fill })
}

impl ShardPort for Port {
    fn deliver(&self, what: Vec<Delivery>) -> Result<(), Overflow> {
        let before = self.fill.waiting.fetch_add(what.len(), Ordering::AcqRel);
        // A bundle that finds the queue empty is taken whatever its size: it was made within the hub's own bounds.
        if before > 0 && before + what.len() > self.most {
            self.fill.waiting.fetch_sub(what.len(), Ordering::AcqRel);
            self.fill.lost.store(true, Ordering::Release);
            // Wakes the shard, which has enough to do all the same.
            let _ = self.send.send(Vec::new());
            return Err(Overflow);
        }
        self.send.send(what).map_err(|_| Overflow)
    }
}

impl Deliveries {
    /// Everything that waits; `None` once the hub's end is gone. Bundles that came while the shard was writing are one
    /// bundle now, and one write for each connection.
    pub(super) async fn next(&mut self) -> Option<Came> {
        let mut what = self.receive.recv().await?;
        while let Ok(more) = self.receive.try_recv() {
            what.extend(more);
        }
        self.fill.waiting.fetch_sub(what.len(), Ordering::AcqRel);
        if self.fill.lost.swap(false, Ordering::AcqRel) {
            return Some(Came::Lost);
        }
        Some(Came::Deliveries(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_finds_no_room_is_refused_and_the_shard_learns_of_it() {
        let (port, mut deliveries) = queue(2);
        assert!(port.deliver(vec![Delivery::Reset, Delivery::Reset]).is_ok());
        assert_eq!(port.deliver(vec![Delivery::Reset]), Err(Overflow));
        assert!(matches!(deliveries.next().await, Some(Came::Lost)));
        assert!(port.deliver(vec![Delivery::Reset]).is_ok());
        assert!(port.deliver(vec![Delivery::Reset]).is_ok());
        assert!(matches!(deliveries.next().await, Some(Came::Deliveries(both)) if both.len() == 2));
    }
}
