//! Changes caused by time alone.

use std::sync::Arc;

use muster_store::{Op, Record, Tree};

use super::actor::TaskActor;
use super::live_tasks::Placement;
use super::record::Status;
use super::state::Event;
use super::transaction::Transaction;
use muster_core::Millis;

/// Maximum number of tasks whose time is checked in one message.
const MOST: usize = 1_000;
/// Number of ticks between two publications of figures.
const STATS_EVERY: u64 = 2;
/// Number of ticks between two writes of run times.
const TIMES_EVERY: u64 = 50;

impl TaskActor {
    pub(super) fn tick(&mut self) {
        let now = self.now();
        let read_only = self.read_only();
        for _ in 0..MOST {
            if read_only || self.live.due.first().is_none_or(|(at, _)| *at > now) {
                break;
            }
            let Some((_, id)) = self.live.due.pop_first() else { break };
            self.is_due(&id, now);
        }
        let ticks = self.rate.tick();
        if ticks.is_multiple_of(TIMES_EVERY) && !read_only {
            self.store_times();
        }
        if ticks.is_multiple_of(STATS_EVERY) {
            self.publish_stats();
        }
    }

    fn is_due(&mut self, id: &Arc<str>, now: Millis) {
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        entry.due = None;
        let event = match entry.task.status() {
            // A task that has a slot is being planned and no longer waits.
            Status::Queued if entry.placement == Placement::Queue => Some(Event::QueueTimeUp),
            Status::Running | Status::Pausing | Status::Retrying => {
                entry.task.record.deadline_at.is_some_and(|at| at <= now).then_some(Event::TimeUp)
            }
            _ => None,
        };
        let mut transaction = Transaction::default();
        if let Some(event) = event {
            // A task that is not due yet rejects the event and stays.
            let _ = self.apply_event(id, &mut transaction, event);
        }
        self.settle(id, &mut transaction);
        self.dispatch(&mut transaction);
        self.seal(transaction);
    }

    /// Records the run time of an ended task for its agent.
    pub(super) fn ended(&mut self, agent: &str, status: Status, ran_ms: u64) {
        self.rate.ended(ran_ms, self.now());
        if status == Status::Succeeded {
            self.live.times.entry(agent.to_owned()).or_default().add(ran_ms);
            self.stale_times.insert(agent.to_owned());
        }
    }

    /// Run times are not written with each task: a crash loses those of the last seconds.
    pub(super) fn store_times(&mut self) {
        let mut transaction = Transaction::default();
        for agent in std::mem::take(&mut self.stale_times) {
            match self.live.times.get(&agent).map(Record::encode) {
                Some(Ok(rec)) => transaction.ops.push(Op::Put { tree: Tree::Estimates, key: agent.into_bytes(), rec }),
                Some(Err(error)) => tracing::error!(%error, agent, "run times cannot be stored"),
                None => {}
            }
        }
        self.seal(transaction);
    }

    pub(super) fn publish_stats(&mut self) {
        let now = self.now();
        let mut stats = self.rate.stats(now);
        stats.workers = self.options.settings.slots;
        stats.oldest_seconds = self.live.oldest().map_or(0, |at| now.since(at).as_secs());
        self.stats.send_replace(stats);
    }
}
