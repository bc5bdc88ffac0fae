//! Messages of the geofence actor and the types of its service.

use std::sync::Arc;

use actix::Message;
use muster_geo::Geometry;

use super::record::{AppliesTo, Fence, SubjectInside};
use muster_core::Error;
use muster_core::idempotency::Idempotency;
use muster_core::page::{Page, PageParams};
use muster_core::precondition::IfMatch;
use muster_identity::By;

/// A fence to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFence {
    /// Name, 1 to 200 characters.
    pub name: String,
    /// Purpose, 1 to 64 characters.
    pub kind: Option<String>,
    /// Area: polygons or circles.
    pub geometry: Geometry,
    /// Kinds of subjects that the fence applies to.
    pub applies_to: AppliesTo,
    /// Tags that limit the subjects, at most 50 of 1 to 64 characters; see [`Fence::tags`].
    pub tags: Vec<String>,
    /// Whether subjects enter and leave the fence.
    pub active: bool,
}

/// Changes of a fence; see [`NewFence`]. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FencePatch {
    /// Name.
    pub name: Option<String>,
    /// Purpose.
    pub kind: Option<String>,
    /// Area.
    pub geometry: Option<Geometry>,
    /// Kinds of subjects.
    pub applies_to: Option<AppliesTo>,
    /// Tags; replaces all.
    pub tags: Option<Vec<String>>,
    /// Whether subjects enter and leave the fence.
    pub active: Option<bool>,
}

/// Result of a creation.
#[derive(Debug, Clone, PartialEq)]
pub struct CreatedFence {
    /// The fence.
    pub fence: Arc<Fence>,
    /// Whether this repeats the response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

/// Creates a fence.
#[derive(Debug, Message)]
#[rtype(result = "Result<CreatedFence, Error>")]
pub(super) struct CreateFence {
    pub new: NewFence,
    pub by: By,
    pub idempotency: Option<Idempotency>,
}

/// Changes a fence.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Fence>, Error>")]
pub(super) struct UpdateFence {
    pub id: String,
    pub change: FencePatch,
    pub if_match: IfMatch,
    pub by: By,
}

/// Deletes a fence.
#[derive(Debug, Message)]
#[rtype(result = "Result<(), Error>")]
pub(super) struct RemoveFence {
    pub id: String,
    pub if_match: IfMatch,
    pub by: By,
}

/// Returns a fence.
#[derive(Debug, Message)]
#[rtype(result = "Result<Arc<Fence>, Error>")]
pub(super) struct GetFence {
    pub id: String,
}

/// Returns a page of fences, newest first.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<Arc<Fence>>, Error>")]
pub(super) struct ListFences {
    pub page: PageParams,
}

/// Returns a page of the unrestricted subjects inside a fence, by kind and identifier.
#[derive(Debug, Message)]
#[rtype(result = "Result<Page<SubjectInside>, Error>")]
pub(super) struct ListInside {
    pub id: String,
    pub page: PageParams,
}

/// Notifies the actor that its inbox holds observations.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(super) struct Drain;
