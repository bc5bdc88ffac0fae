//! People who may log in: their records, and what may be done with them.

mod record;
mod state;

pub use record::{Phc, UserRecord};
pub use state::{Given, MAX_PASSWORD, NewUser, UserPatch, fold, usable_password};
pub(super) use state::{UserState, covers};
