//! A streamed answer after its first delta: forwards events and settles the stream at its end.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt};
use muster_providers::{ChatEvent, ChatStream, Fault, Phase, Price, Usage};
use tokio::time::Instant;

use super::account::StreamAccount;
use super::balance::InFlight;
use super::breaker::Permit;
use super::cache::{CachePlace, CacheUse, CachedAnswer, CachedContent, Recorder};
use super::error;
use super::failover::Served;
use super::messages::{Attempt, Substitute};
use super::options::ChainOptions;
use super::stream_open::{Opened, cut_short};
use super::stream_timeouts::{Expired, StreamTimeouts};
use muster_core::Error;

/// A streamed answer: deltas, then exactly one `Done` (always with usage) or one error, then nothing. The first delta
/// has already arrived. Dropping it cancels the provider's call immediately and settles on what was delivered.
pub struct AnswerStream {
    /// Model that answers.
    pub model_id: String,
    /// Provider that answers.
    pub provider_id: String,
    /// How they relate to what was requested.
    pub substitute: Substitute,
    /// Every attempt, the successful one last.
    pub attempts: Vec<Attempt>,
    /// Price of the model at the answering provider; `None` when it is unknown.
    pub price: Option<Price>,
    /// Time from the request to the first delta.
    pub first_delta_after: Duration,
    /// Whether the call was made although a circuit breaker was open, because nothing else could answer.
    pub despite_open: bool,
    /// How the cache was used.
    pub cache: CacheUse,
    /// Events of a stored answer that are still to be repeated.
    repeated: VecDeque<ChatEvent>,
    /// Records this answer for the cache.
    recorder: Option<Recorder>,
    // Declared before `account` so that it is dropped first: the account may still have to count tokens.
    active: Option<ActiveStream>,
    account: StreamAccount,
}

/// State released when the stream ends.
struct ActiveStream {
    head: VecDeque<ChatEvent>,
    rest: ChatStream,
    permit: Permit,
    /// Counts the call while it lasts.
    _in_flight: InFlight,
    /// Latency of the successful attempt up to its first delta.
    latency: Duration,
    timeouts: StreamTimeouts,
}

impl fmt::Debug for AnswerStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerStream")
            .field("model_id", &self.model_id)
            .field("provider_id", &self.provider_id)
            .field("ended", &self.active.is_none())
            .finish_non_exhaustive()
    }
}

impl AnswerStream {
    pub(super) fn new(
        served: Served<Opened>,
        account: StreamAccount,
        options: &ChainOptions,
        started: Instant,
    ) -> Self {
        served.permit.alive();
        let timeouts =
            StreamTimeouts::new(served.route.timeouts(options).between_deltas, started + options.stream_total);
        let Opened { head, rest } = served.value;
        Self {
            model_id: served.route.candidate.model_id,
            provider_id: served.route.candidate.provider_id,
            substitute: served.substitute,
            attempts: served.attempts,
            price: served.route.candidate.price,
            first_delta_after: started.elapsed(),
            despite_open: served.despite_open,
            cache: CacheUse::Off,
            repeated: VecDeque::new(),
            recorder: None,
            account,
            active: Some(ActiveStream {
                head,
                rest,
                permit: served.permit,
                _in_flight: served.in_flight,
                latency: served.latency,
                timeouts,
            }),
        }
    }

    /// Repeats a stored answer. Its account is settled.
    pub(super) fn repeated(
        answer: &CachedAnswer,
        age: Duration,
        events: &[ChatEvent],
        account: StreamAccount,
        started: Instant,
    ) -> Self {
        Self {
            model_id: answer.model_id.clone(),
            provider_id: answer.provider_id.clone(),
            substitute: answer.substitute,
            attempts: Vec::new(),
            price: None,
            first_delta_after: started.elapsed(),
            despite_open: false,
            cache: CacheUse::Hit { age },
            repeated: events.iter().cloned().collect(),
            recorder: None,
            active: None,
            account,
        }
    }

    /// Stores the answer in the cache when it has ended properly.
    pub(super) fn recorded(mut self, place: &CachePlace) -> Self {
        (self.cache, self.recorder) = (CacheUse::Miss, place.recorder());
        self
    }

    fn answer(&self, usage: Usage, content: CachedContent) -> CachedAnswer {
        let (provider_id, model_id) = (self.provider_id.clone(), self.model_id.clone());
        CachedAnswer { provider_id, model_id, substitute: self.substitute, usage, content }
    }

    fn forward(&mut self, event: ChatEvent) -> ChatEvent {
        match event {
            ChatEvent::Delta(delta) => {
                self.account.delivered(&delta);
                if self.recorder.as_mut().is_some_and(|recorder| !recorder.delta(&delta)) {
                    self.recorder = None;
                }
                ChatEvent::Delta(delta)
            }
            ChatEvent::Done { finish, usage } => {
                if let Some(active) = self.active.take() {
                    active.permit.done(active.latency);
                }
                let usage = self.account.done(usage);
                let done = ChatEvent::Done { finish, usage: Some(usage) };
                if let Some(recorder) = self.recorder.take() {
                    recorder.done(done.clone(), |content| self.answer(usage, content));
                }
                done
            }
        }
    }

    fn fail(&mut self, fault: Fault, cause: FailureCause) -> Error {
        tracing::warn!(provider = self.provider_id, phase = ?fault.phase, fault = fault.message, "stream broke off");
        if let Some(active) = self.active.take()
            && cause == FailureCause::Provider
        {
            active.permit.fault(&fault);
        }
        self.account.fail();
        error::broken(&self.provider_id, fault)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureCause {
    Provider,
    /// The gateway's own limit on the total duration.
    OwnLimit,
}

impl Stream for AnswerStream {
    type Item = Result<ChatEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Some(event) = this.repeated.pop_front() {
            return Poll::Ready(Some(Ok(event)));
        }
        let Some(active) = &mut this.active else { return Poll::Ready(None) };
        if let Some(event) = active.head.pop_front() {
            active.timeouts.progress();
            return Poll::Ready(Some(Ok(this.forward(event))));
        }
        let item = match active.rest.poll_next_unpin(cx) {
            Poll::Ready(item) => item.unwrap_or_else(|| Err(cut_short(Phase::BetweenDeltas))),
            Poll::Pending => match std::task::ready!(active.timeouts.poll(cx)) {
                Expired::Gap(gap) => {
                    let message = format!("no further text within {} ms", gap.as_millis());
                    Err(Fault::transient(Phase::BetweenDeltas, message))
                }
                Expired::Total => {
                    let fault = Fault::transient(Phase::Body, "the stream exceeded its maximum total duration");
                    return Poll::Ready(Some(Err(this.fail(fault, FailureCause::OwnLimit))));
                }
            },
        };
        active.timeouts.progress();
        Poll::Ready(Some(match item {
            Ok(event) => Ok(this.forward(event)),
            Err(fault) => Err(this.fail(fault, FailureCause::Provider)),
        }))
    }
}
