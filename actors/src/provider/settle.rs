//! A stream's account: what was delivered, and its settlement, told exactly once however the stream ends.

use std::fmt;

use muster_providers::{Delta, Usage};
use tokio::time::Instant;

use super::messages::{Settlement, StreamEnd};
use super::meter::Meter;

type Settle = Box<dyn FnOnce(Settlement) + Send>;

/// Delivered text is counted and let go in pieces of this size, so that a long answer is not kept twice.
const PIECE: usize = 64 * 1024;

/// Settles on drop as `ClientGone`, unless it was settled before.
pub(super) struct Account {
    started: Instant,
    settle: Option<Settle>,
    meter: Option<Meter>,
    /// Delivered and not yet counted.
    text: String,
    counted: u32,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("settled", &self.settle.is_none()).finish_non_exhaustive()
    }
}

impl Account {
    pub(super) fn open(started: Instant, settle: Settle) -> Self {
        Self { started, settle: Some(settle), meter: None, text: String::new(), counted: 0 }
    }

    /// From now on there is a provider that answers.
    pub(super) fn with_meter(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    pub(super) fn delivered(&mut self, delta: &Delta) {
        match delta {
            Delta::Tool { call, .. } => {
                self.text.push_str(call.name.as_deref().unwrap_or_default());
                self.text.push_str(&call.arguments);
            }
            delta => self.text.push_str(&delta.text().unwrap_or_default()),
        }
        if self.text.len() >= PIECE
            && let Some(meter) = &self.meter
        {
            self.counted = self.counted.saturating_add(meter.text(&self.text));
            self.text.clear();
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

    fn counted(&self) -> Usage {
        let Some(meter) = &self.meter else { return Usage::default() };
        let completion_tokens = meter.text(&self.text).saturating_add(self.counted);
        Usage { prompt_tokens: meter.prompt(), completion_tokens, estimated: true }
    }

    fn tell_counted(&mut self, end: StreamEnd) {
        if self.settle.is_some() {
            self.tell(end, self.counted());
        }
    }

    fn tell(&mut self, end: StreamEnd, usage: Usage) {
        let Some(settle) = self.settle.take() else { return };
        let meter = self.meter.as_ref();
        settle(Settlement {
            end,
            usage,
            cost_nanos: meter.map_or(Some(0), |meter| meter.cost_nanos(usage)),
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
