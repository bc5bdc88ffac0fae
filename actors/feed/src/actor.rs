//! The hub: an actor that processes the inbox in rounds.
//!
//! The order within a round is fixed: inputs are processed in the order of their arrival, and each shard receives
//! everything in one delivery at the end. A round only waits for the write to the journal, which is not synced.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, WrapFuture};
use muster_store::Journal;
use tokio::time::Instant;

use super::epoch::Epochs;
use super::histories::Histories;
use super::inbox::Inbox;
use super::latest::LatestChannels;
use super::load::{Loaded, load};
use super::messages::{ChannelsRequest, HistoryRequest, PresenceRequest, StatsRequest};
use super::outbox::{Outbox, Reading};
use super::outgoing::Outgoing;
use super::pending::PendingRequests;
use super::record::{self, Head};
use super::shared::Shared;
use super::subscribe::WaitingRequest;
use super::subscriptions::Subscriptions;
use super::{ChannelStats, Delivery, FeedOptions, FeedStats, HistoryPage, Limits, Refused, Rules};
use muster_core::Millis;
use muster_core::supervise::BuildError;

/// Interval for detecting features that do not reply, and for retrying what could not be written.
const TICK: Duration = Duration::from_millis(250);
/// Interval for searching the outbox for events that were never passed to the feed.
const OUTBOX_SCAN_EVERY: Duration = Duration::from_secs(5);

/// Resources passed to every incarnation of the hub.
#[derive(Clone)]
pub(super) struct HubResources {
    pub(super) options: Arc<FeedOptions>,
    pub(super) journal: Arc<Journal>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) shared: Arc<Shared>,
    pub(super) rules: Arc<Rules>,
}

/// The hub actor; the module describes its rounds.
pub(crate) struct Hub {
    pub(super) resources: HubResources,
    pub(super) started_at: Instant,
    pub(super) histories: Histories,
    pub(super) latest_channels: LatestChannels,
    pub(super) subscriptions: Subscriptions,
    pub(super) pending: PendingRequests<WaitingRequest>,
    pub(super) outbox: Outbox,
    pub(super) out: Outgoing,
    pub(super) epochs: Epochs,
    pub(super) head: Head,
    /// Set while the outbox is being published; everything else waits until it is finished.
    pub(super) reading: Option<Reading>,
    /// Incremented when events are published from the outbox: snapshots requested before may lack them.
    pub(super) generation: u64,
    /// Why nothing can be published: writing to the journal or the store fails.
    pub(super) stuck: Option<String>,
    /// Number of the last frame in the journal.
    pub(super) reached: u64,
    pub(super) settling: bool,
    pub(super) saving: bool,
    pub(super) published: u64,
    pub(super) overflows: u64,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("channels", &self.histories.len()).finish_non_exhaustive()
    }
}

impl Hub {
    pub(super) async fn build(resources: HubResources) -> Result<Self, BuildError> {
        let same_process = resources.shared.starts.load(Ordering::Relaxed) > 0;
        let blocking_resources = resources.clone();
        let loaded = tokio::task::spawn_blocking(move || load(&blocking_resources, same_process)).await??;
        if loaded.head_is_new {
            let batch = record::with_restore_mark(loaded.head.batch()?, loaded.restored.clone());
            resources.options.store.commit(batch).await?;
        }
        Ok(Self::new(resources, loaded))
    }

    fn new(resources: HubResources, loaded: Loaded) -> Self {
        let limits = &resources.options.limits;
        Self {
            started_at: Instant::now(),
            latest_channels: LatestChannels::new(limits.latest, limits.latest_keys),
            histories: loaded.histories,
            subscriptions: Subscriptions::default(),
            pending: PendingRequests::default(),
            outbox: loaded.outbox,
            out: Outgoing::default(),
            epochs: loaded.epochs,
            reached: loaded.head.number,
            head: loaded.head,
            reading: Some(Reading::default()),
            generation: 0,
            stuck: None,
            settling: false,
            saving: false,
            published: 0,
            overflows: 0,
            resources,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.resources.options.limits
    }

    pub(super) fn now(&self) -> Millis {
        self.resources.options.clock.now()
    }

    fn wait_for_input(context: &mut Context<Self>, actor: &Self) {
        let inbox = Arc::clone(&actor.resources.inbox);
        let notified = async move { inbox.notified().await };
        context.spawn(notified.into_actor(actor).map(|(), actor, context| {
            actor.round();
            Self::wait_for_input(context, actor);
        }));
    }

    /// Shards have lost their position with the previous incarnation, and their requests to it are void. Queued events
    /// are in the outbox, which is published first.
    fn reset(&mut self) {
        let inbox = &self.resources.inbox;
        (0..inbox.len()).map_while(|_| inbox.pop()).for_each(drop);
        self.resources.shared.resets.fetch_add(1, Ordering::Relaxed);
        for shard in self.resources.shared.ports().keys() {
            self.out.push(*shard, Delivery::Reset);
        }
        self.flush();
    }

    fn stats(&self) -> FeedStats {
        let (history, history_bytes) = self.histories.held();
        FeedStats {
            epoch: self.epochs.durable.clone(),
            channels: self.histories.len() + self.latest_channels.len(),
            shards: self.resources.shared.ports().len(),
            subscriptions: self.subscriptions.len(),
            published: self.published,
            delivered: self.out.delivered,
            history,
            history_bytes,
            pending_snapshots: self.pending.len(),
            unsettled: self.outbox.unsettled(),
            overflows: self.overflows,
            values_dropped: self.resources.inbox.values_dropped(),
            transient_lost: self.resources.inbox.transient_lost(),
            stuck: self.stuck.clone(),
            journal: self.resources.journal.stats(),
        }
    }
}

impl Actor for Hub {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if self.resources.shared.starts.fetch_add(1, Ordering::Relaxed) > 0 {
            self.reset();
        }
        let limits = self.limits().clone();
        context.run_interval(TICK, |actor, _| actor.tick());
        context.run_interval(OUTBOX_SCAN_EVERY, |actor, _| actor.publish_unpublished());
        context.run_interval(limits.settle_every, Self::settle);
        context.run_interval(limits.checkpoint_every, Self::checkpoint);
        Self::wait_for_input(context, self);
        self.resources.inbox.wake();
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped as well, and its state cannot be trusted.
        if !std::thread::panicking()
            && let Err(error) = self.write_clean_shutdown()
        {
            tracing::warn!(%error, "the feed did not shut down cleanly: its history remains in its journal");
        }
    }
}

impl Handler<HistoryRequest> for Hub {
    type Result = ResponseFuture<Result<HistoryPage, Refused>>;

    fn handle(&mut self, request: HistoryRequest, _: &mut Context<Self>) -> Self::Result {
        self.history(request)
    }
}

impl Handler<PresenceRequest> for Hub {
    type Result = MessageResult<PresenceRequest>;

    fn handle(&mut self, PresenceRequest(channel): PresenceRequest, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.subscriptions.present(&channel))
    }
}

impl Handler<ChannelsRequest> for Hub {
    type Result = MessageResult<ChannelsRequest>;

    fn handle(&mut self, ChannelsRequest(limit): ChannelsRequest, _: &mut Context<Self>) -> Self::Result {
        let stats = |channel: &super::channel::Channel| ChannelStats {
            channel: Arc::clone(&channel.name),
            offset: channel.last(),
            history: channel.history(),
            bytes: channel.bytes(),
            subscribers: self.subscriptions.of(&channel.name),
        };
        let mut channels: Vec<ChannelStats> = self.histories.iter().map(stats).collect();
        channels.sort_by(|a, b| (b.subscribers, &a.channel).cmp(&(a.subscribers, &b.channel)));
        channels.truncate(limit);
        MessageResult(channels)
    }
}

impl Handler<StatsRequest> for Hub {
    type Result = MessageResult<StatsRequest>;

    fn handle(&mut self, _: StatsRequest, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.stats())
    }
}
