//! What a lane is given to write: what is for one connection first, then urgent, then other events, the newest values
//! last.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use muster_core::Millis;
use muster_core::event::DropPolicy;
use muster_feed::ConnId;

use super::channel::{Channel, Given};
use super::conn::{Conn, Place};
use super::{Collected, Next, Shard, Table};
use crate::ws::protocol::said;
use slab::Slab;

/// Bytes given out at a time.
const BUDGET: usize = 64 << 10;

impl Shard {
    /// What the connection's transport is to take now, about 64 KiB at most. Calling it says that what was given before
    /// is on its way.
    pub fn collect(&self, id: ConnId) -> Collected {
        let now = self.now();
        let mut table = self.table.borrow_mut();
        let Table { conns, channels, .. } = &mut *table;
        let found = usize::try_from(id.0 & 0xff_ffff).ok().and_then(|index| conns.get_mut(index));
        // A connection that the shard has given up: nothing can be said to it any more.
        let Some(conn) = found.filter(|conn| conn.id == id) else {
            return Collected { frames: Vec::new(), next: Next::End };
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
        if next == Next::More && !std::mem::replace(&mut conn.watched, true) {
            table.watched.push(id);
        }
        Collected { frames, next }
    }
}

fn next(conn: &mut Conn, now: Millis) -> Next {
    if conn.has_something() {
        conn.woken = Some(now);
        return Next::More;
    }
    conn.woken = None;
    // Thousands of idle connections hold no empty queues.
    conn.outbox = VecDeque::new();
    (conn.behind_frames, conn.behind_bytes, conn.over) = (0, 0, None);
    if conn.closing.is_some_and(|closing| closing.over) { Next::End } else { Next::Wait }
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

/// Takes of one place what there is room for.
fn take(conn: &mut Conn, channels: &mut Slab<Channel>, place: Place, out: &mut Out) {
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
            Some(Given::LeftOut(from, to)) => out.push(conn.framing.left_out(&name, from, to)),
            Some(Given::Entry(entry)) => {
                if entry.publication.loss == DropPolicy::Never {
                    conn.behind_frames = conn.behind_frames.saturating_sub(1);
                    conn.behind_bytes = conn.behind_bytes.saturating_sub(entry.frame.len());
                }
                out.push(conn.framing.entry(entry));
            }
        }
    }
}

/// The newest values all at once: there are few, and a newer one would take the place of one that waits.
fn values(conn: &mut Conn, channel: &mut Channel, member: usize, out: &mut Out) {
    let name = Arc::clone(&channel.name);
    let Some(member) = channel.members.get_mut(member) else { return };
    if let Some((from, to)) = member.skipped.take() {
        out.push(conn.framing.text(said::conflated(&name, from, to).as_bytes()));
    }
    for value in std::mem::take(&mut member.values) {
        out.push(conn.framing.value(&name, value.offset, &value.json));
    }
}
