//! Sentinels as the server runs them: critical verdicts are in the audit log and in the feed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::{Clock, Error, Millis};
use muster_governance::payload_sha256;
use muster_store::{Batch, StoreHandle};
use muster_tasks::engine::EngineCaller;
use muster_tasks::sentinel::{Orchestrated, Orchestration, Sentinels, SwarmEvent};
use serde_json::{Value, json};

const CHANNEL: &str = "governance";
const CRITICAL: &str = "critical";
/// Time within which a subject is reported once.
const ONCE_IN: Duration = Duration::from_secs(600);
/// Subjects that are remembered. Within the time, further ones are not reported.
const MAX_SUBJECTS: usize = 10_000;

/// The sentinels, and the record of critical verdicts.
#[derive(Debug, Clone)]
pub struct WatchedSentinels {
    pub(crate) sentinels: Sentinels,
    store: StoreHandle,
    publisher: Publisher,
    clock: Clock,
    reported: Arc<Mutex<Reported>>,
}

/// What was reported lately: hashes of subjects, with the time.
#[derive(Debug, Default)]
struct Reported(HashMap<String, Millis>);

impl Reported {
    /// Returns whether the subject is to be reported now, and remembers it.
    fn is_due(&mut self, subject: &str, now: Millis) -> bool {
        self.0.retain(|_, at| now.since(*at) < ONCE_IN);
        let due = self.0.len() < MAX_SUBJECTS && !self.0.contains_key(subject);
        if due {
            self.0.insert(subject.to_owned(), now);
        }
        due
    }
}

impl WatchedSentinels {
    pub(super) fn new(sentinels: Sentinels, store: StoreHandle, publisher: Publisher, clock: Clock) -> Self {
        Self { sentinels, store, publisher, clock, reported: Arc::default() }
    }

    /// Runs the sentinels on the subject of the input. A critical verdict is recorded before it is returned, with the hash
    /// of the subject and not the subject.
    ///
    /// # Errors
    /// Those of [`Sentinels::orchestrate`]; `Unavailable` if a critical verdict could not be recorded.
    pub(crate) async fn orchestrate(
        &self,
        orchestration: Orchestration,
        subject: &Value,
        caller: EngineCaller,
        notify: impl FnMut(SwarmEvent) + Send,
    ) -> Result<Orchestrated, Error> {
        let actor = caller.actor.clone();
        let answer = self.sentinels.orchestrate(orchestration, caller, notify).await?;
        if answer.verdict == CRITICAL {
            self.report(&answer, subject, &actor).await?;
        }
        Ok(answer)
    }

    async fn report(&self, answer: &Orchestrated, subject: &Value, actor: &str) -> Result<(), Error> {
        let (sha256, now) = (payload_sha256(subject)?, self.clock.now());
        if !self.reported.lock().unwrap_or_else(PoisonError::into_inner).is_due(&sha256, now) {
            return Ok(());
        }
        let critical = answer.runs.iter().filter(|run| run.verdict == CRITICAL).map(|run| run.sentinel);
        let details =
            json!({ "subject_sha256": sha256, "score": answer.score, "sentinels": critical.collect::<Vec<_>>() });
        let entry = AuditEntry::new(now, actor, "sentinel.critical", &sha256, details.clone());
        let mut data = details;
        if let Some(data) = data.as_object_mut() {
            data.insert("by".to_owned(), actor.into());
        }
        let event = Event::new("sentinel.critical", now, vec![CHANNEL.to_owned()], &data);
        self.store.commit(Batch { ops: vec![entry.op()?, event.op()?], ..Batch::default() }).await?;
        self.publisher.publish(vec![event]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_reported_once_in_ten_minutes() {
        let mut reported = Reported::default();
        let start = Millis(1_000);
        assert!(reported.is_due("a", start));
        assert!(!reported.is_due("a", Millis(1_000 + 599_999)));
        assert!(reported.is_due("b", Millis(1_000 + 599_999)));
        assert!(reported.is_due("a", Millis(1_000 + 600_000)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut reported = Reported::default();
        for number in 0..MAX_SUBJECTS {
            assert!(reported.is_due(&number.to_string(), Millis(5)));
        }
        assert!(!reported.is_due("one more", Millis(6)));
        assert!(reported.is_due("one more", Millis(5 + 600_000)));
        assert_eq!(reported.0.len(), 1);
    }
}
