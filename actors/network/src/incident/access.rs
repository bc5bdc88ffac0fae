//! Who may see an incident and who may write to it.

use super::record::{Audience, Incident};
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_core::{Error, Kind};
use muster_identity::By;

/// Whether somebody with these permissions may see it.
pub fn can_see(incident: &Incident, id: &str, permissions: Permissions) -> bool {
    incident.mentions(id)
        || match incident.audience() {
            Audience::Public => permissions.has(Permission::IncidentsRead),
            Audience::Restricted => permissions.has(Permission::IncidentsWrite),
            Audience::Private => false,
        }
}

/// Whether one who acts may see it; the server sees everything.
pub fn visible(incident: &Incident, by: &By) -> bool {
    match by {
        By::System => true,
        By::Key(_) => false,
        // What it reports again attaches to what is known to everybody.
        By::Device(id) => incident.mentions(id) || incident.audience() == Audience::Public,
        By::Person(person) => can_see(incident, &person.user_id, person.permissions),
    }
}

/// # Errors
/// `Forbidden`: without `incidents:write`, and to a responder to whom the incident is not assigned.
pub fn require_write(incident: &Incident, by: &By) -> Result<(), Error> {
    by.require(Permission::IncidentsWrite)?;
    if is_responder(by) && !incident.is_assigned(by.id()) {
        let message = "a responder writes to incidents that are assigned to it: ask an operator to assign this one";
        return Err(Error::new(Kind::Forbidden, message).coded("not_assigned"));
    }
    Ok(())
}

/// # Errors
/// `Forbidden` to a responder: who works on an incident does not say who else does, nor who sees it.
pub fn require_operator(by: &By) -> Result<(), Error> {
    if is_responder(by) {
        return Err(Error::new(Kind::Forbidden, "an operator decides who works on an incident and who sees it"));
    }
    Ok(())
}

fn is_responder(by: &By) -> bool {
    matches!(by, By::Person(person) if person.role == UserRole::Responder)
}

/// What is said of an incident that is not there and of one that the asker must not know of.
pub fn not_found(id: &str) -> Error {
    let id: String = id.chars().take(64).collect();
    Error::new(Kind::NotFound, format!("no incident has the id {id}"))
}
