//! Effect of a crash and of an orderly shutdown on a task.

use super::{Again, Illegal, Task, Transition};
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
        self.abort(Again::Yes, transition);
        let Some(hand) = &mut self.inner.hand else { return Ok(()) };
        hand.crashes += 1;
        let (crashes, repeatable) = (hand.crashes, hand.repeatable);
        self.record.recovered = true;
        if crashes >= transition.rules.crash_limit {
            let detail =
                format!("the server died {crashes} times while this step ran: mend the step, then run the task anew");
            self.fail(Status::Failed, "CRASH_LOOP", detail, transition);
        } else if !repeatable {
            self.ask_operator("was under way when the server died", transition);
        } else if self.record.status == Status::Pausing {
            self.pause_if_asked(transition);
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
            let repeatable = self.inner.hand.as_ref().is_some_and(|hand| hand.repeatable);
            self.abort(Again::Yes, transition);
            if repeatable {
                self.pause_if_asked(transition);
            } else {
                self.ask_operator("was under way when the server had to end", transition);
            }
        }
        self.stop_clock(transition.now);
        Ok(())
    }
}
