//! Public interface of the rate limits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_store::Store;

use super::rule::{Category, Rule};
use super::shard::{Admit, Decision, Options, Peek, RateShard, Report, Reservation, Settle, Shared};
use super::subject::{BucketKey, Subject};
use super::view::LimitView;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_core::{Clock, Error, Kind};

/// All shards. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RateLimiter {
    shards: Arc<[Shard]>,
    clock: Clock,
}

/// A shard: decisions are requested by messages or taken from allowances, reports are queued beside its mailbox.
#[derive(Debug)]
struct Shard {
    handle: Handle<RateShard>,
    shared: Shared,
}

impl RateLimiter {
    /// Starts a shard on each arbiter, as children `rate-0`, `rate-1` … of `group`.
    pub fn start(
        group: &Group,
        arbiters: &[ArbiterHandle],
        store: &Arc<dyn Store>,
        clock: &Clock,
        options: &Options,
    ) -> Self {
        let mut part = options.clone();
        part.max_anonymous = options.max_anonymous.div_ceil(arbiters.len().max(1));
        part.max_principals = options.max_principals.div_ceil(arbiters.len().max(1));
        let started = clock.now().0;
        let shards = arbiters.iter().enumerate().map(|(number, arbiter)| {
            let (store, clock, options) = (Arc::clone(store), clock.clone(), part.clone());
            let collects_since = (number == 0).then_some(started);
            let shared = Shared::default();
            let of_shard = shared.clone();
            let spec = ChildSpec::new(format!("rate-{number}"), arbiter.clone(), move |control| {
                let (store, shared) = (Arc::clone(&store), of_shard.clone());
                let shard = RateShard::new(store, clock.clone(), options.clone(), control, collects_since, shared);
                std::future::ready(Ok(shard))
            });
            Shard { handle: group.start(spec.capacity(part.mailbox)), shared }
        });
        Self { shards: shards.collect(), clock: clock.clone() }
    }

    /// Waits until every shard is running.
    pub async fn up(&self) {
        for shard in self.shards.iter() {
            shard.handle.up().await;
        }
    }

    /// Evaluates a request against all its rules. Without rules the subject is unlimited.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the shard is restarting or overloaded, or if the admission could not be recorded.
    pub async fn admit(&self, admit: Admit) -> Result<Decision, Error> {
        if admit.rules.is_empty() {
            return Ok(Decision::Admitted { view: LimitView::default(), reservation: None });
        }
        let shard = self.shard(&admit.key.subject)?;
        if let Some((taken, decision)) = shard.shared.allowances.take(&admit, self.clock.now().0) {
            shard.shared.reports.push(Report::Taken(taken));
            return Ok(decision);
        }
        shard.handle.ask(admit).await?
    }

    /// Replaces a reservation by the actual usage, higher or lower. With 0 the tokens of a call that was never made are
    /// refunded; the request itself stays counted.
    ///
    /// This wakes no actor: the shard processes settlements before its next decision, so no decision is made without
    /// them.
    pub fn settle(&self, reservation: Reservation, tokens: u64) {
        if let Ok(shard) = self.shard(&reservation.key.subject) {
            shard.shared.reports.push(Report::Settled(Settle { reservation, tokens }));
        }
    }

    /// Returns the state of a subject's bucket under these rules, without charging it.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the shard is restarting or overloaded.
    pub async fn peek(&self, subject: &Subject, category: Category, rules: Arc<[Rule]>) -> Result<LimitView, Error> {
        let key = BucketKey { subject: subject.clone(), category };
        self.shard(subject)?.handle.ask(Peek { key, rules }).await?
    }

    /// Returns the shard of a subject. The assignment lasts for the lifetime of the process; nothing stored depends on
    /// it.
    fn shard(&self, subject: &Subject) -> Result<&Shard, Error> {
        let mut hasher = DefaultHasher::new();
        subject.hash(&mut hasher);
        let place = hasher.finish().checked_rem(self.shards.len() as u64);
        let shard = place.and_then(|place| self.shards.get(usize::try_from(place).ok()?));
        shard
            .ok_or_else(|| Error::new(Kind::Unavailable, "the limiter has no shards").retry_in(Duration::from_secs(30)))
    }
}
