//! Agents' runs as durable tasks: accepted once, executed step by step, and controlled while they run.
//!
//! One actor owns every live task. A task's steps run outside of it: a runner asks [`Work`] what comes next and has it
//! executed. Each finished step is durable before the next begins. Controls reach a runner by its cancellation token,
//! bypassing the mailbox.

mod actor;
mod consequences;
mod create;
mod effect;
mod estimate;
mod events;
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
mod work;

pub use actor::TaskOptions;
pub use kill_latency::KillLatency;
pub use messages::{
    Abort, Asker, BulkOutcome, BulkReply, Control, ControlReply, DryRun, Effective, Filter, FirstPhase, NewTask,
    Outcome, Reach, RedirectMode, Verb,
};
pub use record::{
    Basis, ControlRecord, Estimate, JournalEntry, Owner, Priority, Progress, Status, StepKind, StepRecord, StepStatus,
    TaskError, TaskRecord, Usage, Waiting,
};
pub use settings::{Pulse, TaskSettings, TaskStats};
pub use step_output::LogLine;
pub use tasks::Tasks;
pub use work::{
    Admission, Finished, Instruction, Level, Next, Retry, StepAsk, StepError, StepEvent, StepKey, StepOutput, StepSink,
    StepSpec, View, Work,
};
