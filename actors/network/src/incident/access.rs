//! Read and write access to incidents.

use super::record::{Audience, Incident};
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_core::{Error, Kind};
use muster_identity::By;

/// Returns whether a user with these permissions may see an incident.
pub fn can_see(incident: &Incident, id: &str, permissions: Permissions) -> bool {
    incident.mentions(id)
        || match incident.audience() {
            Audience::Public => permissions.has(Permission::IncidentsRead),
            Audience::Restricted => permissions.has(Permission::IncidentsWrite),
            Audience::Private => false,
        }
}

/// Returns whether a principal may see an incident; the server sees everything.
pub fn visible(incident: &Incident, by: &By) -> bool {
    match by {
        By::System => true,
        By::Key(_) => false,
        // A further report of a device attaches to public incidents.
        By::Device(id) => incident.mentions(id) || incident.audience() == Audience::Public,
        By::Person(person) => can_see(incident, &person.user_id, person.permissions),
    }
}

/// # Errors
/// `Forbidden` without `incidents:write`, and to a responder to whom the incident is not assigned.
pub fn require_write(incident: &Incident, by: &By) -> Result<(), Error> {
    by.require(Permission::IncidentsWrite)?;
    if is_responder(by) && !incident.is_assigned(by.id()) {
        let message = "a responder writes to incidents that are assigned to it: ask an operator to assign this one";
        return Err(Error::new(Kind::Forbidden, message).coded("not_assigned"));
    }
    Ok(())
}

/// # Errors
/// `Forbidden` to a responder, who may change neither assignments nor visibility.
pub fn require_operator(by: &By) -> Result<(), Error> {
    if is_responder(by) {
        return Err(Error::new(Kind::Forbidden, "an operator decides who works on an incident and who sees it"));
    }
    Ok(())
}

fn is_responder(by: &By) -> bool {
    matches!(by, By::Person(person) if person.role == UserRole::Responder)
}

/// Returns the error for an incident that does not exist, and for one that the caller must not know of.
pub fn not_found(id: &str) -> Error {
    let id: String = id.chars().take(64).collect();
    Error::new(Kind::NotFound, format!("no incident has the id {id}"))
}
