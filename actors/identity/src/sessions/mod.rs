//! Sessions: one per login, with its refresh tokens, and the directory of live sessions.

mod actor;
mod directory;
mod record;
mod refresh;

pub(super) use actor::{Refresh, SessionActor, SessionActorOptions, rejected as refresh_rejected};
pub use directory::SessionWatch;
pub(super) use directory::{Directory, LiveSession};
pub(super) use record::Family;
pub use record::{ClaimedClient, Origin, SessionRecord};
pub use refresh::Lifetimes;
pub(super) use refresh::RefreshToken;
