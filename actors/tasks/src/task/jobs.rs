//! Jobs that run outside of the actor: planning, and running a step. A job reports once, or is dropped.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crossbeam_queue::SegQueue;
use futures::FutureExt;
use muster_store::{Rec, Record, StoreHandle};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::executor::{NextAction, Retry, StepError, StepOutput, StepRequest, StepSink, TaskExecutor, TaskView};
use super::kill_latency::Stopwatch;
use super::record::Usage;
use super::slot::{Ended, Slot};
use super::step_output::{OutputBuffers, StepOutputBuffer};
use super::stored::{self, StoredStep};
use muster_core::Clock;

/// Maximum size of a step's output, in bytes as JSON.
const MAX_OUTPUT: usize = 2 << 20;

/// A task's job in progress.
#[derive(Debug)]
pub(super) struct Job {
    /// Identifies the job: a report of a job that was replaced is ignored.
    pub(super) number: u64,
    /// The revision in which it was begun.
    pub(super) revision: u32,
    pub(super) kind: JobKind,
    pub(super) cancel: CancellationToken,
    /// The step's future, if the job is a step.
    pub(super) slot: Arc<StepSlot>,
    /// Measures the latency of a kill.
    pub(super) killed: Option<Stopwatch>,
}

/// Slot for a step's future; `Err` if it panicked.
pub(super) type StepSlot = Slot<std::thread::Result<Result<StepOutput, StepError>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    Plan,
    Step { index: u32, attempt: u32 },
}

impl Drop for Job {
    /// Dropping a job ends it, including when the actor dies.
    fn drop(&mut self) {
        self.cancel.cancel();
        self.slot.empty(self.killed.take());
    }
}

/// A step to be started once its start is durable.
#[derive(Debug)]
pub(super) struct Begin {
    pub(super) id: Arc<str>,
    pub(super) job: u64,
    pub(super) request: StepRequest,
}

/// Result of a job.
#[derive(Debug)]
pub(super) struct JobReport {
    pub(super) id: Arc<str>,
    pub(super) job: u64,
    pub(super) outcome: JobOutcome,
}

#[derive(Debug)]
pub(super) enum JobOutcome {
    Planned {
        view: Arc<TaskView>,
        next: Result<NextAction, StepError>,
    },
    Done {
        /// The encoded output.
        rec: Rec,
        usage: Usage,
        ms: u64,
        /// The task including this step, and what comes next.
        view: Arc<TaskView>,
        next: Result<NextAction, StepError>,
    },
    Failed {
        error: StepError,
        ms: u64,
    },
}

/// Queue of job reports: at most one per job.
#[derive(Debug, Default)]
pub(super) struct JobReports {
    waiting: SegQueue<JobReport>,
    wake: Notify,
}

impl JobReports {
    fn put(&self, report: JobReport) {
        self.waiting.push(report);
        self.wake.notify_one();
    }

    /// Resolves once a report was added since the last call.
    pub(super) async fn notified(&self) {
        self.wake.notified().await;
    }

    pub(super) fn take(&self) -> Option<JobReport> {
        self.waiting.pop()
    }

    /// Schedules further processing after other messages.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }
}

/// Dependencies of jobs. Cheap to clone.
#[derive(Clone)]
pub(super) struct Runner {
    pub(super) executor: Arc<dyn TaskExecutor>,
    pub(super) store: StoreHandle,
    pub(super) clock: Clock,
    pub(super) reports: Arc<JobReports>,
    pub(super) buffers: Arc<OutputBuffers>,
    pub(super) runtime: tokio::runtime::Handle,
}

/// Determines what comes next; a panic is converted into a failure.
pub(super) fn next_of(executor: &dyn TaskExecutor, view: &TaskView) -> Result<NextAction, StepError> {
    std::panic::catch_unwind(AssertUnwindSafe(|| executor.next(view))).unwrap_or_else(|_| {
        tracing::error!(task = %view.task_id, agent = %view.agent, "planning panicked");
        Err(StepError::new("AGENT_EXECUTION_ERROR", "the next step could not be determined", Retry::Never))
    })
}

fn unreadable(error: &muster_store::StoreError) -> StepError {
    tracing::error!(%error, "could not read finished steps");
    StepError::new("AGENT_EXECUTION_ERROR", "the outputs of its finished steps could not be read", Retry::Never)
}

impl Runner {
    /// Determines what comes next. `view` lacks the outputs of finished steps if `read` is `Steps`.
    pub(super) fn plan(&self, id: Arc<str>, job: &Job, mut view: TaskView, read: ReadSteps) {
        let (runner, number, cancel) = (self.clone(), job.number, job.cancel.clone());
        self.runtime.spawn(async move {
            if cancel.is_cancelled() {
                return;
            }
            let read = match read {
                ReadSteps::Yes => stored::steps(&runner.store, &id).map(|done| view.done = done),
                ReadSteps::No => Ok(()),
            };
            let next = match read {
                Ok(()) => next_of(&*runner.executor, &view),
                Err(error) => Err(unreadable(&error)),
            };
            runner.reports.put(JobReport {
                id,
                job: number,
                outcome: JobOutcome::Planned { view: Arc::new(view), next },
            });
        });
    }

    /// Runs a step until it ends or its job is dropped.
    pub(super) fn step(
        &self,
        begin: Begin,
        buffer: &Arc<StepOutputBuffer>,
        cancel: CancellationToken,
        slot: Arc<StepSlot>,
    ) {
        let Begin { id, job, request } = begin;
        let (runner, buffer) = (self.clone(), Arc::clone(buffer));
        let sink = {
            let (buffers, buffer, clock) = (Arc::clone(&self.buffers), Arc::clone(&buffer), self.clock.clone());
            StepSink::new(cancel.clone(), move |event| buffers.add(&buffer, event, clock.now()))
        };
        self.runtime.spawn(async move {
            let begun = Instant::now();
            let (index, revision, spec) = (request.key.index, request.key.revision, request.spec.clone());
            let view = Arc::clone(&request.view);
            let outcome = {
                let executor = Arc::clone(&runner.executor);
                // Created inside the future, so that a panic before its first await also fails the step.
                slot.fill(AssertUnwindSafe(async move { executor.run(request, sink).await }).catch_unwind().boxed());
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    done = Ended(&slot) => done,
                }
            };
            let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let outcome = outcome.unwrap_or_else(|_| {
                tracing::error!(task = %id, step = %spec.name, "a step panicked");
                Err(StepError::new("AGENT_EXECUTION_ERROR", "the step panicked", Retry::Soon))
            });
            let outcome = match outcome.and_then(|output| stored_step(index, revision, &spec, output)) {
                Ok((step, rec, usage)) => {
                    let mut view = Arc::unwrap_or_clone(view);
                    view.done.push(step.finished());
                    let next = next_of(&*runner.executor, &view);
                    JobOutcome::Done { rec, usage, ms, view: Arc::new(view), next }
                }
                Err(error) => JobOutcome::Failed { error, ms },
            };
            runner.reports.put(JobReport { id, job, outcome });
        });
    }
}

/// Whether finished steps must be read from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadSteps {
    Yes,
    No,
}

fn stored_step(
    index: u32,
    revision: u32,
    spec: &super::executor::StepSpec,
    output: StepOutput,
) -> Result<(StoredStep, Rec, Usage), StepError> {
    let StepOutput { value, usage } = output;
    let step = StoredStep { index, name: spec.name.clone(), kind: spec.kind, revision, output: Arc::new(value) };
    let failed = |detail: String| StepError { usage, ..StepError::new("OUTPUT_TOO_LARGE", detail, Retry::Never) };
    let rec = step.encode().map_err(|error| failed(error.to_string()))?;
    if rec.bytes.len() > MAX_OUTPUT {
        return Err(failed(format!(
            "the output of a step has {} bytes, more than the maximum of {MAX_OUTPUT}: request less",
            rec.bytes.len()
        )));
    }
    Ok((step, rec, usage))
}
