//! API keys: which callers are accepted, for which scopes and under which plan.
//!
//! Only the SHA-256 of a secret is stored; the whole key is in the response that created it and nowhere else. One actor
//! owns the records. It publishes a read-only directory of them after each durable change, so that authentication needs
//! no message to the actor.

mod actor;
mod directory;
mod messages;
mod record;
mod service;
mod state;
#[cfg(test)]
mod tests;
mod token;

pub use actor::KeyActorOptions;
use directory::Directory;
pub use directory::KeyRejection;
pub use messages::{CreatedKey, KeyIssuer, KeyPage, NewKey};
pub use record::{KeyRecord, LimitOverride, PlanA, PlanB, Role, Scope};
pub use service::Keys;
pub use token::{Secret, Token, TokenError};

/// Seconds for which the old secret of a rotated key is still accepted, unless the request contains another value.
pub const DEFAULT_GRACE_SECONDS: u64 = 24 * 3600;
