//! Public interface of the feed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_rt::ArbiterHandle;
use muster_store::{Journal, StoreError};

use super::actor::{Hub, HubResources};
use super::inbox::{Inbox, Input};
use super::messages::{ChannelsRequest, HistoryRequest, PresenceRequest, StatsRequest};
use super::shared::Shared;
use super::{
    ChannelRule, ChannelStats, ConnId, FeedOptions, FeedStats, HistoryError, HistoryPage, Position, Present, Refused,
    Rules, ShardId, ShardPort, SnapshotSource, SubscribeRequest,
};
use muster_core::Error;
use muster_core::event::Publisher;
use muster_core::principal::Viewer;
use muster_core::supervise::{ChildSpec, Group, Handle};

/// Maximum number of channels in a list.
const MAX_LISTED: usize = 1_000;

/// The feed. Cheap to clone.
#[derive(Clone)]
pub struct Feed {
    hub: Handle<Hub>,
    inbox: Arc<Inbox>,
    shared: Arc<Shared>,
    rules: Arc<Rules>,
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Feed {
    /// Opens the journal and starts the actor `hub` in `group`. Blocks while listing the folder's files.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created or read.
    pub fn start(
        group: &Group,
        arbiter: ArbiterHandle,
        options: FeedOptions,
        rules: Vec<ChannelRule>,
    ) -> Result<Self, StoreError> {
        let journal = Arc::new(Journal::open(&options.folder, 0, options.limits.journal.clone())?);
        let inbox = Arc::new(Inbox::new(&options.limits));
        let (shared, rules) = (Arc::new(Shared::default()), Arc::new(Rules::new(rules)));
        let resources = HubResources {
            options: Arc::new(options),
            journal,
            inbox: Arc::clone(&inbox),
            shared: Arc::clone(&shared),
            rules: Arc::clone(&rules),
        };
        let hub = group.start(ChildSpec::new("hub", arbiter, move |_| Hub::build(resources.clone())));
        Ok(Self { hub, inbox, shared, rules })
    }

    /// Waits until the history is restored and the hub is running.
    pub async fn up(&self) {
        self.hub.up().await;
    }

    /// Returns the publisher for features.
    pub fn publisher(&self) -> Publisher {
        Arc::clone(&self.inbox) as _
    }

    /// Returns the table of channels, for checking a viewer whose permissions have changed.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Registers the feature that provides the state of `prefix` and of the channels `prefix:…` and `prefix.…`. The
    /// longest matching prefix is used. A channel without a registered feature is `Unavailable`.
    pub fn register_source(&self, prefix: &str, source: Arc<dyn SnapshotSource>) {
        self.shared.register(prefix, source);
    }

    /// Attaches a shard, which receives deliveries for its connections from now on.
    pub fn attach(&self, port: Arc<dyn ShardPort>) -> ShardId {
        self.shared.attach(port)
    }

    /// Detaches a shard, which receives no further deliveries.
    pub fn detach(&self, shard: ShardId) {
        self.shared.detach(shard);
        self.inbox.push(Input::Detached(shard));
    }

    /// Requests a subscription. The reply comes through the shard's port with the request's tag, in its place among the
    /// publications. A second subscription of a connection to the same channel replaces the first.
    ///
    /// After a `Reset`, replies to earlier requests may or may not arrive: subscribe again with new tags.
    ///
    /// # Errors
    ///
    /// `Unavailable` if too many requests are queued: there will be no reply.
    pub fn subscribe(&self, request: SubscribeRequest) -> Result<(), Refused> {
        self.inbox.push_request(request).map_err(Refused::Denied)
    }

    /// Ends a subscription or cancels a request for it. Publications on their way may still be delivered.
    pub fn unsubscribe(&self, shard: ShardId, conn: ConnId, channel: &str) {
        self.inbox.push(Input::Unsubscribe(shard, conn, channel.to_owned()));
    }

    /// Ends all subscriptions of a closed connection.
    pub fn connection_closed(&self, shard: ShardId, conn: ConnId) {
        self.inbox.push(Input::Gone(shard, conn));
    }

    /// Closes a channel whose resource was deleted: its subscriptions end with `reason`.
    pub fn close(&self, channel: &str, reason: &'static str) {
        self.inbox.push(Input::Closed(channel.to_owned(), reason));
    }

    /// Applies changed permissions of a connection's viewer: each of its channels that only a feature can decide on is
    /// requested again, and ends if the feature rejects it.
    pub fn update_viewer(&self, shard: ShardId, conn: ConnId, viewer: Viewer) {
        self.inbox.push(Input::Viewer(shard, conn, viewer));
    }

    /// Returns at most `limit` publications (at least 1, at most 500) after `since`, or from the oldest one kept.
    ///
    /// # Errors
    ///
    /// `Refused` as for a subscription, or `Down`.
    pub async fn history(
        &self,
        channel: &str,
        since: Option<Position>,
        limit: usize,
        viewer: Viewer,
    ) -> Result<HistoryPage, HistoryError> {
        let request = HistoryRequest { channel: channel.to_owned(), since, limit, viewer };
        // The hub's own time limit for features is shorter.
        let answer = self.hub.ask_within(std::time::Duration::from_secs(8), request).await;
        answer.map_err(|error| HistoryError::Down(error.into()))?.map_err(HistoryError::Refused)
    }

    /// Returns the subscribers of a channel, longest first, at most 1,000. Only subscribers of the channel may read
    /// it.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the hub does not reply.
    pub async fn presence(&self, channel: &str) -> Result<Vec<Present>, Error> {
        Ok(self.hub.ask(PresenceRequest(channel.to_owned())).await?)
    }

    /// Returns the channels in memory, those with most subscribers first, at most 1,000.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the hub does not reply.
    pub async fn channels(&self) -> Result<Vec<ChannelStats>, Error> {
        Ok(self.hub.ask(ChannelsRequest(MAX_LISTED)).await?)
    }

    /// Returns current figures.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the hub does not reply.
    pub async fn stats(&self) -> Result<FeedStats, Error> {
        Ok(self.hub.ask(StatsRequest).await?)
    }

    /// Returns how often the hub was restarted and all shards were reset.
    pub fn resets(&self) -> u64 {
        self.shared.resets.load(Ordering::Relaxed)
    }
}
