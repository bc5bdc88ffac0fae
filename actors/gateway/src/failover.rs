//! Failover: tries one provider after another within one deadline, with further rounds after a back-off.
//!
//! It is the same for complete answers, streams and embeddings. If the request hedges, a second call is started beside
//! a slow one. Every call starts in `ProviderCall::start` and ends in `Failover::end`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Candidate, Fault, Phase};
use tokio::time::{Instant, sleep, sleep_until};

use super::balance::{InFlight, LatencyKind};
use super::breaker::{Entry, Permit, PermitDecision, Reason};
use super::budget::{BudgetGuard, CallAccount, Requested};
use super::call::{CallFuture, CallOutcome, CallRole, FinishedCall, ProviderCall, next_outcome};
use super::chain::Route;
use super::error::{FailedAttempts, outcome_of};
use super::messages::{Attempt, AttemptOutcome, ChainError, Spend, Substitute};
use super::options::ChainOptions;
use muster_core::supervise::CallError;
use muster_core::{Error, Kind};
use muster_limits::ledger::Hold;

/// Limits of one request; `None` uses the chain's options.
#[derive(Debug, Default)]
pub(super) struct RequestLimits<'a> {
    /// First model named by the request.
    pub(super) requested_model: Option<&'a str>,
    pub(super) request_id: &'a str,
    pub(super) deadline: Option<Duration>,
    pub(super) retries: Option<u32>,
    pub(super) hedge_after: Option<Duration>,
    /// What is requested.
    pub(super) request: Requested<'a>,
    pub(super) paid_by: Option<PaidBy<'a>>,
    pub(super) latency: LatencyKind,
    pub(super) on_exhausted: OnExhausted,
}

/// What follows where a budget does not cover the model of a route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OnExhausted {
    /// The request is refused, unless another provider of the same model is within the budget.
    #[default]
    Refuse,
    /// The next model is tried: the request lists several.
    NextModel,
}

/// Budget that pays for a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct PaidBy<'a> {
    pub(super) budgets: &'a Arc<BudgetGuard>,
    pub(super) spend: &'a Spend,
}

/// A provider's answer, with the permit that is still to be reported.
pub(super) struct Served<T> {
    pub(super) value: T,
    pub(super) permit: Permit,
    /// Reservation for the call, still to be settled.
    pub(super) hold: Hold,
    pub(super) route: Route,
    pub(super) attempts: Vec<Attempt>,
    /// Latency of the successful attempt.
    pub(super) latency: Duration,
    pub(super) substitute: Substitute,
    /// Counts the call until the answer has ended.
    pub(super) in_flight: InFlight,
    /// Made although a breaker was open.
    pub(super) despite_open: bool,
    /// Accounts of the calls that this one outran, to be charged like it.
    pub(super) outrun: Vec<CallAccount>,
}

/// Event while calls are in progress.
enum FailoverEvent<T> {
    Completed(CallOutcome<T>),
    /// The only call is slow: a second one was started beside it, if a breaker admitted one.
    Hedged(Option<ProviderCall<T>>),
    OutOfTime,
}

/// What to do after a fault.
#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    Continue,
    /// No other provider would accept the request.
    Stop,
}

pub(super) struct Failover<'a> {
    options: &'a ChainOptions,
    limits: RequestLimits<'a>,
    time_limit: Duration,
    deadline: Instant,
    /// What the request is for.
    first: Option<Candidate>,
    /// Routes still to be tried in this round ...
    routes: VecDeque<Route>,
    /// ... and in the next one, after a back-off.
    retry_routes: VecDeque<Route>,
    /// Routes that an open breaker refused in the present round.
    refused_routes: Vec<Route>,
    rounds: u32,
    calls: usize,
    attempts: Vec<Attempt>,
    failures: FailedAttempts,
    /// Charged for calls that failed, in billionths of a dollar.
    charged: u64,
}

impl<'a> Failover<'a> {
    pub(super) fn new(
        options: &'a ChainOptions,
        limits: RequestLimits<'a>,
        routes: Vec<Route>,
        started: Instant,
    ) -> Self {
        let time_limit = limits.deadline.unwrap_or(options.deadline);
        Self {
            options,
            limits,
            time_limit,
            deadline: started + time_limit,
            first: routes.first().map(|route| route.candidate.clone()),
            routes: routes.into(),
            retry_routes: VecDeque::new(),
            refused_routes: Vec::new(),
            rounds: 0,
            calls: 0,
            attempts: Vec::new(),
            failures: FailedAttempts::default(),
            charged: 0,
        }
    }

    /// Tries routes in order until one succeeds, the deadline passes or no route is left. Dropping the future drops the
    /// calls in progress with their permits.
    pub(super) async fn run<T>(
        mut self,
        mut run: impl FnMut(&Route) -> CallFuture<T>,
    ) -> Result<Served<T>, ChainError> {
        // At most two, in the order in which they started.
        let mut calls: Vec<ProviderCall<T>> = Vec::with_capacity(1);
        loop {
            if calls.is_empty() {
                match self.start_next(&mut run).await {
                    Some(call) => calls.push(call),
                    None if self.next_round().await => continue,
                    None => match self.start_despite_open(&mut run).await {
                        Some(call) => calls.push(call),
                        None => return Err(self.into_error()),
                    },
                }
            }
            match self.step(&mut calls, &mut run).await {
                FailoverEvent::Hedged(call) => calls.extend(call),
                FailoverEvent::Completed(CallOutcome { call, result: Ok(value), .. }) => {
                    return Ok(self.served(call, value, calls));
                }
                FailoverEvent::Completed(CallOutcome { call, result: Err(fault), role }) => {
                    if self.on_fault(call, fault, role) == NextStep::Stop {
                        drop(self.cancel(calls));
                        return Err(self.into_error());
                    }
                }
                FailoverEvent::OutOfTime => {
                    self.out_of_time(calls);
                    return Err(self.into_error());
                }
            }
        }
    }

    /// Starts the next call that a breaker admits; `None` when no route is left in this round. If this future is
    /// dropped, nothing was started, and the route whose breaker was being called is still the next.
    async fn start_next<T>(&mut self, run: &mut impl FnMut(&Route) -> CallFuture<T>) -> Option<ProviderCall<T>> {
        while self.calls < self.options.max_attempts {
            let front = self.routes.front()?;
            let (member, model) = (Arc::clone(&front.member), front.candidate.upstream_model.clone());
            let account = match self.open_account(front).await {
                Ok(account) => account,
                Err(error) => {
                    self.unrecord_success(error);
                    continue;
                }
            };
            // Nothing was called while the breaker is waited for.
            let unsent = Unsent(Some(account));
            let left = self.deadline.saturating_duration_since(Instant::now());
            let decision = member.breaker.admit(&model, Entry::Regular, left).await;
            let account = unsent.send();
            let route = self.routes.pop_front()?;
            match self.permit(&route, decision) {
                Some(permit) => {
                    self.calls += 1;
                    return Some(ProviderCall::start(route, permit, account, run));
                }
                None => account.not_run(),
            }
        }
        None
    }

    /// Starts a call although a breaker is open, if the only provider that could answer is behind it and the breaker lets
    /// this call through: a share of them, so that clients are served as soon as the provider is back, and the provider
    /// is not called by all.
    async fn start_despite_open<T>(
        &mut self,
        run: &mut impl FnMut(&Route) -> CallFuture<T>,
    ) -> Option<ProviderCall<T>> {
        let only = self.refused_routes.len() == 1 && self.failures.only_unavailable();
        let route = self.refused_routes.pop().filter(|_| only)?;
        let unsent = Unsent(Some(self.open_account(&route).await.ok()?));
        let left = self.deadline.saturating_duration_since(Instant::now());
        let decision = route.member.breaker.admit(&route.candidate.upstream_model, Entry::DespiteOpen, left).await;
        let Ok(PermitDecision::Granted(permit)) = decision else { return None };
        tracing::warn!(
            provider = route.candidate.provider_id,
            model = route.candidate.upstream_model,
            request_id = self.limits.request_id,
            "calling a provider although its circuit breaker is open: nothing else can answer"
        );
        self.calls += 1;
        Some(ProviderCall::start(route, permit, unsent.send(), run).despite_open())
    }

    async fn open_account(&self, route: &Route) -> Result<CallAccount, Error> {
        match self.limits.paid_by {
            Some(PaidBy { budgets, spend }) => budgets.open_account(spend, self.limits.request, route).await,
            None => Ok(CallAccount::none()),
        }
    }

    /// Records that no budget could be reserved for the next route, and skips it.
    fn unrecord_success(&mut self, error: Error) {
        let Some(route) = self.routes.pop_front() else { return };
        let outcome = match error.kind {
            Kind::BudgetExhausted => AttemptOutcome::BudgetExhausted,
            Kind::ModelUnpriced => AttemptOutcome::Unpriced,
            _ => AttemptOutcome::Unavailable,
        };
        if outcome != AttemptOutcome::Unavailable && self.limits.on_exhausted == OnExhausted::Refuse {
            let same_model = |other: &Route| other.candidate.is_same_model(&route.candidate);
            self.routes.retain(same_model);
            self.retry_routes.retain(same_model);
        }
        self.record(&route, outcome, Duration::ZERO);
        self.failures.unreserved.get_or_insert(error);
    }

    /// Waits for the first event. Calls continue while a hedge waits for its breaker.
    async fn step<T>(
        &mut self,
        calls: &mut Vec<ProviderCall<T>>,
        run: &mut impl FnMut(&Route) -> CallFuture<T>,
    ) -> FailoverEvent<T> {
        let (deadline, due) = (self.deadline, self.hedge_due(calls));
        let hedge = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
            self.start_next(run).await
        };
        tokio::select! {
            biased;
            next_outcome = next_outcome(calls) => FailoverEvent::Completed(next_outcome),
            () = sleep_until(deadline) => FailoverEvent::OutOfTime,
            call = hedge => FailoverEvent::Hedged(call),
        }
    }

    /// Returns when a hedge is due beside the only call in progress, if one is possible.
    fn hedge_due<T>(&self, calls: &[ProviderCall<T>]) -> Option<Instant> {
        let [alone] = calls else { return None };
        let wait = self.limits.hedge_after?;
        let possible = self.calls < self.options.max_attempts && !self.routes.is_empty();
        alone.due_after(wait).filter(|_| possible)
    }

    /// Returns the breaker's permit, or records why there is none.
    fn permit(&mut self, route: &Route, decision: Result<PermitDecision, CallError>) -> Option<Permit> {
        let (outcome, wait) = match decision {
            Ok(PermitDecision::Granted(permit)) => return Some(permit),
            Ok(PermitDecision::Refused { retry_in, reason }) => {
                self.refused_routes.push(route.clone());
                match reason {
                    Reason::Throttled => self.failures.throttled_for(retry_in),
                    _ => self.failures.broken = true,
                }
                (AttemptOutcome::OpenCircuit, retry_in)
            }
            Err(error) => {
                tracing::warn!(provider = route.candidate.provider_id, %error, "the breaker did not respond");
                self.failures.broken = true;
                (AttemptOutcome::Unavailable, error.retry_after)
            }
        };
        self.failures.wait_for(wait);
        self.record(route, outcome, Duration::ZERO);
        None
    }

    /// Ends a call and records its attempt. Every call ends here.
    fn end<T>(&mut self, call: ProviderCall<T>, outcome: AttemptOutcome) -> FinishedCall {
        let ended = call.end();
        self.record(&ended.route, outcome, ended.latency);
        ended
    }

    /// Ends the other calls before recording the winner, so that the last attempt is the one that answered.
    fn served<T>(mut self, call: ProviderCall<T>, value: T, others: Vec<ProviderCall<T>>) -> Served<T> {
        let outrun = self.cancel(others);
        let FinishedCall { route, permit, account, despite_open, in_flight, latency } =
            self.end(call, AttemptOutcome::Ok);
        in_flight.load().answered(self.limits.latency, latency);
        let (hold, substitute) = (account.answered(), self.substitute(&route.candidate));
        Served {
            value,
            permit,
            hold,
            route,
            attempts: self.attempts,
            latency,
            substitute,
            in_flight,
            despite_open,
            outrun,
        }
    }

    /// Returns how what answered relates to the first route.
    fn substitute(&self, answered: &Candidate) -> Substitute {
        match &self.first {
            Some(first) if answered.stands_in || !first.is_same_model(answered) => Substitute::Model,
            Some(first) if first.provider_id != answered.provider_id => Substitute::Provider,
            _ => Substitute::None,
        }
    }

    /// Cancels calls whose answers are no longer needed. Their permits report themselves as cancelled, so no provider
    /// is blamed. Returns their accounts.
    fn cancel<T>(&mut self, calls: Vec<ProviderCall<T>>) -> Vec<CallAccount> {
        calls.into_iter().map(|call| self.end(call, AttemptOutcome::Cancelled).account).collect()
    }

    fn out_of_time<T>(&mut self, calls: Vec<ProviderCall<T>>) {
        self.failures.deadline = Some(self.time_limit);
        for call in calls {
            let FinishedCall { route, permit, account, in_flight, latency, .. } =
                self.end(call, AttemptOutcome::Deadline);
            self.charged = self.charged.saturating_add(account.abandon());
            in_flight.load().failed(self.limits.latency, latency);
            // The provider is at fault only if it had the full time limit of its phase.
            if latency >= route.timeouts(self.options).headers {
                let message = format!("no answer within {} ms", latency.as_millis());
                permit.fault(&Fault::transient(Phase::Headers, message));
            }
        }
    }

    fn on_fault<T>(&mut self, call: ProviderCall<T>, fault: Fault, role: CallRole) -> NextStep {
        let outcome = outcome_of(call.candidate(), &fault);
        let FinishedCall { route, permit, account, in_flight, latency, .. } = self.end(call, outcome);
        let may_have_run = fault.may_have_run();
        let fault_free = fault.billed.is_none();
        match fault.billed {
            Some(billed) => self.charged = self.charged.saturating_add(account.billed(billed)),
            None if may_have_run => self.charged = self.charged.saturating_add(account.abandon()),
            None => account.not_run(),
        }
        let provider = route.candidate.provider_id.as_str();
        tracing::warn!(
            provider,
            model = route.candidate.upstream_model,
            ?outcome,
            phase = ?fault.phase,
            status = fault.status,
            latency_ms = latency.as_millis(),
            request_id = self.limits.request_id,
            fault = fault.message,
            "provider attempt failed"
        );
        match outcome {
            AttemptOutcome::NotReady => {
                drop(permit);
                self.failures.not_ready = Some(fault);
            }
            AttemptOutcome::UnknownModel => {
                permit.client_fault();
                self.failures.unknown = Some(fault);
            }
            AttemptOutcome::Unsupported => {
                drop(permit);
                self.failures.unsupported.get_or_insert(fault);
            }
            AttemptOutcome::Client => {
                permit.client_fault();
                return self.on_rejection(fault, role);
            }
            _ => {
                permit.fault(&fault);
                in_flight.load().failed(self.limits.latency, latency);
                if outcome == AttemptOutcome::Throttled {
                    self.failures.throttled_for(fault.retry_after.unwrap_or(self.options.breaker.first_cooldown));
                } else {
                    self.failures.broken = true;
                }
                self.failures.last_failure = Some((provider.to_owned(), fault));
            }
        }
        // What may have run is billed already, and would be billed again.
        if outcome == AttemptOutcome::Transient && !may_have_run && fault_free {
            self.retry_routes.push_back(route);
        }
        if may_have_run && outcome == AttemptOutcome::Transient && !self.options.failover_after_start {
            self.routes.clear();
            self.retry_routes.clear();
        }
        NextStep::Continue
    }

    /// Stops trying other providers. When a hedge is rejected, the primary call may still answer and is waited for: a
    /// hedge must not make a request worse off.
    fn on_rejection(&mut self, fault: Fault, role: CallRole) -> NextStep {
        self.failures.rejected = Some(fault);
        self.routes.clear();
        match role {
            CallRole::Primary => NextStep::Stop,
            CallRole::Hedge => NextStep::Continue,
        }
    }

    /// Prepares another round with the routes that failed transiently; returns false when no round is left or useful.
    async fn next_round(&mut self) -> bool {
        let retries = self.limits.retries.unwrap_or(self.options.retries);
        let bounded = self.rounds >= retries || self.calls >= self.options.max_attempts;
        // A rejection by a hedge stands even if the primary call failed later.
        if bounded || self.retry_routes.is_empty() || self.failures.rejected.is_some() || !self.back_off().await {
            return false;
        }
        self.rounds += 1;
        self.refused_routes.clear();
        self.routes = std::mem::take(&mut self.retry_routes);
        true
    }

    /// Waits with full jitter (Brooker 2015, "Exponential Backoff And Jitter"); returns false if the deadline would
    /// pass.
    async fn back_off(&self) -> bool {
        let longest = self.options.backoff.saturating_mul(1 << self.rounds.min(16)).min(self.options.max_backoff);
        let wait = longest.mul_f64(self.options.jitter.draw().clamp(0.0, 1.0));
        if Instant::now() + wait >= self.deadline {
            return false;
        }
        sleep(wait).await;
        true
    }

    fn record(&mut self, route: &Route, outcome: AttemptOutcome, latency: Duration) {
        self.attempts.push(Attempt {
            provider: route.candidate.provider_id.clone(),
            model: route.candidate.model_id.clone(),
            outcome,
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
        });
    }

    fn into_error(self) -> ChainError {
        let mut error = self.failures.into_error(self.limits.requested_model);
        if self.charged > 0 && matches!(self.limits.request, Requested::Images(_)) {
            let cost_usd = self.charged as f64 / 1e9;
            error.message = format!("{}; the failed calls cost {cost_usd:.6} USD", error.message);
            error.details = Some(Box::new(serde_json::json!({ "cost_usd": cost_usd })));
        }
        ChainError { error, attempts: self.attempts }
    }
}

/// Account of a call that is not made yet: dropped, it charges nothing.
struct Unsent(Option<CallAccount>);

impl Unsent {
    /// Returns the account of the call that is made now.
    fn send(mut self) -> CallAccount {
        self.0.take().unwrap_or_else(CallAccount::none)
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Some(account) = self.0.take() {
            account.not_run();
        }
    }
}
