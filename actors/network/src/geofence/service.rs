//! The public face of geofences.

use std::sync::Arc;

use actix_rt::ArbiterHandle;

use super::actor::{GeofenceActor, GeofenceOptions, load};
use super::inbox::Inbox;
use super::messages::{Change, Create, Created, Drain, Get, List, NewFence, Remove, Update, WhoIsInside};
use super::record::{Fence, Inside, Observation};
use crate::journal::Incarnations;
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_identity::By;

/// Receives the positions of subjects. Never waits.
pub trait Watcher: Send + Sync + std::fmt::Debug {
    fn observe(&self, observation: Observation);

    /// Where all of a feature's subjects are, as it starts: who is inside by the store enters nothing again. However many
    /// they are, none is lost, as single ones are where too many wait.
    fn observe_all(&self, observations: Vec<Observation>);
}

/// The way to the geofences' actor.
#[derive(Debug, Clone)]
pub struct Geofences {
    handle: Handle<GeofenceActor>,
    inbox: Inbox,
}

impl Watcher for Geofences {
    fn observe(&self, observation: Observation) {
        if self.inbox.push(observation) {
            // An actor that is down or busy looks into its inbox by itself.
            let _ = self.handle.try_send(Drain);
        }
    }

    fn observe_all(&self, observations: Vec<Observation>) {
        self.inbox.push_all(observations);
        let _ = self.handle.try_send(Drain);
    }
}

impl Geofences {
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: GeofenceOptions) -> Self {
        let (inbox, incarnations) = (Inbox::default(), Incarnations::default());
        let own = inbox.clone();
        let handle = group.start(ChildSpec::new("geofences", arbiter, move |_| {
            load(options.clone(), own.clone(), incarnations.clone())
        }));
        Self { handle, inbox }
    }

    /// Number of observations that were not looked at yet.
    pub fn waiting(&self) -> usize {
        self.inbox.waiting()
    }

    /// Waits until the records were read and the actor answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Makes a fence; durable when it resolves.
    ///
    /// # Errors
    /// `Invalid`; `Conflict` where there are too many; `IdempotencyConflict`; `Unavailable`.
    pub async fn create(&self, new: NewFence, by: By, idempotency: Option<Idempotency>) -> Result<Created, Error> {
        self.handle.ask(Create { new, by, idempotency }).await?
    }

    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Invalid`, `Unavailable`.
    pub async fn update(&self, id: String, change: Change, if_match: IfMatch, by: By) -> Result<Arc<Fence>, Error> {
        self.handle.ask(Update { id, change, if_match, by }).await?
    }

    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Unavailable`.
    pub async fn remove(&self, id: String, if_match: IfMatch, by: By) -> Result<(), Error> {
        self.handle.ask(Remove { id, if_match, by }).await?
    }

    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn get(&self, id: String) -> Result<Arc<Fence>, Error> {
        self.handle.ask(Get { id }).await?
    }

    /// Newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, page: PageAsk) -> Result<Page<Arc<Fence>>, Error> {
        self.handle.ask(List { page }).await?
    }

    /// Who is inside; restricted incidents are not shown.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn inside(&self, id: String, page: PageAsk) -> Result<Page<Inside>, Error> {
        self.handle.ask(WhoIsInside { id, page }).await?
    }
}
