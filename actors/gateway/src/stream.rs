//! A streamed answer after its first delta: passed on as it comes, and its end told to all who must know.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::{Stream, StreamExt};
use muster_providers::{ChatEvent, ChatStream, Fault, Phase, Price};
use tokio::time::Instant;

use super::breaker::Permit;
use super::failure;
use super::messages::Attempt;
use super::open::{Opened, cut_short};
use super::options::ChainOptions;
use super::settle::Account;
use super::walk::Won;
use super::watch::{Expired, Watch};
use muster_core::Error;

/// A streamed answer: deltas, then exactly one `Done` (always with usage) or one error, then nothing. The first delta
/// is in hand. Dropping it cancels the provider's work at once and settles on what was delivered.
pub struct Streaming {
    pub model_id: String,
    pub provider_id: String,
    pub attempts: Vec<Attempt>,
    /// What the answering provider asks for the model; `None` where it is not known.
    pub price: Option<Price>,
    /// From the request to the first delta.
    pub first_delta_after: Duration,
    // Dropped before the account, which may have to count first.
    live: Option<Live>,
    account: Account,
}

/// What is let go when the stream ends.
struct Live {
    head: VecDeque<ChatEvent>,
    rest: ChatStream,
    permit: Permit,
    /// To the first delta of the attempt that won.
    latency: Duration,
    watch: Watch,
}

impl fmt::Debug for Streaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("model_id", &self.model_id)
            .field("provider_id", &self.provider_id)
            .field("ended", &self.live.is_none())
            .finish_non_exhaustive()
    }
}

impl Streaming {
    pub(super) fn new(won: Won<Opened>, account: Account, options: &ChainOptions, started: Instant) -> Self {
        won.permit.alive();
        let watch = Watch::new(options.timeouts.between_deltas, started + options.stream_total);
        let Opened { head, rest } = won.value;
        Self {
            model_id: won.route.candidate.model_id,
            provider_id: won.route.candidate.provider_id,
            attempts: won.attempts,
            price: won.route.candidate.price,
            first_delta_after: started.elapsed(),
            account,
            live: Some(Live { head, rest, permit: won.permit, latency: won.latency, watch }),
        }
    }

    fn pass_on(&mut self, event: ChatEvent) -> ChatEvent {
        match event {
            ChatEvent::Delta(delta) => {
                self.account.delivered(&delta);
                ChatEvent::Delta(delta)
            }
            ChatEvent::Done { finish, usage } => {
                if let Some(live) = self.live.take() {
                    live.permit.done(live.latency);
                }
                ChatEvent::Done { finish, usage: Some(self.account.done(usage)) }
            }
        }
    }

    fn break_off(&mut self, fault: Fault, blame: Blame) -> Error {
        tracing::warn!(provider = self.provider_id, phase = ?fault.phase, fault = fault.message, "stream broke off");
        if let Some(live) = self.live.take()
            && blame == Blame::Provider
        {
            live.permit.fault(&fault);
        }
        self.account.fail();
        failure::broken(&self.provider_id, fault)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blame {
    Provider,
    /// Our own bound on the whole.
    Nobody,
}

impl Stream for Streaming {
    type Item = Result<ChatEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(live) = &mut this.live else { return Poll::Ready(None) };
        if let Some(event) = live.head.pop_front() {
            live.watch.progress();
            return Poll::Ready(Some(Ok(this.pass_on(event))));
        }
        let item = match live.rest.poll_next_unpin(cx) {
            Poll::Ready(item) => item.unwrap_or_else(|| Err(cut_short(Phase::BetweenDeltas))),
            Poll::Pending => match std::task::ready!(live.watch.poll(cx)) {
                Expired::Gap(gap) => {
                    let words = format!("no further text within {} ms", gap.as_millis());
                    Err(Fault::transient(Phase::BetweenDeltas, words))
                }
                Expired::Total => {
                    let fault = Fault::transient(Phase::Body, "the stream took longer than one may take in all");
                    return Poll::Ready(Some(Err(this.break_off(fault, Blame::Nobody))));
                }
            },
        };
        live.watch.progress();
        Poll::Ready(Some(match item {
            Ok(event) => Ok(this.pass_on(event)),
            Err(fault) => Err(this.break_off(fault, Blame::Provider)),
        }))
    }
}
