//! Which changes of accounts need an approval (`role.grant`): a file of its own, because people and service accounts
//! share it. Pure.

use crate::users::UserRecord;
use muster_core::guard::{GuardedAction, Need, Risk};
use muster_core::principal::{Permission, UserRole};

/// Returns the need of a new account, whose resource is its e-mail.
pub(super) fn of_new(user: &UserRecord) -> Option<Need> {
    let grants = user.grants.iter().any(|grant| administers(*grant));
    need(user.role, is_administrator(user.role) || grants, &user.email)
}

/// Returns the need of a change: a role of administration, or a single grant of it, that the account did not have in use.
pub(super) fn of_change(before: &UserRecord, after: &UserRecord) -> Option<Need> {
    if after.disabled {
        return None;
    }
    let had = |grant: &Permission| !before.disabled && before.permissions().has(*grant);
    let role = is_administrator(after.role) && (after.role != before.role || before.disabled);
    let grants = after.grants.iter().any(|grant| administers(*grant) && !had(grant));
    need(after.role, role || grants, &after.id)
}

fn need(role: UserRole, guarded: bool, resource: &str) -> Option<Need> {
    let risk = if role == UserRole::SuperAdmin { Risk::Critical } else { Risk::Low };
    guarded.then(|| Need::new(GuardedAction::RoleGrant, resource).at_least(risk))
}

fn is_administrator(role: UserRole) -> bool {
    matches!(role, UserRole::Admin | UserRole::SuperAdmin)
}

fn administers(grant: Permission) -> bool {
    ["users:", "keys:", "firmware:", "governance:"].iter().any(|prefix| grant.name().starts_with(prefix))
}
