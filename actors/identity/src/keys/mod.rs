//! API keys: who may call, for what, and under which plan.
//!
//! Only a SHA-256 of a secret is kept; the whole key exists in the answer that made it and nowhere else. One actor owns
//! the records; what every request needs, to find and check a key, is a read-only [`Directory`] that the actor
//! publishes after each durable change, so that authentication costs no hop.

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
pub use directory::{Directory, Refusal};
pub use messages::{Created, KeyPage, MadeBy, NewKey};
pub use record::{KeyRecord, LimitOverride, PlanA, PlanB, Role, Scope};
pub use service::Keys;
pub use token::{Secret, Token, TokenError};

/// Seconds for which the old secret of a rotated key is still accepted, unless the request says otherwise.
pub const DEFAULT_GRACE_SECONDS: u64 = 24 * 3600;
