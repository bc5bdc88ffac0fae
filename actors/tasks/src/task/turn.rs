//! What follows from a change of a task: its seat, what comes next, who else may run.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::actor::TaskActor;
use super::book::Seat;
use super::events;
use super::jobs::{Begin, Job, Read, Report, Said, What};
use super::record::Status;
use super::state::Event;
use super::stored::StoredStep;
use super::then::Then;
use super::unit::Unit;
use super::work::{Next, Retry, StepAsk, StepError, StepSpec, View};

/// Longest result, in bytes as JSON.
const MAX_RESULT: usize = 2 << 20;

impl TaskActor {
    /// Puts a task where its status wants it, and asks what comes next where it has a slot and nothing to do.
    pub(super) fn settle(&mut self, id: &Arc<str>, unit: &mut Unit) {
        let now = self.now();
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        let status = entry.task.status();
        let backs_off = entry.task.inner.retry_at.is_some_and(|at| at > now);
        let wanted = match status {
            Status::Running | Status::Pausing => Seat::Slot,
            // One that has a slot already is being planned.
            Status::Queued if entry.seat == Seat::Slot => Seat::Slot,
            Status::Retrying if !backs_off && entry.seat == Seat::Slot => Seat::Slot,
            Status::Queued => Seat::Queue,
            Status::Retrying if !backs_off => Seat::Queue,
            _ => Seat::Nowhere,
        };
        let had = std::mem::replace(&mut entry.seat, wanted);
        if had != wanted {
            match had {
                Seat::Queue => drop(self.book.queue.remove(id)),
                Seat::Slot => {
                    self.book.queue.release(&entry.owner);
                    (entry.view, entry.job) = (None, None);
                }
                Seat::Nowhere => {}
            }
            let record = &entry.task.record;
            match wanted {
                Seat::Queue => {
                    let since = record.queued_at.unwrap_or(record.created_at);
                    self.book.queue.push(id, &entry.owner, record.priority, since);
                }
                Seat::Slot => self.book.queue.occupy(&entry.owner),
                Seat::Nowhere => entry.first = None,
            }
        }
        if entry.counted != Some(status) {
            self.rate.moved(entry.counted, status);
            entry.counted = Some(status);
        }
        let due = entry.task.due(self.options.settings.queue_timeout, now);
        if due != entry.due {
            if let Some(before) = entry.due {
                self.book.due.remove(&(before, Arc::clone(id)));
            }
            if let Some(due) = due {
                self.book.due.insert((due, Arc::clone(id)));
            }
            entry.due = due;
        }
        if entry.seat == Seat::Slot && entry.job.is_none() && entry.task.doing().is_none() {
            self.plan(id, unit);
        }
    }

    /// Gives free slots to those who are next.
    pub(super) fn dispatch(&mut self, unit: &mut Unit) {
        if self.draining.is_some() || self.read_only() {
            return;
        }
        while let Some(id) = self.book.queue.pop() {
            if let Some(entry) = self.book.entries.get_mut(&id) {
                entry.seat = Seat::Slot;
                self.plan(&id, unit);
            }
        }
    }

    pub(super) fn new_job(&mut self, revision: u32, what: What) -> Job {
        self.jobs += 1;
        Job { number: self.jobs, revision, what, cancel: CancellationToken::new(), slot: Arc::default(), killed: None }
    }

    /// Asks what comes next: at a boundary, so the instructions that wait join first.
    fn plan(&mut self, id: &Arc<str>, unit: &mut Unit) {
        if self.draining.is_some() {
            return;
        }
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        if let Some(next) = entry.first.take()
            && entry.task.record.instructions.is_empty()
            && entry.task.inner.hand.is_none()
        {
            let view = entry.view.take().unwrap_or_else(|| Arc::new(entry.bare_view()));
            return self.proceed(id, view, Ok(*next), unit);
        }
        if entry.task.instructed() {
            // It is at a boundary: nothing can keep the instructions from joining.
            let _ = self.happen(id, unit, Event::Boundary);
        }
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        let (mut view, done) = (entry.bare_view(), entry.task.record.progress.completed_steps);
        let read = match entry.view.take() {
            Some(known) => {
                view.done.clone_from(&known.done);
                Read::Nothing
            }
            None if done == 0 => Read::Nothing,
            None => Read::Steps,
        };
        let job = self.new_job(view.revision, What::Plan);
        self.runner.plan(Arc::clone(id), &job, view, read);
        if let Some(entry) = self.book.entries.get_mut(id) {
            entry.job = Some(job);
        }
    }

    /// Takes what comes next.
    fn proceed(&mut self, id: &Arc<str>, view: Arc<View>, next: Result<Next, StepError>, unit: &mut Unit) {
        let Some(entry) = self.book.entries.get_mut(id) else { return };
        if self.draining.is_some() {
            return;
        }
        if entry.task.instructed() || view.revision != entry.task.record.revision && entry.task.inner.hand.is_none() {
            // It was said without what was instructed since.
            entry.view = Some(view);
            return self.plan(id, unit);
        }
        let next = next.and_then(bounded);
        let spec = if let Ok(Next::Step(spec)) = &next { Some(spec.clone()) } else { None };
        let event = next.map_or_else(Event::Unplanned, Event::Next);
        if let Err(illegal) = self.happen(id, unit, event) {
            tracing::error!(task = %id, status = illegal.0.name(), "what comes next was said to a task that does not run");
        }
        if let Some(spec) = spec {
            self.begin(id, view, spec, unit);
        }
        self.settle(id, unit);
    }

    /// Has the step in hand done, once its start is durable.
    fn begin(&mut self, id: &Arc<str>, view: Arc<View>, spec: StepSpec, unit: &mut Unit) {
        let Some(entry) = self.book.entries.get(id) else { return };
        let (Some(doing), Some(key)) = (entry.task.doing(), entry.task.key()) else { return };
        let (index, attempt, owner) = (doing.index, doing.attempt, Arc::clone(&entry.owner));
        let job = self.new_job(entry.task.record.revision, What::Step { index, attempt });
        self.runner.trays.of(id, &owner).open(index);
        let ask = StepAsk { key, attempt, spec, view };
        unit.begins.push(Then::Begin(Box::new(Begin { id: Arc::clone(id), job: job.number, ask })));
        if let Some(entry) = self.book.entries.get_mut(id) {
            entry.job = Some(job);
        }
    }

    /// Hears a job. One whose place another took is late, and not heard.
    pub(super) fn report(&mut self, report: Report) {
        let Report { id, job, said } = report;
        let now = self.now();
        let Some(entry) = self.book.entries.get_mut(&id) else { return };
        if entry.job.take_if(|present| present.number == job).is_none() {
            return;
        }
        let mut unit = Unit::default();
        if !matches!(said, Said::Planned { .. })
            && let Some(tray) = self.runner.trays.find(&id)
        {
            tray.close();
            unit.tells.extend(events::news(&tray, tray.news(), now));
        }
        match said {
            Said::Planned { view, next } => self.proceed(&id, view, next, &mut unit),
            Said::Done { rec, usage, ms, view, next } => {
                let Some(index) = entry.task.doing().map(|doing| doing.index) else { return };
                unit.ops.push(StoredStep::op(&id, index, rec));
                self.rate.wrote(usage, now);
                if self.happen(&id, &mut unit, Event::StepDone { usage, ms }).is_ok() && self.runs(&id) {
                    self.proceed(&id, view, next, &mut unit);
                }
            }
            Said::Failed { error, ms } => {
                self.rate.wrote(error.usage, now);
                // The job was the step's own: nothing took its place.
                let _ = self.happen(&id, &mut unit, Event::StepFailed { error, ms });
            }
        }
        self.settle(&id, &mut unit);
        self.dispatch(&mut unit);
        self.seal(unit);
        self.drained_by_now();
    }

    fn runs(&self, id: &str) -> bool {
        self.book.entries.get(id).is_some_and(|entry| entry.task.status() == Status::Running)
    }
}

/// A result is bounded, like what steps give.
fn bounded(next: Next) -> Result<Next, StepError> {
    let Next::Done(result) = &next else { return Ok(next) };
    let bytes = serde_json::to_vec(result).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > MAX_RESULT {
        let detail = format!("the result has {bytes} bytes, and may have {MAX_RESULT}: ask for less");
        return Err(StepError::new("OUTPUT_TOO_LARGE", detail, Retry::Never));
    }
    Ok(next)
}
