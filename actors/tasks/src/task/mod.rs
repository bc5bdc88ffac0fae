//! Agents' runs as durable tasks: accepted once, executed step by step, and controlled while they run.
//!
//! One actor owns every live task. A task's steps run outside of it: a runner asks [`Work`] what comes next and has it
//! executed. Each finished step is durable before the next begins. Controls reach a runner by its cancellation token,
//! bypassing the mailbox.

mod actor;
mod book;
mod create;
mod estimate;
mod events;
mod felt;
mod history;
mod jobs;
mod messages;
mod new;
mod operate;
mod queue;
mod rate;
mod reads;
mod record;
mod recovery;
mod settings;
mod slot;
mod state;
mod stored;
mod tasks;
mod teller;
#[cfg(test)]
mod tests;
mod then;
mod tick;
mod tray;
mod turn;
mod unit;
mod work;

pub use actor::TaskOptions;
pub use felt::KillTimes;
pub use messages::{
    Abort, Asker, BulkOutcome, BulkReply, Control, ControlReply, DryRun, Effective, Filter, FirstPhase, NewTask,
    Outcome, Reach, RedirectMode, Verb,
};
pub use record::{
    Basis, ControlRecord, Estimate, JournalEntry, Owner, Priority, Progress, Status, StepKind, StepRecord, StepStatus,
    TaskError, TaskRecord, Usage, Waiting,
};
pub use settings::{Pulse, TaskSettings, TaskStats};
pub use tasks::Tasks;
pub use tray::LogLine;
pub use work::{
    Admission, Desk, Finished, Instruction, Level, Next, Retry, StepAsk, StepError, StepKey, StepOutput, StepSpec,
    Told, View, Work,
};
