//! The service of geofences.

use std::sync::Arc;

use actix_rt::ArbiterHandle;

use super::actor::{GeofenceActor, GeofenceOptions, load};
use super::inbox::Inbox;
use super::messages::{
    CreateFence, CreatedFence, Drain, FencePatch, GetFence, ListFences, ListInside, NewFence, RemoveFence, UpdateFence,
};
use super::record::{Fence, Observation, SubjectInside};
use crate::journal::Incarnations;
use crate::shapes;
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_core::supervise::{ChildSpec, Group, Handle};
use muster_identity::By;

/// Receives the locations of devices and incidents. Never waits.
pub trait LocationObserver: Send + Sync + std::fmt::Debug {
    /// Reports the location of one subject. If too many observations wait, the oldest one is dropped.
    fn observe(&self, observation: Observation);

    /// Reports the locations of all subjects of a feature at its start; subjects that are inside by the store do not
    /// enter again. None of these observations is dropped.
    fn observe_all(&self, observations: Vec<Observation>);
}

/// Service of the geofences. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Geofences {
    handle: Handle<GeofenceActor>,
    inbox: Inbox,
}

impl LocationObserver for Geofences {
    fn observe(&self, observation: Observation) {
        if self.inbox.push(observation) {
            // An actor that is down or busy reads its inbox by itself.
            let _ = self.handle.try_send(Drain);
        }
    }

    fn observe_all(&self, observations: Vec<Observation>) {
        self.inbox.push_all(observations);
        let _ = self.handle.try_send(Drain);
    }
}

impl Geofences {
    /// Starts the actor.
    pub fn start(group: &Group, arbiter: ArbiterHandle, options: GeofenceOptions) -> Self {
        let (inbox, incarnations) = (Inbox::default(), Incarnations::default());
        let own = inbox.clone();
        let handle = group.start(ChildSpec::new("geofences", arbiter, move |_| {
            load(options.clone(), own.clone(), incarnations.clone())
        }));
        Self { handle, inbox }
    }

    /// Returns the number of unprocessed observations.
    pub fn waiting(&self) -> usize {
        self.inbox.waiting()
    }

    /// Waits until the actor has read its records and answers.
    pub async fn up(&self) {
        self.handle.up().await;
    }

    /// Creates a fence; durable when this returns.
    ///
    /// # Errors
    /// `Invalid` with the field; `Conflict` if there are too many fences or positions; `IdempotencyConflict`;
    /// `Unavailable`.
    pub async fn create(&self, new: NewFence, by: By, idempotency: Option<Idempotency>) -> Result<CreatedFence, Error> {
        shapes::check(Some(&new.geometry)).await?;
        self.handle.ask(CreateFence { new, by, idempotency }).await?
    }

    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Invalid`, `Unavailable`.
    pub async fn update(&self, id: String, change: FencePatch, if_match: IfMatch, by: By) -> Result<Arc<Fence>, Error> {
        shapes::check(change.geometry.as_ref()).await?;
        self.handle.ask(UpdateFence { id, change, if_match, by }).await?
    }

    /// # Errors
    /// `NotFound`, `PreconditionFailed`, `Unavailable`.
    pub async fn remove(&self, id: String, if_match: IfMatch, by: By) -> Result<(), Error> {
        self.handle.ask(RemoveFence { id, if_match, by }).await?
    }

    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn get(&self, id: String) -> Result<Arc<Fence>, Error> {
        self.handle.ask(GetFence { id }).await?
    }

    /// Returns a page of the fences, newest first.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(&self, page: PageParams) -> Result<Page<Arc<Fence>>, Error> {
        self.handle.ask(ListFences { page }).await?
    }

    /// Returns a page of the subjects inside a fence, without restricted incidents.
    ///
    /// # Errors
    /// `NotFound`, `Unavailable`.
    pub async fn inside(&self, id: String, page: PageParams) -> Result<Page<SubjectInside>, Error> {
        self.handle.ask(ListInside { id, page }).await?
    }
}
