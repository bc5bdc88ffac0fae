//! Client of all shards.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::actor::Shard;
use super::messages::{Apply, Checkpoint, GetOwnerStats, GetShardStats, ListMissingVectors, Search};
use super::published::{Published, ShardSnapshot};
use super::query::busy;
use super::shard_context::ShardContext;
use super::stats::ShardStats;
use crate::checkpoint::SlotNumber;
use crate::embed::Backlog;
use crate::embed::round_robin::{group_by_owner, interleave};
use crate::port::{Applied, ApplyOutcome, Candidates, IndexSearch, OwnerIndexStats};
use crate::record::{EntryId, Owner, Space};
use muster_core::Error;
use muster_core::supervise::{ChildSpec, Group, Handle};

/// Mailbox capacity for changes, in addition to searches.
const CHANGES: usize = 1_024;
/// Time limit for a shard to apply changes ...
const APPLY_TIMEOUT: Duration = Duration::from_secs(5);
/// ... and for the removal of an owner's data from its files.
const DELETION_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of a checkpoint.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(600);

/// The shards. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Shards {
    handles: Arc<[Handle<Shard>]>,
    published: Arc<Published>,
    /// Maximum number of waiting searches per shard.
    max_waiting: usize,
}

/// Counts a waiting search until it is dropped.
struct SearchSlot<'a>(&'a ShardSnapshot);

impl Drop for SearchSlot<'_> {
    fn drop(&mut self) {
        self.0.searches.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shards {
    /// Starts a shard on each arbiter, as children `index-0`, `index-1` … of `group`.
    pub(super) fn start(
        group: &Group,
        arbiters: &[ArbiterHandle],
        shard_context: &Arc<ShardContext>,
        max_waiting: usize,
    ) -> Self {
        let start = |(number, arbiter): (usize, &ArbiterHandle)| {
            let shard_context = Arc::clone(shard_context);
            let spec = ChildSpec::new(format!("index-{number}"), arbiter.clone(), move |control| {
                let shard_context = Arc::clone(&shard_context);
                async move { Shard::build(shard_context, number, control).await }
            });
            // Searches are counted before they are sent, so changes always fit the mailbox.
            group.start(spec.capacity(max_waiting + CHANGES))
        };
        let handles = arbiters.iter().enumerate().map(start).collect();
        Self { handles, published: Arc::clone(&shard_context.published), max_waiting }
    }

    pub(super) async fn up(&self) {
        join_all(self.handles.iter().map(Handle::up)).await;
    }

    pub(super) fn published(&self) -> &Published {
        &self.published
    }

    /// Puts changes into the shards' mailboxes immediately.
    pub(super) fn apply(&self, changes: &Arc<[Applied]>) -> BoxFuture<'static, ApplyOutcome> {
        let ends = changes.first().zip(changes.last()).map(|(first, last)| (first.seq, last.seq));
        let Some((first, last)) = ends else { return std::future::ready(ApplyOutcome::Complete).boxed() };
        if first > self.published.announced.fetch_max(last, Ordering::AcqRel) + 1 {
            // Some changes were never announced: each shard reads them before it applies these.
            for snapshot in &self.published.shards {
                snapshot.missed.fetch_max(first - 1, Ordering::AcqRel);
            }
        }
        let (mut all, mut waits, mut timeout) = (true, Vec::new(), APPLY_TIMEOUT);
        for (number, (handle, snapshot)) in self.handles.iter().zip(&self.published.shards).enumerate() {
            let of = |change: &&Applied| SlotNumber::of(change.owner()).shard(self.handles.len()) == number;
            if !changes.iter().any(|change| of(&change)) {
                continue;
            }
            let (done, answer) = oneshot::channel();
            if handle.try_send(Apply { changes: Arc::clone(changes), done }).is_ok() {
                waits.push(answer);
            } else {
                snapshot.missed.fetch_max(last, Ordering::AcqRel);
                all = false;
            }
        }
        if changes.iter().any(|change| matches!(change.kind, crate::AppliedKind::OwnerDeleted { .. })) {
            timeout = DELETION_TIMEOUT;
        }
        async move {
            // A shard that dies meanwhile has dropped its sender: it reads the changes at its start.
            let answers = tokio::time::timeout(timeout, join_all(waits)).await;
            let applied = answers.is_ok_and(|answers| answers.into_iter().all(|answer| answer == Ok(true)));
            if applied && all { ApplyOutcome::Complete } else { ApplyOutcome::Partial }
        }
        .boxed()
    }

    /// Returns the shard of an owner.
    fn of(&self, owner: &Owner) -> Result<(&Handle<Shard>, &ShardSnapshot), Error> {
        let number = SlotNumber::of(owner).shard(self.handles.len());
        self.handles.get(number).zip(self.published.shards.get(number)).ok_or_else(busy)
    }

    /// Searches the shard of an owner.
    ///
    /// # Errors
    /// `Unavailable`: the shard is down, or too many searches wait.
    pub(super) async fn search(
        &self,
        search: IndexSearch,
        vector: Option<Arc<[f32]>>,
        until: Instant,
    ) -> Result<Candidates, Error> {
        let (handle, snapshot) = self.of(&search.owner)?;
        if snapshot.searches.fetch_add(1, Ordering::AcqRel) >= self.max_waiting {
            snapshot.searches.fetch_sub(1, Ordering::AcqRel);
            return Err(busy());
        }
        let _slot = SearchSlot(snapshot);
        handle.ask_within(until.saturating_duration_since(Instant::now()), Search { search, vector, until }).await?
    }

    /// Returns statistics of an owner's part of its shard.
    ///
    /// # Errors
    /// `Unavailable`: the shard is down or overloaded.
    pub(super) async fn owner_stats(&self, owner: &Owner) -> Result<OwnerIndexStats, Error> {
        Ok(self.of(owner)?.0.ask(GetOwnerStats(owner.clone())).await?)
    }

    /// Returns statistics of the responding shards.
    pub(super) async fn stats(&self) -> Vec<ShardStats> {
        let responses = join_all(self.handles.iter().map(|handle| handle.ask(GetShardStats))).await;
        responses.into_iter().filter_map(Result::ok).collect()
    }

    /// Writes changes to disk.
    ///
    /// # Errors
    /// Why a shard failed, for people.
    pub(super) async fn checkpoint(&self) -> Result<(), String> {
        let one = |handle: &Handle<Shard>| {
            let (done, ended) = oneshot::channel();
            let sent = handle.try_send(Checkpoint { done });
            async move {
                sent.map_err(|error| error.to_string())?;
                let ended = tokio::time::timeout(CHECKPOINT_TIMEOUT, ended).await;
                ended.map_err(|_| "a checkpoint takes too long")?.map_err(|_| "the index died meanwhile")?
            }
        };
        join_all(self.handles.iter().map(one)).await.into_iter().collect()
    }
}

impl Backlog for Shards {
    fn missing_vectors(&self, limit: usize) -> BoxFuture<'_, Vec<(Space, EntryId)>> {
        async move {
            let responses = join_all(self.handles.iter().map(|handle| handle.ask(ListMissingVectors(limit)))).await;
            let missing_vectors = responses.into_iter().filter_map(Result::ok).flatten();
            interleave(
                group_by_owner(missing_vectors, |(space, _): &(Space, EntryId)| space.owner.clone(), None),
                limit,
            )
        }
        .boxed()
    }

    fn wake(&self) -> Arc<Notify> {
        Arc::clone(&self.published.missing_vectors)
    }
}
