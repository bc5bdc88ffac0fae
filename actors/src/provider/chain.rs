//! The chain: its start, its two ways to be asked, its status.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use muster_providers::{Candidate, Registry};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::breaker::{BreakerChanged, BreakerPort};
use super::failure;
use super::messages::{Answer, ChainError, ChatAsk, ProviderStatus, Settlement};
use super::meter::Meter;
use super::open;
use super::options::{ChainOptions, Provider, TokenCounter};
use super::settle::Account;
use super::stream::Streaming;
use super::walk::Walk;
use crate::Clock;
use crate::supervise::Group;

/// Changes that a slow listener may lag behind by.
const CHANGES: usize = 256;

/// A provider with its breaker.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) provider: Provider,
    pub(super) breaker: BreakerPort,
}

/// One provider to ask, and for what.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) candidate: Candidate,
    pub(super) member: Arc<Member>,
}

#[derive(Debug)]
struct Inner {
    registry: Arc<Registry>,
    /// In the order of the chain, then those outside of it.
    members: Vec<Arc<Member>>,
    by_id: HashMap<String, Arc<Member>>,
    options: ChainOptions,
    counter: Arc<dyn TokenCounter>,
    changes: broadcast::Sender<BreakerChanged>,
}

/// Asks the providers in their order until one answers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Chain(Arc<Inner>);

impl Chain {
    /// Starts a breaker for each provider, spread over the arbiters (at least one). A provider of the registry that is
    /// not among `providers` is never asked.
    pub fn start(
        group: &Group,
        arbiters: &[ArbiterHandle],
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        counter: Arc<dyn TokenCounter>,
        options: ChainOptions,
        clock: &Clock,
    ) -> Self {
        let changes = broadcast::Sender::new(CHANGES);
        let start = |(provider, arbiter): (Provider, &ArbiterHandle)| {
            let breaker = BreakerPort::start(
                group,
                arbiter.clone(),
                &provider.id,
                options.breaker,
                options.jitter.clone(),
                clock.clone(),
                changes.clone(),
            );
            Arc::new(Member { provider, breaker })
        };
        let mut members: Vec<_> = providers.into_iter().zip(arbiters.iter().cycle()).map(start).collect();
        members.sort_by_key(|member| order_in(&registry, &member.provider.id).unwrap_or(usize::MAX));
        let by_id = members.iter().map(|member| (member.provider.id.clone(), Arc::clone(member))).collect();
        Self(Arc::new(Inner { registry, members, by_id, options, counter, changes }))
    }

    /// A whole answer. Dropping the future cancels the provider's work at once.
    pub async fn complete(&self, ask: ChatAsk) -> Result<Answer, ChainError> {
        let started = Instant::now();
        let walk = self.walk(&ask, started)?;
        let won = walk.run(|route, call| route.member.provider.adapter.complete(call)).await?;
        won.permit.done(won.latency);
        let reply = won.value;
        let meter = Meter::new(&self.0.counter, &won.route, won.call);
        let usage = reply.usage.unwrap_or_else(|| meter.counted(&reply));
        Ok(Answer {
            cost_nanos: meter.cost_nanos(usage),
            usage,
            reply,
            model_id: won.route.candidate.model_id,
            provider_id: won.route.candidate.provider_id,
            attempts: won.attempts,
            latency: started.elapsed(),
        })
    }

    /// A streamed answer, there once its first delta is. `settle` is told exactly once, in every case, dropped futures
    /// included; it is called where the stream is polled or dropped, and must not block.
    pub async fn stream(
        &self,
        ask: ChatAsk,
        settle: impl FnOnce(Settlement) + Send + 'static,
    ) -> Result<Streaming, ChainError> {
        let started = Instant::now();
        let mut account = Account::open(started, Box::new(settle));
        let outcome = self.open_stream(&ask, started).await;
        match outcome {
            Ok(won) => {
                let meter = Meter::new(&self.0.counter, &won.route, won.call.clone());
                Ok(Streaming::new(won, account.with_meter(meter), &self.0.options, started))
            }
            Err(refused) => {
                account.fail();
                Err(refused)
            }
        }
    }

    async fn open_stream(&self, ask: &ChatAsk, started: Instant) -> Result<super::walk::Won<open::Opened>, ChainError> {
        let hold_back = self.0.options.hold_back;
        let walk = self.walk(ask, started)?;
        walk.run(|route, call| open::open(Arc::clone(&route.member.provider.adapter), call, hold_back).boxed()).await
    }

    fn walk<'a>(&'a self, ask: &'a ChatAsk, started: Instant) -> Result<Walk<'a>, ChainError> {
        let refused = |error| ChainError { error, attempts: Vec::new() };
        let asked = ask.models.first().map(String::as_str);
        let candidates = self.0.registry.resolve(asked).map_err(|e| refused(failure::unresolved(e)))?;
        let routes: Vec<Route> = candidates
            .into_iter()
            .filter_map(|candidate| {
                let member = Arc::clone(self.0.by_id.get(&candidate.provider_id)?);
                Some(Route { candidate, member })
            })
            .collect();
        if routes.is_empty() {
            return Err(refused(failure::no_adapter(asked)));
        }
        Ok(Walk::new(&self.0.options, ask, routes, started))
    }

    /// Every provider with its breaker, in the order of the chain. Waits for nothing.
    pub fn status(&self) -> Vec<ProviderStatus> {
        let status = |member: &Arc<Member>| {
            let Provider { id, kind, models, .. } = &member.provider;
            ProviderStatus {
                id: id.clone(),
                kind: *kind,
                order: order_in(&self.0.registry, id),
                models: models.clone(),
                breaker: member.breaker.status(),
            }
        };
        self.0.members.iter().map(status).collect()
    }

    /// How long until some provider of the chain may be asked: zero where one may now, `None` where there is none.
    pub fn soonest_probe(&self) -> Option<Duration> {
        let chained = self.0.members.iter().filter(|member| order_in(&self.0.registry, &member.provider.id).is_some());
        chained.map(|member| member.breaker.wait().unwrap_or_default()).min()
    }

    /// Each change of a breaker's state from now on.
    pub fn changes(&self) -> broadcast::Receiver<BreakerChanged> {
        self.0.changes.subscribe()
    }

    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }
}

fn order_in(registry: &Registry, id: &str) -> Option<usize> {
    registry.chain().position(|chained| chained == id)
}
