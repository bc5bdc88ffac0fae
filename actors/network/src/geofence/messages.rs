//! Requests to the geofence actor, and its answers.

use std::sync::Arc;

use actix::Message;
use muster_geo::Geometry;

use super::record::{AppliesTo, Fence, Inside};
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageAsk};
use muster_core::precondition::IfMatch;
use muster_identity::By;

/// What a new fence is to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFence {
    /// 1 to 200 characters.
    pub name: String,
    /// 1 to 64 characters.
    pub kind: Option<String>,
    /// Polygons or circles.
    pub geometry: Geometry,
    pub applies_to: AppliesTo,
    /// At most 50 of 1 to 64 characters.
    pub tags: Vec<String>,
    pub active: bool,
}

/// What is to change of a fence. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub name: Option<String>,
    pub kind: Option<String>,
    pub geometry: Option<Geometry>,
    pub applies_to: Option<AppliesTo>,
    pub tags: Option<Vec<String>>,
    pub active: Option<bool>,
}

/// A new fence.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    pub fence: Arc<Fence>,
    /// This answer was given before, to the same `Idempotency-Key`.
    pub replayed: bool,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Created, Error>")]
pub(super) struct Create {
    pub new: NewFence,
    pub by: By,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Fence>, Error>")]
pub(super) struct Update {
    pub id: String,
    pub change: Change,
    pub if_match: IfMatch,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct Remove {
    pub id: String,
    pub if_match: IfMatch,
    pub by: By,
}

#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Fence>, Error>")]
pub(super) struct Get {
    pub id: String,
}

/// Newest first.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<Fence>>, Error>")]
pub(super) struct List {
    pub page: PageAsk,
}

/// Those inside that all may know of, by kind and identifier.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Inside>, Error>")]
pub(super) struct WhoIsInside {
    pub id: String,
    pub page: PageAsk,
}

/// Something is in the inbox.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Drain;
