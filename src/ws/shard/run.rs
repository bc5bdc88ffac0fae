//! Drives a shard: deliveries of the hub, time, and the end.

use std::rc::Rc;
use std::sync::Arc;

use super::port::{Deliveries, Received};
use super::{Shard, Table};
use crate::ws::Close;

/// Runs until the hub or the thread ends.
pub(super) async fn run(shard: Rc<Shard>, mut deliveries: Deliveries) {
    let _detach = Detach(Rc::clone(&shard));
    let sockets = Arc::clone(shard.sockets());
    let mut ending = sockets.ending.subscribe();
    let mut ticks = tokio::time::interval(sockets.options.shard.tick);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            received = deliveries.next() => match received {
                None => return,
                Some(Received::Deliveries(deliveries)) => {
                    shard.deliver(deliveries);
                    // Transports that were woken run first, so that they are up to date before the next bundle.
                    tokio::task::yield_now().await;
                }
                Some(Received::Lost) => {
                    tracing::warn!("a shard missed deliveries: its connections subscribe again");
                    shard.close_all(Close::InsufficientState);
                }
            },
            _ = ticks.tick() => shard.tick(),
            Ok(()) = ending.changed() => shard.close_all(Close::Restart),
        }
    }
}

struct Detach(Rc<Shard>);

impl Drop for Detach {
    fn drop(&mut self) {
        self.0.sockets.feed.detach(self.0.shard_id());
    }
}

impl Shard {
    pub(super) fn close_all(&self, close: Close) {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        for id in table.ids() {
            let effects = table.conn(id).map(|conn| conn.session.close(close)).unwrap_or_default();
            self.drive(&mut table, id, effects, now);
        }
    }

    /// Handles the present time: due sessions, readers without progress, closes without an answer.
    pub(super) fn tick(&self) {
        let now = self.now();
        let options = &self.sockets.options.shard;
        let mut table = self.table.borrow_mut();
        for id in table.wheel.advance(now) {
            let Some(conn) = table.conn(id) else { continue };
            if conn.due.is_none_or(|due| due > now) {
                continue;
            }
            conn.due = None;
            let waits = conn.session.next().is_some_and(|next| next > now);
            let effects = if waits { Vec::new() } else { conn.session.on_tick(now) };
            self.drive(&mut table, id, effects, now);
        }
        self.look_after(&mut table, now);
        for (_, channel) in &mut table.channels {
            if !channel.is_level() {
                channel.trim(options.ring_frames, options.ring_bytes);
            }
        }
    }

    fn look_after(&self, table: &mut Table, now: muster_core::Millis) {
        let options = &self.sockets.options.shard;
        for id in std::mem::take(&mut table.watched) {
            let Some(conn) = table.conn(id) else { continue };
            if let Some(closing) = conn.closing {
                if now.since(closing.since) >= options.linger {
                    conn.link.cut();
                    self.forget(table, id);
                } else {
                    table.watched.push(id);
                }
            } else if conn.is_slow(options, now) {
                conn.watched = false;
                self.evict(table, id, now);
            } else if conn.woken.is_some() {
                table.watched.push(id);
            } else {
                conn.watched = false;
            }
        }
    }
}
