//! The chain: its start, its members, its status.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_providers::{Candidate, Registry, ResolveError};
use tokio::sync::broadcast;

use super::bill::Till;
use super::breaker::{BreakerChanged, BreakerPort};
use super::failure;
use super::messages::{ChainError, ProviderStatus};
use super::options::{ChainOptions, Provider, TokenCounter};
use muster_core::Clock;
use muster_core::supervise::Group;

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
    till: Option<Arc<Till>>,
    house: Arc<House>,
}

/// What stays when the settings change.
#[derive(Debug)]
struct House {
    group: Group,
    arbiters: Vec<ArbiterHandle>,
    counter: Arc<dyn TokenCounter>,
    clock: Clock,
    changes: broadcast::Sender<BreakerChanged>,
}

/// Asks the providers in their order until one answers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Chain(Arc<Inner>);

impl Chain {
    /// Starts a breaker for each provider, spread over the arbiters (at least one). A provider of the registry that is
    /// not among `providers` is never asked.
    #[expect(clippy::too_many_arguments, reason = "each is one part of the chain, named where it is given")]
    pub fn start(
        group: &Group,
        arbiters: &[ArbiterHandle],
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        counter: Arc<dyn TokenCounter>,
        options: ChainOptions,
        clock: &Clock,
        till: Option<Till>,
    ) -> Self {
        let house = House {
            group: group.clone(),
            arbiters: arbiters.to_vec(),
            counter,
            clock: clock.clone(),
            changes: broadcast::Sender::new(CHANGES),
        };
        Self::built(Arc::new(house), registry, providers, options, till, &HashMap::new())
    }

    /// The chain of other settings. Providers that stay keep what their breakers know, unless the breakers' own options
    /// changed; those that are gone are retired. Requests under way go on along the old chain.
    #[must_use]
    pub fn replaced(
        &self,
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        options: ChainOptions,
        till: Option<Till>,
    ) -> Self {
        let nobody = HashMap::new();
        let standing = if options.breaker == self.0.options.breaker { &self.0.by_id } else { &nobody };
        let chain = Self::built(Arc::clone(&self.0.house), registry, providers, options, till, standing);
        for (id, member) in &self.0.by_id {
            if !(standing.contains_key(id) && chain.0.by_id.contains_key(id)) {
                member.breaker.retire();
            }
        }
        chain
    }

    fn built(
        house: Arc<House>,
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        options: ChainOptions,
        till: Option<Till>,
        standing: &HashMap<String, Arc<Member>>,
    ) -> Self {
        let member = |(provider, arbiter): (Provider, &ArbiterHandle)| {
            let breaker = match standing.get(&provider.id) {
                Some(member) => member.breaker.clone(),
                None => BreakerPort::start(
                    &house.group,
                    arbiter.clone(),
                    &provider.id,
                    options.breaker,
                    options.jitter.clone(),
                    house.clock.clone(),
                    house.changes.clone(),
                ),
            };
            Arc::new(Member { provider, breaker })
        };
        let mut members: Vec<_> = providers.into_iter().zip(house.arbiters.iter().cycle()).map(member).collect();
        members.sort_by_key(|member| order_in(&registry, &member.provider.id).unwrap_or(usize::MAX));
        let by_id = members.iter().map(|member| (member.provider.id.clone(), Arc::clone(member))).collect();
        Self(Arc::new(Inner { registry, members, by_id, options, till: till.map(Arc::new), house }))
    }

    /// The routes of what the registry found; `asked` is the model named first.
    pub(super) fn routes(
        &self,
        found: Result<Vec<Candidate>, ResolveError>,
        asked: Option<&str>,
    ) -> Result<Vec<Route>, ChainError> {
        let refused = |error| ChainError { error, attempts: Vec::new() };
        let candidates = found.map_err(|error| refused(failure::unresolved(error)))?;
        let routes: Vec<Route> = candidates
            .into_iter()
            .filter_map(|candidate| {
                let member = Arc::clone(self.0.by_id.get(&candidate.provider_id)?);
                Some(Route { candidate, member })
            })
            .collect();
        if routes.is_empty() { Err(refused(failure::no_adapter(asked))) } else { Ok(routes) }
    }

    #[cfg(test)]
    pub(super) fn holders(&self) -> usize {
        self.0.members.iter().map(|member| member.breaker.holders()).sum()
    }

    pub(super) fn options(&self) -> &ChainOptions {
        &self.0.options
    }

    pub(super) fn till(&self) -> Option<&Arc<Till>> {
        self.0.till.as_ref()
    }

    pub(super) fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.0.house.counter
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
        self.0.house.changes.subscribe()
    }

    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }
}

fn order_in(registry: &Registry, id: &str) -> Option<usize> {
    registry.chain().position(|chained| chained == id)
}
