//! Selects what a transport writes next: frames for the connection alone, then urgent events, then other events, then
//! newest values.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use muster_core::Millis;
use muster_core::event::DropPolicy;
use muster_feed::ConnId;

use super::channel::{Channel, NextItem};
use super::conn::{Conn, SubscriptionRef};
use super::{AfterWrite, Collected, Shard, Table};
use crate::ws::protocol::outbound;
use slab::Slab;

/// Number of bytes returned at a time.
const BUDGET: usize = 64 << 10;

impl Shard {
    /// Returns what the connection's transport should write now, about 64 KiB at most. A call confirms that the
    /// previous result is being sent.
    pub fn collect(&self, id: ConnId) -> Collected {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        let Table { conns, channels, .. } = &mut *table;
        let found = usize::try_from(id.0 & 0xff_ffff).ok().and_then(|index| conns.get_mut(index));
        // The shard has given the connection up: nothing can be sent to it any more.
        let Some(conn) = found.filter(|conn| conn.id == id) else {
            return Collected { frames: Vec::new(), next: AfterWrite::End };
        };
        let mut out = Out { frames: Vec::new(), bytes: 0 };
        while out.has_room()
            && let Some(frame) = conn.outbox.pop_front()
        {
            out.push(frame);
        }
        while out.has_room()
            && !conn.session.holds()
            && let Some(place) = conn.turn()
        {
            take(conn, channels, place, &mut out);
        }
        let next = next(conn, now);
        let frames = out.frames;
        if next == AfterWrite::More && !std::mem::replace(&mut conn.watched, true) {
            table.watched.push(id);
        }
        Collected { frames, next }
    }
}

fn next(conn: &mut Conn, now: Millis) -> AfterWrite {
    if conn.has_something() {
        conn.woken = Some(now);
        return AfterWrite::More;
    }
    conn.woken = None;
    // Empty queues are freed, because thousands of connections are idle.
    conn.outbox = VecDeque::new();
    (conn.behind_frames, conn.behind_bytes, conn.over) = (0, 0, None);
    match conn.closing {
        Some(closing) if closing.over => AfterWrite::End,
        Some(_) if conn.reader.is_broken() => AfterWrite::HalfClose,
        _ => AfterWrite::Wait,
    }
}

struct Out {
    frames: Vec<Bytes>,
    bytes: usize,
}

impl Out {
    fn has_room(&self) -> bool {
        self.bytes < BUDGET
    }

    fn push(&mut self, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push(frame);
    }
}

/// Takes items of one subscription as far as the limit permits.
fn take(conn: &mut Conn, channels: &mut Slab<Channel>, place: SubscriptionRef, out: &mut Out) {
    let Some(channel) = channels.get_mut(place.channel) else {
        conn.took_all(place);
        return;
    };
    if channel.latest {
        values(conn, channel, place.member, out);
        conn.took_all(place);
        return;
    }
    while out.has_room() {
        let name = Arc::clone(&channel.name);
        match channel.next(place.member) {
            None => {
                conn.took_all(place);
                return;
            }
            Some(NextItem::LeftOut(from, to)) => out.push(conn.framing.left_out(&name, from, to)),
            Some(NextItem::Entry(entry)) => {
                if entry.publication.loss == DropPolicy::Never {
                    conn.behind_frames = conn.behind_frames.saturating_sub(1);
                    conn.behind_bytes = conn.behind_bytes.saturating_sub(entry.frame.len());
                }
                out.push(conn.framing.entry(entry));
            }
        }
    }
}

/// All newest values are taken at once: they are few, and a newer value would replace a waiting one.
fn values(conn: &mut Conn, channel: &mut Channel, member: usize, out: &mut Out) {
    let name = Arc::clone(&channel.name);
    let Some(member) = channel.members.get_mut(member) else { return };
    if let Some((from, to)) = member.skipped.take() {
        out.push(conn.framing.text(outbound::conflated(&name, from, to).as_bytes()));
    }
    for value in std::mem::take(&mut member.values) {
        out.push(conn.framing.value(&name, value.offset, &value.json));
    }
}
