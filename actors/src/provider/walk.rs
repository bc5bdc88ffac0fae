//! One request's way through the chain: provider after provider, and again after a back-off, inside one deadline.

use std::time::Duration;

use futures::future::BoxFuture;
use muster_providers::{Call, ClientFault, Fault, FaultClass};
use tokio::time::{Instant, sleep, timeout_at};

use super::breaker::{Entry, Permit};
use super::chain::Route;
use super::failure::{self, Losses};
use super::messages::{Attempt, AttemptOutcome, ChainError, ChatAsk};
use super::options::ChainOptions;

/// A provider's answer, with the permit that is still to be reported.
pub(super) struct Won<T> {
    pub(super) value: T,
    pub(super) permit: Permit,
    pub(super) route: Route,
    pub(super) call: Call,
    pub(super) attempts: Vec<Attempt>,
    /// Of the attempt that won.
    pub(super) latency: Duration,
}

/// What comes after an attempt.
enum Next<T> {
    Won {
        value: T,
        permit: Permit,
        call: Call,
        latency: Duration,
    },
    /// The next provider; this one again after a back-off, where that makes sense.
    GoOn {
        again: bool,
    },
    /// The request itself is at fault: no other provider would take it.
    Refuse(Fault),
    OutOfTime,
}

pub(super) struct Walk<'a> {
    options: &'a ChainOptions,
    ask: &'a ChatAsk,
    routes: Vec<Route>,
    allowed: Duration,
    deadline: Instant,
    attempts: Vec<Attempt>,
    calls: usize,
    losses: Losses,
}

impl<'a> Walk<'a> {
    pub(super) fn new(options: &'a ChainOptions, ask: &'a ChatAsk, routes: Vec<Route>, started: Instant) -> Self {
        let allowed = ask.deadline.unwrap_or(options.deadline);
        let losses = Losses::default();
        Self { options, ask, routes, allowed, deadline: started + allowed, attempts: Vec::new(), calls: 0, losses }
    }

    /// Goes on until `run` succeeds with one route. Dropping the future drops the call in hand with its permit.
    pub(super) async fn run<T>(
        mut self,
        mut run: impl FnMut(&Route, Call) -> BoxFuture<'static, Result<T, Fault>>,
    ) -> Result<Won<T>, ChainError> {
        let mut round: Vec<Route> = std::mem::take(&mut self.routes);
        for retry in 0.. {
            let mut again = Vec::new();
            for route in round {
                if self.calls >= self.options.max_attempts {
                    return Err(self.lost());
                }
                match self.attempt(&route, &mut run).await {
                    Next::Won { value, permit, call, latency } => {
                        return Ok(Won { value, permit, route, call, attempts: self.attempts, latency });
                    }
                    Next::GoOn { again: true } => again.push(route),
                    Next::GoOn { again: false } => {}
                    Next::Refuse(fault) => {
                        return Err(ChainError { error: failure::refused(fault), attempts: self.attempts });
                    }
                    Next::OutOfTime => {
                        self.losses.deadline = Some(self.allowed);
                        return Err(self.lost());
                    }
                }
            }
            if again.is_empty() || retry >= self.options.retries || !self.back_off(retry).await {
                break;
            }
            round = again;
        }
        Err(self.lost())
    }

    async fn attempt<T>(
        &mut self,
        route: &Route,
        run: &mut impl FnMut(&Route, Call) -> BoxFuture<'static, Result<T, Fault>>,
    ) -> Next<T> {
        let Some(permit) = self.permit(route).await else { return Next::GoOn { again: false } };
        let call = self.call(route);
        self.calls += 1;
        let begun = Instant::now();
        let outcome = timeout_at(self.deadline, run(route, call.clone())).await;
        let latency = begun.elapsed();
        match outcome {
            Ok(Ok(value)) => {
                self.note(route, AttemptOutcome::Ok, latency);
                Next::Won { value, permit, call, latency }
            }
            Ok(Err(fault)) => self.judge(route, permit, fault, latency),
            Err(_) => {
                self.note(route, AttemptOutcome::Deadline, latency);
                // It is only to blame where it had the time that its own phase is given.
                if latency >= self.options.timeouts.headers {
                    let words = format!("no answer within {} ms", latency.as_millis());
                    permit.fault(&Fault::transient(muster_providers::Phase::Headers, words));
                }
                Next::OutOfTime
            }
        }
    }

    /// Leave of the route's breaker; `None` is noted.
    async fn permit(&mut self, route: &Route) -> Option<Permit> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (outcome, wait) = match route.member.breaker.admit(left).await {
            Ok(Entry::Granted(permit)) => return Some(permit),
            Ok(Entry::Refused { retry_in }) => (AttemptOutcome::OpenCircuit, retry_in),
            Err(error) => {
                tracing::warn!(provider = route.candidate.provider_id, %error, "breaker could not be asked");
                (AttemptOutcome::Unavailable, error.retry_after)
            }
        };
        self.losses.wait_for(wait);
        self.note(route, outcome, Duration::ZERO);
        None
    }

    fn judge<T>(&mut self, route: &Route, permit: Permit, fault: Fault, latency: Duration) -> Next<T> {
        let provider = route.candidate.provider_id.as_str();
        let outcome = outcome_of(route, &fault);
        tracing::warn!(
            provider,
            model = route.candidate.upstream_model,
            ?outcome,
            phase = ?fault.phase,
            status = fault.status,
            latency_ms = latency.as_millis(),
            request_id = self.ask.request_id,
            fault = fault.message,
            "provider attempt failed"
        );
        self.note(route, outcome, latency);
        match outcome {
            AttemptOutcome::NotReady => {
                drop(permit);
                self.losses.not_ready = Some(fault);
            }
            AttemptOutcome::UnknownModel => {
                permit.client_fault();
                self.losses.unknown = Some(fault);
            }
            AttemptOutcome::Unsupported => {
                drop(permit);
                self.losses.unsupported.get_or_insert(fault);
            }
            AttemptOutcome::Client => {
                permit.client_fault();
                return Next::Refuse(fault);
            }
            _ => {
                permit.fault(&fault);
                self.losses.failed = Some((provider.to_owned(), fault));
            }
        }
        Next::GoOn { again: outcome == AttemptOutcome::Transient }
    }

    /// Waits with full jitter (Brooker 2015, "Exponential Backoff And Jitter"); false where the deadline would pass.
    async fn back_off(&self, retry: u32) -> bool {
        let longest = self.options.backoff.saturating_mul(1 << retry.min(16)).min(self.options.max_backoff);
        let wait = longest.mul_f64(self.options.jitter.draw().clamp(0.0, 1.0));
        if Instant::now() + wait >= self.deadline {
            return false;
        }
        sleep(wait).await;
        true
    }

    fn call(&self, route: &Route) -> Call {
        Call {
            upstream_model: route.candidate.upstream_model.clone(),
            takes_sampling: route.candidate.takes_sampling,
            request: std::sync::Arc::clone(&self.ask.request),
            timeouts: self.options.timeouts,
            request_id: self.ask.request_id.clone(),
            traceparent: self.ask.traceparent.clone(),
        }
    }

    fn note(&mut self, route: &Route, outcome: AttemptOutcome, latency: Duration) {
        self.attempts.push(Attempt {
            provider: route.candidate.provider_id.clone(),
            model: route.candidate.model_id.clone(),
            outcome,
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
        });
    }

    fn lost(self) -> ChainError {
        ChainError { error: self.losses.conclude(self.ask.models.first().map(String::as_str)), attempts: self.attempts }
    }
}

fn outcome_of(route: &Route, fault: &Fault) -> AttemptOutcome {
    if route.candidate.excuses(fault) {
        return AttemptOutcome::UnknownModel;
    }
    match fault.class {
        FaultClass::Transient if failure::is_not_ready(fault) => AttemptOutcome::NotReady,
        FaultClass::Transient => AttemptOutcome::Transient,
        FaultClass::Throttled => AttemptOutcome::Throttled,
        FaultClass::Hard => AttemptOutcome::Hard,
        FaultClass::Client if fault.client == Some(ClientFault::Unsupported) => AttemptOutcome::Unsupported,
        FaultClass::Client => AttemptOutcome::Client,
    }
}
