//! The steps in a task's journal.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use muster_core::Millis;
use serde_json::Value;

use crate::support::client::Client;

/// Milliseconds since the Unix epoch, the server's time unit.
pub fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// One change of a step.
#[derive(Debug)]
struct Change {
    index: u64,
    status: String,
    attempt: u64,
    at: u64,
}

/// The journal of a task, in order, and the changes of its steps.
pub struct Journal {
    id: String,
    entries: Vec<Value>,
    changes: Vec<Change>,
}

impl std::fmt::Debug for Journal {
    /// Every entry on a separate line: a failed check prints all of them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.id)?;
        self.entries.iter().try_for_each(|entry| writeln!(f, "  {entry}"))
    }
}

impl Journal {
    pub async fn read(client: &Client, id: &str) -> Self {
        let (mut entries, mut changes, mut after) = (Vec::new(), Vec::new(), 0);
        loop {
            let page = client.get(&format!("/api/v1/tasks/{id}/events?after={after}")).await.json();
            for entry in page["events"].as_array().unwrap() {
                let seq = entry["seq"].as_u64().unwrap();
                assert_eq!(seq, after + 1, "{id}: its journal has no gap");
                after = seq;
                changes.extend((entry["event"] == "task.step").then(|| Change::of(entry)));
                entries.push(entry.clone());
            }
            if page["more"] == false {
                return Self { id: id.to_owned(), entries, changes };
            }
        }
    }

    fn of(&self, status: &str) -> BTreeMap<u64, Vec<&Change>> {
        let mut of: BTreeMap<u64, Vec<&Change>> = BTreeMap::new();
        for change in self.changes.iter().filter(|change| change.status == status) {
            of.entry(change.index).or_default().push(change);
        }
        of
    }

    /// Every started step succeeded exactly once, and did not change after that.
    pub fn finished_once(&self) {
        let (started, succeeded) = (self.of("running"), self.of("succeeded"));
        assert!(!started.is_empty(), "{} did something", self.id);
        for index in started.keys() {
            assert_eq!(succeeded.get(index).map(Vec::len), Some(1), "step {index} is finished once: {self:?}");
            let last = self.changes.iter().rfind(|change| change.index == *index).unwrap();
            assert_eq!(last.status, "succeeded", "step {index} is not touched after it was finished: {self:?}");
        }
        // One after the other: a step is finished before the next one starts.
        assert!(self.changes.iter().map(|change| change.index).is_sorted(), "{self:?}");
    }

    /// Asserts that no step was started a second time.
    pub fn begun_once(&self) {
        for (index, starts) in self.of("running") {
            assert_eq!(starts.len(), 1, "step {index} is started once: {self:?}");
            assert_eq!(starts[0].attempt, 1, "{self:?}");
        }
    }

    /// A step was repeated only after a crash during it, at most one per crash; or because it had failed,
    /// for example where an engine exceeded its time on a busy machine. Returns how many crashes repeated one.
    pub fn repeated_at_most_once_a_crash(&self, crashes: &[u64]) -> usize {
        let mut hit = BTreeSet::new();
        for (index, starts) in self.of("running") {
            for (before, start) in starts.iter().zip(starts.iter().skip(1)) {
                let crashes_before = |at: u64| crashes.iter().filter(|crash| **crash < at).count();
                let (from, to) = (crashes_before(before.at), crashes_before(start.at));
                let tried_again = |change: &&Change| {
                    change.index == index && change.attempt == before.attempt && change.status == "failed"
                };
                if from == to && self.changes.iter().any(|change| tried_again(&change)) {
                    continue;
                }
                assert!(from < to, "step {index} began twice under one server: {self:?}, {crashes:?}");
                assert!(hit.insert(to), "the crash {to} repeats more than one step: {self:?}, {crashes:?}");
                assert_eq!(start.attempt, before.attempt + 1, "{self:?}");
            }
        }
        hit.len()
    }
}

impl Change {
    fn of(entry: &Value) -> Self {
        let data = &entry["data"];
        Self {
            index: data["index"].as_u64().unwrap(),
            status: data["status"].as_str().unwrap().to_owned(),
            attempt: data["attempt"].as_u64().unwrap(),
            at: Millis::parse_rfc3339(entry["at"].as_str().unwrap()).unwrap().0,
        }
    }
}
