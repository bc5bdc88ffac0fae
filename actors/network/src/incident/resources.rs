//! What is sent to an incident: people, vehicles, material, each with moves of its own.

use serde::{Deserialize, Serialize};

use muster_core::{Error, Kind, Millis};

/// Most resources of one incident.
pub const MAX_RESOURCES: usize = 200;

/// Where a resource stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceStatus {
    Requested,
    Committed,
    EnRoute,
    OnScene,
    Released,
}

impl ResourceStatus {
    pub const ALL: [Self; 5] = [Self::Requested, Self::Committed, Self::EnRoute, Self::OnScene, Self::Released];

    /// Where it may go: one step on, or released from anywhere.
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
    /// `Conflict`, with where it may go.
    pub fn step(self, to: Self) -> Result<Self, Error> {
        if self == to || self.next().contains(&to) {
            return Ok(to);
        }
        let details = serde_json::json!({ "status": self, "allowed": self.next() });
        let message = "the resource does not go from its status to that one";
        Err(Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details))
    }
}

/// Something that is needed at, or on its way to, an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Unique within its incident, from 1.
    pub id: u32,
    /// Such as `ambulance`.
    #[serde(rename = "type")]
    pub kind: String,
    /// At least 1.
    pub qty: u32,
    pub status: ResourceStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub updated_at: Millis,
}

/// A new resource; a status that was left out is `requested`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResource {
    pub kind: String,
    pub qty: u32,
    pub status: Option<ResourceStatus>,
    pub note: Option<String>,
}

/// A change of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceChange {
    pub id: u32,
    pub qty: Option<u32>,
    pub status: Option<ResourceStatus>,
    pub note: Option<String>,
}

/// Adds one to a list.
///
/// # Errors
/// `Conflict` where the list is full.
pub fn add(list: &mut Vec<Resource>, new: NewResource, at: Millis) -> Result<u32, Error> {
    if list.len() >= MAX_RESOURCES {
        return Err(Error::new(Kind::Conflict, format!("an incident has at most {MAX_RESOURCES} resources")));
    }
    let id = list.iter().map(|resource| resource.id).max().unwrap_or(0) + 1;
    let status = new.status.unwrap_or(ResourceStatus::Requested);
    list.push(Resource { id, kind: new.kind, qty: new.qty, status, note: new.note, updated_at: at });
    Ok(id)
}

/// Changes one of a list.
///
/// # Errors
/// `NotFound`, or `Conflict` where it may not go there.
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
