//! Sessions: one per login, its refresh tokens, and what requests see of it.

mod actor;
mod directory;
mod record;
mod refresh;

pub(super) use actor::{Refresh, SessionActor, SessionActorOptions, refused as refresh_refused};
pub use directory::SessionWatch;
pub(super) use directory::{Directory, LiveSession};
pub use record::{Claimed, Family, Origin, SessionRecord};
pub use refresh::Lifetimes;
pub(super) use refresh::Presented;
