//! What time alone changes.

use std::sync::Arc;

use muster_store::{Op, Record, Tree};

use super::actor::TaskActor;
use super::book::Seat;
use super::record::Status;
use super::state::Event;
use super::unit::Unit;
use muster_core::Millis;

/// Most tasks whose time is looked at in one turn.
const MOST: usize = 1_000;
/// Ticks between two publications of figures.
const STATS_EVERY: u64 = 2;
/// Ticks between two writings of run times.
const TIMES_EVERY: u64 = 50;

impl TaskActor {
    pub(super) fn tick(&mut self) {
        let now = self.now();
        let read_only = self.read_only();
        for _ in 0..MOST {
            if read_only || self.book.due.first().is_none_or(|(at, _)| *at > now) {
                break;
            }
            let Some((_, id)) = self.book.due.pop_first() else { break };
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
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        entry.due = None;
        let event = match entry.task.status() {
            // One that has a slot is being planned: it waits no more.
            Status::Queued if entry.seat == Seat::Queue => Some(Event::QueueTimeUp),
            Status::Running | Status::Pausing | Status::Retrying => {
                entry.task.record.deadline_at.is_some_and(|at| at <= now).then_some(Event::TimeUp)
            }
            _ => None,
        };
        let mut unit = Unit::default();
        if let Some(event) = event {
            // What is not over yet is told so, and stays.
            let _ = self.happen(id, &mut unit, event);
        }
        self.settle(id, &mut unit);
        self.dispatch(&mut unit);
        self.seal(unit);
    }

    /// A task has ended: what that says of its agent.
    pub(super) fn ended(&mut self, agent: &str, status: Status, ran_ms: u64) {
        self.rate.ended(ran_ms, self.now());
        if status == Status::Succeeded {
            self.book.times.entry(agent.to_owned()).or_default().add(ran_ms);
            self.stale_times.insert(agent.to_owned());
        }
    }

    /// Run times are not worth a write of their own with each task: a crash forgets those of the last seconds.
    pub(super) fn store_times(&mut self) {
        let mut unit = Unit::default();
        for agent in std::mem::take(&mut self.stale_times) {
            match self.book.times.get(&agent).map(Record::encode) {
                Some(Ok(rec)) => unit.ops.push(Op::Put { tree: Tree::Estimates, key: agent.into_bytes(), rec }),
                Some(Err(error)) => tracing::error!(%error, agent, "run times cannot be stored"),
                None => {}
            }
        }
        self.seal(unit);
    }

    pub(super) fn publish_stats(&mut self) {
        let now = self.now();
        let mut stats = self.rate.stats(now);
        stats.workers = self.options.settings.slots;
        stats.oldest_seconds = self.book.oldest().map_or(0, |at| now.since(at).as_secs());
        self.stats.send_replace(stats);
    }
}
