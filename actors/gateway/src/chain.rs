//! The provider chain: construction, replacement on reload, and status.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use muster_providers::{Candidate, ChatRequest, Registry, ResolveError, Timeouts, image_tokens};
use tokio::sync::broadcast;

use super::balance::{Balance, LatencyKind, LoadTable, RouteLoad, Standing, arranged};
use super::breaker::{BreakerChanged, BreakerHandle};
use super::budget::BudgetGuard;
use super::cache::ResponseCache;
use super::error;
use super::messages::{ChainError, ProviderStatus};
use super::options::{ChainOptions, Provider, TokenCounter};
use muster_core::Clock;
use muster_core::supervise::Group;

/// Capacity of the broadcast channel of breaker changes; a slower receiver misses the oldest.
const CHANGES: usize = 256;

/// A provider with its circuit breaker.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) provider: Provider,
    pub(super) breaker: BreakerHandle,
    /// Names at the provider of the models that the settings name.
    upstreams: Vec<String>,
    loads: LoadTable,
}

/// A candidate model together with the provider that serves it.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) candidate: Candidate,
    pub(super) member: Arc<Member>,
}

impl Route {
    /// Returns the time limits of a call.
    pub(super) fn timeouts(&self, options: &ChainOptions) -> Timeouts {
        let names = [self.candidate.model_id.as_str(), self.candidate.upstream_model.as_str()];
        self.member.provider.timeouts.of(options.timeouts, names)
    }

    /// Returns the load of the model at this provider.
    pub(super) fn load(&self) -> &Arc<RouteLoad> {
        self.member.loads.of(&self.candidate.upstream_model)
    }

    fn standing(&self, kind: LatencyKind) -> Standing {
        Standing {
            weight: self.member.provider.weight,
            ready: self.member.breaker.is_ready(&self.candidate.upstream_model),
            load: self.load().of(kind),
        }
    }

    /// Whether requests are balanced between both.
    fn shares_with(&self, other: &Self) -> bool {
        let (one, other) = (&self.candidate, &other.candidate);
        one.is_same_model(other) && (one.named_by, one.stands_in) == (other.named_by, other.stands_in)
    }

    /// Returns the tokens of the images of a request at this provider.
    pub(super) fn image_tokens(&self, request: &ChatRequest) -> u32 {
        let (kind, model) = (self.member.provider.kind, self.candidate.upstream_model.as_str());
        let images = request.messages.iter().flat_map(|message| message.content.images());
        images.map(|image| image_tokens(kind, model, image)).fold(0, u32::saturating_add)
    }
}

#[derive(Debug)]
struct Inner {
    registry: Arc<Registry>,
    /// Members of the chain in order, followed by providers outside it.
    members: Vec<Arc<Member>>,
    by_id: HashMap<String, Arc<Member>>,
    options: ChainOptions,
    budgets: Option<Arc<BudgetGuard>>,
    shared: Arc<ChainShared>,
}

/// Parts that survive a change of settings.
#[derive(Debug)]
struct ChainShared {
    group: Group,
    arbiters: Vec<ArbiterHandle>,
    counter: Arc<dyn TokenCounter>,
    clock: Clock,
    changes: broadcast::Sender<BreakerChanged>,
    cache: ResponseCache,
}

/// Calls providers in order until one answers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Chain(Arc<Inner>);

impl Chain {
    /// Starts one breaker per provider, spread over the arbiters (at least one arbiter). A provider that is in the
    /// registry but not in `providers` is never called.
    #[expect(clippy::too_many_arguments, reason = "each is one part of the chain, named by the caller")]
    pub fn start(
        group: &Group,
        arbiters: &[ArbiterHandle],
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        counter: Arc<dyn TokenCounter>,
        options: ChainOptions,
        clock: &Clock,
        budgets: Option<BudgetGuard>,
    ) -> Self {
        let shared = ChainShared {
            group: group.clone(),
            arbiters: arbiters.to_vec(),
            counter,
            clock: clock.clone(),
            changes: broadcast::Sender::new(CHANGES),
            cache: ResponseCache::start(
                group,
                arbiters.first().cloned().unwrap_or_else(actix_rt::Arbiter::current),
                clock,
                options.cache_bytes,
            ),
        };
        Self::build(Arc::new(shared), registry, providers, options, budgets, &HashMap::new())
    }

    /// Returns a chain with new settings. Providers that remain keep their breaker's state unless the breaker options
    /// changed; removed providers' breakers are retired. Requests in progress continue on the old chain.
    #[must_use]
    pub fn replaced(
        &self,
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        options: ChainOptions,
        budgets: Option<BudgetGuard>,
    ) -> Self {
        let none = HashMap::new();
        let kept = if options.breaker == self.0.options.breaker { &self.0.by_id } else { &none };
        let chain = Self::build(Arc::clone(&self.0.shared), registry, providers, options, budgets, kept);
        self.0.shared.cache.clear();
        for (id, member) in &self.0.by_id {
            if !(kept.contains_key(id) && chain.0.by_id.contains_key(id)) {
                member.breaker.retire();
            }
        }
        chain
    }

    fn build(
        shared: Arc<ChainShared>,
        registry: Arc<Registry>,
        providers: Vec<Provider>,
        options: ChainOptions,
        budgets: Option<BudgetGuard>,
        kept: &HashMap<String, Arc<Member>>,
    ) -> Self {
        let member = |(provider, arbiter): (Provider, &ArbiterHandle)| {
            let breaker = match kept.get(&provider.id) {
                Some(member) => member.breaker.clone(),
                None => BreakerHandle::start(
                    &shared.group,
                    arbiter.clone(),
                    &provider.id,
                    options.breaker,
                    options.jitter.clone(),
                    shared.clock.clone(),
                    shared.changes.clone(),
                ),
            };
            let upstreams = upstreams(&registry, &provider);
            let loads = LoadTable::new(&upstreams, kept.get(&provider.id).map(|member| &member.loads));
            Arc::new(Member { provider, breaker, upstreams, loads })
        };
        let mut members: Vec<_> = providers.into_iter().zip(shared.arbiters.iter().cycle()).map(member).collect();
        members.sort_by_key(|member| order_in(&registry, &member.provider.id).unwrap_or(usize::MAX));
        let by_id = members.iter().map(|member| (member.provider.id.clone(), Arc::clone(member))).collect();
        Self(Arc::new(Inner { registry, members, by_id, options, budgets: budgets.map(Arc::new), shared }))
    }

    /// Returns the routes of the resolved candidates; `requested_model` is the first model named by the request.
    pub(super) fn routes(
        &self,
        resolved: Result<Vec<Candidate>, ResolveError>,
        requested_model: Option<&str>,
    ) -> Result<Vec<Route>, ChainError> {
        let failure = |error| ChainError { error, attempts: Vec::new() };
        let candidates = resolved.map_err(|error| failure(error::unresolved(error)))?;
        let routes: Vec<Route> = candidates
            .into_iter()
            .filter_map(|candidate| {
                let member = Arc::clone(self.0.by_id.get(&candidate.provider_id)?);
                Some(Route { candidate, member })
            })
            .collect();
        if routes.is_empty() { Err(failure(error::no_adapter(requested_model))) } else { Ok(routes) }
    }

    /// Arranges the routes of one model by the balance; the order of the models stays as it is.
    pub(super) fn balanced(&self, routes: Vec<Route>, kind: LatencyKind) -> Vec<Route> {
        let options = self.options();
        if options.balance == Balance::Order || routes.len() < 2 {
            return routes;
        }
        let of_one_model = |routes: &[Route]| {
            let standings: Vec<Standing> = routes.iter().map(|route| route.standing(kind)).collect();
            let order = arranged(options.balance, &standings, || options.jitter.draw());
            order.into_iter().filter_map(|place| routes.get(place).cloned()).collect::<Vec<_>>()
        };
        routes.chunk_by(Route::shares_with).flat_map(of_one_model).collect()
    }

    #[cfg(test)]
    pub(super) fn holders(&self) -> usize {
        self.0.members.iter().map(|member| member.breaker.holders()).sum()
    }

    pub(super) fn options(&self) -> &ChainOptions {
        &self.0.options
    }

    pub(super) fn budgets(&self) -> Option<&Arc<BudgetGuard>> {
        self.0.budgets.as_ref()
    }

    pub(super) fn cache(&self) -> &ResponseCache {
        &self.0.shared.cache
    }

    pub(super) fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.0.shared.counter
    }

    /// Returns every provider with its breaker status, in chain order. Does not block.
    pub fn status(&self) -> Vec<ProviderStatus> {
        let status = |member: &Arc<Member>| {
            let Provider { id, kind, models, .. } = &member.provider;
            ProviderStatus {
                id: id.clone(),
                kind: *kind,
                order: order_in(&self.0.registry, id),
                models: models.clone(),
                missing_key: self.0.registry.missing_key(id).map(str::to_owned),
                breaker: member.breaker.status(&member.upstreams),
            }
        };
        self.0.members.iter().map(status).collect()
    }

    /// Returns the time until a provider of the chain accepts calls: zero if one does now, `None` if the chain is
    /// empty.
    pub fn soonest_probe(&self) -> Option<Duration> {
        let chained = self.0.members.iter().filter(|member| order_in(&self.0.registry, &member.provider.id).is_some());
        chained.map(|member| member.breaker.wait(&member.upstreams).unwrap_or_default()).min()
    }

    /// Returns whether calls of a model at a provider are refused now because a breaker is open.
    pub fn circuit_open(&self, provider: &str, model: &str) -> bool {
        let Some(member) = self.0.by_id.get(provider) else { return false };
        let upstream = upstream_of(&self.0.registry, provider, model);
        member.breaker.is_open(upstream.as_deref().unwrap_or(model))
    }

    /// Subscribes to breaker state changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<BreakerChanged> {
        self.0.shared.changes.subscribe()
    }

    /// Returns the registry that this chain resolves models with.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }
}

/// Returns the names at a provider of the models that the settings name.
fn upstreams(registry: &Registry, provider: &Provider) -> Vec<String> {
    let named = provider.models.iter().filter(|model| *model != "*");
    named.filter_map(|model| upstream_of(registry, &provider.id, model)).collect()
}

fn upstream_of(registry: &Registry, provider: &str, model: &str) -> Option<String> {
    let names = [format!("{provider}/{model}"), model.to_owned()];
    let candidates = names.into_iter().filter_map(|name| registry.resolve(Some(&name)).ok()).flatten();
    let mut own = candidates.filter(|candidate| candidate.provider_id == provider);
    own.next().map(|candidate| candidate.upstream_model)
}

fn order_in(registry: &Registry, id: &str) -> Option<usize> {
    registry.chain().position(|chained| chained == id)
}
