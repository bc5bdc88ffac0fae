//! A job and its executions, pure: what it is asked, told and what time brings; the shell stores what changed.
//!
//! Every move of many devices is made in steps of a bounded number, each following from what is stored: a server that
//! dies between two of them goes on where it was.

mod evaluate;
mod fit;
mod operate;
mod report;
mod step;
mod tally;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub use fit::{Fit, fit};
pub use report::{Gate, Report};
pub use step::Free;
pub use tally::Tally;

use super::execution::{ExecError, ExecState, Execution};
use super::job::{Job, JobState};
use super::schedule::{Credit, Opening};
use muster_core::Millis;

/// Something that happened, to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// An execution came into another state: its place among the executions.
    Execution(u32),
    /// The job: the event's name.
    Job(&'static str),
}

/// What a turn changed, in the order in which it happened.
#[derive(Debug, Default)]
pub struct Drained {
    pub happened: Vec<Happened>,
    pub executions: BTreeSet<u32>,
    pub job: bool,
}

/// Executions whose hands are to be looked at again.
type Moved = BTreeSet<u32>;

/// A job with its executions, and what is counted of them.
#[derive(Debug)]
pub struct Rollout {
    pub job: Job,
    /// By group, within it by device.
    executions: Vec<Execution>,
    index: HashMap<Arc<str>, u32>,
    all: Tally,
    groups: Vec<Tally>,
    queued: BTreeSet<u32>,
    active: BTreeSet<u32>,
    deadlines: BTreeSet<(Millis, u32)>,
    /// Still to be told to go back.
    to_revert: BTreeSet<u32>,
    credit: Credit,
    opening: Option<Opening>,
    changed: Drained,
    /// What the last drain took.
    moved: Moved,
    /// A counter changed since progress was told.
    progressed: bool,
    told_progress: Millis,
}

impl Rollout {
    /// From what is stored, or what is about to be. `executions` in any order.
    pub fn new(job: Job, mut executions: Vec<Execution>, now: Millis) -> Self {
        executions.sort_by(|a, b| (a.group, &a.device_id).cmp(&(b.group, &b.device_id)));
        let mut rollout = Self {
            groups: vec![Tally::default(); job.groups.len()],
            opening: job.policy.window.as_ref().and_then(|window| Opening::read(window).ok()),
            job,
            executions: Vec::new(),
            index: HashMap::new(),
            all: Tally::default(),
            queued: BTreeSet::new(),
            active: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            to_revert: BTreeSet::new(),
            credit: Credit::new(now),
            changed: Drained::default(),
            moved: Moved::new(),
            progressed: false,
            told_progress: Millis(0),
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

    /// By group, within it by device.
    pub fn executions(&self) -> &[Execution] {
        &self.executions
    }

    pub fn execution(&self, device: &str) -> Option<&Execution> {
        self.index.get(device).and_then(|at| self.at(*at))
    }

    pub fn at(&self, at: u32) -> Option<&Execution> {
        self.executions.get(at as usize)
    }

    pub fn counters(&self) -> &Tally {
        &self.all
    }

    /// The share of executions that came to an end, in percent.
    pub fn progress_pct(&self) -> u32 {
        let open = self.queued.len() + self.active.len();
        let total = self.executions.len().max(1);
        u32::try_from((total - open.min(total)) * 100 / total).unwrap_or(100)
    }

    /// Nothing will happen to it any more.
    pub fn is_settled(&self) -> bool {
        self.job.state.is_terminal() && self.queued.is_empty() && self.active.is_empty()
    }

    /// Devices that have it in hand.
    pub fn active_devices(&self) -> impl Iterator<Item = &Arc<str>> {
        self.active.iter().filter_map(|at| self.at(*at)).map(|execution| &execution.device_id)
    }

    /// Takes what changed since the last call.
    pub fn drain(&mut self) -> Drained {
        let drained = std::mem::take(&mut self.changed);
        self.moved.clone_from(&drained.executions);
        drained
    }

    /// The executions that the last drain took.
    pub fn recent(&self) -> &BTreeSet<u32> {
        &self.moved
    }

    /// Moves an execution; every move goes through here.
    fn go(&mut self, at: u32, to: ExecState, now: Millis) {
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
        self.all.shift(from, to);
        if let Some(tally) = self.groups.get_mut(group) {
            tally.shift(from, to);
        }
        set(&mut self.queued, at, to == ExecState::Queued);
        set(&mut self.active, at, to.is_active());
        self.progressed = true;
        self.changed.executions.insert(at);
        self.changed.happened.push(Happened::Execution(at));
    }

    /// Gives an execution up at `deadline`.
    fn due(&mut self, at: u32, deadline: Millis) {
        let Some(execution) = self.executions.get_mut(at as usize) else { return };
        if let Some(before) = execution.deadline.replace(deadline) {
            self.deadlines.remove(&(before, at));
        }
        self.deadlines.insert((deadline, at));
    }

    fn blame(&mut self, at: u32, code: &str, message: &str) {
        if let Some(execution) = self.executions.get_mut(at as usize) {
            execution.error = Some(ExecError { code: code.to_owned(), message: message.chars().take(500).collect() });
        }
    }

    /// An attempt failed: another one where the policy has one left and the rollout goes on, else the end.
    fn give_up(&mut self, at: u32, to: ExecState, code: &str, message: &str, now: Millis) {
        self.blame(at, code, message);
        let goes_on = matches!(self.job.state, JobState::RollingOut | JobState::Paused);
        let again = self.at(at).is_some_and(|execution| {
            execution.attempt <= self.job.policy.retries && execution.state != ExecState::RollingBack
        });
        if !(goes_on && again) {
            return self.go(at, to, now);
        }
        if let Some(execution) = self.executions.get_mut(at as usize) {
            execution.attempt += 1;
            (execution.progress_pct, execution.bytes_done) = (0, 0);
        }
        self.go(at, ExecState::Queued, now);
    }

    /// Moves the job; every move goes through here.
    fn become_state(&mut self, to: JobState, event: &'static str, now: Millis) {
        debug_assert!(self.job.state.may_become(to), "{:?} to {to:?}", self.job.state);
        self.job.state = to;
        if to.is_terminal() {
            self.job.finished_at = Some(now);
        }
        self.touch_job(now);
        self.changed.happened.push(Happened::Job(event));
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

    /// Everyone who may run what the job brought and was not told to go back yet.
    fn find_reverts(&mut self) {
        let changed = |execution: &Execution| match execution.state {
            ExecState::Succeeded => execution.touched(),
            ExecState::Failed | ExecState::TimedOut => execution.touched() && !execution.reverted,
            _ => false,
        };
        let found = (0u32..).zip(&self.executions).filter(|(_, execution)| changed(execution)).map(|(at, _)| at);
        self.to_revert = found.collect();
    }
}

fn set(places: &mut BTreeSet<u32>, at: u32, within: bool) {
    if within {
        places.insert(at);
    } else {
        places.remove(&at);
    }
}
