//! User accounts, sessions, signing keys and API keys: authentication and permissions.
//!
//! One actor, the registry, owns users and the set of live sessions; each session has an actor of its own that
//! processes its refresh tokens one after the other. What requests need is published after each durable change: a token
//! is checked by a look-up, and a connection that watches its session is notified when it ends.

#![warn(missing_docs)]

mod caller;
mod device;
mod hashing;
pub mod keys;
mod registry;
mod service;
mod sessions;
mod signing;
#[cfg(test)]
mod tests;
mod throttle;
mod tokens;
mod user_key;
mod users;

pub use caller::{By, Person, missing_permission};
pub use device::DeviceDirectory;
pub use muster_auth::dpop::{BoundBearer, Scheme};
pub use muster_auth::keys::{RotationPolicy, SigningKeyChange};
pub use muster_auth::password::Hasher;
pub use registry::{CreatedUser, IssuedSecret, RecentLogin};
pub use service::{
    Admitted, FIRST_EMAIL, Identity, IdentityOptions, LoginAdmission, LoginExcess, PendingLogin, proof_required,
};
pub use sessions::{ClaimedClient, Lifetimes, Origin, SessionRecord, SessionWatch};
pub use throttle::LoginRates;
pub use tokens::{Credential, IssuedTokens};
pub use user_key::{scopes, user_key};
pub use users::{
    Independence, Makers, NewServiceAccount, NewUser, People, ServiceAccountPatch, ServiceCredential, UserPatch,
    UserRecord,
};
