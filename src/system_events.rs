//! Events of the server itself on the channel `system`: circuit breakers, restarts of actors, health.
//!
//! Each event is observed where it happens, in crates that do not know the feed, and published here.

use std::collections::BTreeMap;

use muster_core::event::{Event, Publisher};
use muster_core::health::{HealthReport, ModuleStatus};
use muster_core::supervise::RestartEvent;
use muster_core::{Clock, Millis};
use muster_gateway::BreakerChanged;
use muster_store::{Batch, StoreHandle};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use crate::report::public_path;

/// Publishes events of the server.
#[derive(Clone)]
pub(crate) struct SystemEvents {
    pub(crate) store: StoreHandle,
    pub(crate) publisher: Publisher,
    pub(crate) clock: Clock,
}

/// Sources of the events.
pub(crate) struct EventSources {
    pub(crate) breakers: broadcast::Receiver<BreakerChanged>,
    pub(crate) restarts: broadcast::Receiver<RestartEvent>,
    pub(crate) health: watch::Receiver<HealthReport>,
}

impl SystemEvents {
    /// Publishes events until their sources end.
    pub(crate) fn publish_from(self, sources: EventSources) {
        let EventSources { breakers, restarts, mut health } = sources;
        actix_rt::spawn(self.clone().each(breakers, |it: &BreakerChanged| ("breaker.changed", it.at, breaker(it))));
        actix_rt::spawn(
            self.clone().each(restarts, |it: &RestartEvent| ("supervisor.restarted", it.at, restarted(it))),
        );
        actix_rt::spawn(async move {
            let mut before = statuses(&health.borrow_and_update());
            while health.changed().await.is_ok() {
                let report = health.borrow_and_update().clone();
                let now = statuses(&report);
                if let Some(changed) = changed(&before, &report) {
                    self.publish_event("health.changed", self.clock.now(), &changed).await;
                }
                before = now;
            }
        });
    }

    async fn each<T: Clone>(
        self,
        mut from: broadcast::Receiver<T>,
        describe: impl Fn(&T) -> (&'static str, Millis, Value),
    ) {
        loop {
            match from.recv().await {
                Ok(it) => {
                    let (name, at, data) = describe(&it);
                    self.publish_event(name, at, &data).await;
                }
                Err(broadcast::error::RecvError::Lagged(lost)) => {
                    tracing::warn!(lost, "events of the server were not published")
                }
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// Stores the event before publishing it, as on every durable channel: an event about a failing feed is published
    /// once the feed is back.
    async fn publish_event(&self, name: &str, at: Millis, data: &Value) {
        let event = Event::new(name, at, vec!["system".to_owned()], data);
        let op = match event.op() {
            Ok(op) => op,
            Err(error) => return tracing::warn!(name, %error, "an event of the server cannot be published"),
        };
        match self.store.commit(Batch { ops: vec![op], ..Batch::default() }).await {
            Ok(()) => self.publisher.publish(vec![event]),
            Err(error) => tracing::warn!(name, %error, "an event of the server cannot be published"),
        }
    }
}

fn breaker(it: &BreakerChanged) -> Value {
    json!({ "provider": &*it.provider, "model": it.model.as_deref(), "from": it.from, "to": it.to, "reason": it.reason })
}

fn restarted(it: &RestartEvent) -> Value {
    json!({ "actor": public_path(&it.actor), "restarts": it.restarts, "why": it.why })
}

type Statuses = BTreeMap<&'static str, ModuleStatus>;

fn statuses(report: &HealthReport) -> Statuses {
    report.modules.iter().map(|(name, module)| (*name, module.status)).collect()
}

/// Returns the modules whose state has changed. The first report is not a change.
fn changed(before: &Statuses, report: &HealthReport) -> Option<Value> {
    let modules = report.modules.iter().filter_map(|(name, module)| {
        let from = before.get(name).copied().filter(|from| *from != ModuleStatus::Starting)?;
        let change = || json!({ "module": name, "from": from, "to": module.status, "why": module.why });
        (from != module.status).then(change)
    });
    let modules: Vec<_> = modules.collect();
    let body = || json!({ "status": report.status, "score": report.score, "modules": modules });
    (!modules.is_empty()).then(body)
}

#[cfg(test)]
mod tests {
    use muster_core::health::{ModuleHealth, OverallStatus};

    use super::*;

    fn report(modules: &[(&'static str, ModuleStatus)]) -> HealthReport {
        let module = |status| ModuleHealth {
            status,
            why: Some("full".to_owned()),
            critical: true,
            weight: 1,
            checked_at: None,
            took_ms: 0,
        };
        let modules = modules.iter().map(|&(name, status)| (name, module(status))).collect();
        HealthReport { status: OverallStatus::Degraded, score: 50, modules }
    }

    #[test]
    fn a_changed_module_is_published_and_the_first_report_is_not() {
        use ModuleStatus::{Degraded, Healthy, Starting};
        let start = statuses(&report(&[("disk", Starting), ("keys", Healthy)]));
        assert_eq!(changed(&start, &report(&[("disk", Healthy), ("keys", Healthy)])), None);
        let event = changed(&start, &report(&[("disk", Healthy), ("keys", Degraded)])).unwrap();
        let modules = json!([{ "module": "keys", "from": "healthy", "to": "degraded", "why": "full" }]);
        assert_eq!(event, json!({ "status": "degraded", "score": 50, "modules": modules }));
    }
}
