//! Control signals beside the mailbox. An actor's mailbox has no priority lane, so urgent signals use this channel.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Requested phase of a running actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Normal operation.
    #[default]
    Run,
    /// Finish the work in progress, accept nothing new.
    Drain,
}

/// Control signals for an actor, passed to each incarnation by its factory.
#[derive(Debug, Clone)]
pub struct Control {
    pub(super) stop: CancellationToken,
    pub(super) phase: watch::Receiver<Phase>,
}

impl Control {
    /// Returns a token that is cancelled when this incarnation must end: await it in every long step.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Returns the current phase and a way to await changes.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }
}
