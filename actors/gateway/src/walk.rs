//! One request's way through the chain: provider after provider, and again after a back-off, inside one deadline.
//!
//! Whatever is asked for (an answer, a stream, vectors), the way is the same. Where the request hedges, a second call is
//! begun beside one that takes long. Every call begins in `Flight::begin` and ends in `Walk::end`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Fault, Phase};
use tokio::time::{Instant, sleep, sleep_until};

use super::bill::Till;
use super::breaker::{Entry, Permit};
use super::chain::Route;
use super::failure::{Losses, outcome_of};
use super::flight::{Ended, Flight, Landed, Rank, Work, landed};
use super::messages::{Attempt, AttemptOutcome, ChainError, Spend};
use super::options::ChainOptions;
use muster_core::supervise::CallError;
use muster_core::{Error, Kind};
use muster_limits::ledger::Hold;

/// What a request allows its walk; `None` leaves it to the chain's options.
#[derive(Debug, Default)]
pub(super) struct Terms<'a> {
    /// The model named first.
    pub(super) asked: Option<&'a str>,
    pub(super) request_id: &'a str,
    pub(super) deadline: Option<Duration>,
    pub(super) retries: Option<u32>,
    pub(super) hedge_after: Option<Duration>,
    pub(super) money: Option<Money<'a>>,
}

/// Where the money of a request comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Money<'a> {
    pub(super) till: &'a Till,
    pub(super) spend: &'a Spend,
}

/// A provider's answer, with the permit that is still to be reported.
pub(super) struct Won<T> {
    pub(super) value: T,
    pub(super) permit: Permit,
    /// What was set aside for the call, still to be settled.
    pub(super) hold: Hold,
    pub(super) route: Route,
    pub(super) attempts: Vec<Attempt>,
    /// Of the attempt that won.
    pub(super) latency: Duration,
}

/// What happens while calls are under way.
enum Step<T> {
    Landed(Landed<T>),
    /// The one call has taken long: another was begun beside it, if any provider let it through.
    Hedged(Option<Flight<T>>),
    OutOfTime,
}

/// After a fault.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    /// No other provider would take the request.
    Stop,
}

pub(super) struct Walk<'a> {
    options: &'a ChainOptions,
    terms: Terms<'a>,
    allowed: Duration,
    deadline: Instant,
    /// Still to be asked in this round ...
    routes: VecDeque<Route>,
    /// ... and in the next one, after a back-off.
    again: VecDeque<Route>,
    rounds: u32,
    calls: usize,
    attempts: Vec<Attempt>,
    losses: Losses,
}

impl<'a> Walk<'a> {
    pub(super) fn new(options: &'a ChainOptions, terms: Terms<'a>, routes: Vec<Route>, started: Instant) -> Self {
        let allowed = terms.deadline.unwrap_or(options.deadline);
        Self {
            options,
            terms,
            allowed,
            deadline: started + allowed,
            routes: routes.into(),
            again: VecDeque::new(),
            rounds: 0,
            calls: 0,
            attempts: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Goes on until `run` succeeds with one route. Dropping the future drops the calls in hand with their permits.
    pub(super) async fn run<T>(mut self, mut run: impl FnMut(&Route) -> Work<T>) -> Result<Won<T>, ChainError> {
        // At most two, in the order they were begun.
        let mut flights: Vec<Flight<T>> = Vec::with_capacity(1);
        loop {
            if flights.is_empty() {
                match self.launch(&mut run).await {
                    Some(flight) => flights.push(flight),
                    None if self.another_round().await => continue,
                    None => return Err(self.lost()),
                }
            }
            match self.step(&mut flights, &mut run).await {
                Step::Hedged(flight) => flights.extend(flight),
                Step::Landed(Landed { flight, result: Ok(value), .. }) => return Ok(self.won(flight, value, flights)),
                Step::Landed(Landed { flight, result: Err(fault), rank }) => {
                    if self.failed(flight, fault, rank) == Then::Stop {
                        self.call_off(flights);
                        return Err(self.lost());
                    }
                }
                Step::OutOfTime => {
                    self.out_of_time(flights);
                    return Err(self.lost());
                }
            }
        }
    }

    /// Begins the next call that a breaker lets through; `None` where this round has no more. Dropped, it has begun
    /// nothing, and the route whose breaker it was asking is still the next.
    async fn launch<T>(&mut self, run: &mut impl FnMut(&Route) -> Work<T>) -> Option<Flight<T>> {
        while self.calls < self.options.max_attempts {
            let front = self.routes.front()?;
            let member = Arc::clone(&front.member);
            let hold = match self.terms.money {
                Some(money) => money.till.hold(money.spend, &front.candidate).await,
                None => Ok(Hold::none()),
            };
            let hold = match hold {
                Ok(hold) => hold,
                Err(error) => {
                    self.unpaid(error);
                    continue;
                }
            };
            let left = self.deadline.saturating_duration_since(Instant::now());
            let entry = member.breaker.admit(left).await;
            let route = self.routes.pop_front()?;
            if let Some(permit) = self.permit(&route, entry) {
                self.calls += 1;
                return Some(Flight::begin(route, permit, hold, run));
            }
        }
        None
    }

    /// Nothing could be set aside for the next route.
    fn unpaid(&mut self, error: Error) {
        let Some(route) = self.routes.pop_front() else { return };
        let exhausted = error.kind == Kind::BudgetExhausted;
        let outcome = if exhausted { AttemptOutcome::BudgetExhausted } else { AttemptOutcome::Unavailable };
        self.note(&route, outcome, Duration::ZERO);
        self.losses.unpaid.get_or_insert(error);
    }

    /// Waits for what comes first. The calls go on while a hedge's breaker is asked.
    async fn step<T>(&mut self, flights: &mut Vec<Flight<T>>, run: &mut impl FnMut(&Route) -> Work<T>) -> Step<T> {
        let (deadline, due) = (self.deadline, self.hedge_due(flights));
        let hedge = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
            self.launch(run).await
        };
        tokio::select! {
            biased;
            landed = landed(flights) => Step::Landed(landed),
            () = sleep_until(deadline) => Step::OutOfTime,
            flight = hedge => Step::Hedged(flight),
        }
    }

    /// When the one call under way is joined by a second one, if it is.
    fn hedge_due<T>(&self, flights: &[Flight<T>]) -> Option<Instant> {
        let [alone] = flights else { return None };
        let wait = self.terms.hedge_after?;
        let possible = self.calls < self.options.max_attempts && !self.routes.is_empty();
        alone.due_after(wait).filter(|_| possible)
    }

    /// Leave of the route's breaker; `None` is noted.
    fn permit(&mut self, route: &Route, entry: Result<Entry, CallError>) -> Option<Permit> {
        let (outcome, wait) = match entry {
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

    /// The one place where a call ends, however it does.
    fn end<T>(&mut self, flight: Flight<T>, outcome: AttemptOutcome) -> Ended {
        let ended = flight.end();
        self.note(&ended.route, outcome, ended.latency);
        ended
    }

    /// The other calls end before the winner is noted, so that the last attempt is the one that answered.
    fn won<T>(mut self, flight: Flight<T>, value: T, others: Vec<Flight<T>>) -> Won<T> {
        self.call_off(others);
        let Ended { route, permit, hold, latency } = self.end(flight, AttemptOutcome::Ok);
        Won { value, permit, hold, route, attempts: self.attempts, latency }
    }

    /// Their answers are not wanted any more. Nobody is to blame: the permits report themselves as cancelled.
    fn call_off<T>(&mut self, flights: Vec<Flight<T>>) {
        for flight in flights {
            self.end(flight, AttemptOutcome::Cancelled);
        }
    }

    fn out_of_time<T>(&mut self, flights: Vec<Flight<T>>) {
        self.losses.deadline = Some(self.allowed);
        for flight in flights {
            let Ended { permit, latency, .. } = self.end(flight, AttemptOutcome::Deadline);
            // It is only to blame where it had the time that its own phase is given.
            if latency >= self.options.timeouts.headers {
                let words = format!("no answer within {} ms", latency.as_millis());
                permit.fault(&Fault::transient(Phase::Headers, words));
            }
        }
    }

    fn failed<T>(&mut self, flight: Flight<T>, fault: Fault, rank: Rank) -> Then {
        let outcome = outcome_of(flight.candidate(), &fault);
        let Ended { route, permit, latency, .. } = self.end(flight, outcome);
        let provider = route.candidate.provider_id.as_str();
        tracing::warn!(
            provider,
            model = route.candidate.upstream_model,
            ?outcome,
            phase = ?fault.phase,
            status = fault.status,
            latency_ms = latency.as_millis(),
            request_id = self.terms.request_id,
            fault = fault.message,
            "provider attempt failed"
        );
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
                return self.refused(fault, rank);
            }
            _ => {
                permit.fault(&fault);
                self.losses.failed = Some((provider.to_owned(), fault));
            }
        }
        if outcome == AttemptOutcome::Transient {
            self.again.push_back(route);
        }
        Then::GoOn
    }

    /// No other provider is asked. A hedge's refusal waits for the call that it was begun beside, which may still
    /// answer: no request is to be worse off for its hedge.
    fn refused(&mut self, fault: Fault, rank: Rank) -> Then {
        self.losses.refused = Some(fault);
        self.routes.clear();
        match rank {
            Rank::First => Then::Stop,
            Rank::Hedge => Then::GoOn,
        }
    }

    /// Gets ready to ask those again that failed transiently; false where that makes no sense.
    async fn another_round(&mut self) -> bool {
        let retries = self.terms.retries.unwrap_or(self.options.retries);
        let bounded = self.rounds >= retries || self.calls >= self.options.max_attempts;
        // A hedge's refusal stands even where the call beside it failed later.
        if bounded || self.again.is_empty() || self.losses.refused.is_some() || !self.back_off().await {
            return false;
        }
        self.rounds += 1;
        self.routes = std::mem::take(&mut self.again);
        true
    }

    /// Waits with full jitter (Brooker 2015, "Exponential Backoff And Jitter"); false where the deadline would pass.
    async fn back_off(&self) -> bool {
        let longest = self.options.backoff.saturating_mul(1 << self.rounds.min(16)).min(self.options.max_backoff);
        let wait = longest.mul_f64(self.options.jitter.draw().clamp(0.0, 1.0));
        if Instant::now() + wait >= self.deadline {
            return false;
        }
        sleep(wait).await;
        true
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
        ChainError { error: self.losses.conclude(self.terms.asked), attempts: self.attempts }
    }
}
