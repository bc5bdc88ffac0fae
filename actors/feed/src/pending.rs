//! Requests to features that wait for a reply. Independent of a clock: time is counted from the start of the hub.

use std::collections::HashMap;
use std::time::Duration;

use super::ShardId;
use super::subscriptions::ConnectionKey;

/// Maximum number of times a snapshot is requested again because events from the outbox overtook it.
const MAX_TRIES: u8 = 3;

/// The waiting side of a request.
pub(super) trait HasChannel {
    /// Returns the connection that waits, if any. The request is dropped with the connection or its subscription.
    fn connection(&self) -> Option<ConnectionKey>;
    /// Returns the channel of the request.
    fn channel(&self) -> &str;
}

#[derive(Debug)]
pub(super) struct PendingRequest<W> {
    pub(super) waiting: W,
    /// The hub's generation at the time of the request.
    pub(super) generation: u64,
    tries: u8,
    until: Duration,
}

impl<W> PendingRequest<W> {
    pub(super) fn new(waiting: W, until: Duration) -> Self {
        Self { waiting, generation: 0, tries: 0, until }
    }

    /// Counts a try; returns false if the maximum is exceeded.
    pub(super) fn count_try(&mut self, generation: u64) -> bool {
        self.generation = generation;
        self.tries += 1;
        self.tries <= MAX_TRIES
    }
}

#[derive(Debug)]
pub(super) struct PendingRequests<W> {
    last: u64,
    requests: HashMap<u64, PendingRequest<W>>,
    by_connection: HashMap<ConnectionKey, Vec<u64>>,
}

impl<W> Default for PendingRequests<W> {
    fn default() -> Self {
        Self { last: 0, requests: HashMap::new(), by_connection: HashMap::new() }
    }
}

impl<W: HasChannel> PendingRequests<W> {
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn put(&mut self, request: PendingRequest<W>) -> u64 {
        self.last += 1;
        if let Some(connection) = request.waiting.connection() {
            self.by_connection.entry(connection).or_default().push(self.last);
        }
        self.requests.insert(self.last, request);
        self.last
    }

    pub(super) fn take(&mut self, id: u64) -> Option<PendingRequest<W>> {
        let request = self.requests.remove(&id)?;
        if let Some(connection) = request.waiting.connection()
            && let Some(ids) = self.by_connection.get_mut(&connection)
        {
            ids.retain(|known| *known != id);
            if ids.is_empty() {
                self.by_connection.remove(&connection);
            }
        }
        Some(request)
    }

    /// Drops the requests of a connection for a channel.
    pub(super) fn withdraw(&mut self, connection: ConnectionKey, channel: &str) {
        let wanted = |request: &PendingRequest<W>| request.waiting.channel() == channel;
        let ids: Vec<u64> = self.by_connection.get(&connection).into_iter().flatten().copied().collect();
        for id in ids {
            if self.requests.get(&id).is_some_and(wanted) {
                self.take(id);
            }
        }
    }

    /// Drops the requests of a closed connection.
    pub(super) fn connection_closed(&mut self, connection: ConnectionKey) {
        for id in self.by_connection.remove(&connection).unwrap_or_default() {
            self.requests.remove(&id);
        }
    }

    pub(super) fn detached(&mut self, shard: ShardId) {
        let connections: Vec<ConnectionKey> =
            self.by_connection.keys().filter(|connection| connection.0 == shard).copied().collect();
        connections.into_iter().for_each(|connection| self.connection_closed(connection));
    }

    /// Removes and returns the requests whose time limit has passed.
    pub(super) fn expired(&mut self, now: Duration) -> Vec<PendingRequest<W>> {
        let mut ids: Vec<u64> =
            self.requests.iter().filter(|(_, request)| request.until <= now).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}
