//! The chain's three ways to be asked: for a whole answer, a stream, vectors.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::ready;
use muster_providers::{Call, EmbedCall, Fault, Usage};
use tokio::time::Instant;

use super::bill::Bill;
use super::chain::{Chain, Route};
use super::messages::{Answer, ChainError, ChatAsk, EmbedAsk, Embedded, Settlement, Spend};
use super::meter::{self, Meter};
use super::open::{Opened, open};
use super::settle::Account;
use super::stream::Streaming;
use super::walk::{Money, Terms, Walk, Won};
use muster_limits::ledger::{Hold, Outcome};

impl Chain {
    /// A whole answer. Dropping the future cancels the provider's work at once.
    pub async fn complete(&self, ask: ChatAsk) -> Result<Answer, ChainError> {
        let started = Instant::now();
        let bill = self.bill(ask.spend.as_ref(), ask.models.first());
        let walk = match self.walk(&ask, started) {
            Ok(walk) => walk,
            Err(refused) => return Err(failed(bill, refused)),
        };
        let won = walk
            .run(|route| match beyond(route, &ask) {
                Some(fault) => ready(Err(fault)).boxed(),
                None => route.member.provider.adapter.complete(self.call(&ask, route)),
            })
            .await;
        let won = match won {
            Ok(won) => won,
            Err(refused) => return Err(failed(bill, refused)),
        };
        won.permit.done(won.latency);
        let reply = won.value;
        let meter = Meter::new(self.counter(), &won.route, self.call(&ask, &won.route));
        let usage = reply.usage.unwrap_or_else(|| meter.counted(&reply));
        let cost_nanos = meter.cost_nanos(usage);
        paid(bill, &won.route.candidate.model_id, won.hold, usage, cost_nanos);
        Ok(Answer {
            cost_nanos,
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
        let bill = self.bill(ask.spend.as_ref(), ask.models.first());
        let mut account = Account::open(started, bill, Box::new(settle));
        match self.open_stream(&ask, started).await {
            Ok(mut won) => {
                let meter = Meter::new(self.counter(), &won.route, self.call(&ask, &won.route));
                let hold = std::mem::replace(&mut won.hold, Hold::none());
                Ok(Streaming::new(won, account.with_meter(meter, hold), self.options(), started))
            }
            Err(refused) => {
                account.fail();
                Err(refused)
            }
        }
    }

    /// Vectors, in the order of the texts. Dropping the future cancels the provider's work at once.
    pub async fn embed(&self, ask: EmbedAsk) -> Result<Embedded, ChainError> {
        let started = Instant::now();
        let asked = ask.model.as_deref();
        let bill = self.bill(ask.spend.as_ref(), ask.model.as_ref());
        let routes = match self.routes(self.registry().resolve_embedding(asked), asked) {
            Ok(routes) => routes,
            Err(refused) => return Err(failed(bill, refused)),
        };
        let money = self.money(ask.spend.as_ref());
        let terms = Terms { asked, request_id: &ask.request_id, money, ..Terms::default() };
        let call = |route: &Route| EmbedCall {
            upstream_model: route.candidate.upstream_model.clone(),
            request: Arc::clone(&ask.request),
            timeouts: self.options().timeouts,
            request_id: ask.request_id.clone(),
            traceparent: ask.traceparent.clone(),
        };
        let won = Walk::new(self.options(), terms, routes, started)
            .run(|route| route.member.provider.adapter.embed(call(route)))
            .await;
        let won = match won {
            Ok(won) => won,
            Err(refused) => return Err(failed(bill, refused)),
        };
        won.permit.done(won.latency);
        let reply = won.value;
        let candidate = won.route.candidate;
        let counted = || meter::inputs(&**self.counter(), &candidate.model_id, &ask.request);
        let usage = reply.usage.unwrap_or_else(counted);
        let cost_nanos = candidate.price.map(|price| price.nanos(usage));
        paid(bill, &candidate.model_id, won.hold, usage, cost_nanos);
        Ok(Embedded {
            cost_nanos,
            usage,
            reply,
            model_id: candidate.model_id,
            provider_id: candidate.provider_id,
            attempts: won.attempts,
            latency: started.elapsed(),
        })
    }

    async fn open_stream(&self, ask: &ChatAsk, started: Instant) -> Result<Won<Opened>, ChainError> {
        let hold_back = self.options().hold_back;
        let adapter = |route: &Route| Arc::clone(&route.member.provider.adapter);
        self.walk(ask, started)?
            .run(|route| match beyond(route, ask) {
                Some(fault) => ready(Err(fault)).boxed(),
                None => open(adapter(route), self.call(ask, route), hold_back).boxed(),
            })
            .await
    }

    fn walk<'a>(&'a self, ask: &'a ChatAsk, started: Instant) -> Result<Walk<'a>, ChainError> {
        let asked = ask.models.first().map(String::as_str);
        let routes = self.routes(self.registry().resolve_list(&ask.models), asked)?;
        let terms = Terms {
            asked,
            request_id: &ask.request_id,
            deadline: ask.deadline,
            retries: ask.retries,
            hedge_after: ask.hedge_after,
            money: self.money(ask.spend.as_ref()),
        };
        Ok(Walk::new(self.options(), terms, routes, started))
    }

    fn bill(&self, spend: Option<&Spend>, asked: Option<&String>) -> Bill {
        Bill::open(self.till(), spend, asked.map(String::as_str))
    }

    fn money<'a>(&'a self, spend: Option<&'a Spend>) -> Option<Money<'a>> {
        let till = self.till()?;
        Some(Money { till, spend: spend? })
    }

    fn call(&self, ask: &ChatAsk, route: &Route) -> Call {
        Call {
            upstream_model: route.candidate.upstream_model.clone(),
            takes_sampling: route.candidate.takes_sampling,
            request: Arc::clone(&ask.request),
            timeouts: self.options().timeouts,
            request_id: ask.request_id.clone(),
            traceparent: ask.traceparent.clone(),
        }
    }
}

/// A field that this provider would not honour, where the request has one.
fn beyond(route: &Route, ask: &ChatAsk) -> Option<Fault> {
    let field = ask.request.beyond?;
    let honoured = route.member.provider.adapter.takes_verbatim(&ask.request);
    let words = || format!("{} does not support `{field}`: leave it out", route.candidate.provider_id);
    (!honoured).then(|| Fault::unsupported(field, words()))
}

/// Enters a request that nobody answered.
fn failed(bill: Bill, refused: ChainError) -> ChainError {
    bill.close(Outcome::Failed, Usage::default(), Some(0));
    refused
}

fn paid(mut bill: Bill, model_id: &str, hold: Hold, usage: Usage, cost_nanos: Option<u64>) {
    bill.answered_by(model_id, hold);
    bill.close(Outcome::Ok, usage, cost_nanos);
}
