//! Who subscribes to what: by channel for the fan-out and for presence, by connection for its end. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ConnId, Present, ShardId};
use muster_core::Millis;
use muster_core::principal::Viewer;

pub(super) type Seat = (ShardId, ConnId);

/// Most people that are told to be present.
const MAX_PRESENT: usize = 1_000;

#[derive(Debug, Default)]
struct Members {
    /// How many of each shard's connections.
    shards: Vec<(ShardId, usize)>,
    seats: HashMap<Seat, (Viewer, Millis)>,
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_channel: HashMap<Arc<str>, Members>,
    by_seat: HashMap<Seat, Vec<Arc<str>>>,
    count: usize,
}

impl Subscriptions {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether it was not subscribed before.
    pub(super) fn add(&mut self, channel: &Arc<str>, seat: Seat, viewer: &Viewer, now: Millis) -> bool {
        let members = self.by_channel.entry(Arc::clone(channel)).or_default();
        if members.seats.insert(seat, (viewer.clone(), now)).is_some() {
            return false;
        }
        match members.shards.iter_mut().find(|(shard, _)| *shard == seat.0) {
            Some((_, count)) => *count += 1,
            None => members.shards.push((seat.0, 1)),
        }
        self.by_seat.entry(seat).or_default().push(Arc::clone(channel));
        self.count += 1;
        true
    }

    /// Whether it was subscribed.
    pub(super) fn remove(&mut self, channel: &str, seat: Seat) -> bool {
        let removed = self.leave(channel, seat);
        if removed && let Some(channels) = self.by_seat.get_mut(&seat) {
            channels.retain(|known| **known != *channel);
            if channels.is_empty() {
                self.by_seat.remove(&seat);
            }
        }
        removed
    }

    fn leave(&mut self, channel: &str, seat: Seat) -> bool {
        let Some(members) = self.by_channel.get_mut(channel) else { return false };
        if members.seats.remove(&seat).is_none() {
            return false;
        }
        if let Some((_, count)) = members.shards.iter_mut().find(|(shard, _)| *shard == seat.0) {
            *count -= 1;
        }
        members.shards.retain(|(_, count)| *count > 0);
        if members.seats.is_empty() {
            self.by_channel.remove(channel);
        }
        self.count -= 1;
        true
    }

    /// Ends all of a connection; answers the channels.
    pub(super) fn gone(&mut self, seat: Seat) -> Vec<Arc<str>> {
        let channels = self.by_seat.remove(&seat).unwrap_or_default();
        for channel in &channels {
            self.leave(channel, seat);
        }
        channels
    }

    /// Ends all of a shard; answers the channels, one as often as it was subscribed to.
    pub(super) fn detached(&mut self, shard: ShardId) -> Vec<Arc<str>> {
        let seats: Vec<Seat> = self.by_seat.keys().filter(|seat| seat.0 == shard).copied().collect();
        seats.into_iter().flat_map(|seat| self.gone(seat)).collect()
    }

    /// Ends all of a channel; answers who had subscribed.
    pub(super) fn closed(&mut self, channel: &str) -> Vec<Seat> {
        let seats: Vec<Seat> =
            self.by_channel.get(channel).map(|members| members.seats.keys().copied().collect()).unwrap_or_default();
        for seat in &seats {
            self.remove(channel, *seat);
        }
        seats
    }

    /// The subscribers of a channel that are not let through.
    pub(super) fn others(&self, channel: &str, may: impl Fn(&Viewer) -> bool) -> Vec<Seat> {
        let seats = self.by_channel.get(channel).into_iter().flat_map(|members| &members.seats);
        seats.filter(|(_, (viewer, _))| !may(viewer)).map(|(seat, _)| *seat).collect()
    }

    /// Notes who looks through a connection now; answers its channels.
    pub(super) fn seen_by(&mut self, seat: Seat, viewer: &Viewer) -> Vec<Arc<str>> {
        let channels = self.by_seat.get(&seat).cloned().unwrap_or_default();
        for channel in &channels {
            if let Some((known, _)) = self.by_channel.get_mut(channel).and_then(|members| members.seats.get_mut(&seat))
            {
                *known = viewer.clone();
            }
        }
        channels
    }

    /// The shards that have subscribers.
    pub(super) fn shards(&self, channel: &str) -> impl Iterator<Item = ShardId> {
        self.by_channel.get(channel).into_iter().flat_map(|members| &members.shards).map(|(shard, _)| *shard)
    }

    pub(super) fn of(&self, channel: &str) -> usize {
        self.by_channel.get(channel).map_or(0, |members| members.seats.len())
    }

    /// Who subscribes, the longest there first.
    pub(super) fn present(&self, channel: &str) -> Vec<Present> {
        let mut people: HashMap<&Arc<str>, (usize, Millis)> = HashMap::new();
        for (viewer, since) in self.by_channel.get(channel).into_iter().flat_map(|members| members.seats.values()) {
            let entry = people.entry(&viewer.id).or_insert((0, *since));
            *entry = (entry.0 + 1, entry.1.min(*since));
        }
        let present =
            |(user, (connections, since)): (&Arc<str>, _)| Present { user: Arc::clone(user), connections, since };
        let mut present: Vec<Present> = people.into_iter().map(present).collect();
        present.sort_by(|a, b| (a.since, &a.user).cmp(&(b.since, &b.user)));
        present.truncate(MAX_PRESENT);
        present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(shard: u32, conn: u64) -> Seat {
        (ShardId(shard), ConnId(conn))
    }

    #[test]
    fn presence_is_by_person_and_ends_with_the_last_connection() {
        let mut subs = Subscriptions::default();
        let channel: Arc<str> = "c".into();
        let viewer = |id: &str| Viewer { id: id.into(), permissions: muster_core::principal::Permissions::default() };
        let (ann, bob) = (viewer("usr_a"), viewer("usr_b"));
        assert!(subs.add(&channel, seat(0, 1), &ann, Millis(5)));
        assert!(subs.add(&channel, seat(1, 1), &ann, Millis(7)));
        assert!(subs.add(&channel, seat(1, 2), &bob, Millis(6)));
        assert!(!subs.add(&channel, seat(1, 2), &bob, Millis(6)), "twice is once");
        let present = |subs: &Subscriptions| -> Vec<_> {
            subs.present("c").into_iter().map(|p| (p.user.to_string(), p.connections, p.since.0)).collect()
        };
        assert_eq!(present(&subs), [("usr_a".to_owned(), 2, 5), ("usr_b".to_owned(), 1, 6)]);
        assert_eq!(subs.shards("c").count(), 2);
        assert_eq!(subs.gone(seat(0, 1)), [Arc::clone(&channel)]);
        assert_eq!(subs.shards("c").collect::<Vec<_>>(), [ShardId(1)]);
        assert_eq!(subs.detached(ShardId(1)).len(), 2);
        assert!(present(&subs).is_empty() && subs.len() == 0 && !subs.remove("c", seat(1, 2)));
    }
}
