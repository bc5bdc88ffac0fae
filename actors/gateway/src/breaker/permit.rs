//! Leave to make one call, which reports itself when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use muster_providers::{Fault, FaultClass};

use super::actor::Report;
use super::port::Core;
use super::state::{Grant, Outcome};

/// The breaker's answer to a caller.
#[derive(Debug)]
pub(crate) enum Entry {
    Granted(Permit),
    Refused { retry_in: Duration },
}

/// How a call went.
#[derive(Debug, Clone)]
pub(super) enum News {
    Alive,
    Done { latency: Duration },
    Fault { outcome: Outcome, class: FaultClass, message: Arc<str> },
    ClientFault,
    Cancelled,
}

/// When the report of a probe is tried again that found its actor dead. A lost one would keep all others out until the
/// probe's lease ends; the report of any other call may be lost.
const AGAIN: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(10)];

/// Leave to make one call. Dropped without a word it counts as cancelled: its caller is gone.
#[derive(Debug)]
pub(crate) struct Permit {
    core: Arc<Core>,
    grant: Grant,
    open: bool,
}

impl Permit {
    pub(super) fn new(core: Arc<Core>, grant: Grant) -> Self {
        Self { core, grant, open: true }
    }

    /// A stream has begun: a probe need not wait for its end to let the others in. The end is still to be reported.
    pub(crate) fn alive(&self) {
        if self.grant.probe {
            self.tell(News::Alive);
        }
    }

    pub(crate) fn done(self, latency: Duration) {
        self.close(News::Done { latency });
    }

    /// The provider answered, and the request was at fault.
    pub(crate) fn client_fault(self) {
        self.close(News::ClientFault);
    }

    pub(crate) fn fault(self, fault: &Fault) {
        let retry_after = fault.retry_after;
        let outcome = match fault.class {
            FaultClass::Transient => Outcome::Failure { retry_after },
            FaultClass::Throttled => Outcome::Throttled { retry_after },
            FaultClass::Hard => Outcome::Hard,
            FaultClass::Client => return self.client_fault(),
        };
        self.close(News::Fault { outcome, class: fault.class, message: Arc::from(fault.message.as_str()) });
    }

    fn close(mut self, news: News) {
        self.open = false;
        self.tell(news);
    }

    fn tell(&self, news: News) {
        let report = Report { grant: self.grant, at: self.core.elapsed(), news };
        if !self.grant.probe && !matches!(report.news, News::Fault { .. }) {
            // Nothing opens or closes by it: nobody is woken.
            self.core.quiet.push(report);
            return;
        }
        let Some(handle) = self.core.handle() else { return };
        let Err(error) = handle.try_send(report.clone()) else { return };
        tracing::debug!(provider = &*self.core.provider, %error, "report to the breaker was not taken");
        if !self.grant.probe {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let handle = handle.clone();
        runtime.spawn(async move {
            for wait in AGAIN {
                tokio::time::sleep(wait).await;
                if handle.try_send(report.clone()).is_ok() {
                    return;
                }
            }
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.open {
            self.tell(News::Cancelled);
        }
    }
}
