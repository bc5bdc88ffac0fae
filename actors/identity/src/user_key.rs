//! API keys that represent users on routes for API keys.

use super::Person;
use crate::keys::{KeyRecord, PlanA, PlanB, Role, Scope};
use muster_core::principal::UserRole;

/// Returns the scopes of a role. `medical` is granted by the operator only, so no role has it; viewers have no scope
/// that causes costs.
pub fn scopes(role: UserRole) -> Vec<Scope> {
    let basic = [Scope::Agents, Scope::Chat, Scope::Memory, Scope::Engines];
    match role {
        UserRole::Viewer | UserRole::Auditor => Vec::new(),
        UserRole::Responder
        | UserRole::Operator
        | UserRole::IncidentCommander
        | UserRole::FirmwareManager
        | UserRole::Approver => basic.to_vec(),
        UserRole::Admin | UserRole::SuperAdmin => [&basic[..], &[Scope::Admin]].concat(),
    }
}

/// Returns the key roles of a user role.
fn roles(role: UserRole) -> Vec<Role> {
    match role {
        UserRole::SuperAdmin => Role::ALL.to_vec(),
        UserRole::Auditor => vec![Role::Auditor],
        UserRole::Approver => vec![Role::Security],
        UserRole::Operator | UserRole::IncidentCommander => vec![Role::Operations],
        UserRole::Viewer | UserRole::Responder | UserRole::FirmwareManager | UserRole::Admin => Vec::new(),
    }
}

/// Returns an API key that represents a user, with the scopes and roles of the user's role. Administrators have the
/// plan `enterprise`, since they could grant it to a key; all others have `pro`.
pub fn user_key(person: &Person) -> KeyRecord {
    let (plan_a, plan_b) = match person.role {
        UserRole::Admin | UserRole::SuperAdmin => (PlanA::Enterprise, PlanB::Enterprise),
        _ => (PlanA::Pro, PlanB::Pro),
    };
    let mut key = KeyRecord::without_secret(&person.user_id, &person.email);
    (key.plan_a, key.plan_b) = (plan_a, plan_b);
    (key.scopes, key.roles) = (scopes(person.role), roles(person.role));
    key
}
