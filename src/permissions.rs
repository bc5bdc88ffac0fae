//! One page with every role, permission and scope, and the routes and channels that require them. It is made from the
//! tables that the guards check; `docs/permissions.md` is a copy that a test compares.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use muster_core::principal::{Permission, UserRole};
use muster_feed::{AGENTS, DISASTER};
use muster_identity::keys::{Role, Scope};

use crate::guard::Requirement;
use crate::http;

/// Returns what a scope of an API key is for.
const fn scope_summary(scope: Scope) -> &'static str {
    match scope {
        Scope::Agents => "agents, the caller's own tasks, and their channels of the feed",
        Scope::Chat => "chat, embeddings and models, on every interface",
        Scope::Memory => "semantic memory: the caller's own entries, and those of shared namespaces",
        Scope::Engines => "engines",
        Scope::Admin => "keys, settings, and everybody's tasks",
        Scope::Medical => "medical agents and engines; granted by the operator only",
        Scope::Metrics => "`GET /metrics` only",
    }
}

/// Returns what a role of an API key adds.
const fn role_summary(role: Role) -> &'static str {
    match role {
        Role::SuperAdmin => "backups, trust anchors, and keys that grant more than the caller has",
        Role::Auditor => "reads all tasks",
        Role::Security => "decides on approvals as `security`",
        Role::Operations => {
            "reads and controls all tasks; fetches encrypted backups; decides on approvals as `operations`"
        }
    }
}

/// The routes that require something, by its name.
type Routes = BTreeMap<&'static str, Vec<String>>;

/// Returns the page as Markdown.
pub fn page() -> String {
    let mut by_permission = Routes::new();
    let mut by_scope = Routes::new();
    let mut by_role = Routes::new();
    let mut open = Vec::new();
    for operation in http::operations() {
        let method = &operation.method;
        // The routes of single engines are one line.
        let path = &operation.pattern.replace(":.+}", "}");
        let route = format!("`{method} {path}`");
        let Requirement { scope, scope_of_keys, permission, role, .. } = operation.requirement;
        if operation.requirement.is_open() {
            open.push(route.clone());
        }
        if let Some(permission) = permission {
            by_permission.entry(permission.name()).or_default().push(route.clone());
        }
        if let Some(scope) = scope.or(scope_of_keys) {
            by_scope.entry(scope.name()).or_default().push(route.clone());
        }
        if let Some(role) = role {
            by_role.entry(role.name()).or_default().push(route);
        }
    }
    let channels = |permission: Permission| {
        let rules = DISASTER.iter().chain(AGENTS).filter(move |rule| rule.permission == permission);
        rules.map(|rule| format!("channel `{}`", rule.pattern)).collect::<Vec<_>>()
    };
    let mut page = String::from(INTRODUCTION);
    page += "\n## Roles of users\n\n| role | permissions | scopes |\n|---|---|---|\n";
    for role in UserRole::ALL {
        let permissions = quoted(role.permissions().names());
        let scopes = quoted(muster_identity::scopes(role).iter().map(|scope| scope.name()));
        let _ = writeln!(page, "| `{}` | {permissions} | {scopes} |", role.name());
    }
    page += "\n## Permissions of users\n\n| permission | roles | required by |\n|---|---|---|\n";
    for &permission in Permission::ALL {
        let roles = UserRole::ALL.into_iter().filter(|role| role.permissions().has(permission));
        let roles = quoted(roles.map(UserRole::name));
        let mut places = by_permission.remove(permission.name()).unwrap_or_default();
        places.extend(channels(permission));
        let places = if places.is_empty() { WITHIN.to_owned() } else { places.join(", ") };
        let _ = writeln!(page, "| `{}` | {roles} | {places} |", permission.name());
    }
    page += "\n## Scopes of API keys\n\n| scope | for | required by |\n|---|---|---|\n";
    for scope in Scope::ALL {
        let places = by_scope.remove(scope.name()).unwrap_or_default().join(", ");
        let _ = writeln!(page, "| `{}` | {} | {places} |", scope.name(), scope_summary(scope));
    }
    page += "\n## Roles of API keys\n\n| role | for | required by |\n|---|---|---|\n";
    for role in Role::ALL {
        let places = by_role.remove(role.name()).unwrap_or_default().join(", ");
        let _ = writeln!(page, "| `{}` | {} | {places} |", role.name(), role_summary(role));
    }
    let _ = write!(page, "\n## Routes without a credential\n\n{}\n", open.join(", "));
    page
}

const INTRODUCTION: &str = "# Roles, permissions and scopes

Users log in and have one role, which grants permissions, and scopes on the routes that API keys call. Single permissions
can be granted to a user besides. API keys have scopes, and may have roles. `GET /api/v1/roles` returns the same as JSON,
and the description of each route states what it requires.

This page is generated from the server's tables (`src/permissions.rs`); a test fails if it is stale.
";

/// Where no route requires a permission as a whole.
const WITHIN: &str = "checked within operations, whose descriptions state it";

fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}
