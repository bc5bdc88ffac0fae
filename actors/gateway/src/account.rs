//! Accounting of one stream: delivered text and the settlement, which is delivered exactly once however the stream
//! ends.

use std::fmt;

use muster_providers::{Delta, Usage};
use tokio::time::Instant;

use super::budget::{CallAccount, PendingEntry};
use super::delivered_text::Delivered;
use super::messages::{Settlement, StreamEnd};
use super::meter::Meter;
use muster_limits::ledger::{Hold, Outcome};

type Settle = Box<dyn FnOnce(Settlement) + Send>;

/// Accounting of one stream. Settles as `ClientGone` on drop unless it was settled before.
pub(super) struct StreamAccount {
    started: Instant,
    /// Closed together with the settlement.
    entry: Option<PendingEntry>,
    settle: Option<Settle>,
    /// Accounts of the calls that this one outran, charged like it.
    outrun: Vec<CallAccount>,
    meter: Option<Meter>,
    delivered: Delivered,
}

impl fmt::Debug for StreamAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamAccount").field("settled", &self.settle.is_none()).finish_non_exhaustive()
    }
}

impl StreamAccount {
    pub(super) fn open(started: Instant, entry: PendingEntry, settle: Settle) -> Self {
        Self {
            started,
            entry: Some(entry),
            settle: Some(settle),
            outrun: Vec::new(),
            meter: None,
            delivered: Delivered::default(),
        }
    }

    /// Sets the provider that answers from now on, with its reservation and the accounts of the calls that it outran.
    pub(super) fn with_meter(mut self, meter: Meter, hold: Hold, outrun: Vec<CallAccount>) -> Self {
        self.outrun = outrun;
        if let Some(entry) = &mut self.entry {
            entry.answered_by(&meter.provider_id, &meter.model_id, hold);
        }
        self.meter = Some(meter);
        self
    }

    pub(super) fn delivered(&mut self, delta: &Delta) {
        if let Some(meter) = &self.meter {
            self.delivered.push(delta, meter);
        }
    }

    /// Settles a completed stream with the provider's usage, or counted usage if it reported none. Returns the usage.
    pub(super) fn done(&mut self, reported: Option<Usage>) -> Usage {
        let usage = reported.unwrap_or_else(|| self.counted(Meter::prompt));
        self.settle_as(StreamEnd::Done, usage);
        usage
    }

    pub(super) fn fail(&mut self) {
        self.settle_counted(StreamEnd::Failed);
    }

    fn counted(&mut self, prompt: fn(&Meter) -> u32) -> Usage {
        let Some(meter) = &self.meter else { return Usage::default() };
        let completion_tokens = self.delivered.tokens(meter);
        Usage { prompt_tokens: prompt(meter), completion_tokens, estimated: true }
    }

    fn settle_counted(&mut self, end: StreamEnd) {
        if self.settle.is_some() {
            let usage = self.counted(Meter::prompt_at_least);
            self.settle_as(end, usage);
        }
    }

    /// Settles a stream that is repeated from the cache: it costs nothing.
    pub(super) fn cached(&mut self, provider_id: &str, model_id: &str) {
        if let Some(mut entry) = self.entry.take() {
            entry.answered_by(provider_id, model_id, Hold::none());
            entry.close(Outcome::Cached, Usage::default(), Some(0));
        }
        let Some(settle) = self.settle.take() else { return };
        settle(Settlement {
            end: StreamEnd::Done,
            usage: Usage::default(),
            cost_nanos: Some(0),
            provider_id: Some(provider_id.to_owned()),
            model_id: Some(model_id.to_owned()),
            latency: self.started.elapsed(),
        });
    }

    fn settle_as(&mut self, end: StreamEnd, usage: Usage) {
        let Some(settle) = self.settle.take() else { return };
        let meter = self.meter.as_ref();
        let cost_nanos = meter.map_or(Some(0), |meter| meter.cost_nanos(usage));
        self.outrun.drain(..).for_each(|account| account.outrun(usage.completion_tokens));
        if let Some(entry) = self.entry.take() {
            let outcome = match end {
                StreamEnd::Done => Outcome::Ok,
                StreamEnd::Failed => Outcome::Failed,
                StreamEnd::ClientGone => Outcome::Cancelled,
            };
            entry.close(outcome, usage, cost_nanos);
        }
        settle(Settlement {
            end,
            usage,
            cost_nanos,
            provider_id: meter.map(|meter| meter.provider_id.clone()),
            model_id: meter.map(|meter| meter.model_id.clone()),
            latency: self.started.elapsed(),
        });
    }
}

impl Drop for StreamAccount {
    fn drop(&mut self) {
        self.settle_counted(StreamEnd::ClientGone);
    }
}
