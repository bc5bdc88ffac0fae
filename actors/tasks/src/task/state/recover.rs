//! Effect of a crash and of an orderly shutdown on a task.

use super::{Illegal, RunAgain, Task, Transition};
use crate::task::record::Status;

impl Task {
    /// Handles the loss of a live task's runner. A running step is run again with the same key; downtime of the server
    /// does not count as run time.
    pub(super) fn lost(&mut self, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if self.record.status.ended() {
            return self.illegal();
        }
        if self.inner.clock.is_some() || matches!(self.record.status, Status::Running | Status::Retrying) {
            self.start_clock(transition.now);
        }
        if self.doing().is_none() {
            return Ok(());
        }
        self.abort(RunAgain::Yes, transition);
        let Some(current_step) = &mut self.inner.current_step else { return Ok(()) };
        current_step.crashes += 1;
        let (crashes, repeatable) = (current_step.crashes, current_step.repeatable);
        self.record.recovered = true;
        if crashes >= transition.rules.crash_limit {
            let detail = format!(
                "the server crashed {crashes} times while this step ran: correct the step, then run the task again"
            );
            self.fail(Status::Failed, "CRASH_LOOP", detail, transition);
        } else if !repeatable {
            self.wait_for_operator("was in progress when the server crashed", transition);
        } else if self.record.status == Status::Pausing {
            self.pause_if_requested(transition);
        } else {
            self.change_status(self.record.status, "recovered", transition);
        }
        Ok(())
    }

    /// Handles an orderly shutdown. A step repeated at the next start was not lost by a crash.
    pub(super) fn drained(&mut self, transition: &mut Transition<'_>) -> Result<(), Illegal> {
        if self.record.status.ended() {
            return self.illegal();
        }
        if self.doing().is_some() {
            let repeatable = self.inner.current_step.as_ref().is_some_and(|current_step| current_step.repeatable);
            self.abort(RunAgain::Yes, transition);
            if repeatable {
                self.pause_if_requested(transition);
            } else {
                self.wait_for_operator("was in progress when the server shut down", transition);
            }
        }
        self.stop_clock(transition.now);
        Ok(())
    }
}
