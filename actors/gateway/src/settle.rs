//! A stream's account: what was delivered, and its settlement, told exactly once however the stream ends.

use std::fmt;

use muster_providers::{Delta, Usage};
use tokio::time::Instant;

use super::bill::Bill;
use super::delivered::Delivered;
use super::messages::{Settlement, StreamEnd};
use super::meter::Meter;
use muster_limits::ledger::{Hold, Outcome};

type Settle = Box<dyn FnOnce(Settlement) + Send>;

/// Settles on drop as `ClientGone`, unless it was settled before.
pub(super) struct Account {
    started: Instant,
    /// Closed together with the settlement.
    bill: Option<Bill>,
    settle: Option<Settle>,
    meter: Option<Meter>,
    delivered: Delivered,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("settled", &self.settle.is_none()).finish_non_exhaustive()
    }
}

impl Account {
    pub(super) fn open(started: Instant, bill: Bill, settle: Settle) -> Self {
        Self { started, bill: Some(bill), settle: Some(settle), meter: None, delivered: Delivered::default() }
    }

    /// From now on there is a provider that answers.
    pub(super) fn with_meter(mut self, meter: Meter, hold: Hold) -> Self {
        if let Some(bill) = &mut self.bill {
            bill.answered_by(&meter.model_id, hold);
        }
        self.meter = Some(meter);
        self
    }

    pub(super) fn delivered(&mut self, delta: &Delta) {
        if let Some(meter) = &self.meter {
            self.delivered.push(delta, meter);
        }
    }

    /// Settles a stream that came to its end, by the provider's figures where it gave any, and returns the usage.
    pub(super) fn done(&mut self, figures: Option<Usage>) -> Usage {
        let usage = figures.unwrap_or_else(|| self.counted());
        self.tell(StreamEnd::Done, usage);
        usage
    }

    pub(super) fn fail(&mut self) {
        self.tell_counted(StreamEnd::Failed);
    }

    fn counted(&mut self) -> Usage {
        let Some(meter) = &self.meter else { return Usage::default() };
        let completion_tokens = self.delivered.tokens(meter);
        Usage { prompt_tokens: meter.prompt(), completion_tokens, estimated: true }
    }

    fn tell_counted(&mut self, end: StreamEnd) {
        if self.settle.is_some() {
            let usage = self.counted();
            self.tell(end, usage);
        }
    }

    fn tell(&mut self, end: StreamEnd, usage: Usage) {
        let Some(settle) = self.settle.take() else { return };
        let meter = self.meter.as_ref();
        let cost_nanos = meter.map_or(Some(0), |meter| meter.cost_nanos(usage));
        if let Some(bill) = self.bill.take() {
            let outcome = match end {
                StreamEnd::Done => Outcome::Ok,
                StreamEnd::Failed => Outcome::Failed,
                StreamEnd::ClientGone => Outcome::Cancelled,
            };
            bill.close(outcome, usage, cost_nanos);
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

impl Drop for Account {
    fn drop(&mut self) {
        self.tell_counted(StreamEnd::ClientGone);
    }
}
