//! Who is logged in: one session for each login, its refresh tokens, and what requests see of it.

mod actor;
mod directory;
mod record;
mod refresh;

pub(super) use actor::{Refresh, SessionActor, SessionActorOptions, refused as refresh_refused};
pub(super) use directory::{Directory, LiveSession};
pub use directory::SessionWatch;
pub use record::{Claimed, Family, Origin, SessionRecord};
pub(super) use refresh::{Judged, Presented, judge};
pub use refresh::Lifetimes;
