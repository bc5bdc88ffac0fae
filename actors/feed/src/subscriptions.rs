//! Index of subscriptions: by channel for delivery and presence, by connection for its end. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ConnId, Present, ShardId};
use muster_core::Millis;
use muster_core::principal::Viewer;

pub(super) type ConnectionKey = (ShardId, ConnId);

/// Maximum number of principals reported as present.
const MAX_PRESENT: usize = 1_000;

#[derive(Debug, Default)]
struct Members {
    /// Number of subscribed connections by shard.
    shards: Vec<(ShardId, usize)>,
    connections: HashMap<ConnectionKey, (Viewer, Millis)>,
}

#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_channel: HashMap<Arc<str>, Members>,
    by_connection: HashMap<ConnectionKey, Vec<Arc<str>>>,
    count: usize,
}

impl Subscriptions {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Adds a subscription; returns whether it is new.
    pub(super) fn add(&mut self, channel: &Arc<str>, connection: ConnectionKey, viewer: &Viewer, now: Millis) -> bool {
        let members = self.by_channel.entry(Arc::clone(channel)).or_default();
        if members.connections.insert(connection, (viewer.clone(), now)).is_some() {
            return false;
        }
        match members.shards.iter_mut().find(|(shard, _)| *shard == connection.0) {
            Some((_, count)) => *count += 1,
            None => members.shards.push((connection.0, 1)),
        }
        self.by_connection.entry(connection).or_default().push(Arc::clone(channel));
        self.count += 1;
        true
    }

    /// Removes a subscription; returns whether it existed.
    pub(super) fn remove(&mut self, channel: &str, connection: ConnectionKey) -> bool {
        let removed = self.leave(channel, connection);
        if removed && let Some(channels) = self.by_connection.get_mut(&connection) {
            channels.retain(|known| **known != *channel);
            if channels.is_empty() {
                self.by_connection.remove(&connection);
            }
        }
        removed
    }

    fn leave(&mut self, channel: &str, connection: ConnectionKey) -> bool {
        let Some(members) = self.by_channel.get_mut(channel) else { return false };
        if members.connections.remove(&connection).is_none() {
            return false;
        }
        if let Some((_, count)) = members.shards.iter_mut().find(|(shard, _)| *shard == connection.0) {
            *count -= 1;
        }
        members.shards.retain(|(_, count)| *count > 0);
        if members.connections.is_empty() {
            self.by_channel.remove(channel);
        }
        self.count -= 1;
        true
    }

    /// Removes all subscriptions of a connection; returns their channels.
    pub(super) fn connection_closed(&mut self, connection: ConnectionKey) -> Vec<Arc<str>> {
        let channels = self.by_connection.remove(&connection).unwrap_or_default();
        for channel in &channels {
            self.leave(channel, connection);
        }
        channels
    }

    /// Removes all subscriptions of a shard; returns their channels, once per subscription.
    pub(super) fn detached(&mut self, shard: ShardId) -> Vec<Arc<str>> {
        let connections: Vec<ConnectionKey> =
            self.by_connection.keys().filter(|connection| connection.0 == shard).copied().collect();
        connections.into_iter().flat_map(|connection| self.connection_closed(connection)).collect()
    }

    /// Removes all subscriptions of a channel; returns the subscribers.
    pub(super) fn closed(&mut self, channel: &str) -> Vec<ConnectionKey> {
        let connections: Vec<ConnectionKey> = self
            .by_channel
            .get(channel)
            .map(|members| members.connections.keys().copied().collect())
            .unwrap_or_default();
        for connection in &connections {
            self.remove(channel, *connection);
        }
        connections
    }

    /// Returns the subscribers of a channel for which `may` returns false.
    pub(super) fn others(&self, channel: &str, may: impl Fn(&Viewer) -> bool) -> Vec<ConnectionKey> {
        let connections = self.by_channel.get(channel).into_iter().flat_map(|members| &members.connections);
        connections.filter(|(_, (viewer, _))| !may(viewer)).map(|(connection, _)| *connection).collect()
    }

    /// Sets the viewer of a connection; returns its channels.
    pub(super) fn set_viewer(&mut self, connection: ConnectionKey, viewer: &Viewer) -> Vec<Arc<str>> {
        let channels = self.by_connection.get(&connection).cloned().unwrap_or_default();
        for channel in &channels {
            if let Some((known, _)) =
                self.by_channel.get_mut(channel).and_then(|members| members.connections.get_mut(&connection))
            {
                *known = viewer.clone();
            }
        }
        channels
    }

    /// Returns the shards with subscribers.
    pub(super) fn shards(&self, channel: &str) -> impl Iterator<Item = ShardId> {
        self.by_channel.get(channel).into_iter().flat_map(|members| &members.shards).map(|(shard, _)| *shard)
    }

    pub(super) fn of(&self, channel: &str) -> usize {
        self.by_channel.get(channel).map_or(0, |members| members.connections.len())
    }

    /// Returns the subscribers, longest first.
    pub(super) fn present(&self, channel: &str) -> Vec<Present> {
        let mut people: HashMap<&Arc<str>, (usize, Millis)> = HashMap::new();
        for (viewer, since) in self.by_channel.get(channel).into_iter().flat_map(|members| members.connections.values())
        {
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

    fn connection(shard: u32, conn: u64) -> ConnectionKey {
        (ShardId(shard), ConnId(conn))
    }

    #[test]
    fn presence_is_per_user_and_ends_with_the_last_connection() {
        let mut subs = Subscriptions::default();
        let channel: Arc<str> = "c".into();
        let viewer = |id: &str| Viewer { id: id.into(), permissions: muster_core::principal::Permissions::default() };
        let (ann, bob) = (viewer("usr_a"), viewer("usr_b"));
        assert!(subs.add(&channel, connection(0, 1), &ann, Millis(5)));
        assert!(subs.add(&channel, connection(1, 1), &ann, Millis(7)));
        assert!(subs.add(&channel, connection(1, 2), &bob, Millis(6)));
        assert!(!subs.add(&channel, connection(1, 2), &bob, Millis(6)), "a repeated subscription counts once");
        let present = |subs: &Subscriptions| -> Vec<_> {
            subs.present("c").into_iter().map(|p| (p.user.to_string(), p.connections, p.since.0)).collect()
        };
        assert_eq!(present(&subs), [("usr_a".to_owned(), 2, 5), ("usr_b".to_owned(), 1, 6)]);
        assert_eq!(subs.shards("c").count(), 2);
        assert_eq!(subs.connection_closed(connection(0, 1)), [Arc::clone(&channel)]);
        assert_eq!(subs.shards("c").collect::<Vec<_>>(), [ShardId(1)]);
        assert_eq!(subs.detached(ShardId(1)).len(), 2);
        assert!(present(&subs).is_empty() && subs.len() == 0 && !subs.remove("c", connection(1, 2)));
    }
}
