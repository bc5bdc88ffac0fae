//! Consequences of a change of a task: its placement, what comes next, and who else may run.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::actor::TaskActor;
use super::effect::Effect;
use super::events;
use super::executor::{NextAction, Retry, StepError, StepRequest, StepSpec, TaskView};
use super::jobs::{Begin, Job, JobKind, JobOutcome, JobReport, ReadSteps};
use super::live_tasks::Placement;
use super::record::Status;
use super::state::Event;
use super::stored::StoredStep;
use super::transaction::Transaction;

/// Maximum size of a result, in bytes as JSON.
const MAX_RESULT: usize = 2 << 20;

impl TaskActor {
    /// Updates the placement of a task according to its status, and plans it if it has a slot and no job.
    pub(super) fn settle(&mut self, id: &Arc<str>, transaction: &mut Transaction) {
        let now = self.now();
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        let status = entry.task.status();
        let backs_off = entry.task.inner.retry_at.is_some_and(|at| at > now);
        let wanted = match status {
            Status::Running | Status::Pausing => Placement::Slot,
            // A queued task that has a slot is being planned.
            Status::Queued if entry.placement == Placement::Slot => Placement::Slot,
            Status::Retrying if !backs_off && entry.placement == Placement::Slot => Placement::Slot,
            Status::Queued => Placement::Queue,
            Status::Retrying if !backs_off => Placement::Queue,
            _ => Placement::Nowhere,
        };
        let had = std::mem::replace(&mut entry.placement, wanted);
        if had != wanted {
            match had {
                Placement::Queue => drop(self.live.queue.remove(id)),
                Placement::Slot => {
                    self.live.queue.release(&entry.owner);
                    (entry.view, entry.job) = (None, None);
                }
                Placement::Nowhere => {}
            }
            let record = &entry.task.record;
            match wanted {
                Placement::Queue => {
                    let since = record.queued_at.unwrap_or(record.created_at);
                    self.live.queue.push(id, &entry.owner, record.priority, since);
                }
                Placement::Slot => self.live.queue.occupy(&entry.owner),
                Placement::Nowhere => entry.first = None,
            }
        }
        if entry.counted != Some(status) {
            self.rate.status_changed(entry.counted, status);
            entry.counted = Some(status);
        }
        let due = entry.task.due(self.options.settings.queue_timeout, now);
        if due != entry.due {
            if let Some(before) = entry.due {
                self.live.due.remove(&(before, Arc::clone(id)));
            }
            if let Some(due) = due {
                self.live.due.insert((due, Arc::clone(id)));
            }
            entry.due = due;
        }
        if entry.placement == Placement::Slot && entry.job.is_none() && entry.task.doing().is_none() {
            self.plan(id, transaction);
        }
    }

    /// Assigns free slots to the next tasks.
    pub(super) fn dispatch(&mut self, transaction: &mut Transaction) {
        if self.draining.is_some() || self.read_only() {
            return;
        }
        while let Some(id) = self.live.queue.pop() {
            if let Some(entry) = self.live.entries.get_mut(&id) {
                entry.placement = Placement::Slot;
                self.plan(&id, transaction);
            }
        }
    }

    pub(super) fn new_job(&mut self, revision: u32, kind: JobKind) -> Job {
        self.jobs += 1;
        Job { number: self.jobs, revision, kind, cancel: CancellationToken::new(), slot: Arc::default(), killed: None }
    }

    /// Plans a task. It is at a boundary, so pending instructions take effect first.
    fn plan(&mut self, id: &Arc<str>, transaction: &mut Transaction) {
        if self.draining.is_some() {
            return;
        }
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        if let Some(next) = entry.first.take()
            && entry.task.record.instructions.is_empty()
            && entry.task.inner.current_step.is_none()
        {
            let view = entry.view.take().unwrap_or_else(|| Arc::new(entry.bare_view()));
            return self.proceed(id, view, Ok(*next), transaction);
        }
        if entry.task.instructed() {
            // The task is at a boundary, so this cannot fail.
            let _ = self.apply_event(id, transaction, Event::Boundary);
        }
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        let (mut view, done) = (entry.bare_view(), entry.task.record.progress.completed_steps);
        let read = match entry.view.take() {
            Some(known) => {
                view.done.clone_from(&known.done);
                ReadSteps::No
            }
            None if done == 0 => ReadSteps::No,
            None => ReadSteps::Yes,
        };
        let job = self.new_job(view.revision, JobKind::Plan);
        self.runner.plan(Arc::clone(id), &job, view, read);
        if let Some(entry) = self.live.entries.get_mut(id) {
            entry.job = Some(job);
        }
    }

    /// Processes what comes next.
    fn proceed(
        &mut self,
        id: &Arc<str>,
        view: Arc<TaskView>,
        next: Result<NextAction, StepError>,
        transaction: &mut Transaction,
    ) {
        let Some(entry) = self.live.entries.get_mut(id) else { return };
        if self.draining.is_some() {
            return;
        }
        if entry.task.instructed()
            || view.revision != entry.task.record.revision && entry.task.inner.current_step.is_none()
        {
            // It was planned without a later instruction.
            entry.view = Some(view);
            return self.plan(id, transaction);
        }
        let next = next.and_then(bounded);
        let spec = if let Ok(NextAction::Step(spec)) = &next { Some(spec.clone()) } else { None };
        let event = next.map_or_else(Event::Unplanned, Event::Next);
        if let Err(illegal) = self.apply_event(id, transaction, event) {
            tracing::error!(task = %id, status = illegal.0.name(), "a task that is not running was planned");
        }
        if let Some(spec) = spec {
            self.begin(id, view, spec, transaction);
        }
        self.settle(id, transaction);
    }

    /// Starts the current step once its start is durable.
    fn begin(&mut self, id: &Arc<str>, view: Arc<TaskView>, spec: StepSpec, transaction: &mut Transaction) {
        let Some(entry) = self.live.entries.get(id) else { return };
        let (Some(doing), Some(key)) = (entry.task.doing(), entry.task.key()) else { return };
        let (index, attempt, owner) = (doing.index, doing.attempt, Arc::clone(&entry.owner));
        let job = self.new_job(entry.task.record.revision, JobKind::Step { index, attempt });
        self.runner.buffers.of(id, &owner).open(index);
        let request = StepRequest { key, attempt, spec, view };
        transaction.begins.push(Effect::Begin(Box::new(Begin { id: Arc::clone(id), job: job.number, request })));
        if let Some(entry) = self.live.entries.get_mut(id) {
            entry.job = Some(job);
        }
    }

    /// Processes the report of a job. A report of a replaced job is ignored.
    pub(super) fn report(&mut self, report: JobReport) {
        let JobReport { id, job, outcome } = report;
        let now = self.now();
        let Some(entry) = self.live.entries.get_mut(&id) else { return };
        if entry.job.take_if(|present| present.number == job).is_none() {
            return;
        }
        let mut transaction = Transaction::default();
        if !matches!(outcome, JobOutcome::Planned { .. })
            && let Some(buffer) = self.runner.buffers.find(&id)
        {
            buffer.close();
            transaction.published_events.extend(events::unpublished(&buffer, buffer.unpublished(), now));
        }
        match outcome {
            JobOutcome::Planned { view, next } => self.proceed(&id, view, next, &mut transaction),
            JobOutcome::Done { rec, usage, ms, view, next } => {
                let Some(index) = entry.task.doing().map(|doing| doing.index) else { return };
                transaction.ops.push(StoredStep::op(&id, index, rec));
                self.rate.tokens_written(usage, now);
                if self.apply_event(&id, &mut transaction, Event::StepDone { usage, ms }).is_ok() && self.runs(&id) {
                    self.proceed(&id, view, next, &mut transaction);
                }
            }
            JobOutcome::Failed { error, ms } => {
                self.rate.tokens_written(error.usage, now);
                // The job belongs to the step, so the event is possible.
                let _ = self.apply_event(&id, &mut transaction, Event::StepFailed { error, ms });
            }
        }
        self.settle(&id, &mut transaction);
        self.dispatch(&mut transaction);
        self.seal(transaction);
        self.finish_drain_if_idle();
    }

    fn runs(&self, id: &str) -> bool {
        self.live.entries.get(id).is_some_and(|entry| entry.task.status() == Status::Running)
    }
}

/// Checks the size of a result.
fn bounded(next: NextAction) -> Result<NextAction, StepError> {
    let NextAction::Done(result) = &next else { return Ok(next) };
    let bytes = serde_json::to_vec(result).map_or(usize::MAX, |bytes| bytes.len());
    if bytes > MAX_RESULT {
        let detail = format!("the result has {bytes} bytes, more than the maximum of {MAX_RESULT}: request less");
        return Err(StepError::new("OUTPUT_TOO_LARGE", detail, Retry::Never));
    }
    Ok(next)
}
