//! The state machine of a job and its executions. Pure; the actor stores its changes.
//!
//! Changes of many devices are made in bounded steps, each following from stored state, so that a server that dies
//! between two of them continues where it was.

mod actions;
mod advance;
mod counts;
mod evaluate;
mod fit;
mod report;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub use advance::IsFree;
pub use counts::ExecutionCounts;
pub use fit::{Fit, fit};
pub use report::{ExecutionReport, GateHeartbeat};

use super::execution::{ExecError, ExecState, Execution};
use super::job::{AfterAbort, Job, JobState};
use super::pacing::{MaintenanceWindow, RateCredit};
use muster_core::Millis;

/// An event to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RolloutEvent {
    /// An execution changed its state: its index.
    Execution(u32),
    /// The job changed: the name of the event.
    Job(&'static str),
}

/// Changes since the last call of [`Rollout::drain`], in order.
#[derive(Debug, Default)]
pub struct RolloutChanges {
    pub events: Vec<RolloutEvent>,
    pub executions: BTreeSet<u32>,
    pub job: bool,
}

/// Indexes of changed executions.
type Moved = BTreeSet<u32>;

/// A job with its executions and their counts.
#[derive(Debug)]
pub struct Rollout {
    pub job: Job,
    /// Ordered by group and device.
    executions: Vec<Execution>,
    index: HashMap<Arc<str>, u32>,
    all: ExecutionCounts,
    groups: Vec<ExecutionCounts>,
    queued: BTreeSet<u32>,
    active: BTreeSet<u32>,
    deadlines: BTreeSet<(Millis, u32)>,
    /// Executions still to be rolled back.
    to_revert: BTreeSet<u32>,
    credit: RateCredit,
    window: Option<MaintenanceWindow>,
    changed: RolloutChanges,
    /// Executions of the last drain.
    moved: Moved,
    /// Whether a counter changed since progress was published.
    progressed: bool,
    progress_published_at: Millis,
}

impl Rollout {
    /// Builds a rollout from stored records, or from records about to be stored; `executions` in any order.
    pub fn new(job: Job, mut executions: Vec<Execution>, now: Millis) -> Self {
        executions.sort_by(|a, b| (a.group, &a.device_id).cmp(&(b.group, &b.device_id)));
        let mut rollout = Self {
            groups: vec![ExecutionCounts::default(); job.groups.len()],
            window: job.policy.window.as_ref().and_then(|window| MaintenanceWindow::read(window).ok()),
            job,
            executions: Vec::new(),
            index: HashMap::new(),
            all: ExecutionCounts::default(),
            queued: BTreeSet::new(),
            active: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            to_revert: BTreeSet::new(),
            credit: RateCredit::new(now),
            changed: RolloutChanges::default(),
            moved: Moved::new(),
            progressed: false,
            progress_published_at: Millis(0),
        };
        for (at, execution) in (0u32..).zip(&executions) {
            rollout.index.insert(Arc::clone(&execution.device_id), at);
            rollout.count_in(at, execution);
        }
        rollout.executions = executions;
        if rollout.job.state == JobState::RollingBack {
            rollout.find_reverts();
        }
        rollout
    }

    fn count_in(&mut self, at: u32, execution: &Execution) {
        self.all.add(execution.state);
        if let Some(group) = self.groups.get_mut(execution.group as usize) {
            group.add(execution.state);
        }
        if execution.state == ExecState::Queued {
            self.queued.insert(at);
        }
        if execution.state.is_active() {
            self.active.insert(at);
        }
        if let Some(deadline) = execution.deadline {
            self.deadlines.insert((deadline, at));
        }
    }

    /// Returns the executions, ordered by group and device.
    pub fn executions(&self) -> &[Execution] {
        &self.executions
    }

    pub fn execution(&self, device: &str) -> Option<&Execution> {
        self.index.get(device).and_then(|at| self.at(*at))
    }

    pub fn at(&self, at: u32) -> Option<&Execution> {
        self.executions.get(at as usize)
    }

    pub fn counters(&self) -> &ExecutionCounts {
        &self.all
    }

    /// Returns the share of finished executions in percent.
    pub fn progress_pct(&self) -> u32 {
        let open = self.queued.len() + self.active.len();
        let total = self.executions.len().max(1);
        u32::try_from((total - open.min(total)) * 100 / total).unwrap_or(100)
    }

    /// Returns whether nothing will change any more.
    pub fn is_settled(&self) -> bool {
        self.job.state.is_terminal() && self.queued.is_empty() && self.active.is_empty()
    }

    /// Returns the devices that are working on it.
    pub fn active_devices(&self) -> impl Iterator<Item = &Arc<str>> {
        self.active.iter().filter_map(|at| self.at(*at)).map(|execution| &execution.device_id)
    }

    /// Takes the changes since the last call.
    pub fn drain(&mut self) -> RolloutChanges {
        let drained = std::mem::take(&mut self.changed);
        self.moved.clone_from(&drained.executions);
        drained
    }

    /// Returns the executions of the last drain.
    pub fn recent(&self) -> &BTreeSet<u32> {
        &self.moved
    }

    /// Changes the state of an execution; every change goes through here.
    fn transition(&mut self, at: u32, to: ExecState, now: Millis) {
        let Some(execution) = self.executions.get_mut(at as usize) else { return };
        let from = execution.state;
        debug_assert!(from.may_become(to), "{from:?} to {to:?}");
        execution.state = to;
        execution.times.insert(to, now);
        execution.exec_version += 1;
        execution.updated_at = now;
        if !to.is_active()
            && let Some(deadline) = execution.deadline.take()
        {
            self.deadlines.remove(&(deadline, at));
        }
        if to.is_success() {
            execution.progress_pct = 100;
            execution.error = None;
        }
        let group = execution.group as usize;
        self.all.transfer(from, to);
        if let Some(counts) = self.groups.get_mut(group) {
            counts.transfer(from, to);
        }
        set(&mut self.queued, at, to == ExecState::Queued);
        set(&mut self.active, at, to.is_active());
        self.progressed = true;
        self.changed.executions.insert(at);
        self.changed.events.push(RolloutEvent::Execution(at));
    }

    /// Sets the deadline of an execution.
    fn set_deadline(&mut self, at: u32, deadline: Millis) {
        let Some(execution) = self.executions.get_mut(at as usize) else { return };
        if let Some(before) = execution.deadline.replace(deadline) {
            self.deadlines.remove(&(before, at));
        }
        self.deadlines.insert((deadline, at));
    }

    fn set_error(&mut self, at: u32, code: &str, message: &str, now: Millis) {
        if let Some(execution) = self.executions.get_mut(at as usize) {
            let error = ExecError { code: code.to_owned(), message: message.chars().take(500).collect() };
            execution.fail(error, now);
        }
    }

    /// Ends a failed attempt: starts another one if the policy has one left and the rollout continues, otherwise ends
    /// the execution.
    fn fail_attempt(&mut self, at: u32, to: ExecState, code: &str, message: &str, now: Millis) {
        self.set_error(at, code, message, now);
        let goes_on = matches!(self.job.state, JobState::RollingOut | JobState::Paused);
        let again = self.at(at).is_some_and(|execution| {
            execution.attempt <= self.job.policy.retries && execution.state != ExecState::RollingBack
        });
        if !(goes_on && again) {
            return self.transition(at, to, now);
        }
        if let Some(execution) = self.executions.get_mut(at as usize) {
            execution.attempt += 1;
            (execution.progress_pct, execution.bytes_done) = (0, 0);
        }
        self.transition(at, ExecState::Queued, now);
    }

    /// Changes the state of the job; every change goes through here.
    fn become_state(&mut self, to: JobState, event: &'static str, now: Millis) {
        debug_assert!(self.job.state.may_become(to), "{:?} to {to:?}", self.job.state);
        self.job.state = to;
        if to.is_terminal() {
            self.job.finished_at = Some(now);
        }
        self.job.keep_reason(now);
        self.touch_job(now);
        self.changed.events.push(RolloutEvent::Job(event));
    }

    fn touch_job(&mut self, now: Millis) {
        if !self.changed.job {
            self.job.version += 1;
        }
        self.job.updated_at = now;
        self.changed.job = true;
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.job.policy.device_timeout_s.into())
    }

    /// Finds executions whose device may run the new firmware and was not rolled back yet.
    fn find_reverts(&mut self) {
        let found = (0u32..).zip(&self.executions).filter(|(_, execution)| may_revert(execution)).map(|(at, _)| at);
        self.to_revert = found.collect();
    }

    /// Returns the executions whose device may run the new firmware and was not rolled back yet.
    pub fn revertible(&self) -> impl Iterator<Item = &Execution> {
        self.executions.iter().filter(|execution| may_revert(execution))
    }

    /// Returns whether devices return to their previous firmware, or will once the active ones are done.
    pub fn is_returning(&self) -> bool {
        self.job.state == JobState::RollingBack || self.job.after == Some(AfterAbort::RollBack)
    }
}

fn may_revert(execution: &Execution) -> bool {
    match execution.state {
        ExecState::Succeeded => execution.touched(),
        ExecState::Failed | ExecState::TimedOut => execution.touched() && !execution.reverted,
        _ => false,
    }
}

fn set(places: &mut BTreeSet<u32>, at: u32, within: bool) {
    if within {
        places.insert(at);
    } else {
        places.remove(&at);
    }
}
