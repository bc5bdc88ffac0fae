//! Public request methods of the chain: complete chat, streamed chat, embeddings.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::ready;
use muster_providers::{Call, Candidate, ChatReply, EmbedCall, Fault, Usage};
use tokio::time::Instant;

use super::account::StreamAccount;
use super::balance::LatencyKind;
use super::budget::{PendingEntry, Requested};
use super::cache::{CachePlace, CacheUse, CachedAnswer, CachedContent, Form, size_of};
use super::chain::{Chain, Route};
use super::failover::{Failover, OnExhausted, PaidBy, RequestLimits, Served};
use super::messages::{
    ChainError, CompletedChat, CompletedEmbedding, GatewayChatRequest, GatewayEmbedRequest, Settlement, Spend,
};
use super::meter::{self, Meter};
use super::permitted::permitted;
use super::stream::AnswerStream;
use super::stream_open::{Opened, open};
use muster_limits::ledger::{Hold, Outcome};

impl Chain {
    /// Returns a complete chat answer. Dropping the future cancels the provider's call immediately.
    ///
    /// # Errors
    /// [`ChainError`] when no provider answered; it lists the attempts.
    pub async fn complete(&self, request: GatewayChatRequest) -> Result<CompletedChat, ChainError> {
        let started = Instant::now();
        let entry = self.pending_entry(request.spend.as_ref(), request.models.first());
        let failover = match self.failover(&request, LatencyKind::Complete, started) {
            Ok(failover) => failover,
            Err(error) => return Err(record_failure(entry, error)),
        };
        let place = self.cache().place(&request, Form::Whole);
        if let Some((answer, age)) = find(place.as_ref()).await
            && let CachedContent::Whole(reply) = &answer.content
        {
            return Ok(repeated(&answer, reply, age, entry, started));
        }
        let served = failover
            .run(|route| match unsupported_field(route, &request) {
                Some(fault) => ready(Err(fault)).boxed(),
                None => route.member.provider.adapter.complete(self.call(&request, route)),
            })
            .await;
        let served = match served {
            Ok(served) => served,
            Err(error) => return Err(record_failure(entry, error)),
        };
        served.permit.done(served.latency);
        let reply = served.value;
        let meter = self.meter(&request, &served.route);
        let usage = reply.usage.unwrap_or_else(|| meter.counted(&reply));
        let cost_nanos = meter.cost_nanos(usage);
        served.outrun.into_iter().for_each(|account| account.outrun(usage.completion_tokens));
        record_success(entry, &served.route.candidate, served.hold, usage, cost_nanos);
        if let Some(place) = &place {
            let Candidate { provider_id, model_id, .. } = served.route.candidate.clone();
            let content = CachedContent::Whole(Box::new(reply.clone()));
            let answer = CachedAnswer { provider_id, model_id, substitute: served.substitute, usage, content };
            place.store(answer, size_of(&reply));
        }
        Ok(CompletedChat {
            cache: if place.is_some() { CacheUse::Miss } else { CacheUse::Off },
            cost_nanos,
            usage,
            reply,
            model_id: served.route.candidate.model_id,
            provider_id: served.route.candidate.provider_id,
            substitute: served.substitute,
            attempts: served.attempts,
            latency: started.elapsed(),
            despite_open: served.despite_open,
        })
    }

    /// Returns a streamed chat answer once its first delta has arrived. `settle` is called exactly once in every case,
    /// including when this future is dropped; it runs where the stream is polled or dropped, and must not block.
    ///
    /// # Errors
    /// [`ChainError`] when no provider produced a first delta; it lists the attempts.
    pub async fn stream(
        &self,
        request: GatewayChatRequest,
        settle: impl FnOnce(Settlement) + Send + 'static,
    ) -> Result<AnswerStream, ChainError> {
        let started = Instant::now();
        let entry = self.pending_entry(request.spend.as_ref(), request.models.first());
        let mut account = StreamAccount::open(started, entry, Box::new(settle));
        let failover = match self.failover(&request, LatencyKind::FirstContent, started) {
            Ok(failover) => failover,
            Err(error) => {
                account.fail();
                return Err(error);
            }
        };
        let place = self.cache().place(&request, Form::Stream);
        if let Some((answer, age)) = find(place.as_ref()).await
            && let CachedContent::Events(events) = &answer.content
        {
            account.cached(&answer.provider_id, &answer.model_id);
            return Ok(AnswerStream::repeated(&answer, age, events, account, started));
        }
        match self.open_stream(&request, failover).await {
            Ok(mut served) => {
                let meter = self.meter(&request, &served.route);
                let hold = std::mem::replace(&mut served.hold, Hold::none());
                let account = account.with_meter(meter, hold, std::mem::take(&mut served.outrun));
                let stream = AnswerStream::new(served, account, self.options(), started);
                Ok(match &place {
                    Some(place) => stream.recorded(place),
                    None => stream,
                })
            }
            Err(error) => {
                account.fail();
                Err(error)
            }
        }
    }

    /// Returns embedding vectors in the order of the input texts. Dropping the future cancels the provider's call
    /// immediately.
    ///
    /// # Errors
    /// [`ChainError`] when no provider answered; it lists the attempts.
    pub async fn embed(&self, request: GatewayEmbedRequest) -> Result<CompletedEmbedding, ChainError> {
        let started = Instant::now();
        let requested_model = request.model.as_deref();
        let entry = self.pending_entry(request.spend.as_ref(), request.model.as_ref());
        let routes = match self.routes(self.registry().resolve_embedding(requested_model), requested_model) {
            Ok(routes) => routes,
            Err(error) => return Err(record_failure(entry, error)),
        };
        let rules = request.spend.as_ref().map(|spend| &spend.models);
        let routes = match permitted(self.registry(), routes, request.model.as_slice(), rules) {
            Ok(routes) => routes,
            Err(error) => return Err(record_failure(entry, error)),
        };
        let paid_by = self.paid_by(request.spend.as_ref());
        let routes = self.balanced(routes, LatencyKind::Complete);
        let limits =
            RequestLimits { requested_model, request_id: &request.request_id, paid_by, ..RequestLimits::default() };
        let call = |route: &Route| EmbedCall {
            upstream_model: route.candidate.upstream_model.clone(),
            request: Arc::clone(&request.request),
            timeouts: route.timeouts(self.options()),
            request_id: request.request_id.clone(),
            traceparent: request.traceparent.clone(),
        };
        let served = Failover::new(self.options(), limits, routes, started)
            .run(|route| route.member.provider.adapter.embed(call(route)))
            .await;
        let served = match served {
            Ok(served) => served,
            Err(error) => return Err(record_failure(entry, error)),
        };
        served.permit.done(served.latency);
        let reply = served.value;
        let candidate = served.route.candidate;
        let counted = || meter::inputs(&**self.counter(), &candidate.model_id, &request.request);
        let usage = reply.usage.unwrap_or_else(counted);
        let cost_nanos = candidate.price.map(|price| price.nanos(usage));
        record_success(entry, &candidate, served.hold, usage, cost_nanos);
        Ok(CompletedEmbedding {
            cost_nanos,
            usage,
            reply,
            model_id: candidate.model_id,
            provider_id: candidate.provider_id,
            substitute: served.substitute,
            attempts: served.attempts,
            latency: started.elapsed(),
        })
    }

    async fn open_stream(
        &self,
        request: &GatewayChatRequest,
        failover: Failover<'_>,
    ) -> Result<Served<Opened>, ChainError> {
        let hold_back = self.options().hold_back;
        let adapter = |route: &Route| Arc::clone(&route.member.provider.adapter);
        failover
            .run(|route| match unsupported_field(route, request) {
                Some(fault) => ready(Err(fault)).boxed(),
                None => open(adapter(route), self.call(request, route), hold_back).boxed(),
            })
            .await
    }

    fn failover<'a>(
        &'a self,
        request: &'a GatewayChatRequest,
        latency: LatencyKind,
        started: Instant,
    ) -> Result<Failover<'a>, ChainError> {
        let requested_model = request.models.first().map(String::as_str);
        let routes = self.routes(self.registry().resolve_list(&request.models), requested_model)?;
        let rules = request.spend.as_ref().map(|spend| &spend.models);
        let routes = permitted(self.registry(), routes, &request.models, rules)?;
        let routes = self.balanced(routes, latency);
        let on_exhausted = if request.models.len() > 1 { OnExhausted::NextModel } else { OnExhausted::Refuse };
        let limits = RequestLimits {
            requested_model,
            request_id: &request.request_id,
            deadline: request.deadline,
            retries: request.retries,
            hedge_after: request.hedge_after,
            request: Requested::Chat(&request.request),
            paid_by: self.paid_by(request.spend.as_ref()),
            latency,
            on_exhausted,
        };
        Ok(Failover::new(self.options(), limits, routes, started))
    }

    pub(super) fn pending_entry(&self, spend: Option<&Spend>, requested_model: Option<&String>) -> PendingEntry {
        // A name that a client invented would be a row of the ledger for each of them.
        let known = |name: &&str| self.registry().names_model(name);
        let requested = requested_model.map(|name| Some(name.as_str()).filter(known).unwrap_or("other"));
        PendingEntry::open(self.budgets(), spend, requested)
    }

    pub(super) fn paid_by<'a>(&'a self, spend: Option<&'a Spend>) -> Option<PaidBy<'a>> {
        let budgets = self.budgets()?;
        Some(PaidBy { budgets, spend: spend? })
    }

    fn meter(&self, request: &GatewayChatRequest, route: &Route) -> Meter {
        let spend = request.spend.as_ref();
        let reserved = spend.map(|spend| spend.max_usage_at(Some(&request.request), route).prompt_tokens);
        Meter::new(self.counter(), route, self.call(request, route), reserved.unwrap_or_default())
    }

    fn call(&self, request: &GatewayChatRequest, route: &Route) -> Call {
        Call {
            upstream_model: route.candidate.upstream_model.clone(),
            takes_sampling: route.candidate.takes_sampling,
            reasons: route.candidate.reasons,
            max_output: route.candidate.max_output,
            request: Arc::clone(&request.request),
            timeouts: route.timeouts(self.options()),
            request_id: request.request_id.clone(),
            traceparent: request.traceparent.clone(),
        }
    }
}

/// Returns a fault if the request uses a field that this provider would not honour. A request that is forwarded keeps
/// its sampling parameters, and the provider decides on them.
fn unsupported_field(route: &Route, request: &GatewayChatRequest) -> Option<Fault> {
    let (chat, candidate) = (&request.request, &route.candidate);
    let sampling = || chat.sampling_field().filter(|_| !candidate.takes_sampling).map(Cow::Borrowed);
    let field = chat.unsupported_field.clone().or_else(sampling)?;
    if route.member.provider.adapter.forwards_verbatim(chat) {
        return None;
    }
    let message =
        format!("{} at {} does not support `{field}`: leave it out", candidate.model_id, candidate.provider_id);
    Some(Fault::unsupported(field, message))
}

/// Records a request that no provider answered in the ledger, as failed and free of charge.
pub(super) fn record_failure(entry: PendingEntry, error: ChainError) -> ChainError {
    entry.close(Outcome::Failed, Usage::default(), Some(0));
    error
}

/// Returns what the cache has for a request.
async fn find(place: Option<&CachePlace>) -> Option<(Arc<CachedAnswer>, Duration)> {
    place?.find().await
}

/// Returns a stored answer, and records it in the ledger as free of charge.
fn repeated(
    answer: &CachedAnswer,
    reply: &ChatReply,
    age: Duration,
    mut entry: PendingEntry,
    started: Instant,
) -> CompletedChat {
    entry.answered_by(&answer.provider_id, &answer.model_id, Hold::none());
    entry.close(Outcome::Cached, Usage::default(), Some(0));
    CompletedChat {
        reply: reply.clone(),
        usage: answer.usage,
        model_id: answer.model_id.clone(),
        provider_id: answer.provider_id.clone(),
        substitute: answer.substitute,
        attempts: Vec::new(),
        cost_nanos: Some(0),
        latency: started.elapsed(),
        despite_open: false,
        cache: CacheUse::Hit { age },
    }
}

fn record_success(mut entry: PendingEntry, candidate: &Candidate, hold: Hold, usage: Usage, cost_nanos: Option<u64>) {
    entry.answered_by(&candidate.provider_id, &candidate.model_id, hold);
    entry.close(Outcome::Ok, usage, cost_nanos);
}
