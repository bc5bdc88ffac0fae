//! The way in.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_rt::ArbiterHandle;
use muster_store::{Journal, StoreError};

use super::actor::{Hub, Parts};
use super::inbox::{Inbox, Input};
use super::messages::{AskChannels, AskHistory, AskPresence, AskStats};
use super::shared::Shared;
use super::{
    ChannelRule, ChannelStats, ConnId, FeedOptions, FeedStats, HistoryError, HistoryPage, Position, Present, Refused,
    Rules, ShardId, ShardPort, SnapshotSource, SubscribeAsk,
};
use muster_core::Error;
use muster_core::event::Publisher;
use muster_core::principal::Viewer;
use muster_core::supervise::{ChildSpec, Group, Handle};

/// Most channels listed at a time.
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
    /// Opens the journal and starts the actor `hub` in `group`. Blocking, for the list of the folder's files.
    ///
    /// # Errors
    /// Where the folder cannot be made or read.
    pub fn start(
        group: &Group,
        arbiter: ArbiterHandle,
        options: FeedOptions,
        rules: Vec<ChannelRule>,
    ) -> Result<Self, StoreError> {
        let journal = Arc::new(Journal::open(&options.folder, 0, options.limits.journal.clone())?);
        let inbox = Arc::new(Inbox::new(&options.limits));
        let (shared, rules) = (Arc::new(Shared::default()), Arc::new(Rules::new(rules)));
        let parts = Parts {
            options: Arc::new(options),
            journal,
            inbox: Arc::clone(&inbox),
            shared: Arc::clone(&shared),
            rules: Arc::clone(&rules),
        };
        let hub = group.start(ChildSpec::new("hub", arbiter, move |_| Hub::build(parts.clone())));
        Ok(Self { hub, inbox, shared, rules })
    }

    /// Waits until the history was read back and the hub runs.
    pub async fn up(&self) {
        self.hub.up().await;
    }

    /// What features publish through.
    pub fn publisher(&self) -> Publisher {
        Arc::clone(&self.inbox) as _
    }

    /// The table of channels, to check again what a viewer may whose permissions changed.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// From now on the state of `prefix`, and of the channels `prefix:…` and `prefix.…`, is asked of this feature; the
    /// longest prefix counts. A channel whose feature is not there yet is `Unavailable`.
    pub fn register_source(&self, prefix: &str, source: Arc<dyn SnapshotSource>) {
        self.shared.register(prefix, source);
    }

    /// A shard that is told from now on what its connections subscribe to.
    pub fn attach(&self, port: Arc<dyn ShardPort>) -> ShardId {
        self.shared.attach(port)
    }

    /// The shard is told nothing more.
    pub fn detach(&self, shard: ShardId) {
        self.shared.detach(shard);
        self.inbox.push(Input::Detached(shard));
    }

    /// Asks for a subscription. The answer comes through the shard's port with the ask's tag, in its place among the
    /// publications. A second subscription of the same connection to the same channel takes the place of the first.
    ///
    /// Behind a `Reset` answers to asks from before it may still come or not: subscribe anew, with new tags.
    ///
    /// # Errors
    /// `Unavailable` where too many asks wait: no answer will come.
    pub fn subscribe(&self, ask: SubscribeAsk) -> Result<(), Refused> {
        self.inbox.ask(ask).map_err(Refused::Denied)
    }

    /// Ends a subscription, or withdraws an ask for it. Publications that are under way may still come.
    pub fn unsubscribe(&self, shard: ShardId, conn: ConnId, channel: &str) {
        self.inbox.push(Input::Unsubscribe(shard, conn, channel.to_owned()));
    }

    /// The connection ended, and all its subscriptions with it.
    pub fn gone(&self, shard: ShardId, conn: ConnId) {
        self.inbox.push(Input::Gone(shard, conn));
    }

    /// The thing that the channel is about is gone: its subscriptions end, and their connections are told `reason`.
    pub fn close(&self, channel: &str, reason: &'static str) {
        self.inbox.push(Input::Closed(channel.to_owned(), reason));
    }

    /// What the one behind a connection may has changed: each of its channels that only a feature can judge is asked for
    /// again, and ends where the answer is no.
    pub fn looks_anew(&self, shard: ShardId, conn: ConnId, viewer: Viewer) {
        self.inbox.push(Input::Viewer(shard, conn, viewer));
    }

    /// At most `limit` publications (at least 1, at most as many as are recovered: 500) behind `since`, or from the
    /// oldest kept.
    ///
    /// # Errors
    /// `Refused` as for a subscription, or `Down`.
    pub async fn history(
        &self,
        channel: &str,
        since: Option<Position>,
        limit: usize,
        viewer: Viewer,
    ) -> Result<HistoryPage, HistoryError> {
        let ask = AskHistory { channel: channel.to_owned(), since, limit, viewer };
        // The hub's own patience with a feature ends first.
        let answer = self.hub.ask_within(std::time::Duration::from_secs(8), ask).await;
        answer.map_err(|error| HistoryError::Down(error.into()))?.map_err(HistoryError::Refused)
    }

    /// Who subscribes to a channel, the longest there first, at most 1,000. To be told to one who subscribes to it.
    ///
    /// # Errors
    /// `Unavailable`: the hub does not answer now.
    pub async fn presence(&self, channel: &str) -> Result<Vec<Present>, Error> {
        Ok(self.hub.ask(AskPresence(channel.to_owned())).await?)
    }

    /// Channels in memory, those with most subscribers first, at most 1,000.
    ///
    /// # Errors
    /// `Unavailable`: the hub does not answer now.
    pub async fn channels(&self) -> Result<Vec<ChannelStats>, Error> {
        Ok(self.hub.ask(AskChannels(MAX_LISTED)).await?)
    }

    /// # Errors
    /// `Unavailable`: the hub does not answer now.
    pub async fn stats(&self) -> Result<FeedStats, Error> {
        Ok(self.hub.ask(AskStats).await?)
    }

    /// How often the hub lost its place and told all shards so.
    pub fn resets(&self) -> u64 {
        self.shared.resets.load(Ordering::Relaxed)
    }
}
