//! Agents' runs as durable tasks: accepted once, executed step by step, and controlled while they run.
//!
//! One actor owns every live task. A task's steps run outside of it: a runner requests the next step from
//! [`TaskExecutor`] and executes it. Each finished step is durable before the next begins. Controls reach a runner by
//! its cancellation token, bypassing the mailbox.

mod actor;
mod consequences;
mod create;
mod effect;
mod estimate;
mod events;
mod executor;
mod history;
mod jobs;
mod kill_latency;
mod live_tasks;
mod messages;
mod new;
mod operate;
mod output_publisher;
mod queue;
mod rate;
mod reads;
mod record;
mod recovery;
mod settings;
mod slot;
mod state;
mod step_output;
mod stored;
mod tasks;
#[cfg(test)]
mod tests;
mod tick;
mod transaction;

pub use actor::TaskOptions;
pub use executor::{
    Admission, FinishedStep, Instruction, Level, NextAction, Retry, StepError, StepEvent, StepKey, StepOutput,
    StepRequest, StepSink, StepSpec, TaskExecutor, TaskView,
};
pub use kill_latency::KillLatency;
pub use messages::{
    Abort, BulkOutcome, BulkReply, Control, ControlReply, DryRun, Effective, Filter, FirstPhase, NewTask, Outcome,
    Reach, RedirectMode, Requester, Start, Verb,
};
pub use record::{
    Basis, ControlRecord, Estimate, JournalEntry, Owner, Priority, Progress, Status, StepKind, StepRecord, StepStatus,
    TaskError, TaskRecord, Usage, Waiting,
};
pub use settings::{TaskLatency, TaskSettings, TaskStats};
pub use step_output::LogLine;
pub use tasks::Tasks;
