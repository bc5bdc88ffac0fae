//! Resources of an incident: people, vehicles and material, each with a status of its own.

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind, Millis};

/// Largest number of resources of one incident.
pub const MAX_RESOURCES: usize = 200;

/// Status of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceStatus {
    /// Requested.
    Requested,
    /// Committed by its owner.
    Committed,
    /// On the way.
    EnRoute,
    /// At the scene.
    OnScene,
    /// Released; final.
    Released,
}

impl ResourceStatus {
    /// All statuses, in order.
    pub const ALL: [Self; 5] = [Self::Requested, Self::Committed, Self::EnRoute, Self::OnScene, Self::Released];

    /// Returns the statuses that may follow: the next one, or released.
    pub const fn next(self) -> &'static [Self] {
        match self {
            Self::Requested => &[Self::Committed, Self::Released],
            Self::Committed => &[Self::EnRoute, Self::Released],
            Self::EnRoute => &[Self::OnScene, Self::Released],
            Self::OnScene => &[Self::Released],
            Self::Released => &[],
        }
    }

    /// # Errors
    /// `Conflict` with the statuses that may follow.
    pub fn step(self, to: Self) -> Result<Self, Error> {
        if self == to || self.next().contains(&to) {
            return Ok(to);
        }
        let details = serde_json::json!({ "status": self, "allowed": self.next() });
        let message = "the resource does not go from its status to that one";
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details))
    }
}

/// A resource of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Identifier, unique within its incident, from 1.
    pub id: u32,
    /// Type, such as `ambulance`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Quantity, at least 1.
    pub qty: u32,
    /// Status.
    pub status: ResourceStatus,
    /// Note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Time of the last change.
    pub updated_at: Millis,
}

/// A resource to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResource {
    /// Type.
    pub kind: String,
    /// Quantity, at least 1.
    pub qty: u32,
    /// Status; requested by default.
    pub status: Option<ResourceStatus>,
    /// Note.
    pub note: Option<String>,
}

/// A change of a resource; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceChange {
    /// The resource.
    pub id: u32,
    /// Quantity.
    pub qty: Option<u32>,
    /// Status.
    pub status: Option<ResourceStatus>,
    /// Note.
    pub note: Option<String>,
}

/// Adds a resource to a list; returns its identifier.
///
/// # Errors
/// `Conflict` if the list is full.
pub fn add(list: &mut Vec<Resource>, new: NewResource, at: Millis) -> Result<u32, Error> {
    if list.len() >= MAX_RESOURCES {
        return Err(Error::new(Kind::Conflict, format!("an incident has at most {MAX_RESOURCES} resources")));
    }
    let id = list.iter().map(|resource| resource.id).max().unwrap_or(0) + 1;
    let status = new.status.unwrap_or(ResourceStatus::Requested);
    list.push(Resource { id, kind: new.kind, qty: new.qty, status, note: new.note, updated_at: at });
    Ok(id)
}

/// Changes a resource of a list.
///
/// # Errors
/// `NotFound`; `Conflict` if the status may not follow the current one.
pub fn change(list: &mut [Resource], change: ResourceChange, at: Millis) -> Result<(), Error> {
    let found = list.iter_mut().find(|resource| resource.id == change.id);
    let resource = found.ok_or_else(|| {
        Error::new(Kind::NotFound, format!("the incident has no resource {}: see its list", change.id))
    })?;
    if let Some(to) = change.status {
        resource.status = resource.status.step(to)?;
    }
    resource.qty = change.qty.unwrap_or(resource.qty);
    resource.note = change.note.or_else(|| resource.note.take());
    resource.updated_at = at;
    Ok(())
}
