//! The service.

use actix_rt::ArbiterHandle;
use muster_core::Error;
use muster_core::supervise::{ChildSpec, Group, Handle};

use super::actor::{Ask, Mark, UptimeActor, UptimeOptions, load};
use super::state::Availability;

/// The minutes in which the interface was available.
#[derive(Debug, Clone)]
pub struct Uptime {
    handle: Handle<UptimeActor>,
}

impl Uptime {
    /// Starts the actor.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: UptimeOptions) -> Self {
        let handle = group.start(ChildSpec::new("uptime", arbiter, move |_| load(options.clone())));
        Self { handle }
    }

    /// Waits until the marks were read from the store.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Marks the present minute as available.
    ///
    /// # Errors
    /// `Unavailable` if the store takes nothing or the actor restarts.
    pub async fn mark(&self) -> Result<(), Error> {
        self.handle.ask(Mark).await?
    }

    /// How long the interface was available in the last thirty days, or since the first mark.
    ///
    /// # Errors
    /// `Unavailable` while the actor restarts.
    pub async fn availability(&self) -> Result<Availability, Error> {
        self.handle.ask(Ask).await?
    }
}
