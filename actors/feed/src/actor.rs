//! The hub: an actor that takes what waits in the inbox, turn by turn.
//!
//! A turn has one order: what came first is told first, and what a shard gets goes to it in one delivery at the turn's
//! end. Nothing in a turn waits but for the write of the journal, which is not synced.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::fut::ActorFutureExt;
use actix::{Actor, AsyncContext, Context, Handler, MessageResult, ResponseFuture, WrapFuture};
use muster_store::Journal;
use tokio::time::Instant;

use super::asks::Asks;
use super::epoch::Epochs;
use super::histories::Histories;
use super::inbox::Inbox;
use super::latest::Latests;
use super::load::{Loaded, load};
use super::messages::{AskChannels, AskHistory, AskPresence, AskStats};
use super::outbox::{Outbox, Reading};
use super::outgoing::Outgoing;
use super::record::{self, Head};
use super::shared::Shared;
use super::subscribe::Waiting;
use super::subscriptions::Subscriptions;
use super::{ChannelStats, Delivery, FeedOptions, FeedStats, HistoryPage, Limits, Refused, Rules};
use muster_core::Millis;
use muster_core::supervise::BuildError;

/// How often it is looked for features that do not answer, and tried again what the disk did not take.
const TICK: Duration = Duration::from_millis(250);
/// How often the outbox is looked through for what nobody handed over.
const STRAGGLERS_EVERY: Duration = Duration::from_secs(5);

/// What every incarnation gets.
#[derive(Clone)]
pub(super) struct Parts {
    pub(super) options: Arc<FeedOptions>,
    pub(super) journal: Arc<Journal>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) shared: Arc<Shared>,
    pub(super) rules: Arc<Rules>,
}

/// The actor. See the module.
pub struct Hub {
    pub(super) parts: Parts,
    pub(super) born: Instant,
    pub(super) histories: Histories,
    pub(super) latests: Latests,
    pub(super) subscriptions: Subscriptions,
    pub(super) asks: Asks<Waiting>,
    pub(super) outbox: Outbox,
    pub(super) out: Outgoing,
    pub(super) epochs: Epochs,
    pub(super) head: Head,
    /// The outbox is being told; until its end everything else waits.
    pub(super) reading: Option<Reading>,
    /// How often something came out of the outbox: what was asked of a feature before may lack it.
    pub(super) generation: u64,
    /// Why nothing can be told: the journal, or the store, takes nothing.
    pub(super) stuck: Option<String>,
    /// The last frame of the journal.
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
    pub(super) async fn build(parts: Parts) -> Result<Self, BuildError> {
        let same_process = parts.shared.starts.load(Ordering::Relaxed) > 0;
        let given = parts.clone();
        let loaded = tokio::task::spawn_blocking(move || load(&given, same_process)).await??;
        if loaded.head_is_new {
            let batch = record::noting(loaded.head.batch()?, loaded.restored.clone());
            parts.options.store.commit(batch).await?;
        }
        Ok(Self::new(parts, loaded))
    }

    fn new(parts: Parts, loaded: Loaded) -> Self {
        let limits = &parts.options.limits;
        Self {
            born: Instant::now(),
            latests: Latests::new(limits.latest, limits.latest_keys),
            histories: loaded.histories,
            subscriptions: Subscriptions::default(),
            asks: Asks::default(),
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
            parts,
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.parts.options.limits
    }

    pub(super) fn now(&self) -> Millis {
        self.parts.options.clock.now()
    }

    fn listen(context: &mut Context<Self>, actor: &Self) {
        let inbox = Arc::clone(&actor.parts.inbox);
        let heard = async move { inbox.heard().await };
        context.spawn(heard.into_actor(actor).map(|(), actor, context| {
            actor.turn();
            Self::listen(context, actor);
        }));
    }

    /// Shards lost their place with the last incarnation, and what they asked of it is void. Events that wait are in the
    /// outbox, which is told first.
    fn reset(&mut self) {
        let inbox = &self.parts.inbox;
        (0..inbox.len()).map_while(|_| inbox.pop()).for_each(drop);
        self.parts.shared.resets.fetch_add(1, Ordering::Relaxed);
        for shard in self.parts.shared.ports().keys() {
            self.out.push(*shard, Delivery::Reset);
        }
        self.flush();
    }

    fn stats(&self) -> FeedStats {
        let (history, history_bytes) = self.histories.held();
        FeedStats {
            epoch: self.epochs.durable.clone(),
            channels: self.histories.len() + self.latests.len(),
            shards: self.parts.shared.ports().len(),
            subscriptions: self.subscriptions.len(),
            published: self.published,
            delivered: self.out.delivered,
            history,
            history_bytes,
            asked: self.asks.len(),
            unsettled: self.outbox.unsettled(),
            overflows: self.overflows,
            values_lost: self.parts.inbox.values_lost(),
            told_lost: self.parts.inbox.told_lost(),
            stuck: self.stuck.clone(),
            journal: self.parts.journal.stats(),
        }
    }
}

impl Actor for Hub {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        if self.parts.shared.starts.fetch_add(1, Ordering::Relaxed) > 0 {
            self.reset();
        }
        let limits = self.limits().clone();
        context.run_interval(TICK, |actor, _| actor.tick());
        context.run_interval(STRAGGLERS_EVERY, |actor, _| actor.look_for_stragglers());
        context.run_interval(limits.settle_every, Self::settle);
        context.run_interval(limits.checkpoint_every, Self::checkpoint);
        Self::listen(context, self);
        self.parts.inbox.wake();
    }

    fn stopped(&mut self, _: &mut Context<Self>) {
        // A panicking actor is stopped too, and what it holds is not to be trusted.
        if !std::thread::panicking()
            && let Err(error) = self.last_words()
        {
            tracing::warn!(%error, "the feed did not end in order: its history stays in its journal");
        }
    }
}

impl Handler<AskHistory> for Hub {
    type Result = ResponseFuture<Result<HistoryPage, Refused>>;

    fn handle(&mut self, ask: AskHistory, _: &mut Context<Self>) -> Self::Result {
        self.history(ask)
    }
}

impl Handler<AskPresence> for Hub {
    type Result = MessageResult<AskPresence>;

    fn handle(&mut self, AskPresence(channel): AskPresence, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.subscriptions.present(&channel))
    }
}

impl Handler<AskChannels> for Hub {
    type Result = MessageResult<AskChannels>;

    fn handle(&mut self, AskChannels(most): AskChannels, _: &mut Context<Self>) -> Self::Result {
        let stats = |channel: &super::channel::Channel| ChannelStats {
            channel: Arc::clone(&channel.name),
            offset: channel.last(),
            history: channel.history(),
            bytes: channel.bytes(),
            subscribers: self.subscriptions.of(&channel.name),
        };
        let mut channels: Vec<ChannelStats> = self.histories.iter().map(stats).collect();
        channels.sort_by(|a, b| (b.subscribers, &a.channel).cmp(&(a.subscribers, &b.channel)));
        channels.truncate(most);
        MessageResult(channels)
    }
}

impl Handler<AskStats> for Hub {
    type Result = MessageResult<AskStats>;

    fn handle(&mut self, _: AskStats, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.stats())
    }
}
