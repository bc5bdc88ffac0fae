//! Distributes what the hub delivers to the connections of a shard.

use std::sync::Arc;

use bytes::Bytes;
use muster_core::Millis;
use muster_core::event::{DropPolicy, Priority};
use muster_feed::{ConnId, Delivery, Publication};

use super::channel::{Backlog, NextItem, Value};
use super::conn::{CollectOrder, SubscriptionRef};
use super::{Shard, Table};
use crate::ws::{Close, ShardOptions, wire};

impl Shard {
    pub(super) fn deliver(&self, deliveries: Vec<Delivery>) {
        let now = self.now();
        let options = &self.sockets.options.shard;
        let mut table = self.table.borrow_mut();
        for delivery in deliveries {
            match delivery {
                Delivery::Publication(publication) => {
                    for id in table.publish(publication, options, now) {
                        self.evict(&mut table, id, now);
                    }
                }
                Delivery::Latest { channel, key, offset, json } => table.newest(&channel, &key, offset, &json, now),
                Delivery::Subscribed { conn: id, tag, answer } => {
                    let effects = table.conn(id).map(|conn| conn.session.on_subscribed(tag, answer, now));
                    self.drive(&mut table, id, effects.unwrap_or_default(), now);
                }
                Delivery::Unsubscribed { conn: id, channel, reason } => {
                    let effects = table.conn(id).map(|conn| conn.session.on_unsubscribed(&channel, reason));
                    self.drive(&mut table, id, effects.unwrap_or_default(), now);
                }
                Delivery::Reset => self.reset(&mut table, now),
            }
        }
    }

    /// Subscribes everyone again from their positions; what they have not received yet is sent before.
    fn reset(&self, table: &mut Table, now: Millis) {
        for id in table.ids() {
            let positions = table.settle(id);
            let Some(conn) = table.conn(id) else { continue };
            let position = |channel: &str| positions.get(channel).cloned();
            let effects = conn.session.on_reset(position, now);
            self.drive(table, id, effects, now);
            table.wake(id, now);
        }
    }

    /// Disconnects a connection that reads too slowly; its memory is freed at once.
    pub(super) fn evict(&self, table: &mut Table, id: ConnId, now: Millis) {
        let Some(conn) = table.conn(id) else { return };
        let stalled = conn.woken.is_some_and(|at| now.since(at) >= self.sockets.options.shard.stalled_for);
        tracing::info!(conn = conn.session.conn(), behind = conn.behind_bytes, stalled, "slow consumer evicted");
        self.sockets.evicted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let effects = conn.session.close(Close::SlowConsumer);
        if stalled {
            conn.link.cut();
            self.forget(table, id);
        } else {
            self.drive(table, id, effects, now);
        }
    }
}

impl Table {
    pub(super) fn ids(&self) -> Vec<ConnId> {
        self.conns.iter().map(|(_, conn)| conn.id).collect()
    }

    /// Delivers a publication to its subscribers and returns those that are too far behind.
    fn publish(&mut self, publication: Arc<Publication>, options: &ShardOptions, now: Millis) -> Vec<ConnId> {
        let Some(&index) = self.names.get(&publication.channel) else { return Vec::new() };
        let Some(channel) = self.channels.get_mut(index) else { return Vec::new() };
        if publication.offset <= channel.head {
            return Vec::new();
        }
        let turn = if publication.priority == Priority::Urgent { CollectOrder::Urgent } else { CollectOrder::Normal };
        let frame = wire::framed(&publication.json);
        // Publications that may be skipped do not make a reader slow.
        let (counts, length) = match publication.loss {
            DropPolicy::Never => (1, frame.len()),
            DropPolicy::Conflated => (0, 0),
        };
        let mut got = Vec::new();
        channel.take(publication, frame, &mut got);
        let mut slow = Vec::new();
        for (member, was) in got {
            let Some(conn) = channel.members.get(member).and_then(|member| self.conns.get_mut(member.conn)) else {
                continue;
            };
            conn.behind_frames += counts;
            conn.behind_bytes += length;
            if was == Backlog::Level || turn == CollectOrder::Urgent {
                conn.ready(SubscriptionRef { channel: index, member }, turn);
            }
            if conn.woken.is_none() && !conn.session.holds() {
                conn.woken = Some(now);
                conn.link.wake();
                if !std::mem::replace(&mut conn.watched, true) {
                    self.watched.push(conn.id);
                }
            } else if conn.is_slow(options, now) {
                slow.push(conn.id);
            }
        }
        if channel.is_over(options.ring_frames, options.ring_bytes) {
            let lost = channel.trim(options.ring_frames, options.ring_bytes);
            slow.extend(lost.into_iter().filter_map(|conn| self.conns.get(conn)).map(|conn| conn.id));
        }
        slow
    }

    fn newest(&mut self, channel: &Arc<str>, key: &Arc<str>, offset: u64, json: &Bytes, now: Millis) {
        let Some(&index) = self.names.get(channel) else { return };
        let Some(found) = self.channels.get_mut(index) else { return };
        found.head = found.head.max(offset);
        let mut woken = Vec::new();
        for (member, subscriber) in &mut found.members {
            subscriber.value(Value { key: Arc::clone(key), offset, json: json.clone() });
            if let Some(conn) = self.conns.get_mut(subscriber.conn) {
                conn.ready(SubscriptionRef { channel: index, member }, CollectOrder::Latest);
                woken.push(conn.id);
            }
        }
        for id in woken {
            self.wake(id, now);
        }
    }

    /// Moves what a connection has not received to its outbox, removes it from all rings, and returns its positions.
    fn settle(&mut self, id: ConnId) -> std::collections::HashMap<Arc<str>, muster_feed::Position> {
        let Some(index) = usize::try_from(id.0 & 0xff_ffff).ok() else { return Default::default() };
        let Some(conn) = self.conns.get_mut(index) else { return Default::default() };
        let mut positions = std::collections::HashMap::new();
        let places = std::mem::take(&mut conn.places);
        for (name, place) in &places {
            let Some(channel) = self.channels.get_mut(place.channel) else { continue };
            while let Some(given) = channel.next(place.member) {
                conn.outbox.push_back(match given {
                    NextItem::Entry(entry) => conn.framing.entry(entry),
                    NextItem::LeftOut(from, to) => conn.framing.left_out(name, from, to),
                });
            }
            // Newest values have no history to resume from.
            if !channel.latest {
                positions.insert(Arc::clone(name), channel.position(place.member));
            }
        }
        conn.forget_ready();
        places.into_values().for_each(|place| self.leave(place));
        positions
    }
}

impl super::Conn {
    /// Returns whether the connection is further behind than permitted, for longer than permitted.
    pub(super) fn is_slow(&mut self, options: &ShardOptions, now: Millis) -> bool {
        let Some(woken) = self.woken else { return false };
        let waits = now.since(woken);
        if self.behind_frames <= options.max_behind_frames && self.behind_bytes <= options.max_behind_bytes {
            self.over = None;
            return waits >= options.no_progress;
        }
        let over = *self.over.get_or_insert(now);
        waits >= options.stalled_for || now.since(over) >= options.behind_for
    }
}
