//! Control beside the mailbox: an actor's mailbox has no fast lane, so what must not wait travels here.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What a running actor is asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    #[default]
    Run,
    /// Finish what is in hand, accept nothing new.
    Drain,
}

/// An actor's ear for control. Given to each incarnation by its factory.
#[derive(Debug, Clone)]
pub struct Control {
    pub(super) stop: CancellationToken,
    pub(super) phase: watch::Receiver<Phase>,
}

impl Control {
    /// Cancelled when this incarnation must end now: hold it in every long step.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// The present phase, and a way to await the next.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }
}
