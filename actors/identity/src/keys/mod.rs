//! API keys: which callers are accepted, for which scopes and under which plan.
//!
//! Only the SHA-256 of a secret is stored; the whole key is in the response that created it and nowhere else. One actor
//! owns the records. It publishes a read-only directory of them after each durable change, so that authentication needs
//! no message to the actor. The same actor owns teams, which keys belong to, and the budgets of owners.

mod actor;
mod allows;
mod directory;
mod messages;
mod models;
mod record;
mod rights;
mod service;
mod state;
#[cfg(test)]
mod state_tests;
mod team;
mod team_state;
#[cfg(test)]
mod tests;
mod token;

pub use actor::KeyActorOptions;
use directory::Directory;
pub use directory::KeyRejection;
pub use messages::{CreatedKey, KeyIssuer, KeyPage, KeyPatch, NewKey, NewTeam, TeamPatch};
pub use record::{KeyRecord, LimitOverride, PlanA, PlanB, Role, Scope};
pub use service::Keys;
pub use team::{OwnerRecord, TeamRecord};
pub use token::{Secret, Token, TokenError};

/// Seconds for which the old secret of a rotated key is still accepted, unless the request contains another value.
pub const DEFAULT_GRACE_SECONDS: u64 = 24 * 3600;
