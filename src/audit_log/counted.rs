//! Requests in the audit log that change nothing: refused ones, and what auditors read. The first of a kind in a minute,
//! then how many followed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_audit::Audit;
use muster_core::audit::{AuditEntry, Outcome};
use muster_core::upkeep::PeriodicJob;
use muster_core::{Clock, Millis};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

/// Kinds that are counted at one time; of further ones only their number is.
const MOST_KINDS: usize = 10_000;
/// Entries that wait to be appended.
const QUEUE: usize = 1_024;
/// Time over which requests of a kind are counted together.
const SPAN: Duration = Duration::from_secs(60);

/// What makes requests alike: who sent them, with which status, on which route.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RequestKind {
    /// The principal; none of a caller without a valid credential.
    actor: Option<String>,
    /// Network of a caller without one. It is in the details only, which can be erased.
    network: Option<String>,
    status: u16,
    method: String,
    route: String,
}

#[derive(Debug, Default)]
struct Counts {
    since: Millis,
    /// Requests after the first.
    kinds: HashMap<RequestKind, u64>,
    /// Requests of kinds beyond the bound.
    others: u64,
}

/// Counts requests. Cheap for the request: entries are appended by a task.
#[derive(Debug)]
pub(crate) struct CountedRequests {
    counts: Mutex<Counts>,
    clock: Clock,
    entries: mpsc::Sender<AuditEntry>,
}

impl CountedRequests {
    /// Starts the task that appends entries.
    pub(crate) fn start(audit: Audit, clock: Clock) -> Self {
        let (entries, mut waiting) = mpsc::channel::<AuditEntry>(QUEUE);
        actix_rt::spawn(async move {
            while let Some(entry) = waiting.recv().await {
                if let Err(error) = audit.append(&entry).await {
                    tracing::warn!(%error, "a request is not in the audit log");
                }
            }
        });
        let counts = Mutex::new(Counts { since: clock.now(), ..Counts::default() });
        Self { counts, clock, entries }
    }

    /// Returns the job that logs how many requests followed the first of their kind.
    pub(crate) fn counting(self: &Arc<Self>) -> PeriodicJob {
        let refusals = Arc::clone(self);
        PeriodicJob::new("counted-requests", SPAN, move || {
            refusals.close_if_over();
            std::future::ready(Ok(()))
        })
    }

    /// Counts a request of a principal, or of a network: a refused one, or what an auditor read.
    pub(crate) fn note(&self, by: Result<String, String>, status: u16, method: &str, route: &str) {
        let now = self.clock.now();
        let (actor, network) = match by {
            Ok(actor) => (Some(actor), None),
            Err(network) => (None, Some(network)),
        };
        let kind = RequestKind { actor, network, status, method: method.to_owned(), route: route.to_owned() };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(counts.since) >= SPAN {
            self.close(&mut counts, now);
        }
        let full = counts.kinds.len() >= MOST_KINDS;
        match counts.kinds.get_mut(&kind) {
            Some(count) => *count += 1,
            None if full => counts.others += 1,
            None => {
                self.append(entry(now, &kind, None));
                counts.kinds.insert(kind, 0);
            }
        }
    }

    /// Appends the counts of a span that is over. Called at intervals too, so that the last counts are not kept back.
    pub(crate) fn close_if_over(&self) {
        let now = self.clock.now();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(counts.since) >= SPAN {
            self.close(&mut counts, now);
        }
    }

    fn close(&self, counts: &mut Counts, now: Millis) {
        let Counts { kinds, others, .. } = std::mem::replace(counts, Counts { since: now, ..Counts::default() });
        let mut repeated: Vec<_> = kinds.into_iter().filter(|(_, count)| *count > 0).collect();
        repeated.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        // What does not fit the queue of entries is counted together.
        let rest: u64 = repeated.split_off(repeated.len().min(QUEUE / 2)).iter().map(|(_, count)| count).sum();
        for (kind, count) in repeated {
            self.append(entry(now, &kind, Some(count)));
        }
        if others + rest > 0 {
            let details = json!({ "more": others + rest });
            self.append(AuditEntry::new(now, "system", "request.more", "others", details));
        }
    }

    fn append(&self, entry: AuditEntry) {
        if self.entries.try_send(entry).is_err() {
            tracing::warn!("refused and read requests come faster than they can be logged");
        }
    }
}

/// The entry of the first request of a kind, or of how many more there were.
fn entry(now: Millis, kind: &RequestKind, more: Option<u64>) -> AuditEntry {
    let resource = format!("{} {}", kind.method, kind.route);
    let mut details = Map::from_iter([("status".to_owned(), json!(kind.status))]);
    if let Some(network) = &kind.network {
        details.insert("network".to_owned(), network.as_str().into());
    }
    if let Some(more) = more {
        details.insert("more".to_owned(), more.into());
    }
    let details = Value::Object(details);
    let actor = kind.actor.as_deref().unwrap_or("anonymous");
    if kind.status < 400 {
        return AuditEntry::new(now, actor, "audited.read", &resource, details);
    }
    AuditEntry::new(now, actor, "request.refused", &resource, details).with_outcome(Outcome::Refused)
}
