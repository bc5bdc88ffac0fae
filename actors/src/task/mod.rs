//! Agents' runs as durable tasks: accepted once, run step by step, controlled while they run.
//!
//! One actor owns every live task. A task's steps are done beside it, by a runner that asks [`Work`] what comes next and
//! has it done; each finished step is durable before the next begins. Control reaches a runner beside the mailbox, by
//! its cancel token.

mod messages;
mod record;
mod work;

pub use messages::{
    Abort, Asker, Control, ControlReply, Effective, Filter, FirstPhase, NewTask, Outcome, Reach, RedirectMode, Verb,
};
pub use record::{
    Basis, ControlRecord, Estimate, JournalEntry, Owner, Priority, Progress, Status, StepKind, StepRecord, StepStatus,
    TaskError, TaskRecord, Usage, Waiting,
};
pub use work::{
    Admission, Desk, Finished, Instruction, Level, Next, Retry, StepAsk, StepError, StepKey, StepOutput, StepSpec,
    Told, View, Work,
};
